"""Topics of cells, stored in the AnnData object of the cells."""

from typing import Any

import numpy as np

from sparsemix._estimator.input.forms import numbers_of
from sparsemix._estimator.parameters import plain, plain_arguments
from sparsemix._estimator.progress import described
from sparsemix._typing import ArrayLike
from sparsemix._version import __version__
from sparsemix.metrics._checks import read_topics


@plain_arguments
def store_topics(
    adata: Any, model: Any, doc_topic: ArrayLike | None = None, *, layer: str | None = None, key: str = "topics"
) -> Any:
    """Store the topics of a fitted model in an AnnData object: shares of cells, weights of genes, parameters.

    Sets ``adata.obsm["X_" + key]`` (shares of topics in each cell, n_obs x n_components), ``adata.varm[key]``
    (probability of each gene in each topic, n_vars x n_components) and ``adata.uns[key]`` (estimator, version,
    parameters). Functions of scanpy take ``use_rep="X_topics"``. An error changes nothing.

    Parameters
    ----------
    adata : anndata.AnnData
        Cells and genes of the fit, in memory or backed. It is changed in place.
    model : estimator
        Fitted topic model; scikit-learn's too.
    doc_topic : array-like of shape (n_obs, n_components), default=None
        Topic shares of the cells. None computes them by ``model.transform`` of the counts.
    layer : str, default=None
        Layer with the counts; None takes ``adata.X``.
    key : str, default="topics"
        Name in ``varm`` and ``uns``; in ``obsm`` it begins with ``"X_"``.

    Returns
    -------
    adata : anndata.AnnData
        The given object.

    Raises
    ------
    TypeError
        If ``adata`` is no AnnData object.
    KeyError
        For a missing layer.
    ValueError
        For a view, for other numbers of cells, genes or topics than those of the model, and for a backed object without
        ``doc_topic``.

    See Also
    --------
    sparsemix.blocks.from_h5ad : Reads cells that do not fit in memory.
    sparsemix.blocks.transform : Topic shares of such cells.

    References
    ----------
    Virshup, Rybakov, Theis, Angerer, Wolf (2024). "anndata: Access and store annotated data matrices", Journal of Open
    Source Software.

    Examples
    --------
    >>> import anndata
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.topics import store_topics
    >>> adata = anndata.AnnData(make_bars(n_samples=500, random_state=0)[0])
    >>> adata = store_topics(adata, SparseSCVB0LDA(10, random_state=0).fit(adata.X))
    >>> adata.obsm["X_topics"].shape, adata.varm["topics"].shape, adata.uns["topics"]["estimator"]
    ((500, 10), (25, 10), 'SparseSCVB0LDA')
    """
    if not all(hasattr(adata, name) for name in ("obsm", "varm", "uns", "layers")):
        raise TypeError(f"adata is a {type(adata).__name__}; give an anndata.AnnData object")
    if adata.is_view:
        raise ValueError("adata is a view of another object, which cannot be changed; give adata.copy()")
    words = read_topics(model, "model")
    if words.shape[1] != adata.n_vars:
        raise ValueError(
            f"adata has {adata.n_vars} genes, and model was fitted to {words.shape[1]}; give the genes of the fit, "
            "adata[:, genes].copy()"
        )
    shares = shares_of(adata, model, doc_topic, layer)
    if shares.shape != (adata.n_obs, len(words)):
        wanted = adata.n_obs, len(words)
        raise ValueError(f"doc_topic has shape {shares.shape}, expected {wanted}: give a row per cell")
    if not (shares >= 0.0).all():
        raise ValueError("doc_topic has missing or negative values; give shares of topics")
    params = {name: plain(value) for name, value in model.get_params(deep=False).items()}
    about = {
        "estimator": type(model).__name__,
        "version": __version__,
        "layer": "X" if layer is None else layer,
        "params": {name: stored(value) for name, value in params.items()},
    }
    adata.obsm[f"X_{key}"] = shares
    adata.varm[key] = (words / words.sum(axis=1, keepdims=True)).T
    adata.uns[key] = about
    return adata


def stored(value):
    """A parameter as files of AnnData hold it, a number or a text; a checksum of an array."""
    if isinstance(value, (bool, int, float, str)):
        return value
    return repr(value) if isinstance(value, (tuple, list)) else described(value)


def shares_of(adata, model, doc_topic, layer):
    """Topic shares of the cells, as they were given or computed from the counts."""
    if doc_topic is not None:
        return numbers_of(doc_topic, "doc_topic")
    if layer is not None and layer not in adata.layers:
        raise KeyError(f"adata has no layer {layer!r}; it has {', '.join(sorted(adata.layers)) or 'none'}")
    if adata.isbacked:
        raise ValueError(
            "adata is backed by a file; give doc_topic, numpy.concatenate(list(blocks.transform(model, "
            "blocks.from_h5ad(path))))"
        )
    return np.asarray(model.transform(adata.X if layer is None else adata.layers[layer]))
