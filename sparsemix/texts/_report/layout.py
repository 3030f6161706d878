"""Relations between topics: distances, similar topics, a map and a tree."""

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from sparsemix._typing import Array
from sparsemix.extend import read_topics

# Maximum number of topics on the map and in the tree, because memory and time grow with its square.
MOST_TOPICS = 2000
# With fewer topics the map shows the two principal coordinates alone.
LEAST_NEIGHBOURS = 12
# Bytes of probabilities that ``affinities`` reads at once.
BLOCK = 1 << 26


def affinities(components):
    """Bhattacharyya coefficients (K, K) of all pairs of topics: 1 for equal topics, 0 without common words."""
    n_topics, n_words = components.shape
    totals = components.sum(axis=1, dtype=np.float64)
    out = np.zeros((n_topics, n_topics))
    width = max(1, BLOCK // (4 * n_topics))
    for start in range(0, n_words, width):
        roots = np.sqrt(components[:, start : start + width] / totals[:, None], dtype=np.float32)
        out += roots @ roots.T
    np.fill_diagonal(out, 1.0)
    return np.clip((out + out.T) / 2, 0.0, 1.0)


def similar_topics(affinity, n=5):
    """The n most similar topics of each topic, most similar first: indices (K, n) and affinities."""
    others = affinity.copy()
    np.fill_diagonal(others, -1.0)
    order = np.argsort(-others, axis=1, kind="stable")[:, : min(n, len(affinity) - 1)]
    return order, np.take_along_axis(others, order, axis=1)


def topic_map(topics: Any) -> Array:
    """Coordinates of topics in the plane; similar topics are close.

    Parameters
    ----------
    topics : estimator or array of shape (n_topics, n_words)
        Fitted estimator with ``components_``, or nonnegative weights.

    Returns
    -------
    places : ndarray of shape (n_topics, 2)
        From -1 to 1. Up to 11 topics have the two principal coordinates of their Hellinger distances; more of them have
        coordinates from t-SNE.

    Raises
    ------
    ValueError
        For weights that are negative or not finite, and a topic without weight.

    See Also
    --------
    sparsemix.plotting.plot_topic_map : Plots them.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.texts import topic_map
    >>> places = topic_map(np.array([[6, 3, 1, 0], [6, 2, 2, 0], [0, 1, 3, 6]]))
    >>> a, b, c = places
    >>> bool(np.linalg.norm(a - b) < np.linalg.norm(a - c))
    True
    """
    return coordinates(affinities(read_topics(topics)))


def coordinates(affinity):
    """Coordinates of topics in the plane (K, 2), from -1 to 1, by their affinities.

    Few topics get the first two principal coordinates of the Hellinger distances. Hundreds of topics would overlap
    there. Many topics therefore get coordinates from t-SNE, initialised with the principal coordinates.
    """
    n_topics = len(affinity)
    distances = np.sqrt(1.0 - affinity)
    places = principal_coordinates(distances)
    if n_topics >= LEAST_NEIGHBOURS:
        from sklearn.manifold import TSNE

        start = 1e-4 * places / (places.std() or 1.0)
        perplexity = min(15.0, (n_topics - 1) / 4)
        places = TSNE(perplexity=perplexity, metric="precomputed", init=start.astype(np.float32), random_state=0,
                      learning_rate="auto").fit_transform(distances).astype(np.float64)  # fmt: skip
    places = places - (places.min(axis=0) + places.max(axis=0)) / 2
    return places / (np.abs(places).max() or 1.0)


def principal_coordinates(distances):
    """Classical multidimensional scaling to two dimensions."""
    squares = distances**2
    centred = -0.5 * (squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean())
    values, vectors = np.linalg.eigh(centred)
    values, vectors = values[::-1][:2], vectors[:, ::-1][:, :2]
    vectors = vectors * np.where(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    places = np.zeros((len(distances), 2))
    places[:, : len(values)] = vectors * np.sqrt(np.maximum(values, 0.0))
    return places


def topic_tree(affinity):
    """Hierarchical clustering of topics: merges, most similar topics first, and the order of the leaves.

    Ward's method on Hellinger distances, which are Euclidean distances between square roots of probabilities. Merge i
    of (K - 1, 2) joins two nodes into node K + i; nodes below K are topics.
    """
    n_topics = len(affinity)
    if n_topics < 2:
        return np.zeros((0, 2), dtype=int), np.arange(n_topics)
    distances = np.sqrt(1.0 - affinity)
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(distances, checks=False), "ward")
    return tree[:, :2].astype(int), leaves_list(tree)
