"""The command ``sparsemix topics PATH``: fit a topic model to a corpus; write the model, tables and a report."""

import os
import sys
import time
import warnings
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

import sparsemix
from sparsemix import blocks
from sparsemix.extend import interrupts_wait
from sparsemix.texts._commands.conclusion import Learned, conclude
from sparsemix.texts._commands.console import TERMINATED, printable, status_of_interrupt, warn
from sparsemix.texts._commands.effects import fields_of, read_covariates
from sparsemix.texts._commands.options import (
    ESTIMATORS,
    IN_ORDER,
    MAX_HELD_OUT,
    MAX_ITER,
    UNLIMITED,
)
from sparsemix.texts._commands.outputs import Outputs
from sparsemix.texts._commands.quality import MOST_TOKENS, RUNS, Again, NotAgain, default_number, too_many_topics
from sparsemix.texts._commands.seeds import least_number, prior_of_seeds, read_seeds
from sparsemix.texts._reading.corpus import Words, read_corpus
from sparsemix.texts._reading.formats.records import Fields
from sparsemix.topics import consensus_topics, mean_of_fits

# With fewer documents, single passages are held out.
WHOLE_DOCUMENTS = 100
# Fits that start from the consensus of several seeds; their mean is the result.
LAST = 2
# Bytes of a block on disk, and of an entry of the counts.
BLOCK_BYTES, BYTES = 1 << 24, 8


def run(options, parser):
    """Run the command; with --quiet without standard output."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere if options.quiet else sys.stdout):
        topics(options, parser)


def topics(options, parser):
    """Read the corpus, fit, save and print.

    Exit status: 2 for wrong input (one line), 1 if an output could not be made or written, 130 after Ctrl-C before or
    after the fit, 143 after SIGTERM.
    """
    outputs = None
    try:
        with refusals(parser), interrupts_wait():
            outputs = Outputs(options.output, options.force)
        with outputs.all_or_nothing():
            with refusals(parser):
                learned = learn(options, outputs)
            conclude(options, outputs, learned)
    except KeyboardInterrupt:
        if outputs is not None:
            outputs.discard()
        whole = outputs is not None and outputs.published
        what = f"the outputs are in {printable(outputs.folder)}" if whole else "nothing was written"
        parser.exit(status_of_interrupt(), f"{parser.prog}: interrupted; {what}\n")
    if outputs.failed or not outputs.published:
        failed = ", ".join(outputs.failed) or f"the files in {outputs.folder}"
        parser.exit(1, f"{parser.prog}: error: not written: {printable(failed)}\n")
    if TERMINATED:
        whole = f"terminated; the outputs are in {printable(outputs.folder)}"
        parser.exit(status_of_interrupt(), f"{parser.prog}: {whole}\n")
    if outputs.missing:
        missing = "; ".join(outputs.missing)
        parser.exit(1, f"{parser.prog}: error: not made: {missing}; all else is in {printable(outputs.folder)}\n")


@contextmanager
def refusals(parser):
    """Print errors of options, input and the machine in one line, and exit."""
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))
    except MemoryError:
        parser.exit(1, f"{parser.prog}: error: not enough memory; give fewer topics or a larger --min-df\n")


def learn(options, outputs):
    """Read the corpus, fit the model and save it at once."""
    seeds, covariates = read_seeds(options), fields_of(options)
    corpus = read_corpus(
        options.path, kind=options.format, glob=options.glob, encoding=options.encoding,
        fields=Fields(
            options.field, options.id, options.date, options.group, options.date_format, options.sheet, covariates
        ),
        words=Words(
            options.token_pattern, None if options.stop_words == "none" else options.stop_words, options.min_df,
            options.max_df, options.merge_forms, options.phrases, options.vocabulary, options.estimator in IN_ORDER,
            tuple(filter(None, options.skip.split(","))),
        ),
        drop_copies=options.copies == "drop", passages=options.passages, language=options.language,
        scratch=outputs.scratch,
    )  # fmt: skip
    covariates = read_covariates(options, corpus, covariates)
    learned, held_out = split(corpus.numbers, options.held_out)
    changes = " (--n-components changes the number of topics)" if options.n_components is None else ""
    prior = prior_of_seeds(seeds, corpus, options)
    options.n_components = options.n_components or max(default_number(corpus.counts), least_number(seeds))
    if told := too_many_topics(corpus.counts, len(learned), options.n_components):
        corpus.warnings += (told,)
    topics = f"{options.n_components} topics from {len(learned):,} {corpus.unit}s, {len(held_out):,} held out{changes}"
    describe(corpus, topics)
    model = estimator(options, corpus.counts.shape[1], prior)
    watched = watch(model, corpus.counts[held_out[::2]])
    # documents that end the fit must not score it
    scored = held_out[1::2] if watched else held_out
    data = corpus.rows[learned] if corpus.folder is None else shuffled_blocks(corpus, learned, options.random_state)
    model, seconds, again = fit_runs(model, data, options, corpus, watched, outputs)
    # a loaded model transforms texts elsewhere: without this terminal's output and this machine's threads
    model.set_params(verbose=0, n_jobs=None)
    vars(model).pop("_stop_after", None)
    step = "counts" if corpus.sequences is None else "sequences"
    pipeline = Pipeline([(step, corpus.vectorizer), ("topics", model)])
    if prior is not None:
        pipeline.topic_names_ = list(model.topic_names_)  # where sparsemix report writes other names
    outputs.save_model(pipeline)
    model.set_params(n_jobs=options.n_jobs)
    return Learned(corpus, model, seconds, held_out, scored, again, covariates)


def estimator(options, n_words, prior):
    """The estimator, with the parameters of the options. ``prior`` is that of seeded topics, or None."""
    names = ("n_components", "max_iter", "n_jobs", "random_state", *ESTIMATORS[options.estimator])
    parameters = {name: getattr(options, name) for name in names}
    in_order = options.estimator in IN_ORDER
    if options.max_iter is None:
        parameters["max_iter"] = UNLIMITED if options.seconds is not None else MAX_ITER[options.estimator]
    if in_order:
        parameters["n_words"] = n_words  # includes words that only held-out documents have
    if prior is not None:
        parameters["topic_word_prior"] = prior
    model = getattr(sparsemix, options.estimator)(verbose=1, **parameters)
    model._stop_after = options.seconds
    return model


def watch(model, held_out):
    """Arguments for ``fit``: held-out documents that end it, if the estimator and the documents allow that."""
    # a document is scored if it has two different words, so that one can be hidden
    able = hasattr(model, "early_stopping") and (np.diff(held_out.indptr) > 1).any()
    return {"validation_data": held_out} if able else {}


def split(numbers, fraction):
    """Sorted indices of the rows to learn from and of held-out rows, from the numbers of their documents.

    Passages of one document are held out together, unless there are few documents: nothing is learned from those.
    """
    documents = np.unique(numbers, return_inverse=True)[1]
    if documents[-1] + 1 < WHOLE_DOCUMENTS:
        documents = np.arange(len(numbers))
    sizes, n_documents = np.bincount(documents), documents[-1] + 1
    order = np.random.RandomState(0).permutation(n_documents)  # every seed is scored by the same documents
    most = min(round(fraction * len(numbers)), MAX_HELD_OUT, len(numbers) - 1)
    chosen = order[np.cumsum(sizes[order]) <= most]
    if not len(chosen) and most:
        chosen = sizes.argmin()
    held_out = np.isin(documents, chosen)
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def describe(corpus, topics):
    """Print warnings, facts on the corpus, the documents that are left out, and the sizes."""
    for message in corpus.warnings:
        warn(message)
    for what, value in corpus.facts.items():
        print(f"{what}: {printable(value)}")
    for why, n in corpus.left_out.items():
        print(f"left out: {n:,} documents ({why})")
    n_tokens, (n, n_words) = corpus.counts.sum(dtype=np.float64), corpus.counts.shape
    whole = len(np.unique(corpus.numbers))
    of = f" of {whole:,} document{'s' if whole > 1 else ''}" if corpus.is_cut else ""
    print(f"{n:,} {corpus.unit}s{of}, {n_tokens:,.0f} tokens of {n_words:,} words; {topics}", flush=True)


def shuffled_blocks(corpus, learned, random_state):
    """Blocks on disk of the training documents in random order, so that each batch is a sample of all documents."""
    n_blocks = -(-corpus.counts.nnz * BYTES // BLOCK_BYTES)
    print(f"the counts are in {printable(corpus.folder)}; the fit reads {n_blocks:,} blocks", flush=True)
    parts = np.array_split(learned, n_blocks)
    rows = blocks.from_function(n_blocks, lambda i: corpus.counts[parts[i]])
    return blocks.shuffle(rows, Path(corpus.folder, "blocks"), n_blocks=n_blocks, random_state=random_state)


def fit(model, X, kept="the result is that of the last complete epoch", **arguments):
    """The fitted model, its seconds, and whether it was not interrupted. An interrupt keeps the completed epochs.

    ``kept`` says what an interrupt leaves.
    """
    start, whole = time.perf_counter(), True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            if isinstance(X, blocks.Blocks):
                blocks.fit(model, X, **arguments)
            else:
                model.fit(X, **arguments)
        except KeyboardInterrupt:
            if not hasattr(model, "components_"):
                raise
            print(f"interrupted: {kept}", file=sys.stderr)
            whole = False
    return model, time.perf_counter() - start, whole


def number_of_runs(options, corpus):
    """The number of seeds, and why there is only one."""
    if options.runs is not None:
        return options.runs, "one run was asked for"
    if options.estimator in IN_ORDER or options.seconds is not None or options.checkpoint is not None:
        return 1, f"one run with --checkpoint, --seconds and {' and '.join(IN_ORDER)}"
    if corpus.folder is not None or corpus.counts.sum(dtype=np.float64) > MOST_TOKENS:
        return 1, f"more than {MOST_TOKENS:,} words"
    return RUNS, ""


def fit_runs(model, data, options, corpus, watched, outputs):
    """The mean of fits from the consensus of several seeds, the seconds of all fits, and how many seeds find topics.

    After an interrupt or a failure of a later fit, or with one seed, it is the fit of the first seed.
    """
    n_runs, reason = number_of_runs(options, corpus)
    first, seconds, whole = fit(model, data, checkpoint=options.checkpoint, **watched)
    if not whole or n_runs == 1:
        return first, seconds, NotAgain(reason if whole else "the fit was interrupted")
    alone = first, seconds, NotAgain("a fit failed")
    return outputs.attempt(
        "the comparison of several seeds", lambda: fit_more(first, seconds, data, options, watched, n_runs), alone
    )


def fit_more(first, seconds, data, options, watched, n_runs):
    """The mean of fits from the consensus of the first fit and those of other seeds, with seconds and comparison."""
    runs, n_last, start = [first], 1 if options.estimator in IN_ORDER else LAST, first.init_params
    for i in range(1, n_runs + n_last):
        if i == n_runs:
            start = consensus_topics(runs).components
        told = "with another seed" if i < n_runs else "from the consensus of all seeds"
        print(f"run {i + 1} of {n_runs + n_last}, {told}", flush=True)
        seed = (options.random_state + i) % (1 << 32)
        other = clone(first).set_params(random_state=seed, init_params=start, verbose=0)
        other._stop_after = options.seconds
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the first fit has warned
            other, more, whole = fit(other, data, "the topics are those of the first seed", **watched)
        seconds += more
        if not whole:
            return first, seconds, NotAgain("interrupted")
        runs.append(other)
    runs, last = runs[:n_runs], runs[n_runs:]
    final = last[0] if n_last == 1 else mean_of_fits(last)
    # a saved model needs no second table of topics, and its seed is that of the command
    final.set_params(init_params=first.init_params, random_state=options.random_state)
    return final, seconds, Again(final, runs, options.n_top_words)
