"""Models of normalized generalized gamma process mixtures: epochs over rows that update clusters."""

from copy import copy

import numpy as np

from sparsemix._kernels.clusters._rule import Responsibilities
from sparsemix._kernels.clusters._sequential import add_up, draw, rename, revisit, stream
from sparsemix._stats.nggp import NGGP

# Initially allocated responsibilities per row.
FIRST_ENTRIES = 4


class NGGPModel:
    """Base class of both methods: the prior of the clusters, and the continuation of an epoch after an array was
    enlarged.

    Parameters
    ----------
    prior : NGGP
    threshold : float
        A row opens a cluster if its responsibility for a new one exceeds this.
    n_nonzero : int or None
        Maximum number of responsibilities of a row.
    max_components : int or None
        Maximum number of clusters.
    quadrature : bool
        Whether U is integrated out, or taken at its mode.
    recursion : bool
        Whether E[K] follows from the responsibilities, or is the number of clusters.
    moves : Moves or None
        Merges and prunes at regular intervals of rows.
    """

    unit = "row"
    change = None
    recount_every = 10  # epochs
    whole_blocks = True  # interrupts wait for the end of a block; within a block rows may be incomplete
    numbers = None  # the caller's row numbers, if rows are visited in another order

    def __init__(
        self, prior, threshold, n_nonzero=None, max_components=None, quadrature=False, recursion=True, moves=None
    ):
        self.prior = prior
        self.threshold = threshold
        self.n_nonzero = n_nonzero
        self.max_components = max_components
        self.quadrature = quadrature
        self.recursion = recursion
        self.moves = moves
        self.sums = np.zeros(2)

    def rule(self, state):
        """The prior weights of a state's clusters, for a kernel."""
        return state.rule(
            concentration=self.prior.concentration,
            discount=self.prior.discount,
            tilt=self.prior.tilt,
            theta=self.prior.theta,
            threshold=self.threshold,
            n_nonzero=self.n_nonzero or 0,
            max_components=self.max_components or 0,
            quadrature=self.quadrature,
            recursion=self.recursion,
        )

    def size(self, state):
        """Number of units of the objective: mass of rows."""
        return max(state.mass, 1e-300)

    def summary(self, state):
        """The state to publish: the state itself, which always contains whole rows."""
        return state

    def begin(self, state):  # noqa: ARG002
        """Reset the sums of an epoch."""
        self.sums[...] = 0.0

    def global_step(self, state, epoch):
        """Nothing to do after an epoch."""

    def log_predictive(self, state):  # noqa: ARG002
        """Sum over the rows of the epoch of log predictive densities before each row was added."""
        return float(self.sums[0])

    def _over_rows(self, state, x, start, call, grow=lambda: None, row=0):
        """Repeat ``call(clusters, rule, row)`` until all rows of ``x`` are done, and enlarge arrays whenever it stops.

        ``start`` is the index of the first of these rows among all rows.
        """
        while row < len(x):
            clusters = state.sums.kernel(x, state.n_slots)
            stop = call(clusters, self.rule(state), row)
            if stop < 0:
                self._refuse(start - 1 - stop)
            row = stop
            if row < len(x):
                if state.n_slots == state.capacity:
                    state.grow()
                grow()

    def _refuse(self, number):
        """Raise an error that names a row by its index among all rows."""
        raise ValueError(
            f"row {number if self.numbers is None else self.numbers[number]} of X has no finite density under the "
            "clusters; rescale X, or remove rows with extreme values"
        )


class RowResponsibilities:
    """Sparse responsibilities of the rows of a block: row i has ``lengths[i]`` entries from ``starts[i]`` on.

    Parameters
    ----------
    n_rows : int
    """

    def __init__(self, n_rows):
        self.starts = np.zeros(n_rows, dtype=np.int64)
        self.lengths = np.zeros(n_rows, dtype=np.intc)
        self.slots = np.zeros(FIRST_ENTRIES * n_rows, dtype=np.intc)
        self.values = np.zeros(FIRST_ENTRIES * n_rows)
        self.n_used = 0

    def kernel(self):
        """Kernel object that reads and appends entries."""
        return Responsibilities(self.starts, self.lengths, self.slots, self.values, self.n_used)

    def entropies(self):
        """-q log q of each responsibility q, (n_used,)."""
        q = self.values[: self.n_used]
        return -q * np.log(np.maximum(q, 1e-300))

    def copy(self):
        """A deep copy."""
        twin = copy(self)
        for name in ("starts", "lengths", "slots", "values"):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    def harden(self, labels):
        """Assign each row to one cluster, or to none if its label is -1."""
        rows = np.flatnonzero(labels >= 0)
        fresh = RowResponsibilities(len(labels))
        fresh.lengths[rows], fresh.starts[rows], fresh.n_used = 1, np.arange(len(rows)), len(rows)
        fresh.slots[: len(rows)], fresh.values[: len(rows)] = labels[rows], 1.0
        vars(self).update(vars(fresh))

    def begin(self, other):
        """Take over the responsibilities of the first rows."""
        n = len(other.starts)
        self.starts[:n], self.lengths[:n], self.n_used = other.starts, other.lengths, other.n_used
        self.slots, self.values = (
            np.append(those, np.zeros(len(own), own.dtype)) for those, own in
            ((other.slots[: other.n_used], self.slots), (other.values[: other.n_used], self.values))
        )  # fmt: skip

    def grow(self, least):
        """Enlarge the arrays by half, and by at least ``least`` entries."""
        size = max(self.n_used + least, len(self.slots) * 3 // 2)
        self.slots, self.values = np.resize(self.slots, size), np.resize(self.values, size)


def likeliest(part):
    """Slot of the largest responsibility of each row, (n,) intc; -1 for rows without responsibilities."""
    labels = np.full(len(part.starts), -1, dtype=np.intc)
    for row in np.flatnonzero(part.lengths):
        own = slice(part.starts[row], part.starts[row] + part.lengths[row])
        labels[row] = part.slots[own][part.values[own].argmax()]
    return labels


class StreamingModel(NGGPModel):
    """Assumed density filtering in the first epoch, expectation propagation in later ones ([TFF15] Section 3).

    ``record`` says whether responsibilities are stored for later epochs.
    """

    objective = "log_predictive"
    recount_every = 1  # removes round-off and empty clusters
    divided = None  # clusters of the first rows of the first block, if known

    def __init__(self, *args, record=False, **kwargs):
        super().__init__(*args, **kwargs)
        self.record = record
        self.mass_swept = 0.0

    def begin(self, state):
        """See NGGPModel."""
        super().begin(state)
        self.mass_swept = 0.0

    def size(self, state):  # noqa: ARG002
        """Mass of the rows that the epoch visited; after prunes and forgetting the clusters contain less."""
        return max(self.mass_swept, 1e-300)

    def change(self, state):  # noqa: ARG002
        """Half the sum over rows of |q - q_old|; in the first epoch the whole mass."""
        return float(self.sums[1]) / 2

    def stream(self, x, weight, state, start, kept=None, first=0):
        """Add rows from ``first`` on in order (Algorithm 1), and store their responsibilities in ``kept``.

        Without ``kept``, merges and prunes follow at fixed numbers of rows, for any division into blocks.
        """
        if kept is not None or self.moves is None:
            self.add(x, weight, state, start, kept, first)
            return
        if state.n_rows != state.looked_rows:  # retry a search for merges that failed after the last row
            self.moves.after_rows(self.prior, state)
        while first < len(x):
            last = min(len(x), first + self.moves.rows_left(state))
            part = None if weight is None else weight[first:last]
            self.add(x[first:last], part, state, start + first, None)
            self.moves.after_rows(self.prior, state)
            first = last

    def add(self, x, weight, state, start, kept=None, first=0):
        """Add rows from ``first`` on without merges and prunes."""
        notes = not self.record and self.moves is not None and self.moves.wants_overlap
        indptr = None if isinstance(x, np.ndarray) else x.indptr

        def call(clusters, rule, row):
            out, overlap = None if kept is None else kept.kernel(), state.overlap if notes else None
            row = stream(clusters, rule, weight, row, out, self.sums[:1], overlap, indptr)
            if kept is not None:
                kept.n_used = out.n_used
            return row

        self._over_rows(state, x, start, call, lambda: kept is None or kept.grow(state.capacity), first)

    def sweep(self, x, weight, part, state, start, number):
        """Visit one block: add its rows in the first epoch, revisit them in later ones."""
        said = 1.0 if isinstance(x, np.ndarray) else (np.diff(x.indptr) > 0).astype(float)  # documents without words
        self.mass_swept += float(np.broadcast_to(said if weight is None else said * weight, len(x)).sum())
        if number == 0:
            first = 0
            if start == 0 and self.divided is not None:
                first = self.divide(x, weight, state, self.divided, part if self.record else None)
            self.stream(x, weight, state, start, part if self.record else None, first)
            self.sums[1] += 2.0 * (len(x) if weight is None else weight.sum())
        else:
            self.revisit(x, weight, part, state, start)

    def bound(self, part, state):
        """Variational bound: log evidence of the rows and of the partition given u, plus the entropy of the
        responsibilities of all rows, none of which has a weight."""
        return self.joint(state, float(len(part.lengths))) + float(part.entropies().sum())

    def joint(self, state, mass):
        """Log joint density of rows of this mass and their clusters, up to a constant."""
        slots = state.live(self.prior.discount)
        partition = self.prior.log_partition(state.counts[slots], mass)
        return float(partition + state.sums.evidence(slots).sum())

    def divide(self, x, weight, state, labels, kept=None):
        """Add the first rows in clusters given by ``labels``, revisit them once, and merge; return their number.

        If there are more clusters than allowed, do nothing.
        """
        n_clusters = int(labels.max()) + 1
        if self.max_components is not None and n_clusters > self.max_components:
            return 0
        n, change = len(labels), self.sums[1]
        x, weight, part = x[:n], None if weight is None else weight[:n], RowResponsibilities(n)
        part.harden(labels)
        state.reserve(n_clusters)
        state.used(n_clusters)
        add_up(state.sums.kernel(x, state.n_slots), self.rule(state), weight, part.kernel())
        state.n_rows += n
        twin = copy(self)
        twin.record, twin.max_components = True, n_clusters  # the labels say how many there are
        twin.revisit(x, weight, part, state, 0)
        twin.recount([(x, weight, part, 0)], state)
        self.sums[1] = change
        if kept is not None:
            kept.begin(part)
        return n

    def revisit(self, x, weight, part, state, start):
        """Replace the responsibilities of each row given all other rows (Algorithm 2)."""
        old, new = part.kernel(), RowResponsibilities(len(x))

        def call(clusters, rule, row):
            out = new.kernel()
            row = revisit(clusters, rule, weight, row, old, out, self.sums)
            new.n_used = out.n_used
            return row

        self._over_rows(state, x, start, call, lambda: new.grow(state.capacity))
        vars(part).update(vars(new))

    def recount(self, visits, state):
        """Remove clusters without rows, and recompute all sums from the responsibilities."""
        if not self.record:
            if self.moves is not None and self.moves.criterion == "bayes_factor":
                self.moves.merge(self.prior, state)  # a last search: fits may be shorter than the interval
            return
        index = self._move(visits, state)
        state.clear()
        unassigned = []
        for x, weight, part, start in visits:
            responsibilities = part.kernel()
            had = part.lengths > 0
            rename(responsibilities, index)
            add_up(state.sums.kernel(x, state.n_slots), self.rule(state), weight, responsibilities)
            unassigned += [
                (x[row : row + 1], None if weight is None else weight[row : row + 1], part, row, start + row)
                for row in np.flatnonzero(had & (part.lengths == 0))
            ]
        state.recount(self.prior.discount)
        for x, weight, part, row, number in unassigned:
            self._house(x, weight, part, row, state, number)

    def _move(self, visits, state):
        """Merge clusters and drop those without rows; returns the new slot of each old one, -1 for none."""
        merged = [] if self.moves is None else self.moves.look_back(self.prior, visits, state)
        kept = np.flatnonzero(state.counts[: state.n_slots] > max(self.threshold, self.prior.discount))
        index = np.full(state.n_slots, -1, dtype=np.intc)
        index[kept] = np.arange(len(kept))
        for first, second in reversed(merged):
            index[second] = index[first]
        state.keep(kept)
        return index

    def _house(self, x, weight, part, row, state, number):
        """Responsibilities of a row that has lost all of its clusters."""
        one, log_predictive = RowResponsibilities(1), self.sums[0]
        self.revisit(x, weight, one, state, number)
        self.sums[0] = log_predictive  # the epoch already includes this row
        state.expect(one.slots[: one.n_used], one.values[: one.n_used])
        if part.n_used + one.n_used > len(part.slots):
            part.grow(one.n_used)
        part.starts[row], part.lengths[row] = part.n_used, one.n_used
        part.slots[part.n_used :][: one.n_used] = one.slots[: one.n_used]
        part.values[part.n_used :][: one.n_used] = one.values[: one.n_used]
        part.n_used += one.n_used


class GibbsModel(NGGPModel):
    """Exact collapsed Gibbs sampling given u, and of u given the partition (Favaro and Teh 2013).

    Parameters
    ----------
    seed : int
        Seed of the random numbers of rows, together with row and epoch numbers.
    rng : Generator
        Generator for u and the concentration.
    concentration_prior : tuple of float or None
        Shape and rate of the concentration's Gamma prior; None keeps the concentration fixed.
    """

    objective = "log_joint"
    moves = None  # SplitMerge, if the chain makes such proposals

    def __init__(self, prior, max_components, seed, rng, concentration_prior=None):
        super().__init__(prior, threshold=0.0, max_components=max_components)
        self.seed = seed
        self.rng = rng
        self.concentration_prior = concentration_prior
        self.log_u = 0.0  # before the first draw

    def sweep(self, x, weight, labels, state, start, number):
        """Draw the clusters of all rows of a block, in order."""
        log_new = np.log(self.prior.concentration) + self.prior.discount * self.prior.log_shift(self.log_u)

        def call(clusters, rule, row):
            return draw(
                clusters, rule, weight, row, labels, state.members, log_new, self.seed, start, number, self.sums[1:]
            )

        self._over_rows(state, x, start, call)

    def gather(self, visits, state):
        """Initialise with all rows in one cluster, except documents without words."""
        state.used(1)
        for x, weight, labels, start in visits:
            bad = np.flatnonzero(~np.isfinite(state.sums.kernel(x, 0).scores(0, len(x))[1]))
            if len(bad):  # one such row makes the cluster invalid for all rows
                self._refuse(start + bad[0])
            labels[...] = state.sums.kernel(x, 1).place(0)
            state.members[0] += (labels == 0).sum()
            self._add_up(x, weight, labels, state)
        state.recount(self.prior.discount)

    def stream_start(self, visits, state, threshold, divided=None):
        """Initialise with the clusters of one epoch of assumed density filtering; each row joins its most likely
        cluster."""
        first = StreamingModel(self.prior, threshold, max_components=self.max_components, record=True)
        first.numbers, first.divided = self.numbers, divided
        for x, weight, labels, start in visits:
            kept = RowResponsibilities(len(x))
            first.sweep(x, weight, kept, state, start, 0)
            labels[...] = likeliest(kept)
            state.members += np.bincount(labels[labels >= 0], minlength=state.capacity)
        state.n_rows = 0  # the first epoch counts them
        self.recount(visits, state)

    def place(self, x, labels, state):
        """Set the state to the rows in the clusters of their labels."""
        state.clear()
        self._add_up(x, None, labels, state)
        state.members[...] = np.bincount(labels[labels >= 0], minlength=state.capacity)
        state.recount(self.prior.discount)

    def _add_up(self, x, weight, labels, state):
        own = Responsibilities(np.arange(len(labels)), (labels >= 0).astype(np.intc), labels, np.ones(len(labels)))
        add_up(state.sums.kernel(x, state.n_slots), self.rule(state), weight, own)

    def global_step(self, state, epoch):  # noqa: ARG002
        """Propose splits and merges, then draw u, and the concentration if it has a prior."""
        if self.moves is not None:
            self.moves.sweep(self.prior, self.log_u, state)
        n_clusters = int((state.members > 0).sum())
        self.log_u = self.prior.sample_log_u(state.mass, n_clusters, self.rng)
        if self.concentration_prior is not None:
            a = self.prior.sample_concentration(n_clusters, self.log_u, self.rng, *self.concentration_prior)
            self.prior = NGGP(a, self.prior.discount, self.prior.tilt)
        state.log_u = self.log_u

    def recount(self, visits, state):
        """Recompute all sums from the labels; slots do not move."""
        state.clear()
        for x, weight, labels, _ in visits:
            self._add_up(x, weight, labels, state)
        state.recount(self.prior.discount)

    def log_joint(self, state):
        """log p(partition, u, rows) after the last draws of the epoch, up to a constant."""
        slots = np.flatnonzero(state.members > 0)
        partition = self.prior.log_joint(state.counts[slots], state.mass, self.log_u)
        return float(partition + state.sums.evidence(slots).sum())
