"""The command ``sparsemix topics PATH``: topics of a corpus, a model to keep, a table and a report."""

import argparse
import csv
import sys
import time
import warnings
from pathlib import Path

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

import sparsemix
from sparsemix._commands.corpus import KINDS, read_corpus
from sparsemix._commands.report import html_report
from sparsemix._commands.topic_summary import summarize

MAX_HELD_OUT = 1000
# Passes without --max-iter: alone, and when --seconds ends the fit.
MAX_ITER, UNLIMITED = 50, 1_000_000
DESCRIPTION = """Learn topics from PATH: a folder of text files, a text file with a document a line, JSON lines, a UCI
bag of words (docword.NAME.txt[.gz] beside vocab.NAME.txt), or a sparse matrix (.npz) with a vocabulary. The folder
--output gets report.html, topics.csv, and model.pkl: a scikit-learn pipeline, joblib.load(...).transform(texts) gives
the topics of new texts."""


# What --estimator chooses from, and the options that only some of them have.
ESTIMATORS = {"SparseLDA": ("n_nonzero",), "SparseSCVB0LDA": ()}


def estimator(options):
    """The estimator of the option's name, set up from the options."""
    names = ("n_components", "max_iter", "n_jobs", "random_state", *ESTIMATORS[options.estimator])
    model = getattr(sparsemix, options.estimator)(verbose=1, **{name: getattr(options, name) for name in names})
    model._stop_after = options.seconds
    return model


def add_parser(commands):
    """Add the command to those of the command line."""
    parser = commands.add_parser("topics", help="learn topics from your texts or counts", description=DESCRIPTION)
    parser.set_defaults(run=lambda options: run(options, parser))
    add = parser.add_argument
    add("path", metavar="PATH", help="the corpus")
    add("--output", default="sparsemix-topics", metavar="DIR", help="folder to write (default: %(default)s)")
    corpus = parser.add_argument_group("corpus")
    add = corpus.add_argument
    add("--format", choices=KINDS, default="auto", help="what PATH holds (default: by its name)")
    add("--glob", default="*.txt", help="documents of a folder, at any depth (default: %(default)s)")
    add("--field", default="text", help="field of a JSON line with the text (default: %(default)s)")
    add("--vocabulary", metavar="FILE", help="a word a line: the columns of counts, or the only words to take")
    add("--min-df", type=count_or_fraction, default=5, help="words of texts: in so many documents (default: 5)")
    add("--max-df", type=count_or_fraction, default=0.5, help="and in no more than these (default: 0.5, half)")
    add("--stop-words", choices=("english", "none"), default="english", help="words of texts to leave out")
    add_model_options(parser.add_argument_group("model").add_argument)


def add_model_options(add):
    """Options of the estimator and of its evaluation."""
    add("--estimator", choices=tuple(ESTIMATORS), default="SparseSCVB0LDA", help="(default: %(default)s)")
    add("--n-components", type=positive(int), default=100, metavar="K", help="topics (default: %(default)s)")
    add("--n-nonzero", type=positive(int), default=8, metavar="L", help="topics of a word, for SparseLDA (default: 8)")
    add("--max-iter", type=positive(int), help=f"passes (default: {MAX_ITER}, or no limit with --seconds)")
    add("--seconds", type=positive(float), help="stop after the pass in which these are over")
    add("--held-out", type=fraction, default=0.1, help=f"share for the score, {MAX_HELD_OUT} at most (default: 0.1)")
    add("--n-top-words", type=positive(int), default=10, help="words that stand for a topic (default: %(default)s)")
    add("--n-jobs", type=int, default=-1, help="threads (default: all cores)")
    add("--random-state", type=int, default=0, help="seed (default: %(default)s)")


def run(options, parser):
    """Read, learn, tell, write; what is wrong with the input is one sentence and exit code 2."""
    if options.max_iter is None:
        options.max_iter = MAX_ITER if options.seconds is None else UNLIMITED
    try:
        corpus = read_corpus(
            options.path, kind=options.format, glob=options.glob, field=options.field, vocabulary=options.vocabulary,
            min_df=options.min_df, max_df=options.max_df,
            stop_words=None if options.stop_words == "none" else options.stop_words,
        )  # fmt: skip
        output = Path(options.output)
        output.mkdir(parents=True, exist_ok=True)
        learned, held_out = split(corpus.counts.shape[0], options.held_out, options.random_state)
        describe(corpus, learned, held_out, options)
        model, seconds = fit(estimator(options), corpus.counts[learned])
    except (ValueError, OSError, ImportError) as error:
        parser.error(" ".join(str(error).split()))
    names = [corpus.names[i] for i in learned]
    topics = summarize(model, corpus.counts[learned], corpus.feature_names, names, options.n_top_words)
    score = held_out_score(model, corpus.counts[held_out])
    facts = facts_of(corpus, learned, held_out, options, model, seconds, score, topics)
    tell(topics, facts)
    write(output, corpus, model, topics, facts, title=f"Topics of {Path(options.path).resolve().name}")


def split(n_documents, fraction, random_state):
    """Indices of the documents to learn from and of those held out, both in order."""
    n_held_out = min(round(fraction * n_documents), MAX_HELD_OUT, n_documents - 1)
    order = check_random_state(random_state).permutation(n_documents)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def describe(corpus, learned, held_out, options):
    """What has been read."""
    if corpus.n_empty:
        print(f"{corpus.n_empty} documents without a word of the vocabulary are left out")
    print(
        f"{corpus.counts.shape[0]:,} documents, {corpus.counts.sum(dtype=np.float64):,.0f} tokens of "
        f"{corpus.counts.shape[1]:,} words; {options.n_components} topics from {len(learned):,} documents, "
        f"{len(held_out):,} held out",
        flush=True,
    )


def fit(model, X):
    """The fitted model and the seconds it took; an interrupt keeps the passes that are complete."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(X)
        except KeyboardInterrupt:
            if not hasattr(model, "components_"):
                raise
            print("interrupted: the result is that of the passes before", file=sys.stderr)
    return model, time.perf_counter() - start


def held_out_score(model, X):
    """Log-likelihood a token of held-out documents, given part of each."""
    from sparsemix.metrics import document_completion

    return float(document_completion(model, X)) if X.shape[0] else None


def facts_of(corpus, learned, held_out, options, model, seconds, score, topics):
    """Labels and values for the report."""
    return [
        ("documents", f"{len(learned):,} + {len(held_out):,} held out"),
        ("tokens", f"{corpus.counts.sum(dtype=np.float64):,.0f}"),
        ("vocabulary", f"{corpus.counts.shape[1]:,}"),
        ("estimator", options.estimator),
        ("topics (K)", f"{options.n_components:,}"),
        *([("topics of a word (L)", f"{options.n_nonzero:,}")] if hasattr(model, "n_nonzero") else []),
        ("passes", f"{model.n_iter_:,}"),
        ("seconds", f"{seconds:,.1f}"),
        ("held-out log-likelihood a token", "none held out" if score is None else f"{score:.4f}"),
        ("mean coherence (NPMI)", f"{np.mean([topic.coherence for topic in topics]):.4f}"),
    ]


def tell(topics, facts):
    """Topics and numbers on the terminal."""
    print(f"\n{'topic':>5s} {'weight':>7s} {'NPMI':>6s}  most probable words")
    for topic in topics:
        print(f"{topic.index:5d} {topic.weight:7.2%} {topic.coherence:6.3f}  {' '.join(topic.words)}")
    print()
    for label, value in facts:
        print(f"{label:32s} {value}")


def write(output, corpus, model, topics, facts, title):
    """The three files."""
    joblib.dump(Pipeline([("counts", corpus.vectorizer), ("topics", model)]), output / "model.pkl")
    with (output / "topics.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["topic", "weight", "coherence", "words"])
        table.writerows([t.index, f"{t.weight:.6f}", f"{t.coherence:.6f}", " ".join(t.words)] for t in topics)
    curve, label = learning_curve(getattr(model, "history_", []))
    (output / "report.html").write_text(html_report(title, facts, topics, curve, label), encoding="utf-8")
    print(f"\nwritten to {output}: report.html, topics.csv, model.pkl")


def learning_curve(history):
    """Seconds and scores of the passes, and what the score is."""
    for key, label in (("lower_bound_per_token", "Lower bound a token"), ("lower_bound_per_row", "Lower bound a row")):
        points = [(record["seconds"], record[key]) for record in history if np.isfinite(record.get(key, np.nan))]
        if points:
            return points, label
    return [], ""


def positive(kind):
    """Type of an option: a number above zero."""

    def convert(text):
        if not (value := kind(text)) > 0:
            raise argparse.ArgumentTypeError(f"{text} is not above zero")
        return value

    convert.__name__ = kind.__name__  # what argparse calls it when the text is no number
    return convert


def count_or_fraction(text):
    """Type of an option: a number of documents, or a fraction of them."""
    return int(text) if text.isdigit() else float(text)


def fraction(text):
    """Type of an option: from zero to below one."""
    if not 0.0 <= (value := float(text)) < 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value
