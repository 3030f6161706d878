"""Documents that belong to one cluster each, with known clusters."""

import numpy as np
from sklearn.utils import check_random_state

from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import Array, ArrayLike, Seed, SparseArray
from sparsemix.datasets._topic_generators import draw_words


@plain_arguments
def make_bars_mixture(
    n_side: int = 5,
    n_samples: int = 200,
    *,
    baseline: float = 0.1,
    doc_length: ArrayLike = 100,
    random_state: Seed = None,
) -> tuple[SparseArray, Array, Array]:
    """Draw images of one bar each: words are the pixels of a square, clusters are its rows and columns.

    A small mixture of multinomials whose clusters are easy to check: reshape a row of ``clusters`` to
    ``(n_side, n_side)``. In :func:`make_bars` an image is a mixture of several bars.

    Parameters
    ----------
    n_side : int, default=5
        Edge of the square: ``n_side ** 2`` words and ``2 * n_side`` equally likely clusters, rows first.
    n_samples : int, default=200
        Number of images.
    baseline : float, default=0.1
        Weight of every pixel; a bar adds one to each of its pixels.
    doc_length : int or array of shape (n_samples,), default=100
        Tokens per image.
    random_state : int, RandomState instance or None, default=None
        Seed; pass an int for reproducible images.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_side ** 2), float32
        Counts.
    labels : ndarray of shape (n_samples,), int64
        Cluster of each image.
    clusters : ndarray of shape (2 * n_side, n_side ** 2)
        Probabilities of words, rows sum to one.

    Raises
    ------
    ValueError
        If the baseline is negative.

    Examples
    --------
    >>> from sparsemix.datasets import make_bars_mixture
    >>> X, labels, clusters = make_bars_mixture(3, n_samples=10, baseline=0.5, random_state=0)
    >>> X.shape, labels.shape
    ((10, 9), (10,))
    >>> clusters[0].reshape(3, 3).round(2)
    array([[0.2 , 0.2 , 0.2 ],
           [0.07, 0.07, 0.07],
           [0.07, 0.07, 0.07]])
    """
    if not baseline >= 0:
        raise ValueError(f"baseline must not be negative, got {baseline}.")
    rng = check_random_state(random_state)
    bars = np.vstack([np.repeat(np.eye(n_side), n_side, axis=1), np.tile(np.eye(n_side), n_side)])
    clusters = (baseline + bars) / (baseline * n_side**2 + n_side)
    labels = rng.randint(len(clusters), size=n_samples)
    return draw_clustered(clusters, labels, doc_length, rng), labels, clusters


def draw_clustered(clusters, labels, doc_length, rng):
    """Word counts of documents that belong to one cluster each."""
    lengths = np.broadcast_to(doc_length, len(labels))
    ends = np.cumsum(np.bincount(labels, minlength=len(clusters)))
    members = np.split(np.argsort(labels, kind="stable"), ends[:-1])
    return draw_words(clusters, [np.repeat(rows, lengths[rows]) for rows in members], len(labels), rng)
