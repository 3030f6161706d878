"""Topics of more text than memory: the same corpus from disk, the same outputs, and memory that does not grow."""

import csv
import json
import os
import subprocess
import sys

import joblib
import numpy as np
import pytest
from killed import Killed, killed_after
from test_topics_command import THEMES, write_csv, write_folder, write_json_lines, write_lines, write_packed_lines

import sparsemix
from sparsemix.__main__ import main
from sparsemix.blocks._readers.arrays import map_of
from sparsemix.texts._reading import corpus as _corpus
from sparsemix.texts._reading import counting
from sparsemix.texts._reading.corpus import Fields, Words, read_corpus

NAMES = ["documents.csv", "model.joblib", "report.html", "run.json", "topics.csv"]


@pytest.fixture(scope="module")
def texts():
    """Three kinds of texts, one after the other; some are empty, some have their own words."""
    rng = np.random.default_rng(1)
    some = [" ".join(rng.choice(THEMES[3 * i // 240].split(), 12)) + (f" odd{'abc'[i % 3]}" * (i % 7 == 0))
            for i in range(240)]  # fmt: skip
    some[5], some[100] = "...", "the unknown"
    return some


@pytest.fixture
def small(monkeypatch):
    """Everything that is done beyond some size is done."""
    monkeypatch.setattr(counting, "DOCUMENTS", 7)
    monkeypatch.setattr(_corpus, "LARGE", 0)


WORDS = [Words(), Words(min_df=2, max_df=0.5), Words(phrases=True, min_df=3), Words("words", stop_words=None)]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("write", [write_folder, write_lines, write_packed_lines, write_json_lines, write_csv])
def test_a_corpus_on_disk_is_the_one_in_memory(tmp_path, texts, write, words):
    """Counts, vocabulary, names, texts, what is left out and what is warned of."""
    path, scratch = write(tmp_path / "corpus", texts, None)[0], tmp_path / "scratch"
    scratch.mkdir()
    fields = Fields("body", group="folder" if write is write_folder else "body")
    here = read_corpus(path, fields=fields, words=words)
    there = read_corpus(path, fields=fields, words=words, scratch=lambda: str(scratch))
    assert there.folder == str(scratch)
    assert map_of(there.counts.data) is not None
    assert (here.counts != there.counts).nnz == 0
    assert there.counts.dtype == here.counts.dtype
    assert there.feature_names.tolist() == here.feature_names.tolist()
    assert vars(there.vectorizer).keys() >= {"vocabulary_", "fixed_vocabulary_"}
    assert there.vectorizer.vocabulary_ == here.vectorizer.vocabulary_
    assert (there.vectorizer.transform(texts) != here.vectorizer.transform(texts)).nnz == 0
    n = here.counts.shape[0]
    for name in ("names", "texts"):
        mine, other = getattr(there, name), getattr(here, name)
        assert len(mine) == len(other) == n
        assert [mine[i] for i in range(n)] == [other[i] for i in range(n)]
    assert (there.values("group"), there.values("date")) == (here.values("group"), here.values("date"))
    assert (there.left_out, there.warnings) == (here.left_out, here.warnings)


def test_the_texts_of_one_theme_after_the_other_teach_all_three(tmp_path, capsys, texts, monkeypatch):
    """The outputs are those of an ordinary run, the blocks are shuffled, and nothing else is left in the folder."""
    monkeypatch.setattr("sparsemix.texts._commands.topics.BLOCK_BYTES", 1000)
    path = write_json_lines(tmp_path / "corpus", texts, None)[0]
    options = ["topics", path, "--field", "body", "--id", "id", "--min-df", "20", "--max-iter", "8", "--n-jobs", "1"]
    options += ["--n-components", "3"]
    found = {}
    for where in ("memory", "disk"):
        output = tmp_path / where
        monkeypatch.setattr(_corpus, "LARGE", 0 if where == "disk" else 1 << 30)
        main([*options, "--output", str(output)])
        printed = capsys.readouterr().out
        assert ("the fit reads" in printed) == (where == "disk")
        assert "238 documents, 2,856 tokens of 12 words; 3 topics from 214 documents, 24 held out" in printed
        assert sorted(file.name for file in output.iterdir()) == NAMES
        with (output / "topics.csv").open(newline="") as file:
            topics = list(csv.DictReader(file))
        with (output / "documents.csv").open(newline="") as file:
            documents = list(csv.DictReader(file))
        found[where] = {
            "themes": sorted(sorted(row["words"].split()[:4]) for row in topics),
            "documents": [(row["id"], row["tokens"], row["held_out"]) for row in documents],
            "record": json.loads((output / "run.json").read_text()),
            "shares": [float(row["document_share"]) for row in documents if row["document_share"]],
        }
        pipeline = joblib.load(output / "model.joblib")
        assert pipeline.transform(["violin and flute"]).shape == (1, 3)
    memory, disk = found["memory"], found["disk"]
    assert memory["themes"] == disk["themes"] == sorted(sorted(theme.split()) for theme in THEMES)
    assert memory["documents"] == disk["documents"]
    np.testing.assert_allclose(memory["shares"], disk["shares"], atol=0.1)
    scores = [record["scores"]["test_log_likelihood_per_token"] for record in (memory["record"], disk["record"])]
    assert abs(scores[0] - scores[1]) < 0.02
    for name in ("documents", "tokens", "vocabulary", "left_out", "warnings"):
        assert memory["record"][name] == disk["record"][name]
    assert memory["record"]["facts"].keys() == disk["record"]["facts"].keys()


@pytest.mark.usefixtures("small")
def test_early_stopping_and_sparse_lda_learn_from_disk(tmp_path, texts):
    path = write_lines(tmp_path / "corpus", texts, None)[0]
    common = ["topics", path, "--n-components", "3", "--force", "--output", str(tmp_path / "out")]
    main(common)
    model = joblib.load(tmp_path / "out" / "model.joblib")["topics"]
    assert model.stop_reason_
    assert model.converged_
    main([*common, "--estimator", "SparseLDA", "--n-nonzero", "2"])
    assert joblib.load(tmp_path / "out" / "model.joblib")["topics"].converged_
    assert "Lower bound per token" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("where", ["memory", "disk"])
@pytest.mark.parametrize("estimator", ["SparseSCVB0LDA", "SparseLDA"])
def test_a_killed_run_goes_on_from_its_checkpoint(tmp_path, texts, where, estimator, monkeypatch, capsys):
    """To the bits of one that nothing happened to; other topics are another fit, which is said."""
    monkeypatch.setattr("sparsemix.texts._commands.topics.BLOCK_BYTES", 1000)
    monkeypatch.setattr(_corpus, "LARGE", 0 if where == "disk" else 1 << 30)
    path = write_lines(tmp_path / "corpus", texts, None)[0]
    options = ["topics", path, "--n-components", "3", "--estimator", estimator, "--max-iter", "6"]
    main([*options, "--output", str(tmp_path / "whole"), "--runs", "1"])
    options += ["--output", str(tmp_path / "out"), "--checkpoint", str(tmp_path / "state")]
    revive = killed_after(3, monkeypatch)
    with pytest.raises(Killed):
        main(options)
    revive()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".outputs-0").mkdir()  # as where there was no time to clear it
    capsys.readouterr()
    main(options)
    whole, resumed = (joblib.load(tmp_path / name / "model.joblib")["topics"] for name in ("whole", "out"))
    np.testing.assert_array_equal(whole.components_, resumed.components_)
    assert ".outputs-0 holds files of a run that failed" in capsys.readouterr().err
    options[3] = "4"
    with pytest.raises(SystemExit):
        main([*options, "--force"])
    assert "n_components" in capsys.readouterr().err


def test_texts_above_some_size_go_to_disk(tmp_path, texts, monkeypatch):
    """Packed ones sooner; words in their order, counts and what is not asked for never."""
    path, packed = (write(tmp_path / "corpus", texts, None)[0] for write in (write_lines, write_packed_lines))
    size = os.path.getsize(path)
    read = [path, tmp_path / "scratch"]
    (tmp_path / "scratch").mkdir()

    def folder(path, limit, **options):
        monkeypatch.setattr(_corpus, "LARGE", limit)
        return read_corpus(path, scratch=lambda: str(read[1]), **options).folder

    assert folder(path, size) is None
    assert folder(path, size - 1) == str(read[1])
    assert folder(packed, 4 * os.path.getsize(packed) - 1) == str(read[1])
    assert folder(path, 0, words=Words(in_order=True)) is None
    write_folder(tmp_path / "folder", texts[:5], None)
    assert folder(tmp_path / "folder", 0) == str(read[1])


PEAK = """
import sys, threading, time
from sparsemix.__main__ import main
def anonymous():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon"))
from sparsemix.texts._commands import topics
from sparsemix.texts._reading import corpus
topics.BLOCK_BYTES, corpus.LARGE = 1 << 20, 0
before, most, over = anonymous(), 0, threading.Event()
def watch():
    global most
    while not over.wait(0.01):
        most = max(most, anonymous())
threading.Thread(target=watch).start()
try:
    main(sys.argv[1:])
finally:
    over.set()
print("ADDED", most - before)
"""


def write_abstracts(path, n):
    """Documents of 60 words of 4,000, of 20 kinds."""
    rng = np.random.default_rng(0)
    words = np.array(["".join(rng.choice(list("abcdefghij"), 7)) for _ in range(4000)])
    with path.open("w") as file:
        for i in range(n):
            file.write(" ".join(words[(rng.zipf(1.3, 60) * 7 + 200 * (i % 20)) % 4000]) + "\n")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads Linux' account of memory")
def test_memory_does_not_grow_with_the_texts(tmp_path):
    """What 16,000 documents more add is no more than the manual says of a document and of a token."""
    added, sizes = {}, (4000, 20_000)
    environment = os.environ | {"PYTHONPATH": os.path.dirname(os.path.dirname(sparsemix.__file__))}
    # the allocator of Linux gives back what is freed, so that the peak is what the run holds
    environment |= {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    for n in sizes:
        path = tmp_path / f"{n}.txt"
        write_abstracts(path, n)
        options = ["--max-iter", "2", "--n-components", "20", "--n-jobs", "1", "--output", str(tmp_path / f"out{n}")]
        command = [sys.executable, "-W", "ignore", "-c", PEAK, "topics", str(path), *options]
        out = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        added[n] = int(out.stdout.rpartition(" ")[2])
    more = sizes[1] - sizes[0]
    # 14 MB are blocks, which the few do not fill: 18 to 19 MB are added from disk, and 25 MB in memory
    assert added[sizes[1]] - added[sizes[0]] < more * (400 + 2 * 60) + (14 << 20)
