"""The command ``sparsemix topics PATH``: fit a topic model to a corpus; write the model, tables and a report."""

import platform
import shlex
import sys
import time
import warnings
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

import sparsemix
from sparsemix import blocks
from sparsemix._commands.alike import fillers, likenesses, overlap
from sparsemix._commands.console import printable, warn
from sparsemix._commands.outputs import DOCUMENTS, REPORT, RUN, TOPICS, VECTORS, WORDS, Outputs, cell
from sparsemix._commands.reading.corpus import READING, Words, read_corpus
from sparsemix._commands.reading.formats.records import Fields
from sparsemix._commands.reading.spool import Kept
from sparsemix._commands.scores import held_out_score, scored_unit
from sparsemix._commands.tables.documents import DocumentsTable
from sparsemix._commands.tables.strata import strata_tables, trends
from sparsemix._commands.tables.words import WORD_COLUMNS, word_rows
from sparsemix._commands.topics_options import (
    DESCRIPTION,
    DOCUMENTS_OF_A_TOPIC,
    ESTIMATORS,
    IN_ORDER,
    MAX_HELD_OUT,
    MAX_ITER,
    MOST_TOPICS,
    ROOT_OF_A_TOPIC,
    UNLIMITED,
    USAGE,
    add_options,
)
from sparsemix._engine.threads import interrupts_wait
from sparsemix._report import report
from sparsemix.skipgram._vectors import word2vec_lines

# With fewer tokens per topic, topics would be noise. Texts with fewer tokens than SHORT on average need more: two fits
# to titles of manual pages agree in 0.67 (mean Bhattacharyya coefficient) with 500 tokens per topic, in 0.8 with 1,500.
LEAST_TOKENS, LEAST_OF_SHORT, SHORT = 100, 1000, 10
# Bytes of a block on disk, and of an entry of the counts.
BLOCK_BYTES, BYTES = 1 << 24, 8
# Words that a run proposes to skip.
MOST_FILLERS = 10


def add_parser(commands):
    """Add the subcommand ``topics``."""
    parser = commands.add_parser(
        "topics", help="learn topics from texts or word counts", usage=USAGE, description=DESCRIPTION
    )
    add_options(parser)

    def start(options):
        options.given = {
            f"--{name.replace('_', '-')}" for name, value in vars(options).items() if value != parser.get_default(name)
        }
        run(options, parser)

    parser.set_defaults(run=start)


def run(options, parser):
    """Read the corpus, fit, save and print.

    Exit status: 2 for wrong input (one line), 1 if an output could not be written, 130 after an interrupt.
    """
    outputs = None
    try:
        with refusals(parser), interrupts_wait():
            outputs = Outputs(options.output, options.force, options.model_format)
        with outputs.all_or_nothing():
            with refusals(parser):
                learned = learn(options, outputs)
            conclude(options, outputs, *learned)
    except KeyboardInterrupt:
        what = "nothing was written"
        if outputs is not None:
            outputs.discard()
            what = f"the outputs are in {printable(outputs.folder)}" if outputs.published else what
        parser.exit(130, f"{parser.prog}: interrupted; {what}\n")
    if outputs.failed:
        parser.exit(1, f"{parser.prog}: error: not written: {', '.join(outputs.failed)}\n")


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
    corpus = read_corpus(
        options.path, kind=options.format, glob=options.glob, encoding=options.encoding,
        fields=Fields(options.field, options.id, options.date, options.group),
        words=Words(
            options.token_pattern, None if options.stop_words == "none" else options.stop_words, options.min_df,
            options.max_df, options.merge_forms, options.phrases, options.vocabulary, options.vectorizer,
            options.gaps if options.estimator in IN_ORDER else None, tuple(filter(None, options.skip.split(","))),
        ),
        copies=options.copies, passages=options.passages, where=options.counts, scratch=outputs.scratch,
    )  # fmt: skip
    if options.n_components is None:
        options.n_components = number_of_topics(corpus)
    learned, held_out = split(corpus.counts.shape[0], options.held_out)
    corpus = replace(corpus, warnings=(*corpus.warnings, *too_many_topics(corpus, len(learned), options.n_components)))
    describe(corpus, learned, held_out, options)
    model = estimator(options, corpus.counts.shape[1])
    watched = watch(model, corpus.counts[held_out[::2]])
    # documents that end the fit must not score it
    scored = held_out[1::2] if watched else held_out
    data = corpus.rows[learned] if corpus.folder is None else shuffled_blocks(corpus, learned, options.random_state)
    model, seconds = fit(model, data, checkpoint=options.checkpoint, **watched)
    # a loaded model transforms texts elsewhere: without this terminal's output and this machine's threads
    model.set_params(verbose=0, n_jobs=None)
    vars(model).pop("_stop_after", None)
    step = "counts" if corpus.sequences is None else "sequences"
    outputs.save_model(Pipeline([(step, corpus.vectorizer), ("topics", model)]))
    model.set_params(n_jobs=options.n_jobs)
    return corpus, model, seconds, held_out, scored


def number_of_topics(corpus):
    """The default number of topics: at least two, and as many as the corpus has words and documents for."""
    root, n_documents = np.sqrt(corpus.counts.sum(dtype=np.float64)), corpus.counts.shape[0]
    most = root**2 // least_tokens(corpus)
    return int(max(2, min(root // ROOT_OF_A_TOPIC, n_documents // DOCUMENTS_OF_A_TOPIC, most, MOST_TOPICS)))


def least_tokens(corpus):
    """Tokens that a topic needs; more in short documents, where few words occur together."""
    short = corpus.counts.sum(dtype=np.float64) < SHORT * corpus.counts.shape[0]
    return LEAST_OF_SHORT if short else LEAST_TOKENS


def estimator(options, n_words):
    """The estimator, with the parameters of the options."""
    names = ("n_components", "max_iter", "n_jobs", "random_state", *ESTIMATORS[options.estimator])
    parameters = {name: getattr(options, name) for name in names}
    in_order = options.estimator in IN_ORDER
    if options.max_iter is None:
        parameters["max_iter"] = UNLIMITED if options.seconds is not None else MAX_ITER[options.estimator]
    if in_order:
        parameters["n_words"] = n_words  # includes words that only held-out documents have
    model = getattr(sparsemix, options.estimator)(verbose=1, **parameters)
    model._stop_after = options.seconds
    return model


def watch(model, held_out):
    """Arguments for ``fit``: held-out documents that end it, if the estimator and the documents allow that."""
    if not hasattr(model, "early_stopping") or not can_be_scored(held_out):
        return {}
    return {"validation_data": held_out}


def can_be_scored(X):
    """Whether some document has two different words, so that one can be hidden."""
    return bool((np.diff(X.indptr) > 1).any())


def split(n_documents, fraction):
    """Sorted indices of the training documents and of the held-out documents."""
    n_held_out = min(round(fraction * n_documents), MAX_HELD_OUT, n_documents - 1)
    order = np.random.RandomState(0).permutation(n_documents)  # every seed is scored by the same documents
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def describe(corpus, learned, held_out, options):
    """Print the sizes of the corpus, the omitted documents, and warnings."""
    for message in (*corpus.warnings, *without_effect(options, corpus)):
        warn(message)
    for what, value in corpus.facts.items():
        print(f"{what}: {printable(value)}")
    for what, n in corpus.left_out.items():
        print(f"{n:,} {what} are left out")
    n_tokens = corpus.counts.sum(dtype=np.float64)
    print(
        f"{corpus.counts.shape[0]:,} documents, {n_tokens:,.0f} tokens of {corpus.counts.shape[1]:,} words; "
        f"{options.n_components} topics from {len(learned):,} documents, {len(held_out):,} held out"
        + ("" if "--n-components" in options.given else " (--n-components changes the number of topics)"),
        flush=True,
    )


def too_many_topics(corpus, n_learned, n_components):
    """A warning if topics have so few words that they are noise."""
    n_tokens, least = corpus.counts.sum(dtype=np.float64), least_tokens(corpus)
    most = max(2, min(n_learned // 2, int(n_tokens / least)))
    if n_components > most and (n_components > n_learned or n_tokens < least * n_components):
        yield (
            f"{n_components} topics are too many for {n_learned:,} documents of {n_tokens:,.0f} words"
            f"{', which are short' if least > LEAST_TOKENS else ''}: they change with --random-state; "
            f"give --n-components {most} or fewer"
        )


def without_effect(options, corpus):
    """Warnings of options that were given and have no effect on this input or estimator."""
    of_estimators = {f"--{name.replace('_', '-')}" for names in ESTIMATORS.values() for name in names} | {"--gaps"}
    used = {f"--{name.replace('_', '-')}" for name in ESTIMATORS[options.estimator]} | corpus.used
    used |= {"--gaps"} if options.estimator in IN_ORDER else set()
    for option in sorted(((READING | of_estimators) & options.given) - used):
        yield f"{option} has no effect with this input, format and estimator"


def shuffled_blocks(corpus, learned, random_state):
    """Blocks on disk of the training documents in random order, so that each batch is a sample of all documents."""
    n_blocks = -(-corpus.counts.nnz * BYTES // BLOCK_BYTES)
    print(f"the counts are in {printable(corpus.folder)}; the fit reads {n_blocks:,} blocks", flush=True)
    parts = np.array_split(learned, n_blocks)
    rows = blocks.from_function(n_blocks, lambda i: corpus.counts[parts[i]])
    return blocks.shuffle(rows, Path(corpus.folder, "blocks"), n_blocks=n_blocks, random_state=random_state)


def fit(model, X, **arguments):
    """The fitted model and its seconds. An interrupt keeps the completed epochs."""
    start = time.perf_counter()
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
            print("interrupted: the result is that of the last complete epoch", file=sys.stderr)
    return model, time.perf_counter() - start


# -- after the model is saved


def conclude(options, outputs, corpus, model, seconds, held_out, scored):
    """Write scores, tables and the report, then publish all files. A file that fails does not stop later files."""
    score = held_out_score(model, corpus.rows[scored])
    facts = facts_of(corpus, held_out, scored, options, model, seconds, score)
    documents = DocumentsTable(corpus, held_out)
    title = f"Topics of {'standard input' if options.path == '-' else Path(options.path).resolve().name}"
    page = report(
        model, corpus.rows, corpus.vectorizer, documents=corpus.texts, names=Kept(corpus.inputs.names, corpus.numbers),
        dates=corpus.dates, groups=corpus.groups, title=printable(title), facts=facts,
        observe=documents.add,
    )  # fmt: skip
    page.data["load"] = load_text(outputs.folder / outputs.model)
    table = page.table(options.n_top_words)
    for fact in mark_alike(table, page.data["topics"], model, corpus):
        facts.append(fact)
        page.data["facts"].append([*fact])
    coherent = [row["coherence"] for row in table if row["coherence"] is not None]
    if coherent:
        coherence = f"{np.mean(coherent):.4f}"
        facts.append(("mean coherence (NPMI)", coherence))
        page.data["facts"].append(["mean coherence (NPMI)", coherence])
    columns = ["topic", "weight", "coherence", "words", "relevant_words", "repeats", "name"]
    columns += ["rising_words", "falling_words"] if corpus.dates else []
    rows = zip(table, page.data["topics"], strict=True)
    outputs.write_table(TOPICS, columns, (topic_row(row) + trends(topic, page.data) for row, topic in rows))
    outputs.write(DOCUMENTS, documents.copy_to)
    outputs.write(REPORT, lambda file: file.write(page.html().encode()))
    for name, columns, rows in strata_tables(page.data):
        outputs.write_table(name, columns, rows)
    if hasattr(model, "word_topics_"):
        outputs.write_table(WORDS, WORD_COLUMNS, word_rows(model, corpus))
        outputs.write(
            VECTORS, lambda file: file.writelines(word2vec_lines(corpus.feature_names, model.word_vectors_))
        )
    outputs.write_json(RUN, record_of(options, corpus, model, seconds, score, coherent, facts))
    outputs.publish()
    tell(table, facts)
    print(f"\nwritten to {printable(outputs.folder)}: {', '.join(outputs.written)}")


def facts_of(corpus, held_out, scored, options, model, seconds, score):
    """Labels and values for the report and the terminal, without the sizes that every report has."""
    for_test = ", half of them for the test" if len(scored) < len(held_out) else ""
    return [
        ("held out", f"{len(held_out):,} documents{for_test}"),
        ("estimator", options.estimator),
        *([("topics per word (L)", f"{options.n_nonzero:,}")] if hasattr(model, "n_nonzero") else []),
        *([("window", f"{options.window:,} words on each side")] if hasattr(model, "window") else []),
        ("epochs", f"{model.n_iter_:,}{passes_remark(model)}"),
        ("seconds", f"{seconds:,.1f}"),
        (f"test log-likelihood per {scored_unit(model)}", str(score)),
        *corpus.facts.items(),
        *((f"left out: {what}", f"{n:,}") for what, n in corpus.left_out.items()),
        *(("warning", message) for message in corpus.warnings),
    ]


def passes_remark(model):
    """Why the fit ended."""
    if hasattr(model, "stop_reason_"):
        return f": {model.stop_reason_}"
    return ", converged" if getattr(model, "converged_", False) else ""


def topic_row(row):
    """A row of topics.csv."""
    coherence = "" if row["coherence"] is None else f"{row['coherence']:.6f}"
    words = (cell(listed(row[key])) for key in ("words", "relevant_words"))
    return [row["topic"], f"{row['weight']:.6f}", coherence, *words, row["repeats"] or "", cell(row["name"])]


def listed(words):
    """Words separated by spaces; spaces inside them, as of a user's vectorizer, become underscores."""
    return " ".join("_".join(word.split()) or "_" for word in words)


def mark_alike(table, records, model, corpus):
    """Mark the topics that repeat another one or the whole corpus. Return facts on them, and on fillers."""
    order = [row["topic"] for row in table]
    repeated = likenesses(model.components_, corpus.counts.sum(axis=0, dtype=np.float64).A1, order)
    for row in (*table, *records):
        found = repeated[row["id"] if "id" in row else row["topic"]]
        row["repeats"] = f"topic {found}" if isinstance(found, int) else found
    facts, n_alike = [], sum(found is not None for found in repeated)
    if n_alike:
        advice = f"{n_alike} repeat others or the corpus; try --n-components {max(2, len(table) - n_alike)}"
        facts.append(("distinct topics", f"{len(table) - n_alike} of {len(table)}; {advice}"))
    listed = [row["words"] for row in table]
    found = fillers(listed)[:MOST_FILLERS]
    skip = ",".join(word for word, _ in found)
    if found:
        some = ", ".join(f"{word} ({n})" for word, n in found)
        facts.append(("words of many topics", f"{some}; to fit without them, add --force --skip {skip}"))
    if common := overlap(listed, corpus.counts.shape[1]):
        remedy = f", or leave out these words: --skip {skip}" if skip else ""
        fewer = max(2, len(table) // 2)
        facts.append(("warning", f"topics overlap: {common}; give fewer topics: --n-components {fewer}{remedy}"))
    return facts


def record_of(options, corpus, model, seconds, score, coherent, facts):
    """Contents of run.json: options, versions, sizes and scores of the run."""
    return {
        "command": shlex.join(["sparsemix", *sys.argv[1:]]),
        "options": {name: value for name, value in vars(options).items() if name not in ("run", "command", "given")},
        "versions": {
            "sparsemix": sparsemix.__version__, "scikit-learn": sklearn.__version__, "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "estimator": {type(model).__name__: model.get_params()},
        "input_documents": len(corpus.inputs),
        "documents": corpus.counts.shape[0],
        "tokens": float(corpus.counts.sum(dtype=np.float64)),
        "vocabulary": corpus.counts.shape[1],
        "left_out": corpus.left_out,
        "warnings": list(corpus.warnings),
        "seconds": round(seconds, 3),
        "scores": {
            **score.record(scored_unit(model)),
            "mean_coherence_npmi": float(np.mean(coherent)) if coherent else "not available",
        },
        "history": [{name: value for name, value in step.items() if value == value} for step in model.history_],
        "facts": dict(facts),
    }  # fmt: skip


def load_text(path):
    """Python code that loads the model."""
    if path.suffix == ".skops":
        load = (
            "import skops.io as sio\n\n"
            f"types = sio.get_untrusted_types(file={printable(path)!r})  # look at them before you trust them\n"
            f"pipeline = sio.load({printable(path)!r}, trusted=types)\n"
        )
    else:
        load = f"import joblib\n\npipeline = joblib.load({printable(path)!r})  # only load files that you trust\n"
    return load + 'pipeline.transform(["a new text"])  # the share of each topic in it'


def tell(table, facts):
    """Print topics and facts."""
    print(f"\n{'topic':>5s} {'weight':>7s} {'NPMI':>6s}  most probable words")
    for row in table:
        coherence = "" if row["coherence"] is None else f"{row['coherence']:.3f}"
        like = f"  (like {row['repeats']})" if row["repeats"] else ""
        print(f"{row['topic']:5d} {row['weight']:7.2%} {coherence:>6s}  {printable(listed(row['words']))}{like}")
    print()
    width = max(32, *(len(label) for label, _ in facts))
    for label, value in facts:
        print(f"{label:{width}s} {printable(value)}")
