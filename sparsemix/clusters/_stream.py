"""The rows of a stream, and the automatic prior of Gaussian clusters, which later rows correct.

The first call estimates the prior from its rows. They may be few, or come from one cluster. So two rules follow:

- A stream stores its first ``SEARCH_ROWS`` rows. Whenever their number reaches a power of two, and once at
  ``SEARCH_ROWS``, it estimates the prior again and learns these rows again. From then on the result no longer depends
  on the size of the first call.
- If a row is far from all rows that the prior expects, the prior of the means becomes wider before the row is learned.
  Otherwise the prior pulls the mean of a distant cluster towards the prior mean; the cluster becomes so wide that it
  takes the rows of all later clusters. A posterior is prior + statistics, so the prior can change at any row.

Both rules depend on the numbers and values of rows only, not on the division of the stream into calls.
"""

from dataclasses import replace

import numpy as np

from sparsemix._heuristics.clusters.automatic import SEARCH_ROWS
from sparsemix._models.clusters.model import RowResponsibilities
from sparsemix._rows.blocks import Rows
from sparsemix._rows.threads import interrupts_wait
from sparsemix._warnings import warn_caller
from sparsemix.clusters._parameters import warn_of_code
from sparsemix.clusters._spans import SPAN, Span, judge
from sparsemix.clusters._stepped_rows import SteppedRows

# A row is far if its squared distance from the prior mean exceeds the expected one by this factor: six standard
# deviations if there is one column.
FAR = 36.0
# After a far row, the next one is far only if its squared distance is this many times larger.
FARTHER = 4.0
# Mean square of normal numbers, in units of their geometric mean square.
NORMAL = 3.56


class Stream:
    """Learns rows in order, and corrects an automatic prior.

    Parameters
    ----------
    params : StreamingNGGPMixture
    begin : callable
        ``begin(rows)`` returns a state without clusters, with priors that depend on these rows, and how the rows
        divide: indices and clusters of some of them, or None.
    model_of : callable
        ``model_of(state)`` returns the model that learns rows.
    state : ClusterState
        Changes in place.
    """

    def __init__(self, params, begin, model_of, state):
        self.params, self.begin, self.model_of, self.state = params, begin, model_of, state
        self.model = model_of(state)
        if state.guide is None and follows(params, state):  # after a fit
            state.guide = Guide(params, state.sums)

    def learn(self, rows, numbers, size, divided=None):
        """Learn rows, at most ``size`` of them between two interrupts; ``numbers`` are those of the caller.

        The rows that ``divided`` holds come first.
        """
        guide, first = self.state.guide, self.state.n_rows
        if guide is not None:
            guide.store(rows, first)
        row, read, order = 0, self._reading(rows, first), np.arange(len(rows))
        if divided is not None:
            order = np.append(divided[0], np.delete(order, divided[0]))
            with interrupts_wait():
                row = self._divide(read, rows, divided)
        while row < len(rows):
            stop = min(row + size, len(rows))
            if guide is not None:
                stop = min(stop, row + guide.rows_left(first + row))
            part = order[row:stop]
            with interrupts_wait():
                self.model.numbers = part if numbers is None else numbers[part]
                self._learn(read.read(part), rows.weight(part), 0)
                if guide is not None and not guide.rows_left(first + stop):
                    self._search()
                    guide, read = self.state.guide, self._reading(rows, first)
            row = stop

    def _divide(self, read, rows, divided):
        """Learn rows of known clusters; return their number."""
        selection, labels = divided
        self.model.numbers = selection
        return self.model.divide(read.read(selection), rows.weight(selection), self.state, labels)

    def _reading(self, rows, first):
        """The rows in the coordinates of the state; ``first`` is the number of the first row in the stream."""
        sums = self.state.sums
        if not sums.has_covariances:
            return rows
        rows = Rows(rows.X, rows.sample_weight, sums.shift, np.float64)
        return rows if sums.steps is None else SteppedRows(rows, sums.steps, first, sums.scales)

    def _learn(self, x, weight, start):
        """Learn a block of rows; the prior becomes wider before a far row."""
        first = 0
        while first < len(x):
            stop, guide = len(x), self.state.guide
            if guide is not None:
                stop = min(stop, first + self._rows_of_span())
                far = np.flatnonzero(guide.far(x[first:stop]))
                stop = first + int(far[0]) if len(far) else stop
            if stop > first:
                part = slice(first, stop)
                self._add(x[part], None if weight is None else weight[part], start + first)
            if guide is not None and len(far):
                guide.widen(self.state, self.model.prior.discount, x[stop])
            first = stop

    def _add(self, x, weight, start):
        """Learn rows of one span; at its end they are judged together, before clusters merge and fade."""
        state, guide = self.state, self.state.guide
        if guide is None or not guide.judges:
            self.model.stream(x, weight, state, start)
            return
        self._end_span()  # one that failed after the last row
        span, n_rows, part = guide.span or Span.since(state), state.n_rows, RowResponsibilities(len(x))
        try:
            self.model.add(x, weight, state, start, part)
        finally:  # also after a row without a finite density
            n_rows = state.n_rows - n_rows
            guide.span = span.add(x[:n_rows], None if weight is None else weight[:n_rows], part)
        self._end_span()

    def _rows_of_span(self):
        """Number of rows to the end of the span: a fixed row number, or the next search for clusters to merge."""
        left, moves = SPAN - self.state.n_rows % SPAN, self.model.moves
        return left if moves is None else min(left, moves.rows_left(self.state))

    def _end_span(self):
        """Judge the rows of the span if it ends here; merge and fade clusters if that is due."""
        state, guide, moves = self.state, self.state.guide, self.model.moves
        due = moves is not None and moves.due(state)
        if guide.span is not None and guide.span.parts and (due or state.n_rows % SPAN == 0):
            following = judge(self.model, state, guide.span)
            guide.span = None if due else following
        if due and state.n_rows != state.looked_rows:
            moves.after_rows(self.model.prior, state)

    def _search(self):
        """Estimate the prior from all rows so far, and learn them again."""
        old = self.state
        rows = old.guide.rows(old.n_rows)
        state, divided = self.begin(rows)
        state.guide.keep(old.guide.x, old.guide.weight, len(rows))
        twin = Stream(self.params, self.begin, self.model_of, state)
        try:
            read = twin._reading(rows, 0)
            if divided is None or not twin._divide(read, rows, divided):  # more clusters than allowed
                twin._learn(read.read(slice(0, len(rows))), rows.sample_weight, 0)
        except ValueError:  # a row without finite density under the new prior: the old one stays
            old.guide.keep(old.guide.x, old.guide.weight, len(rows))
            return
        self.model = self.model_of(state)
        vars(old).update(vars(state))


def follows(params, state):
    """Whether the prior is automatic, so that later rows may change it."""
    if not state.sums.has_covariances:
        return False
    kappa = params.mean_precision_prior is None and state.sums.family.has_means
    return params.covariance_prior is None or kappa


class Guide:
    """What an automatic prior needs to follow the rows of a stream.

    Parameters
    ----------
    params : StreamingNGGPMixture
    sums : GaussianSlots
        With the prior.

    Attributes
    ----------
    x : ndarray of shape (n, D) or None
        The first rows of the stream; None after the last search.
    searched : int
        Number of rows of the last search.
    mean, variances : ndarray of shape (D,)
        Prior mean, and expected variances within clusters.
    span : Span or None
        Rows that are not judged yet.
    limits : ndarray of shape (D,) or (1,)
        A row is far if the square of its deviation from the prior mean, in units of the expected variance, exceeds this
        in some column. If all columns have one kappa_0, this is about the mean over the columns.
    """

    def __init__(self, params, sums):
        self.x = self.weight = self.span = None
        self.searched = SEARCH_ROWS
        self.widens = sums.family.has_means and params.mean_precision_prior is None
        self.has_mean = params.mean_prior is not None
        prior = sums.prior
        variances = sums.family.unpack_covariances(sums.family.point_estimate(prior).covariances)[0]
        variances = np.diagonal(variances) if np.ndim(variances) == 2 else variances
        self.mean = prior.mean[0].copy()
        self.variances = np.broadcast_to(variances, self.mean.shape).copy()
        self.limits = FAR * (1.0 + 1.0 / np.atleast_1d(prior.mean_precision[0])) if self.widens else None

    @property
    def judges(self):
        """Whether rows are judged together."""
        return self.widens

    def keep(self, x, weight, searched):
        """Store the first rows of the stream after a search over ``searched`` of them, unless it was the last one."""
        self.searched = searched
        self.x, self.weight = (x, weight) if searched < SEARCH_ROWS else (None, None)
        if searched < SEARCH_ROWS:
            return
        warn_of_code(Rows(x))
        if (x[1:] == x[0]).all():
            warn_caller(
                f"the first {searched} rows of the stream are equal, so that the prior of the clusters has an "
                "arbitrary scale; give covariance_prior, or call fit with rows that differ",
            )

    def store(self, rows, n_rows):
        """Append the next rows of the stream, of which ``n_rows`` were learned."""
        if self.x is None:
            return
        new, n_new = slice(0, SEARCH_ROWS - n_rows), min(len(rows), SEARCH_ROWS - n_rows)
        if self.weight is not None or rows.sample_weight is not None:
            old = np.ones(n_rows) if self.weight is None else self.weight[:n_rows]
            own = np.ones(n_new) if rows.sample_weight is None else rows.sample_weight[new]
            self.weight = np.concatenate([old, own])
        self.x = np.concatenate([self.x[:n_rows], rows.X[new]])

    def rows(self, n_rows):
        """The first rows of the stream."""
        return Rows(self.x[:n_rows], None if self.weight is None else self.weight[:n_rows], None, np.float64)

    def rows_left(self, n_rows):
        """Number of rows from the given one to the next search; 0 if it is due, many after the last one."""
        if self.x is None:
            return np.iinfo(np.int64).max
        return max(min(1 << self.searched.bit_length(), SEARCH_ROWS) - n_rows, 0)

    def squares(self, x):
        """Squares of deviations from the prior mean in units of the expected variances, (n, D) or their means (n, 1).

        The order of additions within a row does not depend on the number of rows.
        """
        squares = (x - self.mean) ** 2 / self.variances
        return squares if len(self.limits) == x.shape[1] else squares.mean(axis=1, keepdims=True)

    def far(self, x):
        """Whether each row is far, (n,)."""
        return (self.squares(x) > self.limits).any(axis=1) if self.widens else np.zeros(len(x), dtype=bool)

    def widen(self, state, discount, x):
        """Widen the prior of means so that it expects the clusters and the far row ``x``.

        Where the row is far, 1 / kappa_0 becomes the geometric mean of the squares of the clusters and of the row, so
        that one extreme value has little influence. Squares below one are spread within a cluster, and count as one.
        """
        square = self.squares(x[None])[0]
        far = square > self.limits
        self.limits = np.where(far, np.maximum(self.limits, FARTHER * square), self.limits)
        prior, slots = state.sums.prior, state.live(discount)
        if not len(slots):
            return
        kappa = np.atleast_1d(prior.mean_precision[0])
        squares = np.vstack([self.squares(self.means(state, slots)), square])
        wanted = np.exp(-np.log(np.maximum(squares, 1.0)).mean(axis=0))
        wanted = np.where(far & (wanted <= 0.5 * kappa), wanted, kappa)
        if (wanted == kappa).all():
            return
        sums = state.sums.copy()
        sums.change_prior(replace(prior, mean_precision=wanted.reshape(prior.mean_precision.shape)))
        self.limits = np.maximum(self.limits, FAR * (1.0 + 1.0 / wanted))
        state.sums = sums

    def means(self, state, slots):
        """Means of the rows of these clusters."""
        kappa, counts = np.atleast_1d(state.sums.prior.mean_precision[0]), state.counts[slots, None]
        post = state.sums.posterior(slots).mean
        return self.mean + (post - self.mean) * (kappa + counts) / counts

    def follow(self, state, discount):
        """Estimate place and width of the prior of means again, and take it if the clusters become more probable."""
        prior, slots = state.sums.prior, state.live(discount)
        if len(slots) < 2:
            return
        means, kappa = self.means(state, slots), prior.mean_precision[0]
        best, highest = None, state.sums.evidence(slots).sum() + 2.0 * np.log(len(slots))
        for place in (self.mean,) if self.has_mean else (self.mean, np.median(means, axis=0)):
            for width in widths((means - place) ** 2 / self.variances, np.ndim(kappa) == 0):
                sums, precision = state.sums.copy(), (1.0 / width).reshape(prior.mean_precision.shape)
                try:
                    sums.change_prior(replace(prior, mean=place[None].copy(), mean_precision=precision))
                except ValueError:  # round-off leaves no covariance
                    continue
                evidence = sums.evidence(slots).sum()
                if evidence > highest:
                    best, highest = (sums, place.copy(), width), evidence
        if best is not None:
            state.sums, self.mean, width = best
            self.limits = FAR * (1.0 + np.atleast_1d(width))


def widths(squares, shared):
    """Mean squares of clusters from a place, for each column or for all if they are ``shared``.

    The first follows from the geometric mean, on which few distant clusters have little influence, the second is the
    mean of all.
    """
    squares, factor = (squares.mean(axis=1), 1.0 + (NORMAL - 1.0) / squares.shape[1]) if shared else (squares, NORMAL)
    squares = np.maximum(squares, 1.0)
    return factor * np.exp(np.log(squares).mean(axis=0)), squares.mean(axis=0)
