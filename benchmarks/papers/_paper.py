"""Shared parts of these scripts: options, corpora, and the table of claims at the end."""

import json
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from _clock import Clock, observe
from _results import keep_lines, parser_of, recorder
from _topics_tasks import corpus
from sklearn.exceptions import ConvergenceWarning

CLAIMS, CURVES = "papers", "papers-curves"  # tables of committed results


class Paper:
    """One run: options, corpora, claims.

    Parameters
    ----------
    key : str
        Name of the paper in records.
    documentation : str
    sizes : dict of dict
        For each section of the script, by name: its sizes, each a pair: of the whole measurement, and of ``--quick``.
        Records have those of their section.
    """

    def __init__(self, key, documentation, sizes, arguments=None):
        parser = parser_of(documentation)
        parser.add_argument("--data", metavar="FOLDER", help="with UCI bags of words, docword.NAME.txt[.gz]")
        parser.add_argument("--quick", action="store_true", help="a small part of everything: shows that it runs")
        parser.add_argument("--only", metavar="SECTION", nargs="+", choices=list(sizes), default=list(sizes))
        self.options = parser.parse_args(arguments)
        self.quick = self.options.quick
        self.key, self.record, self.claims, self.sizes, self.section = key, recorder(self.options), [], sizes, None
        self.done = []

    def run(self, *sections, **cases):
        """Call the functions of the chosen sections, and of sections that are cases of one function; show the table."""
        for name, function in ({section.__name__: section for section in sections} | cases).items():
            if name in self.options.only:
                self.section = name
                say(name)
                function(self)
        self.end()

    def size(self, name):
        """A size of the current section, by what was asked for."""
        return self.sizes[self.section][name][self.quick]

    def counts(self, name, n_documents=None):
        """(what it is, CSR) of a corpus; docstrings of installed packages if it is not available."""
        paths = [Path(self.options.data or ".", f"docword.{name}.txt{packed}") for packed in ("", ".gz")]
        found = [path for path in paths if self.options.data and path.exists()]
        name, X = corpus(found[0] if found else None)
        if n_documents is not None and n_documents < X.shape[0]:
            X = X[np.sort(np.random.default_rng(0).permutation(X.shape[0])[:n_documents])]
        X = X[:, np.flatnonzero(X.getnnz(axis=0))]
        return f"{name}, {X.shape[0]:,} documents", X

    def claim(self, text, published, ours, reproduced, *, where, corpus, why="", kind="claim", **scores):
        """Say whether a claim holds here.

        Parameters
        ----------
        text, published, ours : str
            The claim, what the paper says, and what was measured.
        reproduced : bool, None or str
            None is "in part"; or "undecided", see ``judge``.
        where : str
            Figure, table or section of the paper.
        corpus, why : str
        kind : {"claim", "ablation"}
            An ablation is ours: the paper does not claim it. Pages have a table of their own for it.
        **scores : float
            Numbers that ``ours`` rests on.
        """
        outcome = {True: "yes", False: "no", None: "in part"}
        reproduced = reproduced if reproduced in (None, "undecided") else outcome[bool(reproduced)]
        claim = {"where": where, "text": text, "published": published, "ours": ours,
                 "reproduced": reproduced or outcome[None], "why": why, "kind": kind}  # fmt: skip
        self.claims.append(list(claim.values()))
        parameters = parameters_of(self.sizes, self.section)
        self.done.append((corpus, text, json.loads(json.dumps(parameters))))  # as they are read again
        if not self.quick:
            self.record.add(CLAIMS, corpus, self.key, {k: float(v) for k, v in scores.items()}, label=text, claim=claim,
                            parameters=parameters)  # fmt: skip

    def curve(self, corpus, label, scores, **fields):
        """Keep a curve, or numbers for a table of curves, of the current section."""
        if not self.quick:
            fields = {"parameters": parameters_of(self.sizes, self.section)} | fields
            self.record.add(CURVES, corpus, self.key, scores, label=label, **fields)

    def end(self):
        """The table; a whole run also removes committed claims that the script no longer makes."""
        print(self.key)
        for where, text, published, ours, reproduced, why, kind in self.claims:
            holds = "reproduced" if kind == "claim" else f"{kind}, holds"
            print(f"{where}: {text}\n  {holds}: {reproduced}; published: {published}; ours: {ours}. {why}")
        if self.record.folder and not self.quick and self.options.only == list(self.sizes):
            keep_lines(CLAIMS, lambda line: line["estimator"] != self.key or self.made(line), self.record.folder)

    def made(self, line):
        """Whether this run has made a committed claim."""
        return (line["corpus"], line["label"], line["parameters"]) in self.done


def parameters_of(sizes, section):
    """The sizes of a section of a whole measurement, with its name, as records have them."""
    return {"section": section} | {name: whole for name, (whole, _) in sizes[section].items()}


def judge(gain, error):
    """Whether a gain is one: True or False above two standard errors, else "undecided"."""
    return "undecided" if abs(gain) <= 2 * error else gain > 0


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


def moments(values):
    """Mean and standard error; no error of a single value."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(np.mean(values)), float(error)


def shown(values):
    """Mean and standard error as text."""
    mean, error = moments(values)
    return f"{mean:.4f} ± {error:.4f}" if len(values) > 1 else f"{mean:.4f}"


def listed(values, form):
    return ", ".join(f"{name}: {format(value, form)}" for name, value in values.items())


def because(verdict, reason):
    """Why a claim is not reproduced, if it is not."""
    return "" if verdict is True else reason


def quietly(estimator, X):
    """Fit without warnings about convergence: the script fixes the number of epochs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X)


def curve_of(estimator, X, score, budget=None, result=lambda model: model, begin=False):
    """A dictionary of scores with seconds of the processor and number of epochs, after each epoch of a fit.

    ``begin`` counts the seconds of the initialisation. The fit ends after the epoch in which a budget is spent.
    """
    clock = Clock(budget, lambda fitted: (score(fitted),), of_processor=True, growth=0)
    if begin:
        clock.begin()
    quietly(estimator.set_callbacks(observe(clock, result)), X)
    estimator.set_callbacks()
    return [{"passes": passes, "seconds": seconds, **scores} for passes, seconds, scores in clock.checkpoints]
