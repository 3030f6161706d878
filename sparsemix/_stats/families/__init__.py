"""Likelihood families with their conjugate priors: one file per family, one shared interface."""

from sparsemix._stats.families._base import GaussianFamily
from sparsemix._stats.families._overlap import bhattacharyya, marginal_bounds
from sparsemix._stats.families._shapes import cholesky, serial
from sparsemix._stats.families._tables import Gaussians
from sparsemix._stats.families.diag import DiagonalGaussian
from sparsemix._stats.families.full import FullGaussian
from sparsemix._stats.families.low_rank import FactorAnalysers, FactorView, LowRankGaussian
from sparsemix._stats.families.spherical import SphericalGaussian
from sparsemix._stats.families.tied import TiedGaussian
from sparsemix._stats.families.tied_diag import TiedDiagonalGaussian, TiedSphericalGaussian
from sparsemix._stats.families.zero_mean import ZeroMeanGaussian

GAUSSIANS = {
    family.name: family
    for family in (
        FullGaussian,
        TiedGaussian,
        TiedDiagonalGaussian,
        TiedSphericalGaussian,
        DiagonalGaussian,
        SphericalGaussian,
        LowRankGaussian,
        ZeroMeanGaussian,
    )
}

__all__ = [
    "GAUSSIANS",
    "FactorAnalysers",
    "FactorView",
    "GaussianFamily",
    "Gaussians",
    "bhattacharyya",
    "cholesky",
    "marginal_bounds",
    "serial",
]
