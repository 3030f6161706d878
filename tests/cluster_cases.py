"""What the mixtures without a given number of clusters are tried with: rows, settings, and what they say of them."""

import numpy as np
from row_cases import CLOUDS, SCALES
from scipy import sparse

from sparsemix import GibbsNGGPMixture, StreamingNGGPMixture
from sparsemix.datasets import make_bars_mixture

GAUSSIANS = ["full", "diag", "spherical", "zero_mean"]
LIKELIHOODS = ["multinomial", *GAUSSIANS]

# Texts of eight words that share many: their clusters are unsure. Some have no words at all.
_texts = make_bars_mixture(n_side=5, n_samples=150, doc_length=8, random_state=0)[0].tolil()
_texts[[0, 1, 70, 149]] = 0
TEXTS = sparse.csr_array(_texts, dtype=np.float64)
WEIGHTS = np.random.default_rng(0).uniform(0.6, 2.0, 150)

# What is far apart: each document has the words of one of six groups, each row is near one of four corners.
GROUPS = np.random.default_rng(1).integers(0, 6, 120)
APART = np.zeros((120, 30))
for _i, _group in enumerate(GROUPS):
    APART[_i, 5 * _group : 5 * _group + 5] = np.random.default_rng(_i).poisson(4.0, 5) + 1
CORNERS = np.random.default_rng(2).integers(0, 4, 120)
APART_ROWS = np.random.default_rng(3).normal(size=(120, 2)) + 60.0 * np.array(
    [[0, 0], [0, 1], [1, 0], [1, 1]]
)[CORNERS]  # fmt: skip
# Along one axis or the other, as clusters with mean zero can be.
AXES = CORNERS % 2
APART_AXES = np.random.default_rng(4).normal(scale=0.01, size=(120, 2))
APART_AXES[np.arange(120), AXES] = np.random.default_rng(5).choice([-1.0, 1.0], 120) * np.linspace(3.0, 9.0, 120)


def given_prior(likelihood):
    """Parameters of a Gaussian prior that take nothing from the data."""
    if likelihood == "multinomial":
        return {}
    matrix = {"diag": np.full(2, 0.5), "spherical": 0.5}.get(likelihood, 0.5 * np.eye(2))
    means = {} if likelihood == "zero_mean" else {"mean_prior": [4.0, 5.0], "mean_precision_prior": 0.1}
    return {**means, "covariance_prior": matrix}


def streaming(likelihood="multinomial", **params):
    """A stream whose clusters are many enough to come, merge and go."""
    params = {"concentration": 1.0, "new_cluster_threshold": 0.3, "merge_criterion": None, "random_state": 0,
              "max_iter": 1} | params  # fmt: skip
    if params["new_cluster_threshold"] is not None:
        params["new_cluster_threshold"] = max(params["new_cluster_threshold"], params.get("discount", 0.0))
    return StreamingNGGPMixture(likelihood, **(given_prior(likelihood) | params))


def gibbs(likelihood="multinomial", **params):
    """A short chain."""
    params = {"concentration": 1.0, "max_iter": 12, "burn_in": 6, "thin": 2, "random_state": 0} | params
    return GibbsNGGPMixture(likelihood, **(given_prior(likelihood) | params))


def rows_of(likelihood):
    """Rows whose clusters are unsure."""
    return {"multinomial": TEXTS, "zero_mean": SCALES}.get(likelihood, CLOUDS)


def apart(likelihood):
    """Rows whose clusters are not, and these clusters."""
    special = {"multinomial": (APART, GROUPS), "zero_mean": (APART_AXES, AXES)}
    return special.get(likelihood, (APART_ROWS, CORNERS))


def blocks(n, size):
    """Slices of so many rows."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def stream(est, rows, size=None, sample_weight=None):
    """Show rows to an estimator, so many at a time."""
    for part in blocks(rows.shape[0], size or rows.shape[0]):
        est = est.partial_fit(rows[part], sample_weight=None if sample_weight is None else sample_weight[part])
    return est


NAMES = ["weights_", "new_weight_", "counts_", "cluster_ids_", "means_", "n_clusters_", "u_", "n_samples_seen_"]
STREAM_NAMES = [*NAMES, "expected_n_clusters_"]


def said(est, rows=None):
    """Everything that a fitted mixture says of itself and of rows."""
    rows = rows_of(est.likelihood) if rows is None else rows
    names = STREAM_NAMES if isinstance(est, StreamingNGGPMixture) else [*NAMES, "labels_", "concentration_"]
    out = [np.array(getattr(est, name)) for name in names]
    if est.likelihood != "multinomial":
        out.append(est.covariances_)
    return [*out, est.predict(rows), est.predict_proba(rows), est.score_samples(rows)]


def assert_same_bits(first, second, rows=None):
    """Two mixtures say the same."""
    for a, b in zip(said(first, rows), said(second, rows), strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


def snapshot(est, rows=None):
    """What an estimator holds and says, to compare with later."""
    return dict(vars(est)), said(est, rows)


def assert_unchanged(est, before, rows=None):
    """It holds the same objects and says the same."""
    attributes, old = before
    assert dict(vars(est)) == attributes
    for a, b in zip(said(est, rows), old, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


def assert_valid(est, rows):
    """Everything finite, weights and responsibilities distributions, as much mass as rows that say something."""
    k = est.n_clusters_
    assert est.counts_.shape == est.weights_.shape == est.cluster_ids_.shape == (k,)
    assert est.means_.shape == (k, np.shape(rows)[1])
    assert (np.diff(est.cluster_ids_) > 0).all()
    assert est.weights_.sum() + est.new_weight_ == 1.0 or abs(est.weights_.sum() + est.new_weight_ - 1.0) < 1e-12
    resp = est.predict_proba(rows)
    assert resp.shape == (np.shape(rows)[0], k)
    assert (resp >= 0).all()
    np.testing.assert_allclose(resp.sum(axis=1), 1.0, rtol=1e-12)
    for values in (est.counts_, est.weights_, est.means_, est.score_samples(rows), est.u_):
        assert np.isfinite(values).all()
    if est.likelihood == "multinomial":
        np.testing.assert_allclose(est.means_.sum(axis=1), 1.0, rtol=1e-9)
        assert (est.means_ > 0).all()


def same_partition(first, second):
    """Whether two labelings group the same rows."""
    pairs = set(zip(np.asarray(first).tolist(), np.asarray(second).tolist(), strict=True))
    return len(pairs) == len(set(first)) == len(set(second))
