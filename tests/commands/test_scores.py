"""The held-out score of the command, and its standard error over test documents."""

import itertools
import json
import re

import numpy as np
import pytest
from scipy import sparse

from sparsemix import SkipGramTopicModel, SparseSCVB0LDA
from sparsemix.__main__ import main
from sparsemix.datasets import make_bars
from sparsemix.metrics import document_completion, split_by_type
from sparsemix.metrics._completion import completion_by_document
from sparsemix.skipgram._input import check_sequences
from sparsemix.texts._commands.quality import UNSEEN, Score, held_out_score, mean_and_error
from sparsemix.texts._commands.topics import split


@pytest.fixture(scope="module")
def lda():
    return SparseSCVB0LDA(5, max_iter=3, random_state=0).fit(make_bars(n_samples=100, random_state=0)[0])


def test_sums_of_documents_are_those_of_each_document_alone(lda):
    X = sparse.csr_matrix(make_bars(n_samples=30, random_state=1)[0])
    X = sparse.vstack([X, X[:1] * 0, sparse.csr_matrix(([3.0], ([0], [2])), (1, X.shape[1]))]).tocsr()
    sums, sizes = completion_by_document(lda, X)
    assert sums.sum() / sizes.sum() == pytest.approx(document_completion(lda, X), rel=1e-12)
    assert sizes[-2:].tolist() == [0, 0]
    for row in range(30):
        assert sums[row] / sizes[row] == pytest.approx(document_completion(lda, X[row]), rel=1e-5)


def test_sums_of_word_sequences_are_those_of_each_document_alone():
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 12, n) for n in (9, 1, 14, 3, 40)]
    model = SkipGramTopicModel(3, n_words=12, max_iter=2, random_state=0).fit(rows)
    sums, sizes = model.score_by_document(rows)
    assert sizes[1] == 0
    assert sums.sum() / sizes.sum() == pytest.approx(model.score(rows), rel=1e-12)
    for row in (0, 2, 3, 4):
        assert sums[row] / sizes[row] == pytest.approx(model.score([rows[row]]), rel=1e-6)
    score = held_out_score(model, check_sequences(model, rows, 12)[0])
    assert (score.mean, score.n_documents) == (pytest.approx(model.score(rows)), 4)


def test_the_standard_error_is_the_spread_of_means_of_other_documents():
    """Draws of as many documents from one distribution, in which long documents score higher."""
    rng = np.random.default_rng(0)

    def draw(n=200):
        sizes = rng.poisson(5, n) + 1.0
        return sizes * rng.normal(-6 + 0.1 * sizes, 1.0), sizes

    means, errors = zip(*(mean_and_error(*draw()) for _ in range(2000)), strict=True)
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.06)
    assert mean_and_error(np.array([-12.0]), np.array([2.0])) == (-6.0, None)
    sums = np.array([-5.0, -7.0, -9.0])  # of equal sizes: the textbook's standard error
    assert mean_and_error(sums, np.ones(3))[1] == pytest.approx(sums.std(ddof=1) / np.sqrt(3))


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (Score(-6.5, 0.02, 400), "-6.5000 ± 0.0200 (standard error over 400 test documents)"),
        (Score(-6.5, None, 1), "-6.5000 (one test document: do not compare runs by it)"),
        (Score(-6.5, 0.02, 400, "", -6.75, 0.01),
         "-6.5000 ± 0.0200 (standard error over 400 test documents; word frequencies alone: -6.7500)"),
        (Score(None, reason="none held out"), "none held out"),
    ],
)  # fmt: skip
def test_a_score_that_compares_nothing_says_so_in_its_line(score, text):
    assert str(score) == text


def test_the_gain_is_over_the_frequencies_of_training_words_on_the_same_hidden_words(lda):
    X = sparse.csr_matrix(make_bars(n_samples=30, random_state=1)[0])
    frequencies = np.arange(X.shape[1], dtype=float)
    score, (_, hidden) = held_out_score(lda, X, frequencies), split_by_type(X)
    logs = np.log((frequencies + UNSEEN) / (frequencies + UNSEEN).sum())
    assert score.mean == pytest.approx(document_completion(lda, X))
    assert score.alone == pytest.approx((hidden @ logs).sum() / hidden.sum(), rel=1e-6)
    assert 0 < score.gain_error < score.mean - score.alone
    assert score.warning == ""
    assert "no better (-6.5000) than word frequencies do (-6.5050)" in Score(-6.5, 0.02, 9, "", -6.505, 0.01).warning
    assert Score(-6.5, None, 1, "", -6.4).warning == Score(-6.5, 0.1, 9).warning == ""


def test_the_command_warns_of_topics_that_predict_no_better_than_frequencies(tmp_path, capsys):
    rng = np.random.default_rng(0)
    words = ["".join(letters) for letters in itertools.product("bdfg", "aeio", "klmn")]
    (tmp_path / "noise.txt").write_text("\n".join(" ".join(rng.choice(words, 12)) for _ in range(300)))
    options = ["--output", str(tmp_path / "out"), "--topics", "9", "--stop-words", "none"]
    main(["topics", str(tmp_path / "noise.txt"), *options])
    out, err = capsys.readouterr()
    (told,) = re.findall(r"warning: (topics predict .*)", err)
    assert told.endswith("; give fewer topics by --n-components, or more text")
    assert re.search(f"^warning +{re.escape(told)}$", out, re.MULTILINE)
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert told in run["warnings"]
    alone = run["scores"]["test_log_likelihood_per_token_of_word_frequencies"]
    assert f"word frequencies alone: {alone:.4f})" in run["facts"]["test log-likelihood per token"]


def test_the_command_prints_and_records_the_error(tmp_path, capsys):
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(["apple pear plum", "lake ocean brook"][i % 2].split(), 4)) for i in range(150)]
    (tmp_path / "titles.txt").write_text("\n".join(lines))
    main(["topics", str(tmp_path / "titles.txt"), "--output", str(tmp_path / "out"), "--n-components", "2"])
    (line,) = re.findall(r"test log-likelihood per token +(.*)", capsys.readouterr().out)
    scores = json.loads((tmp_path / "out" / "run.json").read_text())["scores"]
    mean, error = scores["test_log_likelihood_per_token"], scores["test_log_likelihood_per_token_standard_error"]
    assert line.startswith(f"{mean:.4f} ± {error:.4f} (standard error over {scores['test_documents']} test documents")
    assert line in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_every_seed_holds_out_the_same_documents(tmp_path, capsys):
    (tmp_path / "texts.txt").write_text("\n".join(["apple pear plum", "lake ocean brook"] * 30))
    held = []
    for seed in ("0", "1"):
        main(["topics", str(tmp_path / "texts.txt"), "--output", str(tmp_path / seed), "--random-state", seed,
              "--n-components", "2", "--max-iter", "2"])  # fmt: skip
        rows = (tmp_path / seed / "documents.csv").read_text().splitlines()[1:]
        held.append([row.split(",")[5] for row in rows])
    assert held[0] == held[1]
    assert held[0].count("1") == 6
    learned, held_out = split(np.arange(60), 0.1)
    assert sorted([*learned, *held_out]) == list(range(60))
    assert capsys.readouterr().err.count("Traceback") == 0
