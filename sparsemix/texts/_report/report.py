"""Report on topics: collects its data, for the page and the table."""

from collections.abc import Callable, Sequence
from datetime import date
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from sparsemix._typing import RowsLike, Table
from sparsemix._version import __version__
from sparsemix.extend import SCORES, local_path, plain_arguments, replacing, table_of
from sparsemix.metrics import distinctive_words, topic_coherence
from sparsemix.texts._report.bins import PERIOD, Parts, missing_facts, strata_of
from sparsemix.texts._report.dates import days_of, is_blank, writer_of
from sparsemix.texts._report.gathering import check_documents, gather, per_document
from sparsemix.texts._report.layout import MOST_TOPICS, affinities, coordinates, similar_topics, topic_tree
from sparsemix.texts._report.naming import check_names
from sparsemix.texts._report.page import html_page
from sparsemix.texts._report.passages import passages
from sparsemix.texts._report.relevance import POSITION, relevance_order, relevant_words

# Maximal number of documents in the report and per topic; words per topic, and fewer for many topics.
DOCUMENTS, OF_TOPIC = 1000, 5
WORDS, WORDS_OF_MANY, MANY = 20, 12, 300


@plain_arguments
def report(
    model: Any,
    X: RowsLike,
    vocabulary: Any = None,
    *,
    documents: Sequence[str] | None = None,
    names: Any = None,
    dates: Sequence[Any] | None = None,
    groups: Sequence[Any] | None = None,
    parts_of: Sequence[Any] | None = None,
    title: str = "Topics",
    facts: Sequence[tuple[str, str]] = (),
    n_documents: int | None = None,
    n_top_words: int | None = None,
    observe: Callable[..., Any] | None = None,
    effects: Any = None,
) -> "Report":
    """Report on topics: one HTML file to read, explore and pass on, which works offline.

    It has a searchable list of topics, a map and a tree of topics. Words are sorted by relevance, between frequency
    and distinctiveness ([1]_). For each topic it shows its words and their frequency in the corpus, representative
    documents with coloured words, similar topics, and its share over time or by group. It works with any topic model,
    including scikit-learn's.

    Parameters
    ----------
    model : estimator
        Fitted topic model with ``components_`` and ``transform``, or a scikit-learn pipeline that ends with one.
    X : {array-like, sparse matrix} of shape (n_documents, n_words)
        Counts, or word sequences for :class:`SkipGramTopicModel`; ``transform`` reads them in blocks. For a pipeline,
        its input, such as texts.
    vocabulary : array-like of str or vectorizer, default=None
        The words, or the vectorizer that counted them (any object with ``get_feature_names_out``). None takes the
        feature names of the training data; without these, the report shows column numbers.
    documents : sequence of str, default=None
        Texts; for a pipeline of texts those of X. The report contains the first 1,500 characters of each document that
        it shows; without texts, its words.
    names : sequence of str, default=None
        Names of the documents; None, also for a single document, is its number from 0.
    dates : sequence, default=None
        Dates of documents: years, dates, or texts such as 2020-01-31, 31.01.2020 and 31 January 2020; None for a
        document without a date. Of texts such as 01/02/2020, another date must show the order of day and month. All
        numbers have one unit: years, 20200131, or counts since 1970. Dates that are not read give a warning with the
        first rows.
    groups : sequence, default=None
        Groups of documents, such as authors or sections; None or "" for a document without a group. The page has the
        numbers of documents without a date or group. Groups of the parts of a single document, in order, are its
        chapters.
    parts_of : sequence, default=None
        The document of which each row is a part, such as a passage of a book; parts of a document follow each other.
        Then means over time and by group count each document once, by the tokens of its parts. The page shows where in
        the documents each topic is, or in which chapters of a single one; without ``groups``, also its share in each
        document of at most 30, which have the names given here.
    title : str, default="Topics"
        Heading of the page.
    facts : sequence of (str, str), default=()
        Labels and values to show at the top, after the sizes of the data.
    n_documents : int, default=None
        Documents shown per topic. None means 5; with more than 200 topics fewer, so that there are at most 1,000.
    n_top_words : int, default=None
        Words shown per topic at a time. None means 20, or 12 for more than 300 topics.
    observe : callable, default=None
        Called with the first row and the shares (n, n_components) of each block of documents.
    effects : TopicEffects, default=None
        Result of :func:`sparsemix.topics.estimate_effect` for this model. The page of each topic has the differences
        between the levels of categories and between the quantiles of 90 % and 10 % of numbers, with intervals, and
        curves along numbers.

    Returns
    -------
    report : Report
        Has ``save(path)`` and ``table()``; notebooks display it.

    Raises
    ------
    ValueError
        For counts that are negative or not finite, for texts, names, dates, groups or words of a wrong number, for
        effects on other topics, and if no date can be read.

    References
    ----------
    .. [1] Sievert, C. and Shirley, K. (2014). "LDAvis: A method for visualizing and interpreting topics". ACL Workshop
       on Interactive Language Learning, Visualization, and Interfaces.

    Examples
    --------
    >>> from sparsemix import SparseLDA, report
    >>> from sparsemix.datasets import make_bars
    >>> X = make_bars(n_samples=200, random_state=0)[0]
    >>> lda = SparseLDA(10, random_state=0).fit(X)
    >>> page = report(lda, X, [f"pixel{i}" for i in range(X.shape[1])])
    >>> len(page.table())
    10
    """
    if hasattr(model, "steps"):
        model, X, vocabulary, documents = parts_of_pipeline(model, X, vocabulary, documents)
    X = check_documents(model, X)
    feature_names, facts = words_of(model, vocabulary, X.shape[1], list(facts))
    documents, names, dates, groups, parts_of = (
        per_document(values, name, X.shape[0])
        for values, name in ((documents, "documents"), (names, "names"), (dates, "dates"), (groups, "groups"),
                             (parts_of, "parts_of"))
    )  # fmt: skip
    dates, groups = (None if values is None else list(values) for values in (dates, groups))
    days, parts = None if dates is None else days_of(dates), None if parts_of is None else Parts.of(parts_of)
    tokens = np.asarray(X.counts.sum(axis=1), dtype=np.float64).ravel()
    strata = strata_of(days, groups, parts, tokens)
    known = {label for label, _ in facts}
    facts += [fact for fact in missing_facts(days, groups, strata, names, parts) if fact[0] not in known]

    components, n_topics = model.components_, len(model.components_)
    per_topic = max(1, min(OF_TOPIC, DOCUMENTS // n_topics)) if n_documents is None else n_documents
    shown = min(X.shape[1], (WORDS if n_topics <= MANY else WORDS_OF_MANY) if n_top_words is None else n_top_words)
    of_document = None if parts is None else tokens / np.maximum(np.bincount(parts.codes, tokens), 1e-300)[parts.codes]
    gathered = gather(model, X, per_topic, [stratum.codes for stratum in strata], observe, of_document)
    coherence, remark = coherence_of(components, X.counts, min(10, X.shape[1]))
    facts += [("coherence (mean NPMI)", remark)] if remark else []
    numbers = Numbers()
    topics, tree = arranged(topic_records(components, gathered, coherence, shown, numbers), components)
    add_strata(topics, strata, gathered, numbers)
    effects = None if effects is None else add_effects(topics, effects)
    rows = document_rows(topics)
    pattern = getattr(vocabulary, "token_pattern", None), getattr(vocabulary, "lowercase", True)
    told = passages(model, X, np.array(rows, dtype=np.int64), feature_names, documents, *pattern)
    describe_documents(told, rows, names, days, dates, groups)
    data = {
        "title": title,
        "facts": [[str(label), str(value)] for label, value in [*sizes(X, gathered, n_topics, parts), *facts]],
        "made": f"sparsemix {__version__}, {date.today().isoformat()}",
        "nTokens": gathered.n_tokens,
        "unit": "document" if parts is None else "passage",
        "shown": shown,
        "relevance": POSITION,
        "names": {k: name for k, name in enumerate(getattr(model, "topic_names_", ())) if name},
        "words": [str(feature_names[v]) for v in numbers.values],
        "counts": short(gathered.word_counts[numbers.values]),
        "mixed": short(mixture_of(components, gathered.weights)[numbers.values]),
        "topics": topics,
        "tree": tree,
        "strata": [stratum.record(parts) for stratum in strata],
        "effects": effects,
        "documents": told,
        "curves": curves_of(model),
    }
    return Report(data)


def parts_of_pipeline(pipeline, X, vocabulary, documents):
    """The model at the end of a pipeline, its input, the words, and the texts if X holds texts."""
    *before, (_, model) = pipeline.steps
    before = [step for _, step in before if step not in (None, "passthrough")]
    texts = X if not hasattr(X, "tocsr") and len(X) and all(isinstance(text, str) for text in X) else None
    for step in before:
        X = step.transform(X)
    if vocabulary is None and before:  # a single vectorizer also has the pattern of words
        vocabulary = before[0] if len(before) == 1 else pipeline[:-1].get_feature_names_out()
    return model, X, vocabulary, texts if documents is None else documents


class Report:
    """A report on topics: an HTML page, which notebooks display, and a table.

    :func:`report` creates it.

    Parameters
    ----------
    data : dict
        Content of the page.

    Examples
    --------
    >>> from sparsemix import Report
    >>> list(Report({"title": "None", "topics": [], "words": []}).table())
    []
    """

    def __init__(self, data: Any) -> None:
        self.data = data

    def html(self) -> str:
        """The page.

        Returns
        -------
        html : str
        """
        return html_page(self.data)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page to a file. An existing file is replaced once the new one is complete.

        Parameters
        ----------
        path : str or path
            Name of the file.

        Returns
        -------
        path : Path
        """
        path = local_path(path)
        with replacing(path) as file:
            file.write(self.html().encode())
        return path

    def table(self, n_top_words: int = 10) -> Table:
        """Topics, largest first.

        ``sparsemix topics`` compares several seeds. A topic then counts by its token share times the share of seeds
        that find it, so topics that no other seed finds come last, by their size. The page has the same order. Numbers
        of topics are those of the model.

        Parameters
        ----------
        n_top_words : int, default=10
            Words per topic.

        Returns
        -------
        table : pandas.DataFrame, or list of dict without pandas
            With "topic" (its index), "token_share" (its share of the tokens of all documents), "coherence" (NPMI,
            or None), "words" (most distinctive first, see :func:`sparsemix.metrics.distinctive_words`),
            "relevant_words" (in the order in which the page opens) and "name" ("" if it has none).
        """
        return table_of(rows_of_report(self.data, n_top_words))

    def rename(self, names: Any) -> "Report":
        """Name topics. The page shows topics of one name as one, with the sum of their shares; the table keeps them.

        Parameters
        ----------
        names : mapping of int to str, or sequence of str
            Name of each topic; topics without a name, or with an empty one, are called by their main words.

        Returns
        -------
        report : Report
            This report.

        Raises
        ------
        ValueError
            For a topic that does not exist.
        """
        self.data = {**self.data, "names": check_names(names, len(self.data["topics"]))}
        return self

    def _repr_html_(self):
        """The page inside an iframe, for notebooks."""
        return (
            f'<iframe title="{escape(self.data["title"])}" style="width:100%;height:720px;border:0" '
            f'sandbox="allow-scripts" srcdoc="{escape(self.html())}"></iframe>'
        )

    def __repr__(self):
        return f"<Report of {len(self.data['topics'])} topics; save(path) writes it>"


def rows_of_report(data, n_top_words):
    """Rows of ``Report.table`` as dicts."""
    return [
        {
            "topic": topic["id"], "token_share": topic["weight"], "coherence": topic["coherence"],
            "words": [data["words"][v] for v in topic["distinctive"][:n_top_words]],
            "relevant_words": [data["words"][v] for v in relevant_first(topic, data)[:n_top_words]],
            "name": data.get("names", {}).get(topic["id"], ""),
        }
        for topic in data["topics"]
    ]  # fmt: skip


def relevant_first(topic, data):
    """Words of a topic, most relevant first."""
    return [v for v, _ in relevance_order(zip(topic["words"], topic["p"], strict=True), data)]


class Numbers:
    """Numbers of the words in the report, in order of first use."""

    def __init__(self):
        self.of, self.values = {}, []

    def __call__(self, v):
        if v not in self.of:
            self.of[v] = len(self.values)
            self.values.append(v)
        return self.of[v]


def words_of(model, vocabulary, n_words, facts):
    """Names of the columns, and the facts; these note missing names."""
    if vocabulary is None:
        vocabulary = getattr(model, "feature_names_in_", None)
    if hasattr(vocabulary, "get_feature_names_out"):
        vocabulary = vocabulary.get_feature_names_out()
    if vocabulary is None:
        facts = [*facts, ("names of words", "not given: the report shows column numbers")]
        return [f"column {v}" for v in range(n_words)], facts
    if len(vocabulary) != n_words:
        raise ValueError(f"vocabulary has {len(vocabulary)} words but X has {n_words} columns; give a word for each")
    return vocabulary, facts


def sizes(X, gathered, n_topics, parts):
    """Sizes of the data, which every report lists first."""
    whole = [] if parts is None else [("whole documents", len(parts.names))]
    rows = "documents" if parts is None else "passages", X.shape[0]
    numbers = *whole, rows, ("words", gathered.n_tokens), ("vocabulary", X.shape[1]), ("topics", n_topics)
    return [(label, f"{value:,.0f}") for label, value in numbers]


def coherence_of(components, X, n_top_words):
    """Coherence of topics and an empty remark, or NaN and the reason."""
    try:
        return topic_coherence(components, X, measure="npmi", n_top_words=n_top_words), ""
    except ValueError as error:
        return np.full(len(components), np.nan), f"not available ({error})"


def topic_records(components, gathered, coherence, n_words, numbers):
    """Data of all topics, by number."""
    weights, counts = gathered.weights, gathered.word_counts
    found = [relevant_words(row, weight, counts, n_words) for row, weight in zip(components, weights, strict=True)]
    distinctive = distinctive_words(components, max(len(words) for words, _ in found))
    return [topic_record(k, *found[k], distinctive[k], gathered, coherence, numbers) for k in range(len(found))]


def topic_record(k, words, probabilities, distinctive, gathered, coherence, numbers):
    """Data of a topic for the page."""
    documents = zip(gathered.documents[k].tolist(), gathered.shares[k].tolist(), strict=True)
    return {
        "id": k,
        "weight": float(gathered.weights[k]),
        "supported": float(gathered.weights[k]),  # times the share of runs that find the topic, if there are several
        "coherence": None if np.isnan(coherence[k]) else round(float(coherence[k]), 4),
        "words": [numbers(v) for v in words.tolist()],
        "p": short(probabilities),
        "distinctive": [numbers(v) for v in distinctive[: len(words)].tolist()],
        "documents": [[d, round(s, 3)] for d, s in documents if s > 0],
    }


def arranged(topics, components):
    """The topics in the order of the page, and their tree. Of topics that no run finds, the largest is first."""
    topics = sorted(topics, key=lambda topic: (-topic["supported"], -topic["weight"]))
    return topics, place_topics(topics, components)


def place_topics(topics, components):
    """Set map coordinates and similar topics of the first topics; the tree of these topics."""
    affinity = affinities(components[[topic["id"] for topic in topics[:MOST_TOPICS]]])
    places = coordinates(affinity, np.array([topic["weight"] for topic in topics[: len(affinity)]]))
    others, near = similar_topics(affinity)
    for i, topic in enumerate(topics[: len(affinity)]):
        topic["at"] = [round(float(c), 3) for c in places[i]]
        topic["similar"] = [[topics[j]["id"], round(float(a), 3)] for j, a in zip(others[i], near[i], strict=True)]
    for topic in topics[len(affinity) :]:
        topic |= {"at": None, "similar": []}
    return dict(zip(("merges", "order"), (part.tolist() for part in topic_tree(affinity)), strict=True))


def add_strata(topics, strata, gathered, numbers):
    """Set shares of topics in all bins, words that are more or less frequent there, and words that rise or fall."""
    timed = [i for i, stratum in enumerate(strata) if stratum.kind is PERIOD]
    for topic in topics:
        k = topic["id"]
        topic["strata"] = [short(share[:, k]) for share in gathered.strata]
        topic["changes"] = [numbered(gathered.usage.changes(i, k), numbers) for i in range(len(strata))]
        topic["trend"] = numbered([gathered.usage.trend(i, k) for i in timed], numbers)


def add_effects(topics, effects):
    """Set effects of covariates, and the expected shares along numbers; returns the labels of both."""
    if not hasattr(effects, "estimates"):
        raise ValueError(f"effects is a {type(effects).__name__}; give the result of estimate_effect")
    n_topics = effects.estimates.shape[1]
    if n_topics != len(topics):
        raise ValueError(f"effects has {n_topics} topics but model has {len(topics)}; estimate them with this model")
    found, curves = effects.comparisons(), effects.curves()
    for topic in topics:
        k = topic["id"]
        rows = [short([differences[k][end] for end in ("estimate", "low", "high")]) for _, differences in found]
        ends = [np.column_stack([curve.mean[:, k], curve.low[:, k], curve.high[:, k]]) for *_, curve in curves]
        topic["effects"] = {"rows": rows, "curves": [[short(point) for point in points] for points in ends]}
    named = [{"name": name, "ends": ends} for name, ends, _ in curves]
    return {"level": f"{effects.level:.0%}", "labels": [label for label, _ in found], "curves": named}


def document_rows(topics):
    """Rows of the documents shown. Topics then refer to them by their positions in this list."""
    places = {}
    for topic in topics:
        for document in topic["documents"]:
            document[0] = places.setdefault(document[0], len(places))
    return list(places)


def describe_documents(records, rows, names, days, dates, groups):
    """Set the names of the documents shown, and what is known about them: date and group."""
    write = writer_of(days or ())
    for record, row in zip(records, rows, strict=True):
        record["name"] = str(row if names is None or is_blank(names[row]) else names[row])
        about = write(days[row] or dates[row]) if days else "", "" if groups is None else groups[row]
        record["about"] = [str(value) for value in about if not is_blank(value)]


def mixture_of(components, weights):
    """Probability of each word in the mixture of all topics."""
    totals = components.sum(axis=1, dtype=np.float64)
    return np.asarray((weights / np.where(totals > 0, totals, 1.0)) @ components, dtype=np.float64)


def numbered(changes, numbers):
    """Lists of columns as lists of word numbers."""
    return [[[numbers(v) for v in words] for words in pair] for pair in changes]


def curves_of(model):
    """Learning curves from the history of a fit."""
    history = getattr(model, "history_", None)
    curves = []
    for key, label in SCORES.items():
        points = [
            [record.get("n_iter", i), round(record.get("seconds", 0.0), 3), float(f"{record[key]:.7g}")]
            for i, record in enumerate(history or [], start=1)
            if isinstance(record, dict) and np.isfinite(record.get(key, np.nan))
        ]
        if len(points) > 1:
            curves.append({"label": label, "points": points})
    return curves


def short(values):
    """Round numbers to four significant digits."""
    return [float(f"{value:.4g}") for value in values]
