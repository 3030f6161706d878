"""Likelihoods whose log density is linear in the row: x . eta_k + c_k, up to a term shared by all components."""

from sparsemix._stats.linear._base import LinearFamily, LinearTable, csr, dense
from sparsemix._stats.linear.bernoulli import Bernoulli
from sparsemix._stats.linear.mixed import Mixed
from sparsemix._stats.linear.multinomial import Multinomial
from sparsemix._stats.linear.von_mises_fisher import VonMisesFisher, draws

__all__ = [
    "Bernoulli",
    "LinearFamily",
    "LinearTable",
    "Mixed",
    "Multinomial",
    "VonMisesFisher",
    "csr",
    "dense",
    "draws",
]
