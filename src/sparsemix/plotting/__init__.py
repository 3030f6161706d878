"""Pictures of fitted models; needs matplotlib (``pip install 'sparsemix[plot]'``)."""

from sparsemix.plotting._eigenvectors import plot_eigenvectors

__all__ = ["plot_eigenvectors"]
