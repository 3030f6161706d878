"""The data of a report after a merge of topics, without the corpus: shares are sums, and words those of the page."""

import re
from collections import defaultdict

import numpy as np

from sparsemix._report.relevance import relevant_words
from sparsemix._report.report import place_topics, short
from sparsemix.metrics._topics import mean_topic, most_distinctive

# What only the corpus or other fits tell of a merged topic.
UNKNOWN = dict.fromkeys(("coherence", "repeats", "found", "stability"))


def merged_data(data, places, components, columns):
    """Data of a report whose topic k is now topic ``places[k]`` of ``components`` (K, V).

    ``columns`` are those of the words of the page. Coherence, stability and changes of words of merged topics are left
    out. Facts stay those of the topics before, which a new fact says.
    """
    parts = defaultdict(list)
    for topic in data["topics"]:
        parts[places[topic["id"]]].append(topic)
    mean, listed = mean_topic(components), documents_of(data)
    topics = [
        renumbered(old[0], places) if len(old) == 1 else merged_topic(old, components[k], mean, columns, data, listed)
        for k, old in parts.items()
    ]
    topics = sorted((topic | {"id": k} for k, topic in zip(parts, topics, strict=True)), key=lambda t: -t["weight"])
    told = f"{len(places):,} topics became {len(topics):,}; scores and warnings are those of the topics before"
    facts = [[label, f"{len(topics):,}" if label == "topics" else value] for label, value in data["facts"]]
    documents = [
        record | {"shares": summed(record["shares"], places), "topics": [places[k] for k in record["topics"]]}
        for record in data["documents"]
    ]
    tree, facts = place_topics(topics, components), [*facts, ["merged topics", told]]
    return {**data, "topics": topics, "documents": documents, "facts": facts, "tree": tree}


def merged_topic(parts, row, mean, columns, data, listed):
    """The record of the sum of some topics, largest first, whose word weights are ``row``."""
    weight, counts = sum(topic["weight"] for topic in parts), np.array(data["counts"])
    part = row[columns].sum(dtype=np.float64) / row.sum(dtype=np.float64)
    # relevant_words reads the page's words alone as a topic; the factor gives them their tokens
    tokens = weight * part * data["nTokens"] / counts.sum()
    words, p = relevant_words(row[columns], tokens, counts, data["shown"])
    numbers = {column: number for number, column in enumerate(columns)}
    distinctive = [numbers[v] for v in most_distinctive(row, mean, len(row)).tolist() if v in numbers]
    shares = defaultdict(float)
    for topic in parts:
        for document, share in listed[topic["id"]].items():
            shares[document] += share
    best = sorted(shares.items(), key=lambda pair: -pair[1])[: max(len(topic["documents"]) for topic in parts)]
    return UNKNOWN | {
        "weight": weight,
        "words": words.tolist(),
        "p": short(p * part),
        "distinctive": distinctive[: len(words)],
        "documents": [[document, round(share, 3)] for document, share in best],
        "strata": [short(np.sum(bins, axis=0)) for bins in zip(*(topic["strata"] for topic in parts), strict=True)],
        "changes": [[[[], []] for _ in stratum["bins"]] for stratum in data["strata"]],
        "trend": [[[], []] for _ in parts[0]["trend"]],
    }


def renumbered(topic, places):
    """The record of a topic that is not merged, with the new number of the topic that it repeats."""
    repeats = topic.get("repeats")
    return topic | {"repeats": repeats and re.sub(r"\d+", lambda number: str(places[int(number[0])]), repeats)}


def documents_of(data):
    """The share of each topic in the documents of the page, by the number of the topic; small ones are not known."""
    shares = defaultdict(dict)
    for place, record in enumerate(data["documents"]):
        for k, share in record["shares"]:
            shares[k][place] = share
    for topic in data["topics"]:
        shares[topic["id"]].update(topic["documents"])
    return shares


def summed(shares, places):
    """Pairs of topics and shares with the shares of merged topics added, largest first."""
    sums = defaultdict(float)
    for k, share in shares:
        sums[places[k]] += share
    return [[k, round(share, 4)] for k, share in sorted(sums.items(), key=lambda pair: -pair[1])]
