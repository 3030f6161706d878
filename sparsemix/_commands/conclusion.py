"""The end of ``sparsemix topics``: scores, tables, the report, and what is printed."""

import platform
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sklearn

import sparsemix
from sparsemix._commands.console import printable, warn
from sparsemix._commands.effects import Covariates, effect_rows, effects_of, tell_effects
from sparsemix._commands.outputs import EFFECTS, MODEL, REPORT, RUN, TOPICS, VECTORS, WORDS, cell, listed
from sparsemix._commands.quality import AGAIN, Again, NotAgain, facts_of_topics, held_out_score, likenesses, scored_unit
from sparsemix._commands.seeds import told_of_seeds
from sparsemix._commands.tables import strata_tables, tables_of_documents, word_rows
from sparsemix._report import report
from sparsemix._report.dates import read_dates
from sparsemix.skipgram._vectors import word2vec_lines


@dataclass(frozen=True)
class Learned:
    """A fitted model, the corpus, held-out and scored documents, a comparison with other seeds, and covariates."""

    corpus: object
    model: object
    seconds: float
    held_out: np.ndarray
    scored: np.ndarray
    again: Again | NotAgain
    covariates: Covariates | None


def conclude(options, outputs, learned):
    """Write scores, tables and the report, then publish all files. A file that fails does not stop later files."""
    corpus, model = learned.corpus, learned.model
    frequencies = corpus.counts.sum(axis=0, dtype=np.float64).A1
    held_out = corpus.counts[learned.held_out].sum(axis=0, dtype=np.float64).A1
    score = held_out_score(model, corpus.rows[learned.scored], frequencies - held_out, corpus.unit)
    if score.warning:
        warn(score.warning)
        corpus.warnings += (score.warning,)
    if told := told_of_seeds(model, corpus.feature_names):
        warn(told)
        corpus.warnings += (told,)
    facts = facts_of(learned, options, score)
    names = {k: name for k, name in enumerate(getattr(model, "topic_names_", ())) if name}
    documents = tables_of_documents(corpus, learned.held_out)
    for table in documents.values():
        table.names = names
    effects = effects_of(learned, options)
    page = page_of(learned, options, facts, documents.values(), effects)
    path = printable(outputs.folder / MODEL)
    page.data["load"] = (
        f"import joblib\n\npipeline = joblib.load({path!r})  # only load files that you trust\n"
        'pipeline.transform(["a new text"])  # the share of each topic in it'
    )
    table = page.table(options.n_top_words)
    repeated = likenesses(model.components_, frequencies, [row["topic"] for row in table])
    for topic in page.data["topics"]:
        k, again = topic["id"], learned.again
        topic |= {"repeats": repeated[k] or None, "found": again.found_by(k), "stability": again.stability_of(k)}
    more = [*facts_of_topics(table, repeated), (AGAIN, str(learned.again))]
    coherent = [row["coherence"] for row in table if row["coherence"] is not None]
    coherence = float(np.mean(coherent)) if coherent else "not available"
    more += [("mean coherence (NPMI)", f"{coherence:.4f}")] if coherent else []
    facts += more
    page.data["facts"] += [[*fact] for fact in more]
    outputs.write_table(TOPICS, topic_rows(table, page.data, repeated, learned))
    for name, rows in documents.items():
        outputs.write(name, rows.copy_to)
    outputs.write(REPORT, lambda file: file.write(page.html().encode()))
    for name, rows in strata_tables(page.data):
        outputs.write_table(name, rows)
    if effects is not None:
        outputs.write_table(EFFECTS, effect_rows(effects, names))
    if hasattr(model, "word_topics_"):
        outputs.write_table(WORDS, word_rows(model, corpus))
        outputs.write(
            VECTORS, lambda file: file.writelines(word2vec_lines(corpus.feature_names, model.word_vectors_))
        )
    outputs.write_json(RUN, record_of(options, learned, score, coherence, facts))
    outputs.publish()
    tell(table, facts, repeated, learned.again)
    if effects is not None:
        tell_effects(effects, names)
    if outputs.published:
        print(f"\nwritten to {printable(outputs.folder)}: {', '.join(outputs.written)}")


def page_of(learned, options, facts, documents, effects):
    """The report. Each block of rows also goes to the tables of documents."""
    corpus = learned.corpus
    dates = corpus.known("date") and read_dates(corpus.values("date"), options.date_format).days

    def observe(start, shares):
        for table in documents:
            table.add(start, shares)

    title = f"Topics of {'standard input' if options.path == '-' else Path(options.path).resolve().name}"
    return report(
        learned.model, corpus.rows, corpus.vectorizer, documents=corpus.texts, names=corpus.names, dates=dates,
        groups=corpus.known("group") or corpus.sections, title=printable(title), facts=facts, observe=observe,
        parts_of=corpus.wholes if corpus.is_cut else None, effects=effects,
    )  # fmt: skip


def facts_of(learned, options, score):
    """Labels and values for the report and the terminal, without the sizes that every report has."""
    corpus, model, n_held_out = learned.corpus, learned.model, len(learned.held_out)
    for_test = ", half of them for the test" if len(learned.scored) < n_held_out else ""
    ended = ", converged" if getattr(model, "converged_", False) else ""
    ended = f": {model.stop_reason_}" if hasattr(model, "stop_reason_") else ended
    return [
        ("held out", f"{n_held_out:,} {corpus.unit}s{for_test}"),
        ("estimator", options.estimator),
        *([("topics per word (L)", f"{options.n_nonzero:,}")] if hasattr(model, "n_nonzero") else []),
        *([("window", f"{options.window:,} words on each side")] if hasattr(model, "window") else []),
        ("epochs", f"{model.n_iter_:,}{ended}"),
        ("seconds", f"{learned.seconds:,.1f}"),
        (f"test log-likelihood per {scored_unit(model)}", str(score)),
        *corpus.facts.items(),
        *((f"left out: {why}", f"{n:,}") for why, n in corpus.left_out.items()),
        *(("warning", message) for message in corpus.warnings),
    ]


def topic_rows(table, data, repeated, learned):
    """Rows of topics.csv."""
    dated = learned.corpus.known("date") is not None
    columns = ["topic", "token_share", "coherence", "words", "relevant_words", "repeats", "found_again", "stability"]
    yield [*columns, "name"] + (["rising_words", "falling_words"] if dated else [])
    for row, topic in zip(table, data["topics"], strict=True):
        k, coherence = row["topic"], "" if row["coherence"] is None else f"{row['coherence']:.6f}"
        words = listed(row["words"]), listed(row["relevant_words"])
        trends = (listed(data["words"][v] for v in numbers) for pair in topic["trend"] for numbers in pair)
        share = f"{row['token_share']:.6f}"
        again = learned.again.of(k), learned.again.stability_of(k)
        yield [k, share, coherence, *words, repeated[k], *again, cell(row["name"]), *trends]


def record_of(options, learned, score, coherence, facts):
    """Contents of run.json: options, versions, sizes and scores of the run."""
    corpus, model = learned.corpus, learned.model
    return {
        "command": shlex.join(["sparsemix", *sys.argv[1:]]),
        "options": {name: value for name, value in vars(options).items() if name not in ("run", "command")},
        "versions": {
            "sparsemix": sparsemix.__version__, "scikit-learn": sklearn.__version__, "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "estimator": {type(model).__name__: parameters_of(model)},
        "input_documents": len(corpus.inputs),
        "documents": corpus.counts.shape[0],
        "tokens": float(corpus.counts.sum(dtype=np.float64)),
        "vocabulary": corpus.counts.shape[1],
        "left_out": corpus.left_out,
        "warnings": list(corpus.warnings),
        "seconds": round(learned.seconds, 3),
        "scores": {**score.record(scored_unit(model)), "mean_coherence_npmi": coherence},
        "history": [{name: value for name, value in step.items() if value == value} for step in model.history_],
        "facts": dict(facts),
    }  # fmt: skip


def parameters_of(model):
    """Parameters of the estimator; of the prior of seeded topics, its words and their strength."""
    parameters = model.get_params(deep=False)
    prior = parameters.get("topic_word_prior")
    if hasattr(prior, "seeds"):
        parameters["topic_word_prior"] = {"seeds": prior.seeds, "strength": prior.strength}
    return parameters


def tell(table, facts, repeated, again):
    """Print topics and facts."""
    print(f"\n{'topic':>5s} {'tokens':>7s} {'NPMI':>6s} {'again':>6s}  most distinctive words")
    for row in table:
        k, coherence = row["topic"], "" if row["coherence"] is None else f"{row['coherence']:.3f}"
        like = f"  (like {repeated[k]})" if repeated[k] else ""
        numbers = f"{k:5d} {row['token_share']:7.2%} {coherence:>6s} {again.of(k):>6s}"
        name = f"{printable(row['name'])}: " if row["name"] else ""
        print(f"{numbers}  {name}{listed(row['words'])}{like}")
    print()
    width = max(32, *(len(label) for label, _ in facts))
    for label, value in facts:
        print(f"{label:{width}s} {printable(value)}")
