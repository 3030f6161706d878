"""
Populations of cells, large and small
=====================================

A flow or mass cytometer measures markers on each of many cells. Gates name populations by hand; a mixture finds them
in all markers at once. This script draws 100,000 cells with 8 markers, transforms them in a pipeline, and compares
ways to find twelve populations between 30 % and 0.2 % of the cells. The two rare ones differ from the largest
population in two markers only: one is clearly brighter there, the other one by a shade.
"""

# %%
# The cells
# ---------
# Populations are bright or dim in each marker. Values within a population are skewed, and cells of any population vary
# in size, which changes all markers together. The detector adds noise. On the scale of the detector a bright cell is a
# hundred times as bright as a dim one, so ``arcsinh(x / 5)``, usual for mass cytometry, comes first.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sparsemix import SparseGaussianMixture
from sparsemix.plotting import plot_mixture

rng = np.random.default_rng(0)
n_cells, n_markers = 100_000, 8
shares = np.array([0.30, 0.22, 0.15, 0.10, 0.08, 0.06, 0.04, 0.025, 0.015, 0.006, 0.002, 0.002])
bright = rng.random((len(shares), n_markers)) < 0.4
levels = np.where(bright, rng.uniform(3.0, 5.5, bright.shape), rng.uniform(0.3, 1.3, bright.shape))
DISTINCT, CLOSE = 10, 11  # both are cells of the largest population, but for two markers
dim = np.flatnonzero(~bright[0])[:2]
levels[[DISTINCT, CLOSE]] = levels[0]
levels[DISTINCT, dim] += 3.5
levels[CLOSE, dim] += 1.0
population = rng.choice(len(shares), n_cells, p=shares / shares.sum())
skewed = rng.gamma(4.0, 0.2, (n_cells, n_markers)) - 0.8
size = rng.normal(0.0, 0.2, (n_cells, 1))
X = 5.0 * np.sinh(levels[population] + skewed + size) + rng.normal(0.0, 2.0, (n_cells, n_markers))

# %%
# Clusters
# --------
# With twelve components, the number of populations, large populations get several, and small ones share one. With 40
# there are enough, and a name for each component joins those of one population. Here the name is the population of most
# of the component's cells, which only a simulation knows; an expert sees it in a table of the means.


def arcsinh(x):
    """The scale on which populations are compact."""
    return np.arcsinh(x / 5.0)


def found(name, named):
    """Print how well named populations agree with the true ones, and what became of the rare ones."""
    print(f"{name:32} Rand index {adjusted_rand_score(population, named):.3f}", end="")
    for word, rare in (("distinct", DISTINCT), ("close", CLOSE)):
        right = np.sum((named == rare) & (population == rare))
        print(f"   {word}: {right} of {np.sum(population == rare)} cells", end="")
        print(f", {np.sum(named == rare) - right} wrong", end="")
    print()


for n_components in (12, 40):
    pipeline = make_pipeline(FunctionTransformer(arcsinh), SparseGaussianMixture(n_components, random_state=0))
    component = pipeline.fit(X).predict(X)
    cells = np.zeros((n_components, len(shares)))
    np.add.at(cells, (component, population), 1)
    found(f"{n_components} components, named", cells.argmax(axis=1)[component])

# %%
# Labels of a few cells
# ---------------------
# An expert has named 30 cells of each population. ``labels`` has -1 for all other cells. Each component belongs to a
# label from the beginning, so there are no components to name. The last line has the labels of all cells.

labels = np.full(n_cells, -1)
for k in range(len(shares)):
    labels[rng.choice(np.flatnonzero(population == k), 30, replace=False)] = k
Z = arcsinh(X)
for n_components, known in ((12, labels), (40, labels), (12, population)):
    mixture = SparseGaussianMixture(n_components, random_state=0).fit(Z, labels=known)
    found(f"{n_components} components, {np.sum(known >= 0):,} labels", mixture.predict_labels(Z))

# %%
# The distinct population of 0.2 % is found with enough components, and with labels even if there are twelve. The close
# one is not. Without labels no component is left for it. With 30 labels its component has room to grow, and takes
# thousands of cells from the tail of the largest population. Even with all labels most of its cells look like
# cells of the largest population: the markers do not contain what would tell them apart. So check a rare population
# that you have named by the number of its cells, and in a picture.

# %%
# Two markers
# -----------
# Left: the mixture of 40 components without labels, in the two markers of the rare populations. Right: their true cells
# on the density of these markers.

_, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for axis in (left, right):
    axis.set(xlim=(-1, 7), ylim=(-1, 7))
plot_mixture(pipeline[-1], Z, columns=dim, ax=left)
plot_mixture(pipeline[-1], columns=dim, density=True, n_components=1, ax=right)
for name, rare in (("distinct", DISTINCT), ("close", CLOSE)):
    cells = Z[population == rare]
    right.scatter(*cells[:, dim].T, s=5, label=f"{name}: {len(cells)} cells")
right.legend()
for axis in (left, right):
    axis.set(xlabel=f"arcsinh of marker {dim[0]}", ylabel=f"arcsinh of marker {dim[1]}")

plt.show()
