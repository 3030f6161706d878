"""Initial clusters of rows of which some have labels: no component belongs to two labels."""

import numpy as np

from sparsemix._engine import initialize
from sparsemix._heuristics.mixture.seeds import column_scales
from sparsemix._models.mixture.annotated import UNKNOWN
from sparsemix._rows.blocks import Rows

# Most labelled rows with which the rows without labels are compared.
NEIGHBOURS = 2_000


def balanced(labels, size, rng):
    """Rows of a subset in order: up to half of it labelled, with equal numbers of each label as far as these go."""
    if len(labels) <= size:
        return slice(0, len(labels))
    order, known = rng.permutation(len(labels)), labels != UNKNOWN
    chosen = few_of_each(labels, order, max(1, size // 2))
    rest = order[~known[order]] if (~known).sum() >= size - len(chosen) else np.setdiff1d(order, chosen)
    return np.sort(np.concatenate([chosen, rest[: size - len(chosen)]]))


def few_of_each(labels, order, size):
    """About ``size`` labelled rows in a given order, at least one of each label."""
    known = order[labels[order] != UNKNOWN]
    n_of_each = np.bincount(labels[known])
    by_label = known[np.argsort(labels[known], kind="stable")]
    place = np.arange(len(known)) - np.repeat(np.cumsum(n_of_each) - n_of_each, n_of_each)
    return by_label[place < max(1, size // np.count_nonzero(n_of_each))]


def completed_labels(x, labels, rng):
    """Labels of all rows: those without a label get that of the nearest labelled row."""
    unknown = labels == UNKNOWN
    if not unknown.any():
        return labels
    known = few_of_each(labels, rng.permutation(len(labels)), NEIGHBOURS)
    scaled = x / column_scales(x)
    labels = labels.copy()
    labels[unknown] = labels[known][initialize.nearest_centres(scaled[unknown], scaled[known])]
    return labels


def numbers_of_components(masses, sizes, n_components):
    """Number of components of each label in proportion to masses, at least one, and at most ``sizes``."""
    if len(masses) > n_components:
        raise ValueError(
            f"labels has {len(masses)} different labels, more than n_components={n_components}; raise n_components"
        )
    numbers = np.ones(len(masses), dtype=np.intp)
    for _ in range(n_components - len(masses)):
        share = np.where(numbers < sizes, masses / numbers, 0.0)
        numbers[share.argmax()] += 1  # beyond all sizes, components stay empty
    return numbers


def clusters_of_labels(rows, labels, n_components, cluster, rng):
    """The component of each of the rows, and the label of each component, (K,).

    ``cluster(rows, n)`` returns clusters of rows. The components of a label are clusters of its rows.
    """
    labels, n_classes = completed_labels(rows.X, labels, rng), labels.max() + 1
    weight = np.ones(len(rows)) if rows.sample_weight is None else rows.sample_weight
    masses = np.bincount(labels, weights=weight, minlength=n_classes)
    numbers = numbers_of_components(masses, np.bincount(labels, minlength=n_classes), n_components)
    components = np.empty(len(rows), dtype=np.int32)
    for label, first in enumerate(np.cumsum(numbers) - numbers):
        mine = np.flatnonzero(labels == label)
        n = min(numbers[label], len(mine))
        components[mine] = first
        if n > 1:
            components[mine] += cluster(Rows(rows.X[mine], rows.weight(mine)), int(n))
    return components, np.repeat(np.arange(n_classes, dtype=np.int32), numbers)
