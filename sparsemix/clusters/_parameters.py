"""Shared parameters of the mixtures without a fixed number of clusters: constraints, checks and derived objects."""

import numbers

import numpy as np

from sparsemix._compat import Interval, Options, StrOptions
from sparsemix._estimator.input.checks import (
    COUNT,
    PRIOR,
    VARIANCE,
    check_columns,
    check_counts,
    check_magnitude,
    check_rows,
    of_positive_weight,
    warn_of_light_weights,
)
from sparsemix._estimator.input.columns import ColumnLimits
from sparsemix._estimator.input.counts import WholeNumbers
from sparsemix._estimator.input.forms import is_sparse
from sparsemix._estimator.input.gaussian_prior import check_means, prior_arguments
from sparsemix._heuristics.clusters.automatic import automatic_prior, correlation_gain
from sparsemix._heuristics.clusters.tree import Groups
from sparsemix._models.clusters.gaussian_slots import GaussianSlots
from sparsemix._models.clusters.moves import Moves
from sparsemix._models.clusters.multinomial_slots import MultinomialSlots
from sparsemix._models.clusters.state import ClusterState
from sparsemix._rows.blocks import Rows
from sparsemix._rows.documents import Documents
from sparsemix._stats.families import GAUSSIANS
from sparsemix._stats.nggp import NGGP
from sparsemix._warnings import warn_caller
from sparsemix.clusters._stepped_rows import SteppedRows

# Likelihoods without shared parameters, for which the density of a row under a new cluster has a closed form.
ALONE = {name: family for name, family in GAUSSIANS.items() if family.additive_alone}
# Likelihoods of documents, and those that may be; "auto" decides by the rows.
OF_COUNTS = {MultinomialSlots.likelihood}
MAY_BE_COUNTS = {"auto", *OF_COUNTS}
LIKELIHOODS = {*MAY_BE_COUNTS, *ALONE}
# Rows of one kernel call; interrupts are possible between two calls.
ROWS = 4096
# Share of documents that a single stream learns before shards, and growth factor of the number of documents after each
# round of shards. Four shards in one round lost 0.05 nats per token of tweets and 0.04 of headlines. Joined after each
# round, they lose no more than another seed does.
TOGETHER, ROUND = 0.1, 1.25
# Default concentration for documents. A text of eight words usually shares a word with some cluster, which favours that
# cluster by a factor of thousands. On texts of a hundred words nothing between 1 and 3000 makes a difference.
CONCENTRATION = 1000.0
# Default concentration for Gaussians, whose prior is estimated and so expects new clusters where rows are. With 1, a
# row four standard deviations from its cluster is another one, and draws of one Gaussian have up to five clusters.
OF_GAUSSIANS = 0.1
# "auto" treats a dense table as documents if at most this share of its entries is non-zero and it has at least WIDE
# columns. With more non-zeros, up to MOSTLY_ZERO, it warns.
SPARSE, WIDE = 0.2, 50
# "auto" tries full covariances up to this number of features D: a cluster takes D^2 / 2 numbers.
FULL_FEATURES = 100

# Warn if there are at least this many documents, they use less than this share of the columns, and the prior counts of
# the unused columns are this many times the length of a document. From five times on, texts of ten subjects were one
# cluster.
UNUSED_FROM, UNUSED, OUTWEIGHS = 100, 0.25, 4.0

# Warn if a fit to at least UNUSED_FROM documents has this share of clusters of one document. The default left it below
# 0.36 on newsgroups, blog entries and Reuters; with 0.47 five sections of news were 549 clusters. The remedy, LARGER,
# holds from LONG words a document on: of headlines it makes more clusters.
SINGLE, LARGER, LONG = 0.4, 0.3, 20

# Limits of the prior: with a tiny positive discount, or a huge concentration or tilt, the total mass overflows.
LARGEST_MEASURE, SMALLEST_DISCOUNT = 1e100, 1e-10

# Value of ``tilt`` for the process of Pitman and Yor.
PITMAN_YOR = "pitman-yor"

SHARED = {
    "likelihood": [StrOptions(LIKELIHOODS)],
    "concentration": [Interval(numbers.Real, 1.0 / LARGEST_MEASURE, LARGEST_MEASURE, closed="both"), None],
    "discount": [Interval(numbers.Real, SMALLEST_DISCOUNT, 1.0, closed="left"), Options(numbers.Real, {0.0})],
    "tilt": [Interval(numbers.Real, 0.0, LARGEST_MEASURE, closed="both"), StrOptions({PITMAN_YOR})],
    "max_components": [Interval(numbers.Integral, 1, None, closed="left"), None],
    "word_prior": [PRIOR],
    "mean_precision_prior": [COUNT, None],
    "mean_prior": ["array-like", None],
    "degrees_of_freedom_prior": [COUNT, None],
    "covariance_prior": ["array-like", VARIANCE, None],
    "dense_output": ["boolean"],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
}
OF_MEANS = ("mean_precision_prior", "mean_prior")
# Parameters that the densities of a likelihood lack.
UNREAD = {"likelihood": {
    **{name: ("word_prior", *(() if kind.has_means else OF_MEANS)) for name, kind in ALONE.items()},
    **dict.fromkeys(OF_COUNTS, (*OF_MEANS, "degrees_of_freedom_prior", "covariance_prior")),
}}  # fmt: skip


def check_data(est, X, reset):
    """Checked rows: counts as a sparse or dense array, else rows of floats.

    Returns
    -------
    X : csr_array or ndarray
    counts : bool
        Whether rows are word counts.
    """
    likelihood = est._params.likelihood if reset else est._fitted.state.sums.likelihood
    if likelihood == "auto" and not is_sparse(X):
        dense = check_numbers(est, X, reset)
        if not (looks_like_counts(dense) if est._counts is None else est._counts):
            return dense, False
    elif likelihood not in MAY_BE_COUNTS:
        return check_numbers(est, X, reset), False
    try:
        return check_counts(est, X, reset=reset), True
    except ValueError as error:
        message = str(error).rstrip(".")
        if "is expecting" in message:
            message += (
                "; for a stream whose vocabulary grows hash the words "
                "(sklearn.feature_extraction.text.HashingVectorizer with norm=None, alternate_sign=False)"
            )
        if message.startswith("Negative values"):
            message += f", which likelihood={est._params.likelihood!r} "
            message += "takes sparse X for" if likelihood == "auto" else "is for"
            message += "; for rows of real numbers give a dense array and likelihood='full' or 'diag'"
        raise ValueError(message) from None


def check_numbers(est, X, reset):
    """Checked dense rows in float64; the first call also checks the scale of the columns."""
    X = check_rows(est, X, reset=reset, dtype=np.dtype(np.float64))
    if reset:
        check_columns(X, est, np.dtype(np.float64))
    return X


def looks_like_counts(X):
    """Whether a dense table looks like word counts of documents; warn if it is uncertain.

    Documents are whole numbers in many columns, mostly zero. The other entries are mostly but not all 1, and rows have
    different totals. Every other table holds real numbers. It is uncertain if all numbers are 0 or 1, or if they are
    whole, half of them are zero, and most of the rest are 1 or 2.
    """
    found = WholeNumbers.of(X)
    if found is None:
        return False
    if found.zeros_and_ones and X.shape[1] > 1:
        warn_caller(
            "likelihood='auto' treats X as measurements, but its entries are all 0 or 1; for answers of yes and no use "
            "SparseBernoulliMixture, which has densities of such rows; if the rows are word counts, set "
            "likelihood='multinomial', else set likelihood='full' or 'diag'",
        )
        return False
    if not found.mostly_zero or 2 * (found.n_ones + found.n_twos) < found.n_nonzero:
        return False
    wide = X.shape[1] >= WIDE and found.n_nonzero <= SPARSE * X.size
    ones = found.n_nonzero <= 2 * found.n_ones < 2 * found.n_nonzero
    if wide and ones and found.least_total < found.largest_total:
        return True
    warn_caller(
        f"likelihood='auto' treats X as measurements, but X has whole numbers, {1.0 - found.n_nonzero / X.size:.0%} of "
        "them zero; if the rows are word counts, set likelihood='multinomial', else set likelihood='full' or 'diag'",
    )
    return False


def warn_if_fractions(est, X):
    """Warn if "auto" chose counts for a stream and later dense rows are not counts."""
    counted = est._params.likelihood == "auto" and not est._fitted.state.sums.has_covariances
    if counted and not is_sparse(X) and (np.floor(X) != X).any():
        warn_caller(
            "likelihood='auto' treated the first rows of the stream as word counts, but X has numbers that are not "
            "whole; if the rows are measurements, fit again with likelihood='full' or 'diag', else set "
            "likelihood='multinomial'",
        )


def weighted_rows(X, counts, sample_weight, shift=None):
    """Rows of positive weight, and their indices (None: all)."""
    X, sample_weight, kept = of_positive_weight(X, sample_weight)
    warn_of_light_weights(sample_weight)
    kept = None if kept is None else np.flatnonzero(kept)
    if counts:
        check_magnitude(X, sample_weight)
        return Documents(X, sample_weight, np.float64), kept
    return Rows(X, sample_weight, shift, np.float64), kept


def passes_of(params, counts):
    """Number of epochs of ``fit``: one with shards, and one if clusters are forgotten, which several epochs cannot do.

    Also one with a discount: a row that is removed from its single-row cluster may open another one while a remainder
    of the first stays, so that six rows end in seven clusters.
    """
    if params.max_iter != "auto":
        if params.n_shards > 1 and params.max_iter > 1:
            raise ValueError(
                f"n_shards is {params.n_shards} with max_iter={params.max_iter}; shards are for one epoch"
            )
        return params.max_iter
    forgets = params.prune_threshold is not None or params.half_life is not None
    return 1 if counts or forgets or params.n_shards > 1 or params.discount > 0 else 2


def warn_if_shattered(params, n_clusters, n_rows):
    """Warn if there are more clusters than rows: every epoch opened unneeded ones."""
    if n_clusters > n_rows:
        warn_caller(
            f"{n_clusters} clusters were opened for {n_rows} rows, some by each of max_iter={params.max_iter} epochs"
            "; take max_iter=1, no discount, or a new_cluster_threshold above "
            f"{opening_threshold(params.discount, params.new_cluster_threshold)}",
        )


def warn_if_single(rows, word_prior, labels):
    """Warn if many clusters of documents have one document, and a larger prior would give fewer clusters."""
    if word_prior >= LARGER or rows.lengths().mean() < LONG:
        return
    sizes = np.unique(labels[labels >= 0], return_counts=True)[1]
    n_single = np.count_nonzero(sizes == 1)
    if sizes.sum() >= UNUSED_FROM and n_single > SINGLE * len(sizes):
        warn_caller(
            f"{n_single} of {len(sizes)} clusters have one document under word_prior={word_prior}, the parameter that "
            f"decides their number; a larger one, such as {LARGER}, gives fewer clusters",
        )


def warn_of_code(rows, kept=None):
    """Warn of a code of missing values, whose rows become clusters of their own; ``kept`` holds the rows' numbers."""
    found = ColumnLimits.of(rows.X).code(rows.X)
    if found is not None:
        value, coded = found
        numbers = coded if kept is None else kept[coded]
        names = ", ".join(map(str, numbers[:5])) + ", ..." * (len(numbers) > 5)
        warn_caller(
            f"{len(numbers)} rows of X ({names}) hold {value:g}, which is far from all other values; if it is a code "
            "of missing values, leave these rows out, or use SparseGaussianMixture with NaN in place of the code",
        )


def check_content(rows, counts, kept):
    """Refuse data in which no document has a word; warn of codes among measurements."""
    if not counts:
        warn_of_code(rows, kept)
    elif not rows.informative:
        raise ValueError("no document of X has a token of positive weight; give at least one that is not empty")


def warn_if_mostly_unused(rows, prior):
    """Warn if the prior of a cluster is mostly words of columns without counts, which outweigh a document."""
    n_documents, n_features = rows.X.shape
    if n_documents < UNUSED_FROM or prior * n_features <= 1.0:
        return
    if is_sparse(rows.X):
        stored = rows.X.data[: rows.X.indptr[-1]] > 0.0
        used = len(np.unique(rows.X.indices[: len(stored)][stored]))
    else:
        used = np.count_nonzero(rows.X.any(axis=0))
    extra, length = prior * (n_features - used), float(rows.X.sum()) / n_documents
    if used < UNUSED * n_features and extra > OUTWEIGHS * length:
        warn_caller(
            f"X has {n_features} columns, but its documents use {used} of them. The prior of each cluster counts the "
            f"rest as {extra:.0f} words, and a document has only {length:.0f} on average, so that different documents "
            "may share a cluster; leave out columns of zeros (CountVectorizer makes none), or hash into a number of "
            "columns near the number of different words (HashingVectorizer(n_features=...))",
        )


def moves_of(params, state):
    """Merges, prunes and forgetting of a stream with this state; None if all are off."""
    criterion, threshold = params.merge_criterion, None
    if isinstance(criterion, tuple):
        criterion, threshold = criterion
    if criterion == "auto":
        criterion = "bayes_factor" if state.sums.has_covariances else None
    if criterion is None and params.prune_threshold is None and params.half_life is None:
        return None
    moves = Moves(params.merge_every, criterion, threshold, params.prune_threshold, params.half_life)
    if moves.wants_overlap and state.overlap is None:
        state.overlap = np.zeros((state.capacity, state.capacity))
    return moves


def u_rule_of(params):
    """Rule for U, and whether the number of clusters in its posterior is their expectation."""
    return params.u_rule if isinstance(params.u_rule, str) else params.u_rule[0], isinstance(params.u_rule, str)


def opening_threshold(discount, given=None):
    """Responsibility of a new cluster above which a row opens it."""
    if given is None:
        return max(0.5, discount + 0.001)
    if given < discount:
        raise ValueError(
            f"new_cluster_threshold is {given}; it must be at least discount={discount}, or a new cluster could win no "
            "further row"
        )
    return given


def make_prior(params, counts):
    """The prior of the partition."""
    if params.discount == params.tilt == 0:
        raise ValueError("discount and tilt are both 0; give one of them a positive value")
    concentration = params.concentration
    if concentration is None:
        concentration = CONCENTRATION if counts else OF_GAUSSIANS
    if params.tilt == PITMAN_YOR:
        return NGGP.pitman_yor(float(concentration), float(params.discount))
    return NGGP(float(concentration), float(params.discount), float(params.tilt))


def make_state(params, rows, counts, partition, threshold, order=None):
    """A state without clusters, rows in the form that it reads, and how its first rows divide; this fixes
    data-dependent priors.

    ``order`` is the order of the rows in which the prior is sought; None is a random one, since rows may come sorted.
    """
    n_features = rows.X.shape[1]
    if counts:
        warn_if_mostly_unused(rows, params.word_prior)
        return ClusterState(MultinomialSlots(n_features, params.word_prior)), rows, None
    shift = origin(params, rows) if has_means(params) else None
    rows = Rows(rows.X, rows.sample_weight, shift, np.float64)
    structures = structures_of(params, n_features)
    if params.covariance_prior is not None and not chooses_kappa(params):
        family = GAUSSIANS[structures[0]](n_features)
        prior = family.prior(None, **given_prior(params, structures[0], n_features, shift))
        return ClusterState(GaussianSlots(family, prior, shift=shift)), rows, None
    order = np.random.default_rng(1).permutation(len(rows)) if order is None else order

    def given(structure):
        return given_prior(params, structure, n_features, shift)

    def bulk(x):
        limits = ColumnLimits.of(x, has_means(params))
        return limits.clip(x), limits.variances(x.var(axis=0) if has_means(params) else (x**2).mean(axis=0))

    found = automatic_prior(structures, given, rows, order, bulk, partition, threshold)
    if params.verbose and params.likelihood == "auto":
        print(f"likelihood {found.family.name!r}{found.reason and ', since '}{found.reason}")
    if params.likelihood == "auto" and n_features > FULL_FEATURES:
        warn_if_correlated(rows.read(found.rows), found.labels)
    steps = found.steps if params.covariance_prior is None else None
    sums = GaussianSlots(found.family, found.prior, shift=shift, steps=steps, scales=found.scales)
    rows = rows if steps is None else SteppedRows(rows, steps, scales=found.scales)
    return ClusterState(sums), rows, None if found.labels is None else (found.rows, found.labels)


def warn_if_correlated(x, labels):
    """Warn if the columns of many are correlated within the clusters found, which are then pieces of others."""
    n_clusters = labels.max() + 1
    means = np.stack([np.bincount(labels, column) for column in x.T], axis=1) / np.bincount(labels)[:, None]
    apart = (x - means[labels])[:, np.ptp(x, axis=0) > 0.0]
    apart /= np.maximum(apart.std(axis=0), np.finfo(float).tiny)
    groups = Groups.of(apart, np.zeros(len(x), dtype=int), True)
    gain, least = correlation_gain(groups, np.array([len(x) - n_clusters + 1]))
    if gain > least:
        warn_caller(
            f"likelihood='auto' is 'diag' for more than {FULL_FEATURES} columns, but the columns of X are correlated "
            f"within the clusters found; reduce X to at most {FULL_FEATURES} columns (sklearn.decomposition.PCA), or "
            "set likelihood='full'",
        )


def chooses_kappa(params):
    """Whether the rows choose kappa_0."""
    return params.mean_precision_prior is None and has_means(params)


def structures_of(params, n_features):
    """Candidate covariance structures of Gaussian clusters; the evidence chooses among them."""
    if params.likelihood != "auto":
        return [params.likelihood]
    if params.covariance_prior is not None:
        return [("spherical", "diag", "full")[min(np.ndim(params.covariance_prior), 2)]]
    return ["full", "diag"] if n_features <= FULL_FEATURES else ["diag"]


def has_means(params):
    """Whether clusters have means; "auto" tries only Gaussians with means."""
    return params.likelihood not in ALONE or ALONE[params.likelihood].has_means


def origin(params, rows):
    """Shift of the rows: the given prior mean, which makes it independent of the first block, or the mean of that
    block.

    Outliers of a column do not move its mean far.
    """
    if params.mean_prior is None:
        return ColumnLimits.of(rows.X).means(rows.mean())
    return check_means("mean_prior", params.mean_prior, (rows.X.shape[1],))


def given_prior(params, structure, n_features, shift):
    """Given parameters of the prior of one cluster; a given covariance is the expected one by default."""
    family = GAUSSIANS[structure](n_features)
    arguments = prior_arguments(params, family, shift, "likelihood")
    if params.covariance_prior is not None:
        if arguments["dof"] is None:
            arguments["dof"] = family.shape.least_dof_of_mean(n_features) + 1.0
        if params.mean_prior is None and not chooses_kappa(params) and family.has_means:
            arguments["mean"] = np.zeros(n_features)
    return arguments


def rounds_of_shards(n_rows):
    """Row numbers at which the first stream and each round of shards end."""
    n_rounds = max(1, round(np.log(1.0 / TOGETHER) / np.log(ROUND)))
    return np.unique(np.round(n_rows * TOGETHER ** np.linspace(1.0, 0.0, n_rounds + 1)).astype(int)).tolist()
