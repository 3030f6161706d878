"""The end of ``sparsemix topics``: scores, tables, the report, and what is printed."""

import platform
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sklearn

import sparsemix
from sparsemix._commands.console import printable
from sparsemix._commands.outputs import DOCUMENTS, REPORT, RUN, TOPICS, VECTORS, WORDS, cell
from sparsemix._commands.quality.again import LABEL, Again
from sparsemix._commands.quality.alike import mark_alike
from sparsemix._commands.quality.scores import held_out_score, scored_unit
from sparsemix._commands.reading.spool import Kept
from sparsemix._commands.tables.documents import DocumentsTable
from sparsemix._commands.tables.strata import strata_tables, trends
from sparsemix._commands.tables.words import WORD_COLUMNS, word_rows
from sparsemix._report import report
from sparsemix.skipgram._vectors import word2vec_lines


@dataclass(frozen=True)
class Learned:
    """A fitted model, the corpus, and the documents that were held out, and scored.

    ``again`` compares with a fit of another seed, or is the reason why there is none. ``most_topics`` is the number of
    topics that a warning before the fit advised, or None.
    """

    corpus: object
    model: object
    seconds: float
    held_out: np.ndarray
    scored: np.ndarray
    again: Again | str
    most_topics: int | None


def conclude(options, outputs, learned):
    """Write scores, tables and the report, then publish all files. A file that fails does not stop later files."""
    corpus, model = learned.corpus, learned.model
    score = held_out_score(model, corpus.rows[learned.scored])
    facts = facts_of(learned, options, score)
    documents = DocumentsTable(corpus, learned.held_out)
    page = page_of(learned, options, facts, documents)
    page.data["load"] = load_text(outputs.folder / outputs.model)
    table = page.table(options.n_top_words)
    more = mark_alike(
        table, page.data["topics"], model, corpus.counts.sum(axis=0, dtype=np.float64).A1, learned.most_topics
    )
    more.append((LABEL, str(learned.again)))
    coherent = [row["coherence"] for row in table if row["coherence"] is not None]
    if coherent:
        more.append(("mean coherence (NPMI)", f"{np.mean(coherent):.4f}"))
    facts += more
    page.data["facts"] += [[*fact] for fact in more]
    write_tables(outputs, table, page, documents, learned)
    if hasattr(model, "word_topics_"):
        outputs.write_table(WORDS, WORD_COLUMNS, word_rows(model, corpus))
        outputs.write(
            VECTORS, lambda file: file.writelines(word2vec_lines(corpus.feature_names, model.word_vectors_))
        )
    outputs.write_json(RUN, record_of(options, learned, score, coherent, facts))
    outputs.publish()
    tell(table, facts, learned.again)
    print(f"\nwritten to {printable(outputs.folder)}: {', '.join(outputs.written)}")


def page_of(learned, options, facts, documents):
    """The report. Each block of documents also goes to documents.csv, and to the comparison with another seed."""
    corpus, again = learned.corpus, learned.again

    def observe(start, shares):
        documents.add(start, shares)
        if isinstance(again, Again):
            again.add(start, shares)

    title = f"Topics of {'standard input' if options.path == '-' else Path(options.path).resolve().name}"
    return report(
        learned.model, corpus.rows, corpus.vectorizer, documents=corpus.texts,
        names=Kept(corpus.inputs.names, corpus.numbers), dates=corpus.days, groups=corpus.groups,
        title=printable(title), facts=facts, observe=observe,
    )  # fmt: skip


def write_tables(outputs, table, page, documents, learned):
    """Write topics.csv, documents.csv, the report, and the tables of periods and groups."""
    columns = ["topic", "token_share", "coherence", "words", "relevant_words", "repeats", "found_again", "name"]
    columns += ["rising_words", "falling_words"] if learned.corpus.dates else []
    rows = zip(table, page.data["topics"], strict=True)
    outputs.write_table(
        TOPICS, columns, (topic_row(row, learned.again) + trends(topic, page.data) for row, topic in rows)
    )
    outputs.write(DOCUMENTS, documents.copy_to)
    outputs.write(REPORT, lambda file: file.write(page.html().encode()))
    for name, columns, rows in strata_tables(page.data):
        outputs.write_table(name, columns, rows)


def facts_of(learned, options, score):
    """Labels and values for the report and the terminal, without the sizes that every report has."""
    corpus, model, n_held_out = learned.corpus, learned.model, len(learned.held_out)
    for_test = ", half of them for the test" if len(learned.scored) < n_held_out else ""
    return [
        ("held out", f"{n_held_out:,} documents{for_test}"),
        ("estimator", options.estimator),
        *([("topics per word (L)", f"{options.n_nonzero:,}")] if hasattr(model, "n_nonzero") else []),
        *([("window", f"{options.window:,} words on each side")] if hasattr(model, "window") else []),
        ("epochs", f"{model.n_iter_:,}{passes_remark(model)}"),
        ("seconds", f"{learned.seconds:,.1f}"),
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


def topic_row(row, again):
    """A row of topics.csv."""
    coherence = "" if row["coherence"] is None else f"{row['coherence']:.6f}"
    words = (cell(listed(row[key])) for key in ("words", "relevant_words"))
    found = again.of(row["topic"]) if isinstance(again, Again) else ""
    share = f"{row['token_share']:.6f}"
    return [row["topic"], share, coherence, *words, row["repeats"] or "", found, cell(row["name"])]


def listed(words):
    """Words separated by spaces; spaces inside them, as of a user's vectorizer, become underscores."""
    return " ".join("_".join(word.split()) or "_" for word in words)


def record_of(options, learned, score, coherent, facts):
    """Contents of run.json: options, versions, sizes and scores of the run."""
    corpus, model = learned.corpus, learned.model
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
        "seconds": round(learned.seconds, 3),
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


def tell(table, facts, again):
    """Print topics and facts."""
    measured = isinstance(again, Again)
    print(f"\n{'topic':>5s} {'tokens':>7s} {'NPMI':>6s}  {'again ' if measured else ''}most distinctive words")
    for row in table:
        found = f"{again.of(row['topic']):5s} " if measured else ""
        coherence = "" if row["coherence"] is None else f"{row['coherence']:.3f}"
        like = f"  (like {row['repeats']})" if row["repeats"] else ""
        numbers = f"{row['topic']:5d} {row['token_share']:7.2%} {coherence:>6s}"
        print(f"{numbers}  {found}{printable(listed(row['words']))}{like}")
    print()
    width = max(32, *(len(label) for label, _ in facts))
    for label, value in facts:
        print(f"{label:{width}s} {printable(value)}")
