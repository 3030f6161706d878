"""Initialisation of mixtures of linear likelihoods: k-means++ in the divergence of the likelihood, races, exchanges."""

import numpy as np
from scipy.sparse import csr_array

from sparsemix._engine import initialize
from sparsemix._engine.loop import collect, respond
from sparsemix._engine.schedules import Stochastic
from sparsemix._estimator.input.gaussian_prior import check_means
from sparsemix._heuristics.mixture.exchanges import exchange_components
from sparsemix._heuristics.mixture.linear_splitting import LinearSplitting
from sparsemix._heuristics.mixture.policy import few_components
from sparsemix._heuristics.mixture.seeds import greedy_trials
from sparsemix._heuristics.mixture.start import subset
from sparsemix._rows.blocks import spans
from sparsemix._stats.altered import altered
from sparsemix._stats.linear import csr
from sparsemix._stats.responsibilities import SparseResponsibilities
from sparsemix._stats.weights import MaximumLikelihoodWeights
from sparsemix.mixture._initial_values import check_responsibilities, given_values
from sparsemix.mixture._linear import _race
from sparsemix.mixture._linear._rows import SparseDocuments

SEEDINGS = "k-means++", "random_from_data", "random"
# Most components that are exchanged: with 1,000 exchanges take longer than the fit, and with few short documents each
# they join clusters.
MOST_EXCHANGED = 100
# Number of rows for seeds, and for exchanges: per component, and at least. With 20 rows per component exchanges gained
# half.
ROWS_PER_SEED, ROWS_PER_COMPONENT, LEAST_ROWS = 4, 50, 2_000
# Number of rows of a race. With 2,000 rows the likeliest initialisation is often not the one of all rows.
RACE_ROWS = 5_000
# For more components, up to this number of pairs of a row and a seed, each seed is the best of several draws (greedy
# k-means++).
GREEDY_PAIRS = 1_000_000
# Number of rows for online epochs before learning: per component, and at least.
FIRST_ROWS_PER_COMPONENT, FIRST_ROWS = 50, 20_000
FIRST_STEPS, DECAY, OFFSET = 10, 0.6, 10.0


def start(params, model, rows, rng, workers, sums_of):
    """Statistics of mass N; ``sums_of(means, rows)`` are sums (K, D) of rows with given means, for one row each."""
    n, k = len(rows), params.n_components
    given = given_values(params.init_params, "means", "responsibilities")
    if "responsibilities" in given:
        resp = check_responsibilities(given["responsibilities"], n, k, rows.kept)
        return collect(model, rows, slice(0, n), workers, given=SparseResponsibilities.from_matrix(resp))
    selection, raced = seed_selection(params, rows, rng), False
    if "means" in given:
        means = check_means("init_params", given["means"], (k, model.family.n_features))
        stats = nearest(model, rows, selection, sums_of(means, rows), workers)
    elif not rows.sparse and by_seeds(params) and not exchanges(params) and not races(params):
        labels = seeded_directions(rows.read(selection), rows.weight(selection), k, rng)
        stats = collect(model, rows, selection, workers, given=SparseResponsibilities.from_labels(labels))
    else:
        stats, raced = clustered(params, model, part_of(rows, selection), rng, workers)
    stats["count"] += 1.0  # as for Gaussians: one extra row keeps empty clusters alive
    for name in ("first", "lost"):
        if name in stats:
            stats[name] += stats[name].sum(axis=0) / float(stats["mass"])
    stats["mass"] += k
    stats.scale(rows.mass / float(stats["mass"]))
    n_epochs = params.first_epochs[params.inference]
    if n_epochs and "means" not in given and not raced:
        numbers = rng.permutation(n)[: first_rows(params)]
        stats = smoothed(model, rows, numbers, stats, n_epochs, rng, workers)
    return stats


def clustered(params, model, some, rng, workers):
    """Statistics of clusters of some rows, and whether they won a race."""
    k, few = params.n_components, _race.distinct(some) if races(params) else some
    n_starts = _race.starts_of(few, k) if races(params) else 1
    raced = n_starts >= _race.LEAST_STARTS
    if raced:
        found = _race.winner(model.family, few, k, model.n_nonzero, n_starts, rng)
        some, resp = few, SparseResponsibilities.from_matrix(found)
    else:
        greedy = is_greedy(len(some), k)
        resp = SparseResponsibilities.from_labels(seeded(params.init_params, model.family, some, k, rng, greedy))
    if exchanges(params):
        learner = altered(model, variational=False, weights=MaximumLikelihoodWeights())
        learner = altered(learner, n_nonzero=k) if raced else learner
        _, resp = exchange_components(learner, some, resp, rng, workers, LinearSplitting)
    return collect(model, some, slice(0, len(some)), workers, given=resp), raced


def nearest(model, rows, selection, sums, workers):
    """Statistics of the chosen rows, each in the most likely of components with these sums for one row."""
    learner = altered(model, variational=False, weights=MaximumLikelihoodWeights(), n_nonzero=1)
    stats = model.empty_stats()
    size = rows.mass / model.n_components
    stats["count"] += size
    stats["first"] += size * sums
    stats["mass"] += rows.mass
    learner.global_step(stats, workers.split)
    return collect(model, rows, selection, workers, given=respond(learner, rows, selection, workers)[0])


def part_of(rows, selection):
    """Some of the rows as the model reads them; directions become sparse, too."""
    x = rows.read(selection)
    x = csr_array(x) if isinstance(x, np.ndarray) else csr(x, x.n_words)
    return SparseDocuments(x, rows.weight(selection), x.dtype)


def seed_selection(params, rows, rng):
    """Rows from which seeds are chosen: a random subset, of different rows where most dense rows are copies."""
    selection = subset(rows, seed_rows(params), rng)
    if isinstance(selection, slice) or rows.sparse or len(set(keys_of(rows.read(selection)))) >= params.n_components:
        return selection
    first = {}
    for start, stop in spans(len(rows), LEAST_ROWS):
        for number, key in enumerate(keys_of(rows.read(slice(start, stop))), start):
            first.setdefault(key, number)
    numbers = np.array(list(first.values()))
    return np.sort(rng.choice(numbers, size=min(len(numbers), seed_rows(params)), replace=False))


def keys_of(x):
    """A number for each dense row, the same for the same row."""
    return [hash(row.tobytes()) for row in x]


def seed_rows(params):
    """Number of rows from which seeds are chosen."""
    least = RACE_ROWS if races(params) else LEAST_ROWS
    return max(least, (ROWS_PER_COMPONENT if exchanges(params) else ROWS_PER_SEED) * params.n_components)


def by_seeds(params):
    """Whether clusters begin at rows that are far apart."""
    return isinstance(params.init_params, str) and params.init_params == "k-means++"


def races(params):
    """Whether several initialisations compete, if the columns are few."""
    return by_seeds(params) and params.n_components > 1 and few_components(params.n_components)


def exchanges(params):
    """Whether components are exchanged."""
    return by_seeds(params) and 2 < params.n_components <= MOST_EXCHANGED


def first_rows(params):
    """Number of rows of the online epochs before learning."""
    rows = max(seed_rows(params), FIRST_ROWS, FIRST_ROWS_PER_COMPONENT * params.n_components)
    return rows if params.first_epochs[params.inference] else 0


def smoothed(model, rows, numbers, stats, n_epochs_done, rng, workers):
    """Statistics after online epochs of EM over some rows, in which clusters form before they compete.

    With few words and many clusters, exp E[log phi] gives all words to the cluster that leads by chance; means do not.
    """
    learner = altered(model, variational=False, weights=MaximumLikelihoodWeights())
    step_rows = max(1, -(-len(numbers) // FIRST_STEPS))
    steps = Stochastic(len(numbers), step_rows, rng, DECAY, OFFSET, rows.mass)
    for _ in range(n_epochs_done):
        for selection in steps.batches():
            learner.global_step(stats, workers.split)
            stats = steps.absorb(stats, collect(learner, rows, np.sort(numbers[selection]), workers))
    return stats


def is_greedy(n_rows, n_components):
    """Whether each seed is the best of several draws."""
    return n_components > MOST_EXCHANGED and n_rows * n_components <= GREEDY_PAIRS


def seeded_directions(x, weight, n_components, rng):
    """Labels of dense unit rows by k-means++ in squared distance, which is twice one minus the cosine."""
    if is_greedy(len(x), n_components):
        n_trials = greedy_trials(n_components)
        return initialize.nearest_centres(x, initialize.euclidean_centres(x, n_components, n_trials, rng, weight))
    return initialize.euclidean_labels(x, n_components, rng, weight)


def seeded(method, family, rows, n_components, rng, greedy):
    """Labels of rows by k-means++ in the family's divergence: the loss of log density of a row at a seed."""
    n = len(rows)
    x, weight = rows.read(slice(0, n)), rows.sample_weight
    if method == "random":
        return initialize.random_labels(n, n_components, rng)
    own, under = family.own_weights(x), family.seed_weights(x)

    def from_row(i):
        return np.maximum(own - under(i), 0.0)

    if method == "random_from_data":
        return initialize.random_centres(from_row, n, n_components, rng, weight)
    return initialize.plus_plus(from_row, n, n_components, rng, weight, greedy_trials(n_components) if greedy else 1)
