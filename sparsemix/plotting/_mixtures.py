"""Plot of a mixture of Gaussians in the plane of two columns."""

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from sparsemix._typing import RowsLike
from sparsemix.extend import check_number, check_rows, plain_arguments
from sparsemix.mixture import SparseGaussianMixture
from sparsemix.plotting._figures import label, new_axes

# Points along each side of the grid of densities, and the range of log densities that it shows.
GRID, NATS = 150, 10
# Points of components that are not drawn, and all points on a density.
GREY, DARK = "0.6", "0.15"


@plain_arguments
def plot_mixture(
    model: Any,
    X: RowsLike | None = None,
    *,
    columns: Sequence[Any] = (0, 1),
    density: bool = False,
    n_components: int = 50,
    n_rows: int = 3000,
    ax: Any = None,
) -> Any:
    """Plot the components of a mixture of Gaussians in two columns, as ellipses of one and two standard deviations.

    The ellipses are those of the marginal mixture of these columns, so all covariance types are drawn. Lines of light
    components are paler than those of heavy ones. The title says what the ellipses are, and how many are not drawn.

    Parameters
    ----------
    model : SparseGaussianMixture, StreamingNGGPMixture or GibbsNGGPMixture
        Fitted mixture of rows of numbers. Growing clusters have their means and their posterior mean covariances.
    X : array-like of shape (n_samples, n_features), default=None
        Rows with all columns of the mixture, to draw as points in the colours of their predicted components. Points of
        components that are not drawn are grey. Rows without a value in one of the two columns are left out.
    columns : sequence of two int or str, default=(0, 1)
        Numbers of the columns to show, or their names after a fit on a data frame.
    density : bool, default=False
        Fill the axes with the log density of the two columns, from its maximum to 10 nats less, one shade for a nat.
        All points are then grey, which differs from each shade. The density of growing clusters is that of the
        Gaussians which the ellipses show, without a new cluster.
    n_components : int, default=50
        Number of components to draw, largest first. More ellipses hide each other; the density has all components.
    n_rows : int, default=3000
        Largest number of points. Of more rows a random subset is drawn, always the same.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into, with limits if you have set them; None creates a figure. A title that they have stays.

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
    check_number("n_components", n_components)
    check_number("n_rows", n_rows)
    plane = gaussians_of(model).marginal(columns)
    if plane.n_features_in_ != 2:
        raise ValueError(f"columns is {columns!r}; give two columns")
    # without names, rows of the grid need none
    names = vars(plane).pop("feature_names_in_", [f"column {column}" for column in columns])
    order = np.argsort(-plane.weights_, kind="stable")[:n_components]
    found = None if X is None else rows_of(model, X, columns, n_rows)
    ax = new_axes(ax)
    if found is not None:
        points, rows = found
        style = {"c": DARK} if density else {"c": colours_of(model, rows, order), "alpha": 0.5}  # ellipses stay visible
        ax.scatter(*points.T, s=4, **style, linewidths=0, rasterized=True, zorder=1)
    draw_ellipses(ax, plane, order)
    ax.autoscale_view()
    if density:
        draw_density(ax, plane)
    if not ax.get_title():
        ax.set_title(note_of(len(order), plane.n_components), fontsize="small")
    ax.set(xlabel=label(names[0]), ylabel=label(names[1]))
    return ax


def gaussians_of(model):
    """The mixture itself, or the Gaussians of growing clusters as a mixture, with the same numbers of components."""
    if hasattr(model, "marginal"):
        return model
    name = type(model).__name__
    if not hasattr(model, "cluster_ids_"):
        raise ValueError(
            f"model is a {name}; give a fitted SparseGaussianMixture, StreamingNGGPMixture or GibbsNGGPMixture"
        )
    if not hasattr(model, "covariances_"):
        raise ValueError(f"model is a {name} of documents, which have no ellipses; give one of rows of numbers")
    weights, covariances, family = model.weights_, model.covariances_, "full"
    if np.ndim(covariances) < 3:  # variances of columns that are divided by their scales
        covariances, family = covariances.reshape(len(weights), -1) * model.column_scales_**2, "diag"
    mixture = SparseGaussianMixture.from_parameters(
        weights / weights.sum(), model.means_, covariances, covariance_type=family
    )
    if hasattr(model, "feature_names_in_"):
        mixture.feature_names_in_ = model.feature_names_in_
    return mixture


def note_of(n_drawn, n_components):
    """What the ellipses are, and how many components have some."""
    note = "ellipses: one and two standard deviations"
    return note if n_drawn == n_components else f"{note}\n{n_drawn:,} of {n_components:,} components, the largest"


def colours_of(model, rows, order):
    """Colours of rows: those of their predicted components, of which ``order`` are drawn, and grey."""
    nameless = copy(model)  # rows of an array have no names
    vars(nameless).pop("feature_names_in_", None)
    drawn = {k: colour(i) for i, k in enumerate(order)}
    return [drawn.get(k, GREY) for k in nameless.predict(rows)] if len(rows) else GREY


def colour(i):
    """Colour of the i-th largest component."""
    return f"C{i % 10}"


def draw_ellipses(ax, plane, order):
    """Draw some components of a mixture of two columns."""
    from matplotlib.patches import Ellipse

    parameters = plane.density_parameters()
    weights, means = plane.weights_, plane.means_
    for i, k in enumerate(order):
        variances, directions = np.linalg.eigh(covariance_of(k, **parameters))
        angle = np.degrees(np.arctan2(directions[1, 1], directions[0, 1]))  # of the largest variance
        alpha = max(0.2, np.sqrt(weights[k] / weights.max()))
        for n_deviations in (1.0, 2.0):
            width, height = 2.0 * n_deviations * np.sqrt(np.maximum(variances[::-1], 0.0))
            style = {"fill": False, "edgecolor": colour(i), "alpha": alpha, "linewidth": 1.8 / n_deviations}
            ax.add_patch(Ellipse(means[k], width, height, angle=angle, zorder=2, **style))


def covariance_of(k, covariances, covariance_type, **_):
    """Covariance (2, 2) of component k, of any type."""
    if isinstance(covariances, tuple):  # of low rank
        loadings, variances = covariances
        return loadings[k].T @ loadings[k] + np.diag(variances[k])
    one = covariances if covariance_type.startswith("tied") else covariances[k]
    return one if np.ndim(one) == 2 else one * np.eye(2)


def rows_of(model, X, columns, n_rows):
    """Values of at most ``n_rows`` rows in the two columns, which ``marginal`` has checked, and these rows whole."""
    names = list(getattr(model, "feature_names_in_", ()))
    numbers = [names.index(column) if isinstance(column, str) else column for column in columns]
    # growing clusters have no predictions for missing values
    rows = check_rows(model, X, reset=False, missing=hasattr(model, "marginal"))
    kept = np.flatnonzero(np.isfinite(rows[:, numbers]).all(axis=1))
    if len(kept) > n_rows:
        kept = kept[np.sort(np.random.RandomState(0).choice(len(kept), n_rows, replace=False))]
    return rows[np.ix_(kept, numbers)], rows[kept]


def draw_density(ax, plane):
    """Fill the axes with the log density of a mixture of two columns."""
    limits = ax.get_xlim(), ax.get_ylim()
    x, y = np.meshgrid(*(np.linspace(*each, GRID) for each in limits))
    grid = np.column_stack([x.ravel(), y.ravel()])
    log_density = plane.score_samples(grid).reshape(x.shape)
    levels = log_density.max() + np.arange(-NATS, 1.0)
    ax.contourf(x, y, log_density, levels, cmap="Blues", extend="min", alpha=0.6, zorder=0)
    ax.set(xlim=limits[0], ylim=limits[1])
