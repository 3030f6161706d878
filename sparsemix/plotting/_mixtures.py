"""Plot of a mixture of Gaussians in the plane of two columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsemix._typing import RowsLike
from sparsemix.extend import check_number, check_rows, plain_arguments
from sparsemix.plotting._figures import label, new_axes

# Points along each side of the grid of densities, and the range of log densities that it shows.
GRID, NATS = 150, 10


@plain_arguments
def plot_mixture(
    mixture: Any,
    X: RowsLike | None = None,
    columns: Sequence[Any] = (0, 1),
    *,
    density: bool = False,
    n_components: int = 50,
    n_rows: int = 3000,
    ax: Any = None,
) -> Any:
    """Plot the components of a mixture of Gaussians in two columns, as ellipses of one and two standard deviations.

    The ellipses are those of ``mixture.marginal(columns)``, so all covariance types are drawn. Lines of light
    components are paler than those of heavy ones.

    Parameters
    ----------
    mixture : SparseGaussianMixture
        Fitted mixture.
    X : array-like of shape (n_samples, n_features), default=None
        Rows with all columns of the mixture, to draw as points. Rows without a value in one of the two columns are
        left out.
    columns : sequence of two int or str, default=(0, 1)
        Numbers of the columns to show, or their names after a fit on a data frame.
    density : bool, default=False
        Fill the axes with the log density of the two columns, from its maximum to 10 nats less, one shade for a nat.
    n_components : int, default=50
        Number of components to draw, largest first. More ellipses hide each other; the density has all components.
    n_rows : int, default=3000
        Largest number of points. Of more rows a random subset is drawn, always the same.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into, with limits if you have set them; None creates a figure.

    Returns
    -------
    ax : matplotlib.axes.Axes

    Raises
    ------
    ValueError
        For mixtures without Gaussian components, other than two columns, numbers below one, and wrong rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseGaussianMixture
    >>> from sparsemix.plotting import plot_mixture
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> mixture = SparseGaussianMixture(2, random_state=0).fit(X)
    >>> ax = plot_mixture(mixture, X, columns=(0, 2))
    >>> len(ax.patches)  # two ellipses of each component
    4
    """
    from matplotlib.patches import Ellipse

    check_number("n_components", n_components)
    check_number("n_rows", n_rows)
    if not hasattr(mixture, "marginal"):
        raise ValueError(f"mixture is a {type(mixture).__name__}; give a fitted SparseGaussianMixture")
    plane = mixture.marginal(columns)
    if plane.n_features_in_ != 2:
        raise ValueError(f"columns is {columns!r}; give two columns")
    # without names, rows of the grid need none
    names = vars(plane).pop("feature_names_in_", [f"column {column}" for column in columns])
    points = None if X is None else points_of(mixture, X, columns, n_rows)
    ax = new_axes(ax)
    if points is not None:
        ax.scatter(*points.T, s=4, color="0.15" if density else "0.6", linewidths=0, rasterized=True, zorder=1)
    parameters = plane.density_parameters()
    weights, means = plane.weights_, plane.means_
    for i, k in enumerate(np.argsort(-weights, kind="stable")[:n_components]):
        variances, directions = np.linalg.eigh(covariance_of(k, **parameters))
        angle = np.degrees(np.arctan2(directions[1, 1], directions[0, 1]))  # of the largest variance
        alpha = max(0.2, np.sqrt(weights[k] / weights.max()))
        for n_deviations in (1.0, 2.0):
            width, height = 2.0 * n_deviations * np.sqrt(np.maximum(variances[::-1], 0.0))
            style = {"fill": False, "edgecolor": f"C{i % 10}", "alpha": alpha, "linewidth": 1.8 / n_deviations}
            ax.add_patch(Ellipse(means[k], width, height, angle=angle, zorder=2, **style))
    ax.autoscale_view()
    if density:
        draw_density(ax, plane)
    ax.set(xlabel=label(names[0]), ylabel=label(names[1]))
    return ax


def covariance_of(k, covariances, covariance_type, **_):
    """Covariance (2, 2) of component k, of any type."""
    if isinstance(covariances, tuple):  # of low rank
        loadings, variances = covariances
        return loadings[k].T @ loadings[k] + np.diag(variances[k])
    one = covariances if covariance_type.startswith("tied") else covariances[k]
    return one if np.ndim(one) == 2 else one * np.eye(2)


def points_of(mixture, X, columns, n_rows):
    """Values of at most ``n_rows`` rows in the two columns, whose names or numbers ``marginal`` has checked."""
    names = list(getattr(mixture, "feature_names_in_", ()))
    numbers = [names.index(column) if isinstance(column, str) else column for column in columns]
    rows = check_rows(mixture, X, reset=False, missing=True)[:, numbers]
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) > n_rows:
        rows = rows[np.sort(np.random.RandomState(0).choice(len(rows), n_rows, replace=False))]
    return rows


def draw_density(ax, plane):
    """Fill the axes with the log density of a mixture of two columns."""
    limits = ax.get_xlim(), ax.get_ylim()
    x, y = np.meshgrid(*(np.linspace(*each, GRID) for each in limits))
    grid = np.column_stack([x.ravel(), y.ravel()])
    log_density = plane.score_samples(grid).reshape(x.shape)
    levels = log_density.max() + np.arange(-NATS, 1.0)
    ax.contourf(x, y, log_density, levels, cmap="Blues", extend="min", alpha=0.6, zorder=0)
    ax.set(xlim=limits[0], ylim=limits[1])
