"""What the scripts of this folder share: options, corpora, and the table of claims that each ends in."""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from _report import print_table
from _results import add_options, recorder
from scipy import sparse

from sparsemix.datasets import fetch_bag_of_words, load_bag_of_words, load_docstrings

CLAIMS = "papers"  # the table of committed results


class Paper:
    """One run: options, corpora, claims."""

    def __init__(self, key, documentation, arguments=None):
        parser = argparse.ArgumentParser(
            description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument("--data", metavar="FOLDER", help="with UCI bags of words, docword.NAME.txt[.gz]")
        parser.add_argument("--fetch", action="store_true", help="download the bags of words that are not there")
        parser.add_argument("--quick", action="store_true", help="a small part of everything: shows that it runs")
        add_options(parser)
        self.options = parser.parse_args(arguments)
        self.quick = self.options.quick
        self.key, self.record, self.claims = key, recorder(self.options), []

    def sized(self, whole, quick):
        """A size, by what was asked for."""
        return quick if self.quick else whole

    def counts(self, name, n_documents=None):
        """(what it is, CSR) of a corpus; docstrings, which come with this library, where it is not to be had."""
        paths = [Path(self.options.data or ".", f"docword.{name}.txt{packed}") for packed in ("", ".gz")]
        found = [path for path in paths if self.options.data and path.exists()]
        if found:
            X = load_bag_of_words(found[0], vocabulary=False).data
        elif self.options.fetch:
            X = fetch_bag_of_words(name).data
        else:
            name, X = "docstrings", load_docstrings().data
        X = sparse.csr_matrix(X)
        X = X[np.diff(X.indptr) > 0]
        if n_documents is not None and n_documents < X.shape[0]:
            X = X[np.sort(np.random.default_rng(0).permutation(X.shape[0])[:n_documents])]
        X = X[:, np.flatnonzero(X.getnnz(axis=0))]
        return f"{name}, {X.shape[0]:,} documents", X

    def claim(self, text, published, ours, reproduced, *, corpus, why="", **scores):
        """Say whether a claim holds here: True, False, or None for in part; ``scores`` are the numbers it rests on."""
        outcome = {True: "yes", False: "no", None: "in part"}[reproduced if reproduced is None else bool(reproduced)]
        claim = {"text": text, "published": published, "ours": ours, "reproduced": outcome, "why": why}
        self.claims.append([text, published, ours, outcome, why])
        if not self.quick:
            self.record.add(CLAIMS, corpus, self.key, {k: float(v) for k, v in scores.items()}, label=text, claim=claim)

    def end(self):
        """The table."""
        print_table(self.key, ["claim", "published", "ours", "reproduced", "why"], self.claims, n_left=5)


def spent(function):
    """What a function returns, and processor seconds."""
    begun = time.process_time()
    result = function()
    return result, time.process_time() - begun


def say(*words):
    """A line on stderr, as the run continues."""
    print(*words, file=sys.stderr, flush=True)


def split_tokens(X, share, seed=0):
    """Every token goes to the test half with probability ``share``: training and test counts of the same documents."""
    test = X.copy()
    test.data = np.random.default_rng(seed).binomial(X.data.astype(np.int64), share).astype(X.dtype)
    train = X - test
    train.eliminate_zeros()
    test.eliminate_zeros()
    return train.tocsr(), test.tocsr()


def log_likelihood(theta, topics, X):
    """Mean log-probability of the tokens of X in the same documents, sum_k theta_dk phi_kv each."""
    total = 0.0
    for d in range(X.shape[0]):
        entries = slice(X.indptr[d], X.indptr[d + 1])
        total += X.data[entries] @ np.log(theta[d] @ topics[:, X.indices[entries]])
    return float(total / X.data.sum())


def mean_and_error(values):
    """For people: mean and standard error."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{values.mean():.4f} ± {error:.4f}"
