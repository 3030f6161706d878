"""Protocols of the engine: its loops train any object that implements them.

Models and samplers do not inherit from them: they belong to a lower layer that does not import the engine. Arguments
before ``/`` are positional, so implementations may rename them. Shapes: N rows (or documents), K components (or
topics), L non-zeros of a row, ``n`` rows of a tile or chunk.
"""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Rows(Protocol):
    """The data, read in blocks of rows: numeric vectors or documents.

    A *selection* is a slice or an increasing array of row numbers. What it reads is an array of shape (n, D) or a
    ``DocumentBlock``; tiles are views of that.
    """

    sample_weight: Any  # (N,) float64, or None when all are one
    dtype: Any  # of the rows as read
    memory: Any  # per-row state kept between visits, or None; passed to ``local_step``
    first_row: int  # offset added to the row numbers passed to ``local_step``
    source: Any  # if the rows are a subsample that reports full-data totals: the visitor of the full blocks; else None
    mass: float  # total weight
    informative: bool  # False if the rows hold nothing to learn from

    def __len__(self):
        """N."""

    def blocking(self, n_components, n_nonzero):
        """Rows per tile and per chunk; depends on the shape of the data only."""

    def weight(self, selection):
        """Weights of the chosen rows (n,), or None when all are one."""

    def buffer(self, selection):
        """The rows of the selection, or an uninitialised array for them."""

    def load(self, selection, start, stop, buffer, /):
        """Rows ``start`` to ``stop`` of a selection, stored in the array returned by ``buffer``."""

    def read(self, selection):
        """All rows of the selection."""

    def read_ahead(self, selection):
        """Announce the next selection passed to ``buffer`` (None: unknown), so that a free thread can read it now."""


@runtime_checkable
class Model(Protocol):
    """An additive model: all it learns is prior + statistics.

    Statistics are ``SufficientStatistics`` with at least ``count`` (K,) and ``mass``. ``global_step`` recomputes
    everything else that a model holds, so its prior and the statistics are the complete state.
    """

    n_components: int  # K
    n_nonzero: int  # L
    dtype: Any  # of its tables
    unit: str  # the unit of normalised bounds: "row" or "token"
    objective: str  # name of the method whose value the monitor records
    change: Any  # a method: the change during the last epoch, used where there is no bound; or None

    def empty_stats(self, rows=None, selection=None):
        """Zeros; if the rows of a batch are given, only as large as the batch needs."""

    def blocking(self, rows):
        """Rows per tile and per chunk."""

    def prepare(self, x, workers):
        """Compute what the local steps of a chunk read."""

    def empty_responsibilities(self, x, n_rows):
        """Uninitialised output of a chunk's local steps; its ``rows(start, stop)`` is the view of a tile."""

    def scratch(self, n_rows):
        """Scratch memory of one thread for a tile."""

    def local_step(self, x, resp, scratch, numbers=None, memory=None):
        """Compute the responsibilities of a tile of rows.

        ``numbers`` (n,) are the row numbers: keys of the random generator and of ``memory``. The result of a row
        depends neither on other rows of the tile nor on the number of threads.
        """

    def accumulate(self, x, resp, sample_weight, stats, workers):
        """Add a chunk to the statistics in place; one thread owns each sum and adds in row order."""

    def global_step(self, stats, split=None):
        """Recompute the tables from the statistics, without changing ``stats``; ``split`` distributes components."""

    def lower_bound(self, stats):
        """Lower bound of all rows in nats after a global step; NaN if there is none."""

    def size(self, stats):
        """Number of units (rows or tokens) in the statistics; normalises bounds."""

    def forget(self):
        """End an epoch: drop caches that would change the bits of the next epoch, such as tables of samplers."""


@runtime_checkable
class SequentialModel(Protocol):
    """A model that updates its statistics after every row, in row order, on one thread.

    ``part`` is the state of a block's rows (responsibilities, topics of tokens, labels), changed in place like the
    statistics. For clusters that grow the statistics are a ``ClusterState``.
    """

    unit: str  # as in Model
    objective: str  # as in Model
    change: Any  # as in Model
    whole_blocks: bool  # whether an interrupt waits for the end of a block
    recount_every: int  # sweeps between two recounts of the statistics from the state, which remove round-off

    def begin(self, stats, /):
        """Reset the sums that every sweep recomputes."""

    def sweep(self, x, weight, part, stats, start, number, /):
        """Visit the rows of a block in order. ``start``: its first row; ``number``: the sweep, keys random numbers."""

    def recount(self, visits, stats, /):
        """Recompute the statistics from the state of all rows; ``visits`` yields (x, weight, part, start) per block."""

    def global_step(self, stats, epoch, /):
        """After a complete sweep: update the objective and the priors."""

    def summary(self, stats, /):
        """A copy of the statistics for publication, or an object that is always safe to publish."""

    def size(self, stats, /):
        """Number of units in the statistics."""


@runtime_checkable
class Sampler(Protocol):
    """The document visits of stochastic collapsed inference, under the counts and priors of a step (``TopicCounts``).

    ``forget`` drops what a sampler keeps between calls (alias tables, scratch memory); it is never pickled.
    """

    name: str  # value of the estimator's parameter
    visits_chunks: bool  # True if ``visit`` takes whole chunks and distributes their documents over threads

    def sums(self, counts, rows, selection):
        """Empty sums by word for the documents of the selection: ``WordRows``, or sparse."""

    def blocking(self, rows, n_components, batch_size, step_rows):
        """Documents per tile and per chunk; ``step_rows`` are those of joint batches, or 0."""

    def begin(self, counts):
        """Called after a global step: the counts have changed."""

    def prepare(self, counts, x, workers):
        """Compute what the visits of a chunk read."""

    def empty_responsibilities(self, counts, x, n_rows):
        """Uninitialised output of a chunk's visits."""

    def scratch(self, counts, n_rows):
        """Scratch memory of one thread for a tile."""

    def visit(self, counts, x, resp, scratch, numbers, memory, tile):
        """Visit a tile of documents; read their previous state from ``memory`` and store the new one there.

        ``tile`` is the number of documents of one item of the memory. Returns a function that makes the topics of their
        tokens, or None.
        """

    def accumulate(self, counts, x, resp, weight, stats, workers):
        """Add a chunk to the statistics, word by word."""

    def forget(self):
        """Drop everything kept between calls."""


@runtime_checkable
class Schedule(Protocol):
    """A learning method: the batches, and the update of the full statistics by a batch."""

    has_bound: bool  # True if epochs have comparable lower bounds
    first_comparable_epoch: Any  # first epoch with a comparable bound; None without bounds
    least_epochs: int  # no fit converges earlier
    step_rows: int  # rows of a step
    current: Any  # the batch state that ``absorb`` needs, for callers that absorb elsewhere; else None
    n_forgotten: int  # number of requests to drop the memory of blocks
    following: Any  # the selection that ``batches`` yields next, if known

    def batches(self):
        """Selections of one epoch."""

    def absorb(self, stats, new):
        """Update the statistics in place by those of a batch, ``new``, which stays unchanged."""

    def over(self, plan):
        """The same rule for selections of units of a ``Plan``; call before the first batch."""

    def put(self, components, stats):
        """Between epochs: replace these components by those of ``stats``; returns a function that undoes this."""


@runtime_checkable
class Family(Protocol):
    """A likelihood with its conjugate prior: sufficient statistics, updates, bounds, initialisation; holds no data.

    Parameters of priors and posteriors are family-specific values, components first; Gaussians are ``Gaussians``.
    """

    name: str  # value of the estimator's parameter
    structure: str  # of the covariances: key of STRUCTURES, which declares the next two and the table
    shape: Any  # of one covariance: the operations that differ between matrices, variances and one variance
    tied: bool  # whether all components share it
    has_means: bool
    has_scales: bool  # True if the scales of priors may be learned, by evidence
    has_loadings: bool  # True if the statistics contain sums of latent factors
    additive_alone: bool  # True if the evidence of a component depends on its sums only
    directions: int  # directions in which a component's own covariance is estimated
    n_features: int

    def spec(self):
        """Shapes of the sums by component, without the leading K, and of the shared sums."""

    def empty_stats(self, n_components, shift=None, sparse=False):
        """Zeros; sums of rows may be ``sparse`` if the rows are."""

    def accumulate(self, stats, x, groups, first, last):
        """Add rows (n, D), grouped by component, to components ``first`` to ``last``."""

    def accumulate_shared(self, stats, x, groups, sample_weight):
        """Add rows to the sums shared by all components."""

    def prior(self, data, mean_precision=None, mean=None, dof=None, covariance=None):
        """Prior with the given parameters; None: computed from ``data``."""

    def posterior(self, prior, stats):
        """Prior + statistics."""

    def expected(self, post):
        """Gaussians whose log density plus a constant is the expected log likelihood."""

    def point_estimate(self, post):
        """Gaussians with the posterior means of mean and covariance."""

    def maximum_likelihood(self, stats, reg_covar, previous=None):
        """M-step of EM."""

    def log_normalizer(self, params):
        """Log normaliser A of a prior or posterior; the log evidence is a difference of two."""

    def log_predictive(self, post, x):
        """Log posterior predictive densities of rows, (n, K)."""

    def stats_of(self, gaussians, counts):
        """Statistics of ``counts`` rows with exactly these means and covariances."""

    def item_divergences(self, prior, x):
        """Function of i: the divergences from row i to all rows (or to ``rows``); used to initialise clusters."""

    def n_parameters(self, n_components):
        """Free parameters of means and covariances."""


@runtime_checkable
class Fitted(Protocol):
    """A completed step as published by estimators: model, statistics, and attributes computed on demand."""

    model: Any
    stats: Any
    shared: bool  # True if another object may hold the same statistics; the next step then copies them first

    def keep(self, stats):
        """Replace the statistics by this copy, because the originals are about to change in place."""
