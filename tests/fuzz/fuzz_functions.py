"""Metrics and readers under random arguments, files and damage."""

import gzip
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
from fuzz_data import draw_counts, draw_rows, dressed
from fuzz_estimators import quiet, said_clearly
from scipy import sparse

from sparsemix import TokenSequences, metrics
from sparsemix.datasets import load_bag_of_words
from sparsemix.texts._reading.corpus import Words, read_corpus

CLEAR = (ValueError, TypeError)
WORST = [b"9" * 30, b"-1", b"nan", b"1e400", b"\n\n", b"[" * 3000, b'"', b"\x00", b"\xff\xfe"]
OF_COUNTS = (
    "topic_coherence", "document_completion", "completion_by_document", "perplexity", "split_by_type", "split_by_token",
)  # fmt: skip
MEASURES = ("npmi", "umass", "c_v", "no such measure")


# Each public metric with random arguments: (random generator, topics, counts, n_top_words) to its value.
METRICS = {
    "topic_coherence": lambda rng, topics, X, n_top: metrics.topic_coherence(
        topics, X, measure=MEASURES[rng.integers(4)], n_top_words=n_top, convention=str(rng.choice(["paper", "gensim"]))
    ),
    "document_completion": lambda rng, topics, X, _: metrics.document_completion(
        topics, X, test_fraction=float(rng.choice([0.0, 0.2, 0.9, 1.0])), split=str(rng.choice(["type", "token"]))
    ),
    "completion_by_document": lambda rng, topics, X, _: metrics.completion_by_document(
        topics, X, test_fraction=float(rng.choice([0.0, 0.2, 0.9, 1.0])), split=str(rng.choice(["type", "token"]))
    ),
    "perplexity": lambda rng, topics, X, _: metrics.perplexity(
        topics, X, doc_topic_prior=float(rng.choice([0.0, 1e-3, 1.0, np.nan]))
    ),
    "split_by_type": lambda _, __, X, ___: metrics.split_by_type(X),
    "split_by_token": lambda _, __, X, ___: metrics.split_by_token(X),
    "topic_diversity": lambda _, topics, __, n_top: metrics.topic_diversity(topics, n_top_words=n_top),
    "topic_exclusivity": lambda _, topics, __, n_top: metrics.topic_exclusivity(topics, n_top_words=n_top),
    "distinctive_words": lambda _, topics, __, n_top: metrics.distinctive_words(topics, n_top_words=n_top),
    "top_words": lambda _, topics, __, n_top: metrics.top_words(topics, n_top_words=n_top),
    "align_topics": lambda _, topics, __, ___: metrics.align_topics(topics, topics[::-1]),
    "mixture_log_likelihood": lambda rng, *_: log_likelihood_of_rows(draw_rows(rng)),
    "basis_without_constant": lambda *arguments: metrics.basis_without_constant(arguments[-1]),
}
# Metrics that may be infinite, as their docstrings say; no metric is NaN.
MAY_BE_INFINITE = ("mixture_log_likelihood",)


def log_likelihood_of_rows(rows):
    d = np.shape(rows)[1]
    return metrics.mixture_log_likelihood(rows, np.full(2, 0.5), np.zeros((2, d)), np.stack([np.eye(d)] * 2))


def try_metric(rng):
    """One metric of random topics and counts: finite, or a clear error."""
    X = draw_counts(rng)
    topics = rng.dirichlet(np.full(np.shape(X)[1], rng.choice([0.01, 1.0])), size=int(rng.integers(1, 6)))
    spoilt = rng.integers(12)
    if spoilt < 3:
        topics[rng.integers(len(topics)), rng.integers(topics.shape[1])] = (np.nan, -1.0, 1e300)[spoilt]
    elif spoilt == 3:
        topics = topics[:, :-1]
    X, wrong = dressed(rng, X)
    n_top = int(rng.choice([-1, 0, 1, 2, 3, 10]))
    name = sorted(METRICS)[rng.integers(len(METRICS))]
    with quiet():
        try:
            value = METRICS[name](rng, topics, X, n_top)
        except CLEAR as error:
            return f"{name} {type(said_clearly(error)).__name__}"
    assert not wrong or name not in OF_COUNTS, f"{name} took a wrong form"
    for array in numbers_in(value):
        assert not np.isnan(array).any(), f"{name} is NaN"
        assert np.isfinite(array).all() or name in MAY_BE_INFINITE, f"{name} is not finite"
    return f"{name} good"


def numbers_in(value):
    """The arrays of floats of what a metric returns."""
    arrays = [part.data if sparse.issparse(part) else np.asarray(part)
              for part in (value if isinstance(value, tuple) else (value,))]  # fmt: skip
    return [array for array in arrays if array.dtype.kind == "f"]


def try_reader(rng):
    """One reader of a file that was damaged."""
    kinds = {"docword.a.txt": uci, "docword.a.txt.gz": uci, "a.txt": lines, "a.jsonl": records, "a.json": records,
             "a.csv": table, "a.tsv": table, "a.txt.gz": lines, "a.npz": matrix}  # fmt: skip
    name = sorted(kinds)[rng.integers(len(kinds))]
    with tempfile.TemporaryDirectory() as folder, quiet():
        path = Path(folder) / name
        content = damaged(rng, kinds[name](rng, name, path))
        if name.startswith("docword"):
            (Path(folder) / "vocab.a.txt").write_bytes(damaged(rng, b"\n".join([b"a", b"b", b"c", b"d"] * 2)))
        path.write_bytes(damaged(rng, gzip.compress(content)) if name.endswith("gz") else content)
        try:
            if name.startswith("docword") and rng.random() < 0.5:
                counts = load_bag_of_words(path)
            else:
                counts = read_corpus(path, words=Words(stop_words=None, min_df=1, max_df=1.0)).counts
        except (*CLEAR, OSError) as error:
            return f"{name} {type(said_clearly(error)).__name__}"
    counts = getattr(counts, "data", counts)
    if hasattr(counts, "indices"):
        assert np.isfinite(counts.data).all()
    return f"{name} good"


def try_sequences(rng):
    """Texts of any characters to sequences and back."""
    texts = [text_of(rng) for _ in range(rng.integers(0, 8))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            reader = TokenSequences(min_df=1)
            X = reader.fit_transform(texts)
            assert X.shape[0] == len(texts)
            again = reader.transform(texts)
        except CLEAR as error:
            return f"TokenSequences {type(said_clearly(error)).__name__}"
    assert (again != X).nnz == 0
    return "TokenSequences good"


def text_of(rng):
    letters = list("abcdefgh   \n\t1_'\",{ä漢\u200d\x00\ud800")
    return "".join(rng.choice(letters, size=rng.integers(0, 40)))


def uci(rng, name, path):  # noqa: ARG001
    n, v = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    X = rng.poisson(1.0, (n, v))
    rows, columns = np.nonzero(X)
    body = "".join(f"{i + 1} {j + 1} {X[i, j]}\n" for i, j in zip(rows, columns, strict=True))
    return f"{n}\n{v}\n{len(rows)}\n{body}".encode()


def lines(rng, name, path):  # noqa: ARG001
    return "\n".join(text_of(rng) for _ in range(rng.integers(0, 9))).encode("utf-8", "surrogatepass")


def records(rng, name, path):  # noqa: ARG001
    n = int(rng.integers(0, 6))
    made = [{"text": text_of(rng), "date": str(rng.integers(1000, 3000)), "n": [1, None]} for _ in range(n)]
    return ("\n".join(map(json.dumps, made)) if name.endswith("l") else json.dumps(made)).encode()


def table(rng, name, path):  # noqa: ARG001
    mark = "\t" if name.endswith("tsv") else ","
    made = [f'"{text_of(rng)}"{mark}2001' for _ in range(rng.integers(0, 6))]
    return "\n".join([f"text{mark}year", *made]).encode("utf-8", "surrogatepass")


def matrix(rng, name, path):  # noqa: ARG001
    sparse.save_npz(path, sparse.csr_array(rng.poisson(1.0, (5, 6))), compressed=bool(rng.integers(2)))
    return path.read_bytes()


def damaged(rng, content):
    """The same bytes, or some of them cut, changed, doubled or put in."""
    content = bytearray(content)
    for _ in range(rng.choice([0, 0, 1, 1, 3])):
        at = int(rng.integers(len(content) + 1))
        kind = rng.integers(5)
        if kind == 0:
            del content[at:]
        elif kind == 1:
            content[at : at + 1] = bytes([rng.integers(256)])
        elif kind == 2:
            content[at:at] = content[at : at + 50]
        elif kind == 3:
            del content[at : at + int(rng.integers(20))]
        else:
            content[at:at] = WORST[rng.integers(len(WORST))]
    return bytes(content)
