"""What the engine asks of those it works with; whoever fulfils one of these protocols can be learned by its loops.

Nobody inherits from them: models and samplers stand on a floor below and know nothing of the engine. Arguments before
a ``/`` are passed by position, so a model may call them what they are to it. Shapes: N rows (or documents), K
components (or topics), L non-zeros of a row, ``n`` rows of a tile or chunk.
"""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Rows(Protocol):
    """The data as the loop reads it, in blocks: rows of numbers, or documents.

    A *selection* is a slice or an increasing array of row numbers. A block is an array of shape (n, D), or a
    ``DocumentBlock``; tiles of it are views.
    """

    sample_weight: Any  # (N,) float64, or None when all are one
    dtype: Any  # of what is read
    memory: Any  # what is kept of rows from visit to visit, or None; handed to ``local_step``
    first_row: int  # number of the first row, which those handed to ``local_step`` count from
    source: Any  # what visits the blocks that these rows stand for, where they are a sample; else None
    mass: float  # total weight
    informative: bool  # whether there is anything to learn from

    def __len__(self):
        """N."""

    def blocking(self, n_components, n_nonzero):
        """Rows of a tile, and of a chunk; from the data's shape alone."""

    def weight(self, selection):
        """Weights of the chosen rows (n,), or None when all are one."""

    def buffer(self, selection):
        """The block of the chosen rows, or room for them."""

    def load(self, selection, start, stop, buffer, /):
        """Rows ``start`` to ``stop`` of a selection, in the block that ``buffer`` gave."""

    def read(self, selection):
        """The whole block."""

    def read_ahead(self, selection):
        """``buffer`` will be asked for this selection next (None: nobody knows); a thread has time to make it now."""


@runtime_checkable
class Model(Protocol):
    """An additive model: everything that it learns is prior + statistics.

    Statistics are ``SufficientStatistics`` with at least ``count`` (K,) and ``mass``. What a model holds beside its
    prior is made anew by ``global_step``, so that a model and its statistics are all there is to know.
    """

    n_components: int  # K
    n_nonzero: int  # L
    dtype: Any  # of its tables
    unit: str  # what bounds are told per unit of: "row" or "token"
    objective: str  # the method whose number the monitor records
    change: Any  # a method: how much the last epoch changed, where there is no bound; or None

    def empty_stats(self, rows=None, selection=None):
        """Zeros; told the rows of a batch, as small as that batch allows."""

    def blocking(self, rows):
        """Rows of a tile, and of a chunk."""

    def prepare(self, x, workers):
        """Make what the local steps of a chunk read."""

    def empty_responsibilities(self, x, n_rows):
        """Room for what the local steps of a chunk leave; ``rows(start, stop)`` of it is a view of a tile."""

    def scratch(self, n_rows):
        """Room of one thread for a tile."""

    def local_step(self, x, resp, scratch, numbers=None, memory=None):
        """From a tile of rows to responsibilities.

        ``numbers`` (n,) are the rows' numbers, which key random numbers and what ``memory`` keeps. A row's result
        depends on neither the other rows of the tile nor the number of threads.
        """

    def accumulate(self, x, resp, sample_weight, stats, workers):
        """Add a chunk to statistics in place; each sum has one owner, who adds in the order of rows."""

    def global_step(self, stats, split=None):
        """Statistics to the next tables; they may change ``stats`` in no way. ``split`` shares out components."""

    def lower_bound(self, stats):
        """Bound of all rows in nats after a global step, NaN where there is none."""

    def size(self, stats):
        """How many units the statistics are of: what bounds are compared per."""

    def forget(self):
        """End an epoch: drop caches that would change the next epoch's bits, such as tables of samplers."""


@runtime_checkable
class PermutableModel(Model, Protocol):
    """A model whose components may be put in another order by a move."""

    def permute(self, order):
        """Everything that it keeps by component, in the order ``order`` (K,); statistics are the caller's."""


@runtime_checkable
class SequentialModel(Protocol):
    """A model whose statistics follow every row at once: sweeps over blocks, in the order of rows, on one thread.

    ``part`` is the state of a block's rows (responsibilities, topics of tokens, labels), changed in place like the
    statistics. For clusters that grow the statistics are a ``ClusterState``.
    """

    unit: str  # as in Model
    objective: str  # as in Model
    change: Any  # as in Model
    whole_blocks: bool  # whether an interrupt waits for the end of a block
    recount_every: int  # sweeps between two counts of the statistics from the state, which end round-off

    def begin(self, stats, /):
        """Forget the sums that every sweep makes anew."""

    def sweep(self, x, weight, part, stats, start, number, /):
        """All rows of a block, in order; row ``start`` is its first, ``number`` counts sweeps and keys random ones."""

    def recount(self, visits, stats, /):
        """Statistics from the state of all rows; ``visits`` gives (x, weight, part, start) of each block."""

    def global_step(self, stats, epoch, /):
        """What follows from a whole sweep: the objective, the next priors."""

    def summary(self, stats, /):
        """A copy of what readings follow from, or what is one at any time."""

    def size(self, stats, /):
        """How many units the statistics are of."""


@runtime_checkable
class Sampler(Protocol):
    """How stochastic collapsed inference visits documents; the model, its first argument, holds counts and priors.

    What a sampler keeps between calls (alias tables, room) it gives up in ``forget``; no pickle holds it.
    """

    name: str  # as the estimator's parameter calls it
    visits_chunks: bool  # whether ``visit`` gets whole chunks, of which it shares out the documents among threads

    def sums(self, model, rows, selection):
        """Empty sums by word of the chosen documents: ``WordRows``, or sparse."""

    def blocking(self, model, rows):
        """Documents of a tile, and of a chunk."""

    def begin(self, model):
        """A global step was made: counts are others now."""

    def prepare(self, model, x, workers):
        """Make what the visits of a chunk read."""

    def empty_responsibilities(self, model, x, n_rows):
        """Room for what the visits of a chunk leave."""

    def scratch(self, model, n_rows):
        """Room of one thread for a tile."""

    def visit(self, model, x, resp, scratch, numbers, memory):
        """Visit a tile of documents, from what ``memory`` holds of them and back to it."""

    def accumulate(self, model, x, resp, weight, stats, workers):
        """Add a chunk to the statistics, word by word."""

    def forget(self):
        """Give up what is held between calls."""


@runtime_checkable
class Schedule(Protocol):
    """A learning method: which batches, and what their statistics do to those of all rows."""

    has_bound: bool  # whether epochs have a lower bound that may be compared
    first_comparable_lap: Any  # from which epoch on; None without a bound
    least_laps: int  # no fit converges before
    step_rows: int  # rows of a step
    current: Any  # what ``absorb`` asks of the batch at hand, for those who absorb it elsewhere; else None
    n_forgotten: int  # how often what is remembered of blocks was to be given up
    following: Any  # the selection after the last one that ``batches`` gave, if it is known

    def batches(self):
        """Selections of one epoch."""

    def absorb(self, stats, new):
        """Statistics after a batch that left ``new``, in place; ``new`` stays as it is."""

    def permute(self, order):
        """Components have changed their order: so does everything that is remembered."""

    def over(self, plan):
        """The same rule where selections are of units of a ``Plan``, before its first batch."""

    def put(self, components, stats):
        """Between epochs: these components are others now, as in ``stats``; returns a function that undoes this."""


@runtime_checkable
class Family(Protocol):
    """A likelihood with its conjugate prior: sums kept of rows, updates, bounds, starts; it holds no data.

    Parameters of priors and posteriors are values of the family's own, components first; Gaussians are ``Gaussians``.
    """

    structure: str  # of the covariances, which tables follow
    shape: str  # of one covariance: "full", "diag" or "spherical"
    tied: bool  # whether all components share it
    has_means: bool
    has_scales: bool  # whether priors of the components may differ in scale, each the one that its evidence asks for
    n_features: int

    def spec(self):
        """Shapes of the sums by component, without the leading K, and of those that components share."""

    def empty_stats(self, n_components, shift=None):
        """Zeros."""

    def accumulate(self, stats, x, groups, first, last):
        """Add rows (n, D), grouped by component, to components ``first`` to ``last``."""

    def accumulate_shared(self, stats, x, sample_weight):
        """Add rows to the sums that components share."""

    def prior(self, data, mean_precision=None, mean=None, dof=None, covariance=None):
        """Prior with the given parameters; where they are None, ``data`` decides."""

    def posterior(self, prior, stats):
        """Prior + statistics."""

    def expected(self, post):
        """Gaussians whose log density plus a constant is the expected log likelihood."""

    def point_estimate(self, post):
        """Gaussians with the posterior means of mean and covariance."""

    def maximum_likelihood(self, stats, reg_covar, previous=None):
        """M-step of EM."""

    def log_normalizer(self, params):
        """A of a prior or posterior: the evidence is a difference of two."""

    def log_predictive(self, post, x):
        """Log posterior predictive densities of rows, (n, K)."""

    def stats_of(self, gaussians, counts):
        """The statistics of ``counts`` rows that have exactly these means and covariances."""

    def item_divergences(self, prior, x):
        """Function of i: divergence of all rows, or with ``rows`` of some, from row i, by which clusters are seeded."""

    def n_parameters(self, n_components):
        """Free parameters of means and covariances."""


@runtime_checkable
class Fitted(Protocol):
    """A completed step as estimators publish it: model and statistics, and what follows from them on demand."""

    model: Any
    stats: Any
    shared: bool  # whether others may hold the same statistics: the next step then copies them first

    def keep(self, stats):
        """Hold this copy from now on: the statistics of before are about to change in place."""
