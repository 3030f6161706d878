"""Synthetic cells with known topics of open regions."""

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import Array, Seed, SparseArray

# Cells per block.
CELLS = 2_000
# Share of a cell's regions that are open in all cells, as promoters of common genes are; the rest come from its topics.
COMMON = 0.5
# Share of all regions that a topic opens; shape of the Gamma distribution of region weights.
OWN, SHAPE = 0.05, 0.5
# Standard deviation of the logarithm of the reading depth.
DEPTH = 0.4


@plain_arguments
def make_cells(
    n_samples: int = 2000,
    n_features: int = 20_000,
    n_components: int = 10,
    *,
    regions_per_cell: int = 1000,
    doc_topic_prior: float = 0.1,
    random_state: Seed = None,
) -> tuple[SparseArray, Array, Array]:
    """Draw a binary matrix of cells by open regions, as in single-cell chromatin assays, with known topics.

    Use it to test whether a model recovers topics of cells, and how it scales: a cell is a document of a thousand words
    or more, each of which occurs once. A topic opens a twentieth of all regions, a few of them often and most of them
    rarely. Half of the open regions of a cell are common to all cells. Depths of cells vary by a factor of two.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of cells.
    n_features : int, default=20000
        Number of regions.
    n_components : int, default=10
        Number of topics.
    regions_per_cell : int, default=1000
        Regions drawn for a cell of median depth. A region that is drawn twice is open once.
    doc_topic_prior : float, default=0.1
        Concentration of the Dirichlet distribution of a cell's topics.
    random_state : int, RandomState instance or None, default=None
        Seed; pass an int for reproducible cells.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_features), float32
        One for each open region.
    topics : ndarray of shape (n_components, n_features)
        Probabilities of regions, without the common regions; rows sum to one.
    cell_topic : ndarray of shape (n_samples, n_components)
        Probabilities of topics, rows sum to one.

    Raises
    ------
    ValueError
        If the prior or a number is not positive.

    Examples
    --------
    >>> from sparsemix.datasets import make_cells
    >>> X, topics, cell_topic = make_cells(100, n_features=2000, n_components=4, regions_per_cell=150, random_state=0)
    >>> X.shape, topics.shape, cell_topic.shape, float(X.max())
    ((100, 2000), (4, 2000), (100, 4), 1.0)
    """
    positive = {
        "n_samples": n_samples, "n_features": n_features, "n_components": n_components,
        "regions_per_cell": regions_per_cell, "doc_topic_prior": doc_topic_prior,
    }  # fmt: skip
    for name, value in positive.items():
        if not value > 0:
            raise ValueError(f"{name} is {value}; it must be positive")
    topics, cell_topic, blocks = cells_in_blocks(
        n_samples, n_features, n_components, regions_per_cell, doc_topic_prior, check_random_state(random_state)
    )
    return sparse.vstack(list(blocks), format="csr"), topics, cell_topic


def cells_in_blocks(n_samples, n_features, n_components, regions_per_cell, doc_topic_prior, rng):
    """Topics, topics of cells, and an iterator over blocks of cells, because all cells may exceed memory."""
    common = distribution(rng.gamma(SHAPE, size=n_features))
    topics = np.zeros((n_components, n_features))
    n_own = max(1, round(OWN * n_features))
    for topic in topics:
        topic[rng.choice(n_features, n_own, replace=False)] = distribution(rng.gamma(SHAPE, size=n_own))
    cell_topic = rng.dirichlet(np.full(n_components, doc_topic_prior), size=n_samples)
    depth = np.maximum(1, np.round(regions_per_cell * np.exp(rng.normal(scale=DEPTH, size=n_samples)))).astype(int)
    sources = np.cumsum(np.vstack([common, topics]), axis=1)
    blocks = (
        draw_cells(sources, cell_topic[start : start + CELLS], depth[start : start + CELLS], rng)
        for start in range(0, n_samples, CELLS)
    )
    return topics, cell_topic, blocks


def distribution(weights):
    """Normalise weights."""
    return weights / weights.sum()


def draw_cells(sources, cell_topic, depth, rng):
    """Draw regions of some cells: for each draw first a source (common or a topic), then a region of it."""
    shares = np.hstack([np.full((len(cell_topic), 1), COMMON), (1.0 - COMMON) * cell_topic])
    counts = np.vstack([rng.multinomial(n, share) for n, share in zip(depth, shares, strict=True)])
    cells, regions = [], []
    for source, counts_of in zip(sources, counts.T, strict=True):
        cells.append(np.repeat(np.arange(len(depth)), counts_of))
        drawn = np.searchsorted(source, rng.random_sample(counts_of.sum()) * source[-1])
        regions.append(np.minimum(drawn, len(source) - 1))
    cells, regions = np.concatenate(cells), np.concatenate(regions)
    X = sparse.csr_array((np.ones(len(cells), np.float32), (cells, regions)), shape=(len(depth), sources.shape[1]))
    X.data[:] = 1.0
    return X
