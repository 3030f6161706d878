"""Plot of the covariances of mixture components."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsemix.extend import check_number, plain_arguments
from sparsemix.plotting._figures import new_figure


@plain_arguments
def plot_eigenvectors(
    model: Any, patch_shape: Sequence[int], *, n_components: int = 12, n_eigenvectors: int = 10, figure: Any = None
) -> Any:
    """Plot the leading eigenvectors of the covariances of the largest components as small images.

    Parameters
    ----------
    model : fitted mixture with full covariances
        An estimator with ``weights_`` and ``covariances_`` of shape (n_components, n_features, n_features).
    patch_shape : tuple of int
        Height and width of a patch in pixels.
    n_components : int, default=12
        Number of components, one per row of the figure, largest first.
    n_eigenvectors : int, default=10
        Number of eigenvectors per component, largest variance first; at most ``n_features``.
    figure : matplotlib.figure.Figure, default=None
        Figure to draw into; None creates one.

    Returns
    -------
    figure : matplotlib.figure.Figure

    Raises
    ------
    ValueError
        For mixtures without full covariances, a wrong patch size, and numbers below one.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseGaussianMixture
    >>> from sparsemix.plotting import plot_eigenvectors
    >>> patches = np.random.default_rng(0).normal(size=(50, 4))
    >>> mixture = SparseGaussianMixture(3, random_state=0).fit(patches)
    >>> figure = plot_eigenvectors(mixture, (2, 2), n_eigenvectors=2)
    >>> len(figure.axes)  # two images for each of three components
    6
    """
    check_number("n_components", n_components)
    check_number("n_eigenvectors", n_eigenvectors)
    weights, covariances = model.weights_, getattr(model, "covariances_", None)
    if np.ndim(covariances) != 3:
        raise ValueError(f"this {type(model).__name__} has no full covariances; fit it with covariance_type='full'")
    n_features = covariances.shape[2]
    if np.shape(patch_shape) != (2,) or np.min(patch_shape) < 1 or np.prod(patch_shape) != n_features:
        raise ValueError(f"patch_shape is {patch_shape!r}; give height and width of patches of {n_features} values")
    n_eigenvectors = min(n_eigenvectors, n_features)
    order = np.argsort(-weights, kind="stable")[:n_components]
    figure = new_figure(figure, 0.6 * n_eigenvectors + 1.4, 0.6 * len(order) + 0.6, layout="compressed")
    axes = figure.subplots(len(order), n_eigenvectors, squeeze=False)
    for row, k in zip(axes, order, strict=True):
        variances, vectors = np.linalg.eigh(covariances[k])
        for axis, vector in zip(row, vectors.T[::-1], strict=False):
            limit = np.abs(vector).max()
            axis.imshow(vector.reshape(patch_shape), cmap="gray", vmin=-limit, vmax=limit)
            axis.set(xticks=[], yticks=[])
        label = f"{weights[k]:.1%}\n$\\sigma^2$ {variances.sum():.3g}"
        row[0].set_ylabel(label, rotation=0, ha="right", va="center", fontsize=7)
    figure.suptitle("Leading eigenvectors of the largest components", fontsize=9)
    return figure
