"""Initialisation of mixtures of factor analysers from mixtures without loadings.

The initialisation of means and variances is that of a mixture with diagonal covariances. Zero loadings are a saddle
point of the bound and would stay zero. So each component takes the principal directions of the rows assigned to it,
found by a few power iterations, with their explained variances (Tipping and Bishop 1999, Section 3.2).
"""


import numpy as np

from sparsemix._engine.loop import collect, respond
from sparsemix._rows.blocks import Rows
from sparsemix._stats.altered import altered
from sparsemix._stats.families import FactorAnalysers, FactorView

# Power iterations, each an epoch over the rows of the initialisation.
POWER_STEPS = 4
# Minimum noise as a share of a variance, and minimum variance of a direction as a share of the noise: from zero it
# would not grow.
LEAST = 0.05


def plain_model(model):
    """The model without loadings."""
    return altered(model, family=model.family.plain)


def with_loadings(model, plain, stats, rows, selection, rng, workers):
    """Initial statistics of ``model`` from those of ``plain`` and the selected rows."""
    plain.global_step(stats, workers.split)
    start = plain.point_estimate(stats)
    hard = altered(plain, n_nonzero=1)
    x = Rows(rows.read(selection), rows.weight(selection))
    everything = slice(0, len(x))
    resp, _ = respond(hard, x, everything, workers)
    gaussians = principal(model, start, lambda family: sums(model, family, x, resp, workers), rng)
    out = model.family.stats_of(gaussians, stats["count"])
    out.shift = model.shift
    return out


def sums(model, family, x, resp, workers):
    """Statistics of the rows under a family with given factor directions."""
    return collect(altered(model, family=family), x, slice(0, len(x)), workers, given=resp)


def principal(model, start, sums_of, rng):
    """Factor analysers with the means and variances of ``start`` and the principal directions of the rows.

    Columns are divided by their standard deviations, so that units do not matter.
    """
    d, rank = model.family.n_features, model.family.rank
    units = np.sqrt(start.covariances)[:, None]
    directions = orthonormal(rng.standard_normal((model.n_components, rank, d)))
    for step in range(POWER_STEPS):
        stats = sums_of(altered(model.family, view=FactorView.of_directions(directions / units, start.means)))
        if step < POWER_STEPS - 1:
            moved = stats["cross"] - stats["factor_first"][:, :, None] * start.means[:, None]
            directions = orthonormal(moved / units)
    count = stats["count"][:, None]  # few rows overestimate the variance in their own directions
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
