"""Mixtures of hundreds or thousands of clusters from large data, on one machine, inside scikit-learn."""

from importlib import import_module
from typing import TYPE_CHECKING

from sparsemix._commands.console import quiet_interrupts

with quiet_interrupts():
    from sparsemix._report import Report, report, representative_documents
    from sparsemix._version import __version__
    from sparsemix.clusters import GibbsNGGPMixture, StreamingNGGPMixture
    from sparsemix.mixture import (
        MixtureRegressor,
        SparseBernoulliMixture,
        SparseGaussianMixture,
        SparseMultinomialMixture,
        SparseVonMisesFisherMixture,
    )
    from sparsemix.skipgram import SkipGramTopicModel, TokenSequences
    from sparsemix.topics import CollapsedLDA, GibbsLDA, SparseLDA, SparseSCVB0LDA

__all__ = [
    "CollapsedLDA",
    "GibbsLDA",
    "GibbsNGGPMixture",
    "MixtureRegressor",
    "Report",
    "SkipGramTopicModel",
    "SparseBernoulliMixture",
    "SparseGaussianMixture",
    "SparseLDA",
    "SparseMultinomialMixture",
    "SparseSCVB0LDA",
    "SparseVonMisesFisherMixture",
    "StreamingNGGPMixture",
    "TokenSequences",
    "__version__",
    "report",
    "representative_documents",
]

# Subpackages that the estimators do not need; imported at their first use.
LATER = ("blocks", "datasets", "plotting")


if TYPE_CHECKING:  # after a __getattr__ a checker would accept every misspelled name
    from sparsemix import blocks as blocks
    from sparsemix import datasets as datasets
    from sparsemix import plotting as plotting
else:

    def __getattr__(name):
        if name in LATER:
            return import_module(f"sparsemix.{name}")
        raise AttributeError(f"module 'sparsemix' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *LATER})
