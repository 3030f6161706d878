"""Folders into which nothing may be written: one error that names the place, nothing left there, nothing lost."""

import ctypes
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from fitted import assert_same, attributes
from scipy import sparse

from sparsemix import SkipGramTopicModel, SparseGaussianMixture, SparseSCVB0LDA, blocks, report
from sparsemix.__main__ import main
from sparsemix.datasets import fetch_bag_of_words

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="rights are given up by a copy of the process")

RNG = np.random.default_rng(0)
ROWS, COUNTS = RNG.normal(size=(50, 3)), sparse.csr_array(RNG.poisson(0.5, size=(60, 20)).astype(float))
NAMES = [f"word{chr(97 + i)}" for i in range(20)]
LDA = SparseSCVB0LDA(3, random_state=0, max_iter=3)
SKIP_GRAM = SkipGramTopicModel(3, max_iter=2)
DAC_OVERRIDE = 1 << 1  # a superuser's right to write whatever a folder says


def topics(folder, *more, output):
    """The command on texts next to the folder; exits with a sentence."""
    texts = folder.parent / "texts.txt"
    lines = [" ".join(RNG.choice(NAMES[k : k + 10], 6)) for k in (0, 10) * 40]
    texts.write_text("\n".join(lines), encoding="utf-8")
    main(["topics", str(texts), "--output", str(output), "--n-components", "2", "--max-iter", "2", "--force", *more])


WRITERS = {
    "report": lambda est, folder: report(est, COUNTS, NAMES).save(folder / "report.html"),
    "report again": lambda est, folder: report(est, COUNTS, NAMES).save(folder / "old.html"),
    "checkpoint": lambda est, folder: est.fit(COUNTS, checkpoint=folder / "run"),
    "checkpoint of blocks": lambda _, folder: blocks.fit(
        SparseGaussianMixture(2), [ROWS, ROWS], checkpoint=folder / "run"
    ),
    "shuffle": lambda _, folder: blocks.shuffle([ROWS, ROWS], folder / "dealt", random_state=0),
    "vectors": lambda _, folder: SKIP_GRAM.save_word_vectors(folder / "vectors.txt", ["a", "b", "c"]),
    "fetch": lambda _, folder: fetch_bag_of_words("kos", data_home=folder),
    "topics": lambda _, folder: topics(folder, output=folder / "topics"),
    "topics here": lambda _, folder: topics(folder, output=folder),
    "topics with checkpoint": lambda _, folder: topics(
        folder, "--checkpoint", str(folder / "run"), output=folder.parent / "topics"
    ),
    "demo": lambda _, folder: main(
        ["demo", "--n-components", "4", "--max-iter", "1", "--output", str(folder / "demo")]
    ),
}


@pytest.fixture(scope="module", autouse=True)
def _fitted():
    LDA.fit(COUNTS)
    SKIP_GRAM.fit(sparse.csr_array(np.array([[1, 2, 3, 1, 2], [2, 3, 1, 1, 3]])))


def give_up_writing():
    """Permissions of folders hold for this process even if it belongs to a superuser."""
    if os.geteuid() != 0:
        return True
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "capset"):
        return False
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets):
        return False
    for i in range(2):  # in effect, and permitted
        sets[i] &= ~DAC_OVERRIDE
    return libc.capset(header, sets) == 0


def in_a_copy(call):
    """What a copy of this process returns as text."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, str(call()).encode()[:60_000])
        except BaseException as error:  # which the test names
            os.write(writing, repr(error).encode()[:60_000])
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        text = said.read().decode()
    os.waitpid(child, 0)
    return text


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_that_is_read_only_is_named(name, capfd):
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base, "locked")
        folder.mkdir()
        (folder / "old.html").write_text("of an earlier run", encoding="utf-8")
        folder.chmod(0o555)

        def call():
            if not give_up_writing():
                return "no right to give up"
            before = attributes(LDA)
            try:
                WRITERS[name](LDA, folder)
                error = "written"
            except SystemExit as ended:
                error = f"exit {ended.code}"
            except OSError as refused:
                error = f"{type(refused).__name__}: {refused}"
            assert_same(before, attributes(LDA))
            return error

        said = in_a_copy(call)
        left = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
        folder.chmod(0o755)
    if said == "no right to give up":
        pytest.skip("a superuser here may write everywhere")
    printed = capfd.readouterr().err
    told = printed if said == "exit 2" else said
    assert "Permission denied" in told, (said, printed)
    assert str(folder) in told
    assert "Traceback" not in printed
    assert left == {"old.html": "of an earlier run"}
