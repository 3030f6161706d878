"""The page on skops prints what it shows, and what it says of skops is so; tests/estimators has what files hold."""

import io as memory
import zipfile

import numpy as np
import pytest
from example_pages import blocks, run_page
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sparsemix import SparseSCVB0LDA

io = pytest.importorskip("skops.io")
TEXTS = ["apples and pears", "ships and sails"] * 10


def pipeline(**parameters):
    return make_pipeline(CountVectorizer(**parameters), SparseSCVB0LDA(2, max_iter=2, random_state=0)).fit(TEXTS)


def test_the_page_prints_what_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = "user_guide/skops.rst"
    names = run_page(page, {})
    ((_, shown),) = blocks(page)
    assert capsys.readouterr().out.strip() == shown
    saved, loaded = (names[name].transform(names["texts"]) for name in ("pipeline", "loaded"))
    np.testing.assert_array_equal(saved, loaded)


def test_public_names_are_refused():
    with pytest.raises(io.exceptions.UntrustedTypesFoundException):
        io.loads(io.dumps(pipeline()), trusted=["sparsemix.SparseSCVB0LDA"])


@pytest.mark.parametrize("tokenizer", [lambda text: text.split(), str.split])
def test_functions_without_a_module_are_saved_and_never_loaded(tokenizer):
    saved = io.dumps(pipeline(tokenizer=tokenizer, token_pattern=None))
    with pytest.raises(AttributeError, match=r"has no attribute"):
        io.loads(saved, trusted=io.get_untrusted_types(data=saved))


def words(text):
    return text.split()


def test_functions_of_a_module_come_back():
    saved = io.dumps(pipeline(tokenizer=words, token_pattern=None))
    (name,) = set(io.get_untrusted_types(data=saved)) - {f"{SparseSCVB0LDA.__module__}.SparseSCVB0LDA"}
    assert name == f"{__name__}.words"
    io.loads(saved, trusted=[SparseSCVB0LDA, name]).transform(TEXTS)


def test_files_are_not_compressed():
    def packed(**options):
        with zipfile.ZipFile(memory.BytesIO(io.dumps(pipeline(), **options))) as file:
            return {part.compress_type for part in file.infolist()}

    assert packed() == {zipfile.ZIP_STORED}
    assert packed(compression=zipfile.ZIP_DEFLATED) == {zipfile.ZIP_DEFLATED}
