"""
Clusters being born
===================

Short messages arrive day by day, and what they are about changes: something happens, is talked about for some days, and
is forgotten. :class:`~sparsemix.StreamingNGGPMixture` reads each message once. It opens a cluster when something new
begins, and with ``half_life`` lets go of what is over. The messages are generated here, so that we know when each story
began; a vocabulary is never listed, since words are hashed.
"""

# %%
# A stream with dates
# -------------------
# Each story has its own dozen words, a day on which it breaks, and an interest that dies away. A message has six words:
# some of its story, some that every message may have.

from datetime import date, timedelta

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from sparsemix import StreamingNGGPMixture

rng = np.random.default_rng(0)
START, DAYS, PER_DAY = date(2024, 3, 1), 60, 120
SUBJECTS = ["flood", "election", "eclipse", "strike", "comet", "cup", "merger", "outage", "festival", "verdict"]
WORDS = {subject: [subject, *(f"{subject}{i}" for i in range(11))] for subject in SUBJECTS}
COMMON = [f"common{i}" for i in range(60)]
BREAKS = {subject: int(day) for subject, day in zip(SUBJECTS, np.linspace(0, DAYS - 8, len(SUBJECTS)), strict=True)}


def messages(day):
    """Texts of a day and their stories."""
    ages = np.array([day - BREAKS[subject] for subject in SUBJECTS])
    interest = np.where(ages >= 0, np.exp(-np.maximum(ages, 0) / 5.0), 0.0)
    stories = rng.choice(len(SUBJECTS), size=PER_DAY, p=interest / interest.sum())
    texts = [" ".join([*rng.choice(WORDS[SUBJECTS[story]], 4), *rng.choice(COMMON, 2)]) for story in stories]
    return texts, stories


# %%
# Reading it
# ----------
# ``cluster_ids_`` are numbers in the order of birth, which stay while clusters come and go. A half-life of ten days of
# messages forgets stories that nobody talks about any more.

hashing = HashingVectorizer(n_features=2**10, norm=None, alternate_sign=False)
stream = StreamingNGGPMixture(half_life=10 * PER_DAY, merge_every=PER_DAY)
born, daily, right = {}, [], []
for day in range(DAYS):
    texts, stories = messages(day)
    X = hashing.transform(texts)
    stream.partial_fit(X)
    ids = stream.cluster_ids_[stream.predict(X)]
    numbers, counts = np.unique(ids, return_counts=True)
    daily.append(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
    for number in numbers[counts >= 5].tolist():
        born.setdefault(number, (day, SUBJECTS[np.bincount(stories[ids == number]).argmax()]))
    right.append(np.mean([born.get(i, (0, ""))[1] == SUBJECTS[story] for i, story in zip(ids, stories, strict=True)]))

for day, subject in born.values():
    print(f"{START + timedelta(days=day)}  {subject:10s} broke on {START + timedelta(days=BREAKS[subject])}")
print(f"{stream.n_clusters_} clusters live on the last day; {100 * np.mean(right):.0f} % of messages in their story")

# %%
# Each line is a cluster, drawn from its birth on; dashed lines are the days on which stories broke.

dates = [START + timedelta(days=day) for day in range(DAYS)]
fig, axis = plt.subplots(figsize=(8, 4), layout="constrained")
for number, (_, subject) in born.items():
    axis.plot(dates, [counts.get(number, 0) for counts in daily], label=subject)
for day in BREAKS.values():
    axis.axvline(START + timedelta(days=day), color="0.8", linestyle="--", linewidth=0.8, zorder=0)
axis.set(ylabel="messages a day", title="Clusters of a stream, from their birth")
axis.legend(ncols=2, fontsize="small")
fig.autofmt_xdate()
plt.show()
