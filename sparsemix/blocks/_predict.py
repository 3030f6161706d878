"""Predictions and scores of fitted estimators for rows in blocks."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from sparsemix._compat import configured_sparse
from sparsemix._estimator.blockwise import block_named, n_rows_of
from sparsemix._estimator.features import as_features
from sparsemix._estimator.input.checks import check_counts
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import BlocksLike
from sparsemix.blocks._arrays import array_of, is_dask_array, typed
from sparsemix.blocks._data import as_blocks, cancellation_named
from sparsemix.blocks._fit import CLOSED, check_timeout
from sparsemix.blocks._readers.arrays import Blocks
from sparsemix.metrics._completion import total


@plain_arguments
def transform(
    estimator: Any,
    data: BlocksLike,
    *,
    client: Any = None,
    worker_timeout: float = 600.0,
    as_array: bool | None = None,
) -> Sequence[Any]:
    """Topic proportions or responsibilities of rows in blocks, computed on access.

    Parameters
    ----------
    estimator : estimator
        Fitted estimator. Mixtures return sparse responsibilities, or dense ones with ``dense_output``; topic models
        return dense proportions.
    data : sequence of blocks
        As in :func:`fit`.
    client : dask.distributed.Client, default=None
        Cluster whose workers read the blocks and keep the results.
    worker_timeout : float, default=600.0
        Seconds that the call waits for the first worker of the cluster, before an error. None waits forever.
    as_array : bool, default=None
        Whether the results are one ``dask.array``, which Dask computes on demand. None: if ``data`` is a
        ``dask.array``.

    Returns
    -------
    results : sequence or dask.array of shape (n_samples, n_components)
        One result per block. Without a client, ``results[i]`` computes it and does not keep it. With a client, a list
        of ``Delayed`` for ``client.compute``; workers can also write them. With ``as_array`` a chunk per block with
        rows; the sizes of chunks are NaN if those of the blocks are unknown. The dtype is float32 for a ``dask.array``
        of float32, else float64. Chunks of sparse responsibilities are CSR, and so is the array that Dask computes.

    Raises
    ------
    ImportError
        If ``as_array`` needs Dask and Dask is missing.
    RuntimeError
        If a worker cannot import sparsemix.
    TimeoutError
        If the cluster has no workers for ``worker_timeout`` seconds.

    Examples
    --------
    >>> from sparsemix import SparseLDA, blocks
    >>> from sparsemix.datasets import make_bars
    >>> rows = blocks.from_arrays(make_bars(n_samples=500, random_state=0)[0], rows=200)
    >>> lda = blocks.fit(SparseLDA(10, n_nonzero=2, random_state=0), rows)
    >>> [part.shape for part in blocks.transform(lda, rows)]
    [(200, 10), (200, 10), (100, 10)]

    See Also
    --------
    predict : Labels of rows in blocks.
    """
    dtype = np.float32 if getattr(data, "dtype", None) == np.float32 else np.float64
    return results(read_rows, estimator, data, client, worker_timeout, as_array, dtype)


@plain_arguments
def predict(
    estimator: Any,
    data: BlocksLike,
    *,
    client: Any = None,
    worker_timeout: float = 600.0,
    as_array: bool | None = None,
) -> Sequence[Any]:
    """Labels of rows in blocks, computed on access: the most probable component of each row.

    Parameters
    ----------
    estimator : estimator
        Fitted mixture.
    data : sequence of blocks
        As in :func:`fit`.
    client : dask.distributed.Client, default=None
        Cluster whose workers read the blocks and keep the labels.
    worker_timeout : float, default=600.0
        Seconds that the call waits for the first worker of the cluster, before an error. None waits forever.
    as_array : bool, default=None
        Whether the labels are one ``dask.array``, as in :func:`transform`.

    Returns
    -------
    labels : sequence or dask.array of shape (n_samples,)
        Labels of each block, as :func:`transform` returns its results.

    Raises
    ------
    TypeError
        For estimators without ``predict``, such as topic models.
    ImportError
        If ``as_array`` needs Dask and Dask is missing.
    RuntimeError
        If a worker cannot import sparsemix.
    TimeoutError
        If the cluster has no workers for ``worker_timeout`` seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseGaussianMixture, blocks
    >>> X = np.random.default_rng(0).normal(size=(500, 2)) + np.repeat([[0], [9]], 250, axis=0)
    >>> rows = blocks.from_arrays(X, rows=200)
    >>> mixture = blocks.fit(SparseGaussianMixture(2, random_state=0), rows)
    >>> [len(set(labels.tolist())) for labels in blocks.predict(mixture, rows)]
    [1, 2, 1]

    See Also
    --------
    transform : Responsibilities of rows in blocks.
    """
    if not hasattr(estimator, "predict"):
        raise TypeError(
            f"{type(estimator).__name__} has no predict; give a mixture, or call blocks.transform and take the largest "
            "proportion of each row"
        )
    return results(label_rows, estimator, data, client, worker_timeout, as_array, np.int64)


def results(function, estimator, data, client, worker_timeout, as_array, dtype):
    """Results of a function for each block: on access, as Delayed, or as an array of Dask."""
    check_timeout(worker_timeout)
    if as_array not in (None, True, False):
        raise ValueError(f"as_array is {as_array!r}; give True, False or None")
    as_array = is_dask_array(data) if as_array is None else as_array
    data = as_blocks(data)
    if as_array:
        function = partial(typed, function, np.dtype(dtype))
    if client is None:
        return array_of(function, estimator, data) if as_array else Results(function, estimator, data)
    from sparsemix.blocks._cluster import WorkerWatch, delayed_results  # imports Dask

    with cancellation_named(CLOSED):
        parts = delayed_results(function, estimator, data, WorkerWatch(client, worker_timeout))
    return array_of(function, estimator, data, parts) if as_array else parts


@plain_arguments
def score(estimator: Any, data: BlocksLike, *, client: Any = None, worker_timeout: float = 600.0) -> float:
    """Held-out score of rows in blocks; equals ``estimator.score`` of all rows together.

    Parameters
    ----------
    estimator : estimator
        A fitted topic model or mixture.
    data : sequence of blocks
        Held-out rows, as in :func:`fit`.
    client : dask.distributed.Client, default=None
        Cluster whose workers read the blocks.
    worker_timeout : float, default=600.0
        Seconds that the call waits while the cluster has no workers, before an error. None waits forever.

    Returns
    -------
    score : float
        Mean over hidden tokens, or over rows, in nats.

    Raises
    ------
    ValueError
        If no row can be scored.
    RuntimeError
        If a worker cannot import sparsemix.
    TimeoutError
        If the cluster has no workers for ``worker_timeout`` seconds.

    Examples
    --------
    >>> from sparsemix import SparseLDA, blocks
    >>> from sparsemix.datasets import make_bars
    >>> X = make_bars(n_samples=700, random_state=0)[0]
    >>> lda = blocks.fit(SparseLDA(10, n_nonzero=2, random_state=0), blocks.from_arrays(X[:500], rows=100))
    >>> abs(blocks.score(lda, [X[500:550], X[550:]]) - lda.score(X[500:])) < 1e-6
    True
    """
    check_timeout(worker_timeout)
    data = as_blocks(data)
    if client is None:
        parts = list(Results(score_rows, estimator, data))
    else:
        from sparsemix.blocks._cluster import WorkerWatch, gathered_results  # imports Dask

        with cancellation_named(CLOSED):
            parts = gathered_results(score_rows, estimator, data, client, WorkerWatch(client, worker_timeout))
    total, size = (sum(numbers) for numbers in zip(*parts, strict=True))
    if size == 0:
        raise ValueError("no row of data can be scored; give rows, or documents with at least two different words")
    return float(total / size)


class Results(Blocks):
    """Results of a function of an estimator and a block, computed on access."""

    def __init__(self, function, estimator, data):
        self._function, self._estimator, self._data = function, estimator, data

    def __len__(self):
        return len(self._data)

    def __getitem__(self, i):
        number = range(len(self))[i]
        X = self._data.raw(number)
        with block_named(number):
            return self._function(self._estimator, X)


def read_rows(estimator, X):
    """``transform`` of a block."""
    if n_rows_of(X):
        return estimator.transform(X)
    empty = 0, len(estimator.get_feature_names_out())
    if not hasattr(estimator, "predict_sparse_proba"):
        return np.empty(empty)
    return as_features(estimator, configured_sparse(sparse.csr_array(empty)))


def label_rows(estimator, X):
    """``predict`` of a block."""
    return estimator.predict(X) if n_rows_of(X) else np.empty(0, dtype=np.int64)


def score_rows(estimator, X):
    """Sum of log likelihoods of a block, and the number of its units (rows or tokens)."""
    if not n_rows_of(X):
        return 0.0, 0.0
    if hasattr(estimator, "score_samples"):
        log_density = estimator.score_samples(X)
        return float(log_density.sum(dtype=float)), float(len(log_density))
    return total(estimator._hidden(check_counts(estimator, X, reset=False)))
