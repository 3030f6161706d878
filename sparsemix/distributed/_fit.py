"""``fit`` over blocks: which executor, and what it is refused."""

import numbers

from sparsemix._estimator.additive import AdditiveEstimator
from sparsemix._estimator.blockwise import Job, LocalExecutor, fit_blocks
from sparsemix._estimator.parameters import plain_arguments
from sparsemix.distributed._data import as_blocks, weights_of


@plain_arguments
def fit(
    estimator, data, *, sample_weight=None, validation_data=None, client=None, steps=None, checkpoint=None,
    checkpoint_every=1, resume="auto",
):  # fmt: skip
    """Fit an estimator to rows in blocks: out of core, resumable, and over a Dask cluster.

    Use it where the rows are more than memory holds, where a fit takes so long that it should survive a crash, or where
    you have a cluster. The estimator learns as in ``fit``, by its ``learning_method``: what is summed over all rows is
    summed over blocks, remembered documents and lists of candidates included. Starts look at rows that a hash of their
    number chooses, as many as ``fit`` would look at. Blocks are read three times before learning begins (twice for
    topics), and once a pass.

    Parameters
    ----------
    estimator : estimator
        SparseGaussianMixture, SparseVonMisesFisherMixture, SparseMultinomialMixture, SparseLDA or SparseSCVB0LDA;
        fitted in place.
    data : sequence of blocks
        Of :mod:`sparsemix.blocks`, a list of arrays or CSR matrices, an object with ``len()`` and ``[i]``, one array or
        CSR matrix, a ``dask.array`` in chunks of rows, a ``dask.bag`` or a list of ``Delayed``. Blocks may be empty.
        They should be shuffled: a step of online or memoized learning sees whole blocks, or parts of one.
    sample_weight : list of ndarray, or ndarray of shape (n_samples,), default=None
        Weights, one array a block, or one for all rows where the sizes of the blocks are known.
    validation_data : {array-like, sparse matrix} of shape (n_held_out, n_features), default=None
        Documents for ``evaluate_every`` and ``early_stopping`` of ``SparseSCVB0LDA``, in memory and none of ``data``.
        Their coherence is that in the documents that the start looks at, ten thousand at least.
    client : dask.distributed.Client, default=None
        A cluster whose workers visit the blocks. None: this process, block after block. The bits are the same.
    steps : int, default=None
        Global steps a pass. None follows the estimator: one for "batch", and for "memoized" and "online" as many as its
        ``batch_size`` makes, whose default is that of ``fit``. Blocks larger than a step are visited in parts, one
        after the other; steps of several blocks are shared out among the workers.
    checkpoint : path-like, default=None
        A folder of this fit alone, to which its state is written after a pass: model, statistics, what is remembered of
        rows, generators. A call with the same arguments goes on from there, to the same bits.
    checkpoint_every : int, default=1
        Passes from one checkpoint to the next.
    resume : {"auto", True, False}, default="auto"
        Go on where there is a checkpoint; insist on one; or begin anew.

    Returns
    -------
    estimator : estimator
        The one given, fitted: an ordinary estimator, without a trace of blocks or clusters.

    Raises
    ------
    TypeError
        For estimators that need all rows at once, with the one to use instead; for ``validation_data`` that the
        estimator has no use for.
    ValueError
        For wrong rows, with their block and row; for a checkpoint of another fit. What was fitted before stays.

    Notes
    -----
    Memory in this process is that of the estimator (its manual says), a block, for steps of several blocks log2 of
    their number sums more, and for each row what is remembered: nothing for batch and memoized mixtures, 4 bytes a
    candidate with ``candidates``, about 40 bytes a document for ``SparseLDA`` and up to 2 bytes a token for
    ``SparseSCVB0LDA``.

    The result depends on data, block bounds, ``steps``, parameters and ``random_state``; not on workers, threads,
    deaths, or whether a checkpoint was taken. It is not that of ``fit`` to the last bit, which adds in another order.

    Examples
    --------
    >>> from sparsemix import SparseLDA, blocks, distributed
    >>> from sparsemix.datasets import make_bars
    >>> X = make_bars(n_samples=500, random_state=0)[0]
    >>> lda = distributed.fit(SparseLDA(10, n_nonzero=2, random_state=0), blocks.from_arrays(X, rows=100))
    >>> lda.n_samples_seen_
    500
    """
    check_estimator(estimator)
    for name, value in (("steps", steps), ("checkpoint_every", checkpoint_every)):
        if value is not None and (not isinstance(value, numbers.Integral) or value < 1):
            raise ValueError(f"{name} is {value!r}; give a whole number of at least 1")
    if resume not in ("auto", True, False):
        raise ValueError(f"resume is {resume!r}; give 'auto', True or False")
    estimator._validate_params()
    data = as_blocks(data)
    job = Job(estimator, data, weights_of(sample_weight, data))
    with estimator._watched_by(validation_data):
        estimator._refuse_blocks()
        if client is None:
            return fit_blocks(estimator, LocalExecutor(job), steps, checkpoint, checkpoint_every, resume)
        from sparsemix.distributed._dask import DaskExecutor  # nothing of Dask is imported without a client

        with DaskExecutor(job, client) as executor:
            return fit_blocks(estimator, executor, steps, checkpoint, checkpoint_every, resume)


# What learns the same by steps from statistics, where all rows have to be in memory at once.
INSTEAD = {
    "CollapsedLDA": "SparseSCVB0LDA",
    "GibbsNGGPMixture": "StreamingNGGPMixture and its partial_fit, block after block",
    "StreamingNGGPMixture": "its partial_fit, block after block",
    "SkipGramTopicModel": "its partial_fit, block after block",
}


def check_estimator(estimator):
    """Refuse what does not add up over blocks."""
    name = type(estimator).__name__
    if not isinstance(estimator, AdditiveEstimator) or not hasattr(estimator, "_refuse_blocks"):
        instead = next((INSTEAD[cls.__name__] for cls in type(estimator).__mro__ if cls.__name__ in INSTEAD), None)
        remedy = "a mixture, SparseLDA or SparseSCVB0LDA" if instead is None else instead
        raise TypeError(f"{name} does not learn from blocks whose statistics are added; use {remedy}")
