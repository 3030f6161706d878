"""The end of ``sparsemix topics``: scores, tables, the report, and what is printed."""

import platform
import shlex
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import sklearn

import sparsemix
from sparsemix.texts._commands.console import printable, warn
from sparsemix.texts._commands.effects import Covariates, effect_rows, effects_of, tell_effects
from sparsemix.texts._commands.outputs import EFFECTS, MODEL, REPORT, RUN, TOPICS, VECTORS, WORDS, cell, listed
from sparsemix.texts._commands.quality import (
    AGAIN,
    Again,
    NotAgain,
    Score,
    facts_of_topics,
    held_out_score,
    likenesses,
    scored_unit,
)
from sparsemix.texts._commands.seeds import told_of_seeds
from sparsemix.texts._commands.tables import strata_tables, tables_of_documents, word_rows
from sparsemix.texts._report.dates import read_dates
from sparsemix.texts._report.report import arranged, report, rows_of_report


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
    """Write scores, tables and the report, then publish all files. A part that fails is named and left out."""
    corpus, model, attempt = learned.corpus, learned.model, outputs.attempt
    frequencies = corpus.counts.sum(axis=0, dtype=np.float64).A1
    score = attempt("the held-out score", lambda: score_of(learned, frequencies), Score(None, reason="not available"))
    seeds = attempt("the check of the seeds", lambda: told_of_seeds(model, corpus.feature_names), "")
    for told in filter(None, (score.warning, seeds)):
        warn(told)
        corpus.warnings += (told,)
    facts = attempt("facts on the run", lambda: facts_of(learned, options, score), [])
    names = {k: name for k, name in enumerate(getattr(model, "topic_names_", ())) if name}
    effects = attempt("the effects", lambda: effects_of(learned, options))
    page, documents = page_of(outputs, learned, options, facts, names, effects)
    coherence = "not available"
    topics = None if page is None else attempt(TOPICS, lambda: topics_of(page, options, outputs, learned, frequencies))
    if topics is not None:
        table, repeated, more, coherence = topics
        facts += more
        page.data["facts"] += [[*fact] for fact in more]
        outputs.write_table(TOPICS, topic_rows, table, page.data, repeated, learned)
    for name, rows in documents.items():
        outputs.write(name, rows.copy_to)
    if page is not None:
        outputs.write(REPORT, lambda file: file.write(page.html().encode()))
        for name, rows in attempt("tables of periods and groups", lambda: [*strata_tables(page.data)], []):
            outputs.write_table(name, iter, rows)
    if effects is not None:
        outputs.write_table(EFFECTS, effect_rows, effects, names)
    if hasattr(model, "word_topics_"):
        outputs.write_table(WORDS, word_rows, model, corpus)
        outputs.save(VECTORS, lambda path: model.save_word_vectors(path, corpus.feature_names))
    outputs.write_json(RUN, lambda: record_of(options, learned, score, coherence, facts) | {"failed": outputs.missing})
    outputs.publish()
    if topics is not None:
        attempt("the printed topics", lambda: tell(table, facts, repeated, learned.again))
    if effects is not None:
        attempt("the printed effects", lambda: tell_effects(effects, names))
    if outputs.published:
        print(f"\nwritten to {printable(outputs.folder)}: {', '.join(outputs.written)}")


def score_of(learned, frequencies):
    """The held-out score; word frequencies alone are those of training documents."""
    corpus, model = learned.corpus, learned.model
    held_out = corpus.counts[learned.held_out].sum(axis=0, dtype=np.float64).A1
    return held_out_score(model, corpus.rows[learned.scored], frequencies - held_out, corpus.unit)


def page_of(outputs, learned, options, facts, names, effects):
    """The report, or None, and the tables of documents, which have the same shares.

    If it fails, it is made without each of its parts in turn, and then without all.
    """
    corpus, parts = learned.corpus, {}
    if corpus.known("date"):
        parts["dates"] = read_dates(corpus.values("date"), options.date_format).days
    if groups := corpus.known("group") or corpus.sections:
        parts["groups"] = groups
    if effects is not None:
        parts["effects"] = effects
    if corpus.is_cut:
        parts["parts_of"] = corpus.wholes
    title = printable(f"Topics of {'standard input' if options.path == '-' else Path(options.path).resolve().name}")
    first, tries = None, [(), *((name,) for name in parts if len(parts) > 1), tuple(parts)]
    for omitted in tries if parts else tries[:1]:
        documents = tables_of_documents(corpus, learned.held_out)
        for table in documents.values():
            table.names = names
        try:
            page = report(
                learned.model, corpus.rows, corpus.vectorizer, documents=corpus.texts, names=corpus.names, title=title,
                facts=facts, observe=partial(add_shares, documents.values()),
                **{name: value for name, value in parts.items() if name not in omitted},
            )  # fmt: skip
        except Exception as error:  # no part may cost the fit
            first = first or error
        else:
            if omitted:
                outputs.leave_out(f"{', '.join(omitted)} of the report", first)
            return page, documents
    outputs.leave_out("the report, with the tables of topics and documents", first)
    return None, {}


def add_shares(tables, start, shares):
    """Add a block of rows to tables of documents."""
    for table in tables:
        table.add(start, shares)


def topics_of(page, options, outputs, learned, frequencies):
    """Rows of topics, what each of them repeats, facts on topics, and their mean coherence. The page gets the same."""
    path = printable(outputs.folder / MODEL)
    page.data["load"] = (
        f"import joblib\n\npipeline = joblib.load({path!r})  # only load files that you trust\n"
        'pipeline.transform(["a new text"])  # the share of each topic in it'
    )
    again, components = learned.again, learned.model.components_
    for topic in page.data["topics"]:
        k = topic["id"]
        topic |= {"found": again.found_by(k), "stability": again.stability_of(k)}
        topic["supported"] = topic["weight"] * again.support(k)
    page.data["topics"], page.data["tree"] = arranged(page.data["topics"], components)
    table = rows_of_report(page.data, options.n_top_words)
    repeated = outputs.attempt(
        "the search for topics that repeat others",
        lambda: likenesses(components, frequencies, [row["topic"] for row in table]), [""] * len(table),
    )  # fmt: skip
    for topic in page.data["topics"]:
        topic["repeats"] = repeated[topic["id"]] or None
    coherent = [row["coherence"] for row in table if row["coherence"] is not None]
    coherence = float(np.mean(coherent)) if coherent else "not available"
    facts = [*facts_of_topics(table, repeated), (AGAIN, str(again))]
    facts += [("mean coherence (NPMI)", f"{coherence:.4f}")] if coherent else []
    return table, repeated, facts, coherence


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
    order = "\ntopics in the order of tokens times the share of runs that find them (again)"
    print(order if isinstance(again, Again) else "")
    print(f"{'topic':>5s} {'tokens':>7s} {'NPMI':>6s} {'again':>6s}  most distinctive words")
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
