"""Moves: changes of the components between steps, taken only when they raise the lower bound."""

import numpy as np


def sort_by_size(model, schedule, stats):
    """Sort components by decreasing size; for weight priors that depend on the order (stick-breaking)."""
    order = np.argsort(-stats["count"], kind="stable")
    counts = stats["count"]
    if model.weights.evidence(counts[order]) <= model.weights.evidence(counts):
        return stats
    schedule.permute(order)
    model.permute(order)
    return stats.take(order)
