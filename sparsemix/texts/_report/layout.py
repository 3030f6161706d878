"""Relations between topics: distances, similar topics, a map and a tree."""

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import pdist, squareform

from sparsemix._typing import Array
from sparsemix.extend import read_topics
from sparsemix.texts._report.apart import apart, radii_of, spiral

# Maximum number of topics on the map and in the tree, because memory and time grow with its square.
MOST_TOPICS = 2000
# With fewer topics the map shows their distances; with more of them, which topics are neighbours.
LEAST_NEIGHBOURS = 12
# Rounds of stress majorisation. Distances of few topics converge in less.
ROUNDS = 300
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
        Fitted estimator with ``components_``, or nonnegative weights. Topics of large ``topic_weights_``, if it has
        them, get more room.

    Returns
    -------
    places : ndarray of shape (n_topics, 2)
        From -1 to 1. Up to 11 topics have places whose distances are as near as possible to their Hellinger distances;
        more of them have coordinates from t-SNE. Topics that are too close are then pushed apart, so that circles can
        show them. Equal topics are next to each other.

    Raises
    ------
    ValueError
        For weights that are negative or not finite, and a topic without weight.

    References
    ----------
    Borg, I. and Groenen, P. (2005). "Modern multidimensional scaling". Springer. Chapter 8: stress majorisation.

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
    components = read_topics(topics)
    return coordinates(affinities(components), getattr(topics, "topic_weights_", np.ones(len(components))))


def coordinates(affinity, weights):
    """Coordinates of topics in the plane (K, 2), from -1 to 1, by their affinities, with room for their weights.

    Two principal coordinates would show the few topics that are far from all, with the rest on one spot. They are the
    start of methods that show all distances, or for many topics the neighbours of each.
    """
    distances = np.sqrt(1.0 - affinity)
    places = principal_coordinates(distances)
    places = (places / (places.std() or 1.0)) + 1e-2 * spiral(len(places))  # equal places would stay equal
    places = (by_neighbours if len(places) >= LEAST_NEIGHBOURS else by_distances)(distances, places)
    places = places - (places.min(axis=0) + places.max(axis=0)) / 2
    places = apart(places / (np.abs(places).max() or 1.0), radii_of(np.asarray(weights, dtype=np.float64)))
    places = places - (places.min(axis=0) + places.max(axis=0)) / 2
    return places / max(1.0, np.abs(places).max())


def by_neighbours(distances, places):
    """Places by t-SNE."""
    from sklearn.manifold import TSNE

    perplexity = min(15.0, (len(places) - 1) / 4)
    tsne = TSNE(perplexity=perplexity, metric="precomputed", init=(1e-4 * places).astype(np.float32), random_state=0,
                learning_rate="auto")  # fmt: skip
    return tsne.fit_transform(distances).astype(np.float64)


def by_distances(distances, places):
    """Places of least stress, the sum of squared differences to the distances, by majorisation."""
    for _ in range(ROUNDS):
        found = squareform(pdist(places))
        ratios = np.divide(distances, found, out=np.zeros_like(found), where=found > 0)
        places = (ratios.sum(axis=1)[:, None] * places - ratios @ places) / len(places)
    return places


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
