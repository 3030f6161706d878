"""
Clusters being born
===================

Short texts arrive in the order of their dates, and now and then there are some about something that was not there
before. :class:`~sparsemix.StreamingNGGPMixture` reads each text once, and opens a cluster when something new begins.
The texts are what scikit-learn's documentation says of its parameters, attributes and functions, each of which names
the release that it came with. A vocabulary is never listed, since words are hashed.
"""

# %%
# A stream with dates
# -------------------
# ``versionadded`` stands behind what it dates: a parameter or attribute, whose type is left out here, or the whole
# docstring before it.

import re
from collections import Counter
from datetime import date

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from sparsemix import StreamingNGGPMixture
from sparsemix.datasets import load_docstrings

RELEASES = {
    "0.17": date(2015, 11, 5), "0.18": date(2016, 9, 28), "0.19": date(2017, 8, 11), "0.20": date(2018, 9, 25),
    "0.21": date(2019, 5, 17), "0.22": date(2019, 12, 2), "0.23": date(2020, 5, 12), "0.24": date(2020, 12, 22),
    "1.0": date(2021, 9, 24), "1.1": date(2022, 5, 12), "1.2": date(2022, 12, 8), "1.3": date(2023, 6, 30),
    "1.4": date(2024, 1, 18), "1.5": date(2024, 5, 21), "1.6": date(2024, 12, 9), "1.7": date(2025, 6, 5),
}  # fmt: skip
MARK = re.compile(r"\.\. versionadded:: *v?(\d+\.\d+)")
NAME = re.compile(r"^ *([\w*, ]+) *:(?: .*)?$", re.MULTILINE)  # of a parameter or an attribute, and its type


def notes_of(docstring):
    """Releases, and texts of what came with them."""
    for mark in MARK.finditer(docstring):
        before = MARK.split(docstring[: mark.start()])[-1]
        names = list(NAME.finditer(before))
        yield mark[1], (names[-1][1] + before[names[-1].end() :] if names else before).strip()


docstrings = load_docstrings(min_df=1, max_df=1.0)
notes = {release: [] for release in RELEASES}
for name, docstring in zip(docstrings.names, docstrings.texts, strict=True):
    for release, text in notes_of(docstring) if name.startswith("sklearn.") else ():
        if release in notes:
            notes[release].append(text)
print(f"{sum(map(len, notes.values()))} notes of {len(notes)} releases, for instance:")
print(min(notes["1.3"], key=len))

# %%
# Reading it
# ----------
# A release is a block of the stream. ``cluster_ids_`` are numbers in the order of birth, which stay while others come.
# Here a cluster is named by its most frequent words, and listed when it has ten notes of one release.

hashing = HashingVectorizer(
    n_features=2**12, norm=None, alternate_sign=False, token_pattern="[a-z_]{3,}", stop_words="english"
)
stream = StreamingNGGPMixture()
born, by_release = {}, []
for release, day in RELEASES.items():
    X = hashing.transform(notes[release])
    stream.partial_fit(X)
    ids = stream.cluster_ids_[stream.predict(X)]
    counts = Counter(ids.tolist())
    by_release.append(counts)
    for number, count in sorted(counts.items()):
        if count >= 10 and number not in born:
            words = Counter(
                word for i in np.flatnonzero(ids == number)
                for word in {*hashing.build_analyzer()(notes[release][i])}
            )  # fmt: skip
            born[number] = " ".join(word for word, _ in sorted(words.items(), key=lambda item: (-item[1], item[0]))[:5])
            print(f"{day}  {release:5s} {count:4d}  {born[number]}")
print(f"{stream.n_clusters_} clusters in the end, {len(born)} of them listed")

# %%
# Each line is one of the largest clusters: what came to many classes at once with one release, and what comes with
# every release. ``feature_names_in_``, which came with 1.0, has most words of ``n_features_in_``, which came with 0.24,
# and joined its cluster.

largest = sorted(born, key=lambda number: -sum(counts[number] for counts in by_release))[:8]
figure, axis = plt.subplots(figsize=(9, 4.5), layout="constrained")
for number in largest:
    axis.plot(list(RELEASES.values()), [counts[number] for counts in by_release], marker=".", label=born[number])
axis.set(ylabel="notes of a release", title="Clusters of a stream, by the dates of its texts")
axis.legend(fontsize="small")
plt.show()
