"""The data of a report after a merge of topics, without the corpus: shares are sums, and words those of the page."""

import re
from collections import defaultdict

import numpy as np

from sparsemix.metrics import distinctive_words
from sparsemix.texts._report.relevance import relevant_words
from sparsemix.texts._report.report import arranged, short

# What only the corpus or other fits tell of a merged topic.
UNKNOWN = dict.fromkeys(("coherence", "repeats", "found", "stability"))


def merged_data(data, places, components, columns):
    """Data of a report whose topic k is now topic ``places[k]`` of ``components`` (K, V).

    ``columns`` are those of the words of the page. Coherence, stability and changes of words of merged topics are left
    out. Facts stay those of the topics before, which a new fact says.
    """
    documents = [
        record | {"shares": summed(record["shares"], places), "topics": [places[k] for k in record["topics"]]}
        for record in data["documents"]
    ]
    data, parts, topics = {**data, "documents": documents}, defaultdict(list), []
    distinctive = distinctive_on_page(components, columns)
    for topic in data["topics"]:
        parts[places[topic["id"]]].append(topic)
    for k, old in parts.items():
        merged = components[k], distinctive[k], columns, data
        new = renumbered(old[0], places) if len(old) == 1 else merged_topic(old, k, *merged)
        topics.append(new | {"id": k})
    topics, tree = arranged(topics, components)
    told = f"{len(places):,} topics became {len(topics):,}; scores and warnings are those of the topics before"
    facts = [[label, f"{len(topics):,}" if label == "topics" else value] for label, value in data["facts"]]
    return {**data, "topics": topics, "facts": [*facts, ["merged topics", told]], "tree": tree}


def distinctive_on_page(components, columns):
    """Numbers of the page's words, most distinctive first, (K, n); all other words together are one word."""
    order = np.argsort(columns)
    shown = components[:, np.asarray(columns)[order]]
    rest = components.sum(axis=1, dtype=np.float64) - shown.sum(axis=1, dtype=np.float64)
    found = distinctive_words(np.column_stack([shown, np.maximum(rest, 0.0)]), len(columns) + 1)
    return order[found[found < len(columns)].reshape(shown.shape)]


def merged_topic(parts, k, row, distinctive, columns, data):
    """The record of topic k, the sum of some topics, largest first, whose word weights are ``row``."""
    weight, supported = (sum(topic[key] for topic in parts) for key in ("weight", "supported"))
    counts = np.array(data["counts"])
    part = row[columns].sum(dtype=np.float64) / row.sum(dtype=np.float64)
    # relevant_words reads the page's words alone as a topic; the factor gives them their tokens
    tokens = weight * part * data["nTokens"] / counts.sum()
    words, p = relevant_words(row[columns], tokens, counts, data["shown"])
    shares = [(d, dict(record["shares"]).get(k, 0.0)) for d, record in enumerate(data["documents"])]
    best = sorted(shares, key=lambda pair: -pair[1])[: max(len(topic["documents"]) for topic in parts)]
    return UNKNOWN | {
        "weight": weight,
        "supported": supported,
        "words": words.tolist(),
        "p": short(p * part),
        "distinctive": distinctive[: len(words)].tolist(),
        "documents": [[d, round(share, 3)] for d, share in best if share > 0],
        "strata": [short(np.sum(bins, axis=0)) for bins in zip(*(topic["strata"] for topic in parts), strict=True)],
        "changes": [[[[], []] for _ in stratum["bins"]] for stratum in data["strata"]],
        "trend": [[[], []] for _ in parts[0]["trend"]],
    }


def renumbered(topic, places):
    """The record of a topic that is not merged, with the new number of the topic that it repeats."""
    repeats = topic.get("repeats")
    return topic | {"repeats": repeats and re.sub(r"\d+", lambda number: str(places[int(number[0])]), repeats)}


def summed(shares, places):
    """Pairs of topics and shares with the shares of merged topics added, largest first."""
    sums = defaultdict(float)
    for k, share in shares:
        sums[places[k]] += share
    return [[k, round(share, 4)] for k, share in sorted(sums.items(), key=lambda pair: -pair[1])]
