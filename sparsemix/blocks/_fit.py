"""``fit`` over blocks: checks the estimator and its arguments, and chooses the executor."""

import numbers
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sparsemix._estimator.additive import Additive
from sparsemix._estimator.blockwise import Job, LocalExecutor, fit_blocks
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import ArrayLike, BlocksLike, Estimator, Folder, RowsLike, Weights
from sparsemix.blocks._data import as_blocks, cancellation_named, weights_of


@plain_arguments
def fit(
    estimator: Estimator,
    data: BlocksLike,
    *,
    sample_weight: Sequence[ArrayLike] | Weights = None,
    validation_data: RowsLike | None = None,
    client: Any = None,
    steps: int | None = None,
    checkpoint: Folder = None,
    checkpoint_every: int = 1,
    resume: str | bool = "auto",
    worker_timeout: float = 600.0,
) -> Estimator:
    """Fit an estimator to rows in blocks: out of core, resumable, and on a Dask cluster.

    Use it if the data exceed memory, if a long fit should survive a crash, or if you have a cluster. The estimator
    learns as in ``fit``, by its ``learning_method``; sums over all rows become sums over blocks. Remembered
    documents and lists of candidates work as in ``fit``. The initialisation uses as many rows as that of ``fit``,
    chosen by a hash of the row number. Blocks are read three times before the first epoch (twice for topic models),
    and once per epoch.

    Parameters
    ----------
    estimator : estimator
        SparseGaussianMixture, SparseVonMisesFisherMixture, SparseMultinomialMixture, SparseBernoulliMixture,
        SparseMixedMixture, SparseLDA or SparseSCVB0LDA. It is fitted in place.
    data : sequence of blocks
        A reader of :mod:`sparsemix.blocks`, a list of arrays or CSR matrices, an object with ``len()`` and ``[i]``,
        one array or CSR matrix, a ``dask.array`` in chunks of rows, a ``dask.bag`` of rows, or a list of ``Delayed`` or
        futures. Blocks may be empty. Shuffle the rows first: a step of online or memoized learning uses whole blocks,
        or parts of one.
    sample_weight : list of ndarray, or ndarray of shape (n_samples,), default=None
        Weights: one array per block, or one for all rows if the sizes of the blocks are known. Those of Dask are
        computed first.
    validation_data : {array-like, sparse matrix} of shape (n_held_out, n_features), default=None
        Held-out documents for scores and ``early_stopping`` of ``SparseSCVB0LDA``, in memory. Coherence is
        computed from the documents of the initialisation, at least ten thousand.
    client : dask.distributed.Client, default=None
        Cluster whose workers visit the blocks. None visits one block after another in this process. Both give the same
        bits.
    steps : int, default=None
        Global steps per epoch. None follows the estimator: one for "batch"; for "memoized" and "online" the number
        given by ``batch_size``, whose default is that of ``fit``. A block that is larger than a batch is visited in
        several steps. The blocks of one step are distributed among the workers.
    checkpoint : path-like, default=None
        Local folder for this fit only, which it locks. After an epoch the state of the fit is written to it: model,
        statistics, remembered rows, random generators. A call with the same arguments resumes the fit, with the same
        bits.
    checkpoint_every : int, default=1
        Epochs between checkpoints.
    resume : {"auto", True, False}, default="auto"
        "auto" resumes if there is a checkpoint, True requires one, False starts again.
    worker_timeout : float, default=600.0
        Seconds that a fit on a cluster waits while there are no workers, before an error. It warns after 30 s. None
        waits forever.

    Returns
    -------
    estimator : estimator
        The given estimator, now fitted. It keeps no reference to blocks or the cluster.

    Raises
    ------
    TypeError
        For estimators that need all rows at once; the message names an alternative. For ``validation_data`` that the
        estimator cannot use.
    ValueError
        For invalid rows, with their block and row; for a checkpoint of another fit. An earlier fit is kept.
    RuntimeError
        If a worker cannot import sparsemix, or a block kills the workers that read it.
    TimeoutError
        If the cluster has no workers for ``worker_timeout`` seconds.

    Notes
    -----
    Memory in this process: the estimator (see its documentation), one block, log2 of the number of blocks of a step
    times the size of the statistics, and the remembered data of each row. These are nothing for mixtures with batch
    and memoized learning, 4 bytes per candidate with ``candidates``, about 40 bytes per document for ``SparseLDA`` and
    up to 2 bytes per token for ``SparseSCVB0LDA``.

    The result depends on data, block bounds, ``steps``, parameters and ``random_state``. It does not depend on the
    number of workers or threads, on failures of workers, or on checkpoints. It differs from ``fit`` in the last bits,
    because sums have another order.

    Examples
    --------
    >>> from sparsemix import SparseLDA, blocks
    >>> from sparsemix.datasets import make_bars
    >>> X = make_bars(n_samples=500, random_state=0)[0]
    >>> lda = blocks.fit(SparseLDA(10, n_nonzero=2, random_state=0), blocks.from_arrays(X, rows=100))
    >>> lda.n_samples_seen_
    500
    """
    check_estimator(estimator)
    for name, value in (("steps", steps), ("checkpoint_every", checkpoint_every)):
        if value is not None and (not isinstance(value, numbers.Integral) or value < 1):
            raise ValueError(f"{name} is {value!r}; give a whole number of at least 1")
    if resume not in ("auto", True, False):
        raise ValueError(f"resume is {resume!r}; give 'auto', True or False")
    check_timeout(worker_timeout)
    estimator._validate_params()
    data = as_blocks(data)
    recipe = recipe_of(estimator, validation_data)
    recipe.refuse_blocks()
    job = Job(estimator, recipe, data, weights_of(sample_weight, data))
    if client is None:
        return fit_blocks(estimator, LocalExecutor(job), steps, checkpoint, checkpoint_every, resume)
    from sparsemix.blocks._cluster import DaskExecutor  # Dask is imported only if there is a client

    with cancellation_named(CLOSED), DaskExecutor(job, client, worker_timeout) as executor:
        return fit_blocks(estimator, executor, steps, checkpoint, checkpoint_every, resume)


CLOSED = "client was closed or restarted during the call; open a new Client and call again"


def check_timeout(worker_timeout):
    """Raise for what is no time to wait for workers."""
    if worker_timeout is not None and not (isinstance(worker_timeout, numbers.Real) and worker_timeout > 0):
        raise ValueError(f"worker_timeout is {worker_timeout!r}; give positive seconds, or None")


# Alternatives to estimators that need all rows in memory at once.
INSTEAD = {
    "CollapsedLDA": "SparseSCVB0LDA",
    "GibbsLDA": "SparseSCVB0LDA",
    "GibbsNGGPMixture": "StreamingNGGPMixture and its partial_fit, block after block",
}


def recipe_of(estimator, validation_data):
    """The recipe of an estimator that may score documents held out."""
    recipe = estimator._recipe()
    if validation_data is None:
        return recipe
    if not hasattr(recipe, "validation"):
        raise TypeError(f"{type(estimator).__name__} does not use validation_data; leave it out")
    return replace(recipe, validation=validation_data)


def check_estimator(estimator):
    """Raise for estimators without statistics that can be added over blocks."""
    name = type(estimator).__name__
    if not isinstance(estimator, Additive) or not hasattr(estimator._recipe(), "refuse_blocks"):
        instead = next((INSTEAD[cls.__name__] for cls in type(estimator).__mro__ if cls.__name__ in INSTEAD), None)
        stream = "its partial_fit, block after block" if hasattr(type(estimator), "partial_fit") else None
        remedy = instead or stream or "a mixture, SparseLDA or SparseSCVB0LDA"
        raise TypeError(f"{name} cannot be fitted to blocks, because its statistics cannot be added; use {remedy}")
