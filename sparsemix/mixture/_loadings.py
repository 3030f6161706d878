"""Where mixtures of factor analysers start: at a mixture without loadings, whose components' rows choose theirs.

Seeds, given parameters and starts of a mixture with diagonal covariances serve as they are. A component without
loadings would never get any (that is a saddle point of the bound), so each takes the principal directions of the rows
that are most likely its own, by some power iterations, and what they explain (Tipping and Bishop 1999, Section 3.2).
"""

from copy import copy

import numpy as np

from sparsemix._engine.blocks import Rows
from sparsemix._engine.loop import collect_given, respond
from sparsemix._stats.families import FactorAnalysers, FactorView

# Passes over the rows of the start.
POWER_STEPS = 4
# Noise is at least this share of a variance, and a direction that explains nothing gets this share of the noise: from
# nothing it would not grow.
LEAST = 0.05


def plain_model(model):
    """The model without loadings; itself where it has none."""
    if not model.family.has_loadings:
        return model
    plain = copy(model)
    plain.family = model.family.plain
    return plain


def with_loadings(model, plain, stats, rows, selection, rng, workers):
    """Statistics of the start of ``model``, from those of ``plain`` and the selected rows."""
    plain.global_step(stats, workers.split)
    start = plain.point_estimate(stats)
    hard = copy(plain)
    hard.n_nonzero = 1
    x = Rows(rows.read(selection), rows.weight(selection))
    everything = slice(0, len(x))
    resp, _ = respond(hard, x, everything, workers)
    gaussians = principal(model, start, lambda family: sums(model, family, x, resp, workers), rng)
    out = model.family.stats_of(gaussians, stats["count"])
    out.shift = model.shift
    return out


def sums(model, family, x, resp, workers):
    """Statistics of the rows under a view of their factors."""
    model = copy(model)
    model.family = family
    return collect_given(model, x, slice(0, len(x)), resp, workers)


def principal(model, start, sums_of, rng):
    """Factor analysers with the means and variances of ``start``, and the directions in which rows vary most.

    Variances of the columns are the units, so that they do not matter.
    """
    d, rank = model.family.n_features, model.family.rank
    units = np.sqrt(start.covariances)[:, None]
    directions = orthonormal(rng.standard_normal((model.n_components, rank, d)))
    for step in range(POWER_STEPS):
        family = copy(model.family)
        family.view = FactorView.of_directions(directions / units, start.means)
        stats = sums_of(family)
        if step < POWER_STEPS - 1:
            moved = stats["cross"] - stats["factor_first"][:, :, None] * start.means[:, None]
            directions = orthonormal(moved / units)
    count = stats["count"][:, None]  # few rows show more than there is in their own directions
    explained, axes = np.linalg.eigh(stats["factor_second"] / (count + rank + 1.0)[:, :, None])
    noise = np.maximum((d - explained.sum(axis=1, keepdims=True)) / (d - rank), LEAST)
    lengths = np.sqrt(np.maximum(explained - noise, LEAST * noise))
    loadings = lengths[:, :, None] * (axes.transpose(0, 2, 1) @ directions) * units
    left = start.covariances - (loadings**2).sum(axis=1)
    return FactorAnalysers(
        means=start.means, covariances=np.maximum(left, LEAST * start.covariances), loadings=loadings
    )


def orthonormal(directions):
    """Orthonormal rows that span those of each matrix (K, Q, D)."""
    return np.ascontiguousarray(np.linalg.qr(directions.transpose(0, 2, 1))[0].transpose(0, 2, 1))
