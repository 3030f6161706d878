"""
Topics and covariates
=====================

Do papers of the left write more about a topic, and does it rise over the years? The documents of this script are drawn
with both effects, so the answer is known. ``estimate_effect`` gives intervals that contain the uncertainty of the
topics of short documents.
"""

# %%
# Papers with a party and a year
# ------------------------------
# There are three topics. The prior of a document gives the first one more weight if the party is the left, and the
# second one more weight in later years.

import matplotlib.pyplot as plt
import numpy as np

from sparsemix import SparseSCVB0LDA
from sparsemix.metrics import align_topics
from sparsemix.plotting import plot_effect
from sparsemix.topics import estimate_effect

rng = np.random.default_rng(0)
topics = rng.dirichlet(np.full(200, 0.05), 3)
papers = {"party": rng.choice(["left", "right"], 600), "year": rng.integers(2000, 2021, 600)}
rise = 2.5 / (1 + np.exp(-(papers["year"] - 2010) / 2))
priors = np.column_stack([np.where(papers["party"] == "left", 1.2, 0.4), 0.3 + rise, np.full(600, 0.8)])
X = np.array([rng.multinomial(50, rng.dirichlet(prior) @ topics) for prior in priors])

# %%
# Effects
# -------
# ``s(year)`` is a smooth curve. ``contrast`` gives the difference of the expected proportions of each topic.

lda = SparseSCVB0LDA(3, random_state=0).fit(X)
effects = estimate_effect(lda, X, papers, "party + s(year, df=5)")
first, second, _ = align_topics(lda, topics)[0]
row = effects.contrast({"party": ["left"]}, {"party": ["right"]}).loc[first]
print(f"left less right: {row['estimate']:.2f}, 90 % interval {row['low']:.2f} to {row['high']:.2f}")

# %%
# A picture
# ---------
# Points for the parties, and curves over the years. The dotted line is the mean of the priors that made the documents.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
plot_effect(effects, first, "party", ax=left)
for party in ("left", "right"):
    plot_effect(effects, second, "year", at={"party": party}, ax=right)
years = np.arange(2000, 2021)
weight = 0.3 + 2.5 / (1 + np.exp(-(years - 2010) / 2))
for side, colour in ((1.2, "C0"), (0.4, "C1")):
    right.plot(years, weight / (weight + side + 0.8), ":", color=colour)
right.set_xticks(years[::5])
right.legend(right.lines[:2], ["left", "right"])

plt.show()
