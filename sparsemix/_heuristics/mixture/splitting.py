"""Initialisation by repeated splitting: from one component to K, in rounds.

Each round splits every component in two ways: along its longest axis, and by the distance of rows from its mean. Rows
then choose between the halves, and the split with the higher gain stays. The splits with the largest gains are carried
out, all components learn for a few steps, and the next round begins. Sizes stay balanced if rows are a continuum
(patches of images, colours), and outliers get components last.
"""

from copy import copy

import numpy as np
from scipy.special import gammaln

from sparsemix._engine.loop import collect, respond
from sparsemix._heuristics.mixture import policy
from sparsemix._heuristics.mixture.seeds import column_scales
from sparsemix._kernels.gaussians import _few
from sparsemix._models.mixture.candidates import PERIOD, CandidateLists, CandidateSearch, PairTable, nearest
from sparsemix._models.mixture.few import FewGaussians, sums_of
from sparsemix._rows.blocks import Rows
from sparsemix._stats.altered import altered
from sparsemix._stats.families import serial
from sparsemix._stats.responsibilities import SparseResponsibilities

# Minimum number of components for lists of candidates, and their length.
LISTS_FROM, LIST_SIZE = 64, 4
# Rows per computation of axes, which limits memory.
SPAN = 8_192


def grow(model, rows, n_components, rng, workers):
    """Labels of the rows: ``n_components`` different ones, or fewer if rows do not suffice."""
    return Splitting(model, rows, rng, workers).run(n_components)


class Splitting:
    """State of the splitting: a label for each row.

    A stream sets ``base``, the statistics that the components have from earlier rows, and ``apart``, a boolean for each
    row. The only proposal is then to split the rows marked by ``apart`` from the rest of their component.
    """

    # Of an exchange: with few rows per parameter the evidence prefers fewer components, and any merge would pay for a
    # component of a handful of rows.
    least_gain = 0.0

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
            self._learn()
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

        def share(first, last):
            some = order[starts[first] : starts[last]]
            side[some] = self._span_side(some, starts[first : last + 1] - starts[first], direction[first:last])

        self.workers.map(share, spans(starts))
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
        for _ in range(policy.POLICY.power_steps):
            along = np.einsum("nd,nd->n", y, direction[owner])
            direction[live] = np.add.reduceat(along[:, None] * y, first, axis=0)
            direction /= np.maximum(np.linalg.norm(direction, axis=1, keepdims=True), 1e-30)
        along = np.einsum("nd,nd->n", y, direction[owner])
        return along > 0 if self.model.family.has_means else self._upper_half(along**2, owner, starts)

    def _outer_side(self, order, starts):
        """Whether a row is in the outer half of the rows of its component."""
        model = self.sized(self.n)
        model.global_step(self._hard(self.labels, self.n), self.workers.split)
        weights = self.pair_weights(model, starts, order)
        return self._outer_half(weights, order, starts)

    def _outer_half(self, weights, order, starts):
        """Whether the weight of a row, given in ``order``, is in the lower half of those of its component."""
        side = np.empty(len(weights), dtype=bool)

        def share(first, last):
            some = slice(starts[first], starts[last])
            owner = self.labels[order[some]] - first
            side[order[some]] = self._upper_half(-weights[some], owner, starts[first : last + 1] - starts[first])

        self.workers.map(share, spans(starts))
        return side

    def pair_weights(self, model, starts, rows):
        """Weights of pairs of a row and a component, component by component."""
        table = PairTable(model.table)
        return table.weights(table.rows(self.x), starts, rows, self.workers.split)

    def merges(self, model, stats):
        """Pairs (P, 2) of components that may be merged, and what each merge loses, (P,)."""
        model.global_step(stats, self.workers.split)
        pairs = self.mergeable(model, stats)
        return pairs, merge_losses(model, stats, pairs, self.workers.split)

    def mergeable(self, model, stats):
        """Pairs (P, 2) of components that may be merged."""
        return neighbouring(model.published(stats), model.table)

    def refused(self, parents, halves):
        """Whether a column that varies in a component is constant in one of its halves.

        A column of few values (a category, a pixel) would gain an unbounded density, without evidence of clusters.
        """
        order = np.argsort(self.labels, kind="stable")
        starts = np.searchsorted(self.labels[order], np.arange(self.n + 1))

        def extremes(name):
            x = self.x[order[starts[name] : starts[name + 1]]]
            return x.min(axis=0), x.max(axis=0)

        found = np.zeros(len(parents), dtype=bool)
        for i, (parent, half) in enumerate(zip(parents, halves, strict=True)):
            (low, high), (other_low, other_high) = extremes(parent), extremes(half)
            constant = (low == high) | (other_low == other_high)
            found[i] = (constant & (np.minimum(low, other_low) < np.maximum(high, other_high))).any()
        return found

    def _upper_half(self, values, owner, starts):
        """Whether a value is in the upper half of the values of its component."""
        by_value = np.lexsort((values, owner))
        rank = np.empty(len(values), dtype=np.intp)
        rank[by_value] = np.arange(len(values)) - starts[owner[by_value]]
        return 2 * rank >= np.diff(starts)[owner]

    def _chosen(self, side, order, starts):
        """Sides after rows have chosen between the halves, and the gain of every split in the bound."""
        n, choices = self.n, policy.POLICY.choices
        twice = np.concatenate([order, order])
        pair_starts = np.concatenate([starts, starts[1:] + len(order)])
        for choice in range(choices + 1):
            stats = self._grounded(self._hard(self.labels + n * side.astype(np.int32), 2 * n))
            if choice == choices:
                break
            model = self.sized(2 * n)
            model.global_step(stats, self.workers.split)
            weights = self.pair_weights(model, pair_starts, twice).reshape(2, -1)
            side = np.empty(len(order), dtype=bool)
            side[order] = weights[1] > weights[0]
        return side, self._gains(stats)

    def _gains(self, stats):
        """Gain of each split in the bound under hard assignments; -inf if a half has too few rows."""
        n = self.n
        halves = stats.take(np.arange(n)), stats.take(np.arange(n, 2 * n))
        model = self.sized(2 * n)
        if model.family.tied or self.plain.sparse:  # what components share enters the evidence
            model.global_step(stats, self.workers.split)
        least = np.minimum(*(half["count"] for half in halves))
        return np.where(least >= 0.5 * policy.POLICY.least_rows, cut_gains(model, *halves, self.workers.split), -np.inf)

    def stats(self):
        """Statistics of the current components, without ``base``."""
        return self._hard(self.labels, self.n)

    def _learn(self):
        """Take some steps of all components; then assign each row to its most likely one."""
        steps, resp = policy.POLICY.growth_steps, SparseResponsibilities.from_labels(self.labels)
        self.labels = most_likely(climb(self.sized(self.n), self.plain, resp, steps, self.workers)[1])

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


class FewSplitting(Splitting):
    """``Splitting`` of few rows by one kernel; where a component has no density, by the model."""

    def __init__(self, few, *args):
        super().__init__(*args)
        self.few = few

    def merges(self, model, stats):
        """See Splitting; with so few components, all of them are neighbours."""
        if model.n_components > policy.POLICY.partners + 1:
            return super().merges(model, stats)
        pairs = np.stack(np.triu_indices(model.n_components, 1), axis=1)
        if model.family.tied:
            model.global_step(stats, self.workers.split)
            return pairs, merge_losses(model, stats, pairs, self.workers.split)
        sums = sums_of(stats)
        merged = [each[pairs[:, 0]] + each[pairs[:, 1]] for each in sums]
        evidences, of_merged = self.few.evidences(*sums), self.few.evidences(*merged)
        if evidences is None or of_merged is None:
            return super().merges(model, stats)
        evidences += sizes(model, stats["count"])
        return pairs, evidences[pairs].sum(axis=1) - of_merged - sizes(model, merged[0])

    def _hard(self, labels, n_components):
        return self.few.collect(self.sized(n_components), SparseResponsibilities.from_labels(labels))

    def _axis_side(self, order, starts):
        y, along = self.few.x / self.scales, np.empty(len(order))
        direction = self.rng.standard_normal((self.n, y.shape[1]))
        _few.along_axes(y, order, starts, policy.POLICY.power_steps, direction, along)
        side = np.empty(len(order), dtype=bool)
        side[order] = along > 0
        return side

    def _outer_side(self, order, starts):
        weights = np.empty(len(order))
        if not self.few.kernel.densities_within(self.few.x, self.few.weight, order, starts, weights):
            return super()._outer_side(order, starts)
        return self._outer_half(weights, order, starts)

    def _chosen(self, side, order, starts):
        chosen, gains, counts = side.astype(np.uint8), np.empty(self.n), np.empty((2, self.n))
        given, ends = (self.few.x, self.few.weight), (policy.POLICY.choices, chosen, gains)
        if self.model.family.tied:
            scatter = self.few.shared["scatter"]
            known = self.few.kernel.split_tied(*given, self.labels, scatter, *ends, counts.ravel())
        else:
            known = self.few.kernel.split(*given, order, starts, *ends, counts)
        if not known:
            return super()._chosen(side, order, starts)
        gains[counts.min(axis=0) < 0.5 * policy.POLICY.least_rows] = -np.inf
        return chosen.astype(bool), gains


def splitting(model, rows, *args, few=None):
    """The state of a splitting of rows without earlier statistics; ``few`` as for ``climb``."""
    few = few or FewGaussians.of(model, rows)
    return Splitting(model, rows, *args) if few is None else FewSplitting(few, model, rows, *args)


def spans(starts):
    """Ranges of components with about SPAN rows each."""
    first = 0
    while first < len(starts) - 1:
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + SPAN, side="right")) - 1)
        yield first, last
        first = last


def cut_gains(model, first, second, split=serial):
    """Gain in the bound under hard assignments if each component is split into ``first`` and ``second``.

    A model with a shared covariance must have its table.
    """
    if not model.family.tied:
        return sum(evidences(model, half, split) for half in (first, second)) - evidences(model, first + second, split)
    counts = np.array([first["count"], second["count"]])
    means = [half["first"] / np.maximum(half["count"], 1e-30)[:, None] for half in (first, second)]
    apart = model.table.rows((means[1] - means[0]).astype(model.dtype)).astype(np.float64)
    both = counts.sum(axis=0)
    gain = 0.5 * counts.prod(axis=0) / np.maximum(both, 1e-30) * (apart**2).sum(axis=1)
    precision = model.prior.mean_precision[0]
    second_mean = precision * (precision + both) / (precision + counts).prod(axis=0)
    gain += 0.5 * apart.shape[1] * np.log(second_mean)
    return gain + sizes(model, counts[0]) + sizes(model, counts[1]) - sizes(model, both)


def neighbouring(gaussians, table):
    """Pairs (P, 2) of components that may be merged: each with its nearest ones."""
    return pairs_of(nearest(gaussians, table, min(policy.POLICY.partners + 1, len(gaussians.means))))


def pairs_of(partners):
    """Distinct pairs (P, 2) of each component and one of its ``partners`` (K, n)."""
    n, n_partners = partners.shape
    pairs = np.stack([np.repeat(np.arange(n), n_partners), partners.ravel()], axis=1)
    return np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)


def merge_losses(model, stats, pairs, split):
    """Loss in the bound under hard assignments if the components of each pair (P, 2) are merged."""
    first, second = (stats.take(each) for each in pairs.T)
    if model.family.tied:
        return cut_gains(model, first, second)
    return evidences(model, stats, split)[pairs].sum(axis=1) - evidences(model, first + second, split)


def evidences(model, stats, split):
    """Contribution of each component to the bound under hard assignments, (K,)."""
    return model.log_evidences(stats, split) + sizes(model, stats["count"])


def sizes(model, counts):
    """Contribution of the sizes of the components, from the prior of the weights."""
    concentration = getattr(model.weights, "concentration", 1.0)
    if np.isinf(concentration):  # equal weights
        return np.zeros(np.shape(counts))
    return gammaln(concentration + counts) - gammaln(concentration)


def climb(model, rows, resp, most, workers, tol=0.0, few=None):
    """Statistics and responsibilities of all rows after steps of batch learning, at most ``most``.

    Steps begin with given responsibilities and end when the mean log density of a row gains less than ``tol``. With
    many components, each row evaluates only its own component, the neighbours of that, and some random ones. ``few``
    are the ``FewGaussians`` of model and rows, if the caller has them.
    """
    few = few or FewGaussians.of(model, rows)
    everything = slice(0, len(rows))
    stats = collect(model, rows, everything, workers, given=resp) if few is None else few.collect(model, resp)
    model = copy(model)
    if model.n_components >= LISTS_FROM and not rows.sparse:
        lists = CandidateLists(len(rows), max(LIST_SIZE, model.n_nonzero))
        lists.lists[:, : resp.indices.shape[1]] = resp.indices
        lists.visits[:] = max(1, PERIOD - most)  # end of a search period: few random components
        rows = altered(rows, memory=lists)
        model.use(CandidateSearch(lists.lists.shape[1], seed=0, every=PERIOD))
    return climb_from(stats, model, rows, most, workers, tol, resp, few)


def climb_from(stats, model, rows, most, workers, tol=0.0, resp=None, few=None):
    """The same from given statistics, under a model that changes; without steps, with the given responsibilities."""
    everything, before = slice(0, len(rows)), -np.inf
    few = few or FewGaussians.of(model, rows)
    if most and few is not None and (end := few.climb(model, stats, most, tol)) is not None:
        return end
    for _ in range(most):
        model.global_step(stats, workers.split)
        resp, x = respond(model, rows, everything, workers)
        stats = model.empty_stats()
        model.accumulate(x, resp, rows.sample_weight, stats, workers)
        now = np.average(resp.log_z, weights=rows.sample_weight)
        if now - before < tol:
            break
        before = now
    return stats, resp


def most_likely(resp):
    """The most likely component of each row."""
    best = resp.values.argmax(axis=1)
    return np.ascontiguousarray(resp.indices[np.arange(len(best)), best], dtype=np.int32)


def sized(model, n_components):
    """The model with another number of components."""
    n_nonzero = min(max(2, model.n_nonzero), n_components)
    return altered(model, n_components=n_components, n_nonzero=n_nonzero, table=None, search=None)
