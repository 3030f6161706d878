"""Circles of topics on a map are pushed apart until none covers another."""

import numpy as np
from scipy.spatial import cKDTree

# Area of all circles together on the map, whose sides are 2, and the largest radius.
AREA, WIDEST = 1.2, 0.15
# Pushes stop after so many rounds. Each leaves a gap of this share, so that rounds end.
ROUNDS, GAP = 300, 0.02
GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))


def spiral(n):
    """Distinct places (n, 2) within the unit circle, for points that need a direction to leave each other."""
    angles = GOLDEN_ANGLE * np.arange(n)
    return np.sqrt(np.arange(n) / n)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])


def radii_of(weights):
    """Radii of circles (K,): half of the area goes to all topics equally, so that small ones can be seen too."""
    shares = weights / (weights.sum() or 1.0)
    areas = AREA * (0.5 / len(weights) + 0.5 * shares)
    return np.minimum(np.sqrt(areas / np.pi), WIDEST)


def apart(places, radii):
    """Places (K, 2) near the given ones, at which circles of these radii do not cover one another."""
    places = places + 1e-6 * spiral(len(places))
    for _ in range(ROUNDS):
        pairs = cKDTree(places).query_pairs(2.0 * (1.0 + GAP) * radii.max(), output_type="ndarray")
        offsets, reach = places[pairs[:, 0]] - places[pairs[:, 1]], radii[pairs].sum(axis=1)
        distances = np.linalg.norm(offsets, axis=1)
        if (distances >= reach).all():
            break
        close = distances < (1.0 + GAP) * reach
        pairs, offsets, distances, reach = pairs[close], offsets[close], distances[close], reach[close]
        pushes = offsets * (((1.0 + GAP) * reach - distances) / (2.0 * distances))[:, None]
        places = places + mean_pushes(pairs, pushes, len(places))
    return places


def mean_pushes(pairs, pushes, n):
    """Mean of the pushes of each point (n, 2): the first of a pair is pushed along, the second against."""
    ends, pushes = pairs.T.ravel(), np.concatenate([pushes, -pushes])
    sums = np.column_stack([np.bincount(ends, column, n) for column in pushes.T])
    return sums / np.maximum(np.bincount(ends, minlength=n), 1)[:, None]
