"""Learning schedules: the four update rules of the statistics.

========== =============================================== ==================================
batch      S = s of all rows, fresh each epoch                ``learning_method="batch"``
stochastic S <- (1 - rho) S + rho (N / n_b) s_b             ``"online"``, ``partial_fit``
memoized   S <- S + s_b - memo[b]; memo[b] <- s_b           ``"memoized"``
streaming  S <- S + s_b, seen once                          ``partial_fit`` of unknown length
========== =============================================== ==================================

``absorb`` changes the statistics in place, so a step costs time proportional to its batch; the loop publishes complete
steps only. The batch's statistics are never changed. N and n_b are masses: sums of sample weights.
"""

import math
from copy import copy
from itertools import pairwise

import numpy as np

from sparsemix._rows.rates import learning_rate

# Largest share of the statistics that the batches of one joint selection may replace.
MOST_MOVED = 0.2
# When whole epochs are averaged, what was learned before counts at most this part of an epoch in the mean: in all steps
# before, batches had equal weights, and long documents counted too little.
MOST_EARLIER = 1 / 20
# With more batches, memoized learning keeps a copy of the initial statistics during the first epoch.
MOST_BATCHES = 32
# Rows scaled up by more than this factor are smaller than the round-off of the total, and single precision could not
# hold their sums.
LARGEST_TIMES = 1e15


def blend(stats, new, rho, mass_before, mass_now):
    """(1 - rho) (N_t / N_{t-1}) S + rho (N_t / n_b) s_b, in place; rho = n_b / N_t gives the plain sum S + s_b.

    Deferred sums add themselves to the table that they were made from, here and nowhere else.
    """
    n_b = new.mass
    if rho * mass_now >= LARGEST_TIMES * n_b:  # no rows, or rows smaller than the round-off of the total
        return stats
    if rho < 1.0:
        stats.scale((1.0 - rho) * mass_now / mass_before)
    else:
        new.settle()  # compute deferred sums before their source is cleared
        stats.clear()
    times, totals = rho * mass_now / n_b, {}
    for name, sums, factor, scale in stats.deferred_of(new):
        totals[name] = sums.add_to_table(times / factor, scale)
    return stats.add(new, times, totals)


def stream(stats, new, total=None, rho=None, first=False):
    """Statistics after one more block of a stream, in place.

    Unknown length (``total`` None): N_t is the mass seen so far including this block, rho = n_b / N_t, and the result
    is the plain sum; on the ``first`` block the old statistics are the initialisation and are dropped. Known length: a
    step of size rho towards the block's statistics scaled to ``total``.
    """
    before = stats.mass
    if total is None:
        before = 0.0 if first else before
        total = before + new.mass
        rho = new.mass / total
    return blend(stats, new, rho, before, total)


class Batch:
    """One step per epoch, from all rows."""

    has_bound = True
    first_comparable_epoch = 1
    least_epochs = 2
    current = following = None
    n_forgotten = 0

    def __init__(self, n_rows):
        self.n_rows = self.step_rows = n_rows

    def batches(self):
        """One batch per epoch."""
        yield slice(0, self.n_rows)

    def absorb(self, stats, new):
        """S = s; only this rule returns the batch's own statistics."""
        return new if stats.prior is None else new.hold(stats.prior)

    def over(self, plan):
        """The units of a plan form one batch."""
        out = Batch(len(plan.units))
        out.step_rows = plan.n_rows
        return out

    def put(self, components, stats):  # noqa: ARG002
        """Nothing is stored."""
        return lambda: None


class Memoized:
    """Fixed batches; each visit replaces the batch's previous statistics by the new ones ([Hughes & Sudderth 2013]).

    Until its first visit, a batch is represented by its share of the initial statistics, so the first global steps
    forget no component. The memo takes n_batches times the memory of the statistics.
    """

    n_forgotten = 0
    following = None
    least_epochs = 2
    first_comparable_epoch = 2  # during the first epoch the bound includes initial statistics

    def __init__(self, n_rows, batch_size, rng, compress=None, has_bound=True):
        self._compress = compress
        self.has_bound = has_bound
        order = rng.permutation(n_rows)
        self._selections = [np.sort(part) for part in np.array_split(order, max(1, -(-n_rows // batch_size)))]
        self._memo = [None] * len(self._selections)
        self.step_rows = len(self._selections[0])
        self._initial = self._unseen = None
        self.current = 0

    def over(self, plan):
        """The steps of a plan become the batches."""
        out = copy(self)
        out._selections, out._memo = plan.steps, [None] * len(plan.steps)
        out.step_rows = plan.step_rows
        return out

    def batches(self):
        """Every batch once, in a fixed order."""
        for b, (selection, following) in enumerate(pairwise([*self._selections, None])):
            self.current, self.following = b, following
            yield selection

    def absorb(self, stats, new):
        """S + s_b - memo[b]; at the end of an epoch, the sum of the memo, which discards accumulated round-off."""
        b, old = self.current, self._memo[self.current]
        new = new if self._compress is None else self._compress(new, key=b)  # the memo must equal the added term
        self._memo[b] = new
        if b == len(self._memo) - 1:
            self._initial = None
            stats.clear()
            for other in self._memo:
                stats += other
        elif old is None:
            self._replace_initial(stats, float(new["mass"])).add(new)
        else:
            stats.add(new).add(old, -1.0)
        return stats

    def _replace_initial(self, stats, n_b):
        """Remove the share of n_b rows from the initial statistics: S = f initial + sum of the memo, and f decreases.

        Scaling S also scales the memo's part, which is added back. This needs no copy of the initial statistics, but
        time proportional to the batches visited; with many batches a copy is kept instead.
        """
        if self._unseen is None:
            self._unseen = float(stats["mass"])
            self._initial = stats.copy() if len(self._memo) > MOST_BATCHES else None
        unseen = max(n_b, self._unseen)  # round-off may leave less mass than the batch has
        share, self._unseen = n_b / unseen if n_b > 0.0 else 0.0, unseen - n_b
        if self._initial is not None:
            return stats.add(self._initial, -n_b / float(self._initial["mass"]))
        stats.scale(1.0 - share)
        for other in self._memo[: self.current]:
            stats.add(other, share)
        return stats

    def put(self, components, stats):
        """Between epochs: replace these components of each memo by its share of the given statistics."""
        before, mass, theirs = self._memo, float(stats["mass"]), stats.take(components)
        shares = [np.full(len(components), float(memo["mass"]) / mass) for memo in before]
        self._memo = [memo.copy().put(components, theirs, share) for memo, share in zip(before, shares, strict=True)]

        def undo():
            self._memo = before

        return undo


class Stochastic:
    """Random batches, one step of size rho_t each ([Hoffman et al. 2013]).

    An epoch visits every row once, in a new random order.
    """

    has_bound = False
    first_comparable_epoch = None
    least_epochs = 2
    current = following = None
    n_forgotten = 0

    def __init__(self, n_rows, batch_size, rng, decay, offset, mass, scale=1.0):
        self.n_rows = n_rows
        self.batch_size = self.step_rows = batch_size
        self.rng = rng
        self.rule = decay, offset, scale
        self.mass = mass
        self.step = 0

    def batches(self):
        """A random partition of the rows."""
        for selection, following in pairwise([*self._minibatches(np.arange(self.n_rows)), None]):
            self.following = following
            yield selection

    def absorb(self, stats, new):
        """(1 - rho_t) S + rho_t (N / n_b) s_b."""
        self.step += 1
        return blend(stats, new, learning_rate(self.step, *self.rule), self.mass, self.mass)

    def over(self, plan):
        """The steps of a plan become the batches."""
        return PlannedSteps(plan, self.rng, self.rule, self.mass)

    def put(self, components, stats):  # noqa: ARG002
        """Nothing is stored."""
        return lambda: None

    def _minibatches(self, rows):
        n_batches = max(1, -(-len(rows) // self.batch_size))
        return [np.sort(part) for part in np.array_split(self.rng.permutation(rows), n_batches)]


class MiniEpochs(Stochastic):
    """Random batches that recur, so that each visit can start from the memory of the previous one.

    With ``size`` ([IF19] Section 3), the data are cut into parts of ``size`` documents; each part is visited
    ``n_visits`` times in a row, then its memory is dropped. Without it, all epochs have the same batches.

    After ``last_warm`` epochs, which need not be whole, the statistics become a mean over all later batches, weighted
    by their mass: a ratio estimate of the sums of all rows, without the bias of steps that weight batches equally.
    If they are whole epochs, the memory of documents is emptied before the first of them. Its samples follow the topics
    of the next one: topics of documents that begin again in every epoch are not yet settled, and blur the mean.

    Once steps are small, up to ``together`` batches form one selection, each with its rows in order: they then
    share the reads and writes of a step. A joint step moves the statistics as far as the separate steps would, at most
    by ``MOST_MOVED``. The first ``alone`` steps hold one batch each.

    ``unseen`` batches are left out of all epochs but those that are averaged.
    """

    def __init__(
        self, n_rows, batch_size, rng, decay, offset, mass, size=None, n_visits=1, forget=lambda: None,
        last_warm=np.inf, scale=1.0,
    ):  # fmt: skip
        super().__init__(n_rows, batch_size, rng, decay, offset, mass, scale)
        self.together = self.n_held = 1
        self.alone = 0
        self.size, self.n_visits, self.forget = size, n_visits, forget
        self.last_warm, self.epoch = last_warm, 0
        self.last_step = self.count = None  # of averaging: the step before it, and the weight of the mean so far
        self.n_unseen, self._all = 0, None

    @property
    def unseen(self):
        """Batches that this epoch leaves out."""
        return self._recurring()[: self.n_unseen]

    def _recurring(self):
        """The batches of every epoch."""
        if self._all is None:
            self._all = self._minibatches(np.arange(self.n_rows))
        return self._all

    def over(self, plan):
        """The steps of a plan become the batches."""
        return PlannedSteps(plan, self.rng, self.rule, self.mass, self.last_warm)

    @property
    def n_batches(self):
        """Batches of an epoch that leaves none out."""
        return max(1, -(-self.n_rows // self.batch_size))

    def absorb(self, stats, new):
        """One step, or the product of as many steps as the selection has batches; or a batch of the mean."""
        if self.last_step is None:
            kept = math.prod(1.0 - self._rate(self.step + i) for i in range(1, self.n_held + 1))
            self.step += self.n_held
            return blend(stats, new, 1.0 - kept, self.mass, self.mass)
        weight = new.mass * self.n_batches / self.mass  # 1 for a batch of mean mass
        self.count = self._counted() + weight
        self.step += self.n_held
        return blend(stats, new, weight / self.count, self.mass, self.mass)

    def _rate(self, step):
        """rho_t; while averaging, that of batches of mean mass."""
        if self.last_step is None:
            return learning_rate(step, *self.rule)
        return 1.0 / (self._counted() + step - self.step)

    def _counted(self):
        """Weight of the mean so far, in batches of mean mass."""
        if self.count is not None:
            return self.count
        earlier, whole = 1.0 / learning_rate(self.last_step, *self.rule), self.last_warm % 1.0 == 0.0
        return min(earlier, MOST_EARLIER * self.n_batches) if whole else earlier

    def _begin_mean(self, n_visited, n_batches):
        """Begin the mean after this part of an epoch, if ``last_warm`` epochs are over; whether it begins."""
        begins = self.last_step is None and self.epoch - 1 + n_visited / n_batches >= self.last_warm
        if begins:
            self.last_step = self.step
        return begins

    def batches(self):
        """Batches in random order, repeated ``n_visits`` times."""
        self.epoch += 1
        if self._begin_mean(0, 1):
            self.forget()
            self.n_unseen = 0
        if self.size is None:
            chosen = self._recurring()[self.n_unseen :]
            joined, visited = self._joined([chosen[b] for b in self.rng.permutation(len(chosen))]), 0
            for (n_held, selection), (_, following) in pairwise([*joined, (None, None)]):
                self._begin_mean(visited, len(chosen))
                self.n_held, self.following, visited = n_held, following, visited + n_held
                yield selection
            return
        for part in np.array_split(self.rng.permutation(self.n_rows), -(-self.n_rows // self.size)):
            minibatches = self._minibatches(part)
            for _ in range(self.n_visits):
                yield from (minibatches[b] for b in self.rng.permutation(len(minibatches)))
            self.forget()

    def _joined(self, minibatches):
        """Batches in order, joined where steps are small: pairs of their number and their rows."""
        out, first = [], 0
        while first < len(minibatches):
            n, step = 1, self.step + first
            moved = self._rate(step + 1)
            while step >= self.alone and n < min(self.together, len(minibatches) - first):
                moved += self._rate(step + n + 1)
                if moved > MOST_MOVED:
                    break
                n += 1
            out.append((n, minibatches[first] if n == 1 else np.concatenate(minibatches[first : first + n])))
            first += n
        return out


class PlannedSteps(MiniEpochs):
    """Batches of a plan, equal in every epoch, in random order except that those reading one block stay together.

    The memory of blocks is stored elsewhere: ``n_forgotten`` counts the requests to drop it.
    """

    def __init__(self, plan, rng, rule, mass, last_warm=np.inf):
        decay, offset, scale = rule
        super().__init__(
            len(plan.units), plan.step_rows, rng, decay, offset, mass, forget=None, last_warm=last_warm, scale=scale
        )
        self.steps, self.groups = plan.steps, plan.groups

    @property
    def n_batches(self):
        """Steps of an epoch."""
        return len(self.steps)

    @property
    def current(self):
        """The step before the mean began; set by callers that absorb batches selected elsewhere."""
        return self.last_step

    @current.setter
    def current(self, step):
        self.last_step = step

    def batches(self):
        """Groups in random order, and the steps of each group in random order."""
        self.epoch += 1
        self.n_forgotten += self._begin_mean(0, 1)
        visited = 0
        for g in self.rng.permutation(len(self.groups)):
            for s in self.rng.permutation(self.groups[g]):
                self._begin_mean(visited, len(self.steps))
                visited += 1
                yield self.steps[s]
