"""Initialisation by repeated splitting: from one component to K, in rounds.

Each round splits every component in two ways: along its longest axis, and by the distance of rows from its mean. Rows
then choose between the halves, and the split with the higher gain stays. The splits with the largest gains are carried
out, all components learn for a few steps, and the next round begins. Sizes stay balanced if rows are a continuum
(patches of images, colours), and outliers get components last.
"""

from copy import copy

import numpy as np
from scipy.special import gammaln

from sparsemix._engine.blocks import Rows
from sparsemix._engine.loop import collect, respond
from sparsemix._models.mixture.candidates import PERIOD, CandidateLists, CandidateSearch, PairTable
from sparsemix._stats.responsibilities import SparseResponsibilities

# Steps of all components after each round, and after the last one.
STEPS, LAST_STEPS = 2, 4
# Number of times that rows choose between halves, and power iterations for the longest axis.
CHOICES, POWER_STEPS = 2, 6
# Minimum number of components for lists of candidates, and their length.
LISTS_FROM, LIST_SIZE = 64, 4
# A column counts as constant if its standard deviation is below this fraction of its largest absolute entry.
CONSTANT = 1e-6
# Rows per computation of axes, which limits memory.
SPAN = 8_192
# A component with fewer rows is not split.
LEAST_ROWS = 4
# Steps after each exchange of components.
EXCHANGE_STEPS = 10


def grow(model, rows, n_components, rng, workers):
    """Labels of the rows: ``n_components`` different ones, or fewer if rows do not suffice."""
    return Splitting(model, rows, rng, workers).run(n_components)


class Splitting:
    """State of the splitting: a label for each row.

    A stream sets ``base``, the statistics that the components have from earlier rows, and ``apart``, a boolean for each
    row. The only proposal is then to split the rows marked by ``apart`` from the rest of their component.
    """

    def __init__(self, model, rows, rng, workers, labels=None, n=1, base=None, apart=None):
        self.model = model
        self.rows = rows
        self.everything = slice(0, len(rows))
        self.x = rows.read(self.everything)
        self.plain = Rows(self.x, rows.sample_weight)
        self.scales = column_scales(self.x)
        self.rng = rng
        self.workers = workers
        self.labels = np.zeros(len(rows), dtype=np.int32) if labels is None else labels
        self.n = n
        self.base, self.apart = base, apart

    def run(self, n_components):
        """Run rounds until there are enough components, or none can be split."""
        while self.n < n_components:
            wanted = min(n_components - self.n, self.n)
            if not len(self.cut(wanted)):
                break
            self._learn(LAST_STEPS if self.n == n_components else STEPS)
        return self.labels

    def cut(self, wanted, least=-np.inf):
        """Split the components with the largest gains above ``least``; return the gains."""
        order = np.argsort(self.labels, kind="stable").astype(np.intc)
        starts = np.searchsorted(self.labels[order], np.arange(self.n + 1)).astype(np.intp)
        sides = [self._chosen(side, order, starts) for side in self._proposals(order, starts)]
        gains = np.array([gain for _, gain in sides])
        best = gains.argmax(axis=0)
        gain = gains.max(axis=0)
        chosen = np.argsort(-gain, kind="stable")[:wanted]
        chosen = chosen[gain[chosen] > least]
        place = np.full(self.n, -1)
        place[chosen] = self.n + np.arange(len(chosen))
        side = np.choose(best[self.labels], [side for side, _ in sides]) if len(sides) > 1 else sides[0][0]
        moved = (side > 0) & (place[self.labels] >= 0)
        self.labels[moved] = place[self.labels[moved]]
        self.n += len(chosen)
        return gain[chosen]

    def _proposals(self, order, starts):
        """Initial splits: by the side along the longest axis, and the outer half of each component's rows."""
        if self.apart is not None:
            yield self.apart
            return
        yield self._axis_side(order, starts)
        if not self.model.family.tied:
            yield self._outer_side(order, starts)

    def _axis_side(self, order, starts):
        """Whether the projection of a row on the longest axis of its component exceeds that of the mean.

        Without means: whether its square is in the upper half. Power iteration on the rows finds the axis.
        """
        direction = self.rng.standard_normal((self.n, self.x.shape[1])).astype(np.float32)
        side = np.empty(len(order), dtype=bool)
        for first, last in spans(starts):
            some = order[starts[first] : starts[last]]
            side[some] = self._span_side(some, starts[first : last + 1] - starts[first], direction[first:last])
        return side

    def _span_side(self, some, starts, direction):
        """``_axis_side`` for some components; ``some`` has their rows, sorted by component."""
        y = (self.x[some] / self.scales).astype(np.float32, copy=False)
        owner = np.repeat(np.arange(len(direction)), np.diff(starts))
        live = np.flatnonzero(np.diff(starts))
        first = starts[live]
        if self.model.family.has_means:
            mean = np.zeros_like(direction)
            mean[live] = np.add.reduceat(y, first, axis=0) / np.diff(starts)[live, None]
            y -= mean[owner]
        for _ in range(POWER_STEPS):
            along = np.einsum("nd,nd->n", y, direction[owner])
            direction[live] = np.add.reduceat(along[:, None] * y, first, axis=0)
            direction /= np.maximum(np.linalg.norm(direction, axis=1, keepdims=True), 1e-30)
        along = np.einsum("nd,nd->n", y, direction[owner])
        return along > 0 if self.model.family.has_means else self._upper_half(along**2, owner, starts)

    def _outer_side(self, order, starts):
        """Whether a row is in the outer half of the rows of its component."""
        model = self.sized(self.n)
        model.global_step(self._hard(self.labels, self.n))
        table = PairTable(model.table)
        weights = table.weights(table.rows(self.x), starts, order)
        side = np.empty(len(weights), dtype=bool)
        side[order] = self._upper_half(-weights, self.labels[order], starts)
        return side

    def _upper_half(self, values, owner, starts):
        """Whether a value is in the upper half of the values of its component."""
        by_value = np.lexsort((values, owner))
        rank = np.empty(len(values), dtype=np.intp)
        rank[by_value] = np.arange(len(values)) - starts[owner[by_value]]
        return 2 * rank >= np.diff(starts)[owner]

    def _chosen(self, side, order, starts):
        """Sides after rows have chosen between the halves, and the gain of every split in the bound."""
        n = self.n
        twice = np.concatenate([order, order])
        pair_starts = np.concatenate([starts, starts[1:] + len(order)])
        for choice in range(CHOICES + 1):
            stats = self._grounded(self._hard(self.labels + n * side.astype(np.int32), 2 * n))
            if choice == CHOICES:
                break
            model = self.sized(2 * n)
            model.global_step(stats)
            table = PairTable(model.table)
            weights = table.weights(table.rows(self.x), pair_starts, twice).reshape(2, -1)
            side = np.empty(len(order), dtype=bool)
            side[order] = weights[1] > weights[0]
        return side, self._gains(stats)

    def _gains(self, stats):
        """Gain of each split in the bound under hard assignments; -inf if a half has too few rows."""
        n = self.n
        halves = stats.take(np.arange(n)), stats.take(np.arange(n, 2 * n))
        model = self.sized(2 * n)
        if model.family.tied:
            model.global_step(stats)
        least = np.minimum(*(half["count"] for half in halves))
        return np.where(least >= 0.5 * LEAST_ROWS, cut_gains(model, *halves), -np.inf)

    def stats(self):
        """Statistics of the current components, without ``base``."""
        return self._hard(self.labels, self.n)

    def _learn(self, steps):
        """Take some steps of all components; then assign each row to its most likely one."""
        _, self.labels = learn(self.sized(self.n), self.plain, self.labels, steps, self.workers)

    def _grounded(self, stats):
        """Statistics of both halves plus ``base``."""
        if self.base is None:
            return stats
        n, new = self.base.n_components, np.arange(self.base.n_components, 2 * self.n)
        base = self.base.take(np.minimum(np.arange(2 * self.n), n - 1))
        return stats + base.put(new, base.take(new), np.zeros(len(new)))

    def sized(self, n_components):
        """The model with another number of components."""
        return sized(self.model, n_components)

    def _hard(self, labels, n_components):
        """Statistics of given clusters."""
        resp = SparseResponsibilities.from_labels(labels)
        return collect(self.sized(n_components), self.plain, self.everything, self.workers, given=resp)


def spans(starts):
    """Ranges of components with about SPAN rows each."""
    first = 0
    while first < len(starts) - 1:
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + SPAN, side="right")) - 1)
        yield first, last
        first = last


def cut_gains(model, first, second):
    """Gain in the bound under hard assignments if each component is split into ``first`` and ``second``.

    A model with a shared covariance must have its table.
    """
    if not model.family.tied:
        return evidences(model, first) + evidences(model, second) - evidences(model, first + second)
    counts = np.array([first["count"], second["count"]])
    means = [half["first"] / np.maximum(half["count"], 1e-30)[:, None] for half in (first, second)]
    apart = model.table.rows((means[1] - means[0]).astype(model.dtype)).astype(np.float64)
    both = counts.sum(axis=0)
    gain = 0.5 * counts.prod(axis=0) / np.maximum(both, 1e-30) * (apart**2).sum(axis=1)
    precision = model.prior.mean_precision[0]
    second_mean = precision * (precision + both) / (precision + counts).prod(axis=0)
    gain += 0.5 * apart.shape[1] * np.log(second_mean)
    return gain + sizes(model, counts[0]) + sizes(model, counts[1]) - sizes(model, both)


def evidences(model, stats):
    """Contribution of each component to the bound under hard assignments, (K,)."""
    return model.log_evidences(stats) + sizes(model, stats["count"])


def sizes(model, counts):
    """Contribution of the sizes of the components, from the prior of the weights."""
    concentration = getattr(model.weights, "concentration", 1.0)
    return gammaln(concentration + counts) - gammaln(concentration)


def learn(model, rows, labels, steps, workers):
    """Statistics and most likely components of all rows after a few steps of batch learning from hard assignments.

    With many components, each row evaluates only its own component, the neighbours of that, and some random ones.
    """
    everything = slice(0, len(rows))
    stats = collect(model, rows, everything, workers, given=SparseResponsibilities.from_labels(labels))
    if model.n_components >= LISTS_FROM:
        model, rows = copy(model), copy(rows)
        rows.memory = CandidateLists(len(rows), max(LIST_SIZE, model.n_nonzero))
        rows.memory.lists[:, 0] = labels
        rows.memory.visits[:] = max(1, PERIOD - steps)  # end of a search period: few random components
        model.search = CandidateSearch(rows.memory.lists.shape[1], seed=0, every=PERIOD)
    for _ in range(steps):
        model.global_step(stats, workers.split)
        resp, x = respond(model, rows, everything, workers)
        stats = model.empty_stats()
        model.accumulate(x, resp, rows.sample_weight, stats, workers)
    best = resp.values.argmax(axis=1)
    return stats, np.ascontiguousarray(resp.indices[np.arange(len(best)), best], dtype=np.int32)


def sized(model, n_components):
    """The model with another number of components."""
    model = copy(model)
    model.n_components, model.table, model.search = n_components, None, None
    model.n_nonzero = min(max(2, model.n_nonzero), n_components)
    return model


def column_scales(x):
    """Standard deviations of the columns; the size of the entries for constant columns, one for zeros."""
    return scales_or_size(x.std(axis=0, dtype=np.float64), x)


def column_ranges(x):
    """Ranges of the columns; constant columns and zeros as in ``column_scales``."""
    return scales_or_size(np.ptp(x, axis=0), x)


def scales_or_size(scales, x):
    """The scales of the columns; for a constant column the size of its entries, and one for zeros."""
    size = np.abs(x).max(axis=0, initial=0.0)
    return np.where(scales > CONSTANT * size, scales, np.where(size > 0, size, 1.0)).astype(x.dtype)


# -- exchanges: two components merge, and another is split in two
#
# k-means divides a large cluster among several components and gives several small or elongated clusters one component.
# No epoch repairs that, since the likelihood is lower between the two partitions. The evidence under hard assignments
# ranks splits and merges; a few steps of all components after an exchange decide (Ueda, Nakano, Ghahramani and Hinton
# 2000, "SMEM Algorithm for Mixture Models").


def exchange_components(learner, rows, labels, rng, workers):
    """Labels after all exchanges that raise the bound, at most K; None if no exchange does."""
    stats, labels = learn(learner, rows, labels, EXCHANGE_STEPS, workers)
    bound, found = learner.lower_bound(stats), None
    for _ in range(learner.n_components):
        proposed = best_exchange(learner, rows, labels, rng, workers)
        if proposed is None:
            break
        stats, labels = learn(learner, rows, proposed, EXCHANGE_STEPS, workers)
        before, bound = bound, learner.lower_bound(stats)
        if bound <= before:
            break
        found = labels
    return found


def best_exchange(learner, rows, labels, rng, workers):
    """Labels after the exchange that gains most evidence; None if no exchange gains.

    The split must gain by itself: with few rows per parameter the evidence prefers fewer components, and any merge
    would pay for a component of a handful of rows. No column may become constant in a half: a column of few values (a
    category, a pixel) would gain an unbounded density, without evidence of clusters.
    """
    n = learner.n_components
    splitting = Splitting(learner, rows, rng, workers, labels.copy(), n)
    stats, model = splitting.stats(), sized(learner, n)
    if model.family.tied:
        model.global_step(stats)
    gains = splitting.cut(n, least=0.0)
    if not len(gains):
        return None
    first, second = np.triu_indices(n, 1)
    lost = cut_gains(model, stats.take(first), stats.take(second))
    parents = np.array([labels[(splitting.labels == n + cut).argmax()] for cut in range(len(gains))])
    for cut, parent in enumerate(parents):
        halves = [splitting.x[splitting.labels == each] for each in (parent, n + cut)]
        constant = (np.ptp(halves[0], axis=0) == 0) | (np.ptp(halves[1], axis=0) == 0)
        if (constant & (np.ptp(splitting.x[labels == parent], axis=0) > 0)).any():
            gains[cut] = -np.inf
    total = gains - lost[:, None]
    total[(parents == first[:, None]) | (parents == second[:, None])] = -np.inf
    pair, cut = np.unravel_index(total.argmax(), total.shape)
    if total[pair, cut] <= 0.0:
        return None
    after = labels.copy()
    after[labels == second[pair]] = first[pair]
    after[splitting.labels == n + cut] = second[pair]
    return after
