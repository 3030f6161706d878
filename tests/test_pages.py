"""README, CONTRIBUTING and the architecture page: short enough to read, and every file that they name exists."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import Bunch

from sparsemix import datasets

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "CONTRIBUTING.md", "doc/architecture.rst"]
FOLDERS = [ROOT, ROOT / "tests", ROOT / "sparsemix", ROOT / "sparsemix" / "_kernels", ROOT / "doc"]
MOST_WORDS = 5_000
NAMED = re.compile(r"`+([\w./-]+(?:/|\.(?:py|pyx|h|rst|md|toml)))`+|\]\(([^)#:]+)\)")


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_page_names_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    names = {name.strip() for found in NAMED.findall(text) for name in found if name}
    assert names
    # NAME and FOLDER are for the reader to fill in; make writes _build and .venv.
    names = {name for name in names if not re.search(r"NAME|FOLDER|NNNN|_build|\.venv|^build", name)}
    missing = sorted(name for name in names if not any((folder / name).exists() for folder in FOLDERS))
    assert not missing


def test_the_pages_that_everyone_reads_are_short():
    assert sum(len((ROOT / page).read_text(encoding="utf-8").split()) for page in PAGES) < MOST_WORDS


def test_decisions_are_numbered_without_gaps_and_listed():
    records = sorted(path.stem for path in (ROOT / "doc" / "decisions").glob("[0-9]*.rst"))
    assert [int(name[:4]) for name in records] == list(range(1, len(records) + 1))
    index = (ROOT / "doc" / "decisions" / "index.rst").read_text(encoding="utf-8")
    assert re.findall(r"^   (\d{4}-\S+)$", index, re.MULTILINE) == records


def test_the_paper_has_the_table_of_the_readme_and_its_references():
    text, readme = ((ROOT / name).read_text(encoding="utf-8") for name in ("paper/paper.md", "README.md"))
    tables = [page.partition("<!-- results -->")[2].partition("<!-- end of results -->")[0] for page in (text, readme)]
    assert tables[0] == tables[1]
    assert len(re.findall(r"-?\d+\.\d+", tables[0])) > 10
    references = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")
    assert set(re.findall(r"@([a-z]+\d{4})", text)) == set(re.findall(r"^@\w+{(\w+),", references, re.MULTILINE))


@pytest.mark.slow
def test_code_of_the_readme_runs(tmp_path, monkeypatch):
    """On a part of its data: both functions have their own tests."""
    X, X_test = datasets.load_image_patches(return_test=True)
    counts = datasets.make_sparse_lda(400, n_features=500, n_components=20, doc_length=60, random_state=0)[0]
    docs = Bunch(data=counts, feature_names=np.array([f"word{v}" for v in range(500)]))
    monkeypatch.setattr(datasets, "load_image_patches", lambda **_: (X[:3000], X_test[:300]))
    monkeypatch.setattr(datasets, "load_docstrings", lambda: docs)
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 2
    for block in blocks:
        exec(block, {})
    assert (tmp_path / "report.html").exists()
