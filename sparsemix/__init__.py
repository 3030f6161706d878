"""sparsemix fits mixtures and topic models with thousands of components to large data, as scikit-learn estimators."""

from importlib import import_module
from typing import TYPE_CHECKING

from sparsemix._version import __version__ as __version__

# Subpackages and their public names, imported at their first use: a program imports only what it needs.
PLACES = {
    "blocks": [],
    "clusters": ["GibbsNGGPMixture", "StreamingNGGPMixture"],
    "datasets": [],
    "extend": [],
    "metrics": [],
    "mixture": [
        "MixtureRegressor",
        "SparseBernoulliMixture",
        "SparseGaussianMixture",
        "SparseMixedMixture",
        "SparseMultinomialMixture",
        "SparseVonMisesFisherMixture",
    ],
    "plotting": [],
    "skipgram": ["SkipGramTopicModel", "TokenSequences"],
    "texts": ["Report", "report", "representative_documents"],
    "topics": ["CollapsedLDA", "GibbsLDA", "SparseDMR", "SparseHDP", "SparseLDA", "SparseSCVB0LDA"],
}
PLACE_OF = {name: place for place, names in PLACES.items() for name in names}

__all__ = sorted([*PLACE_OF, "__version__"])

if TYPE_CHECKING:  # after a __getattr__ a checker would accept every misspelled name
    from sparsemix import blocks as blocks
    from sparsemix import clusters as clusters
    from sparsemix import datasets as datasets
    from sparsemix import extend as extend
    from sparsemix import metrics as metrics
    from sparsemix import mixture as mixture
    from sparsemix import plotting as plotting
    from sparsemix import skipgram as skipgram
    from sparsemix import texts as texts
    from sparsemix import topics as topics
    from sparsemix.clusters import GibbsNGGPMixture as GibbsNGGPMixture
    from sparsemix.clusters import StreamingNGGPMixture as StreamingNGGPMixture
    from sparsemix.mixture import MixtureRegressor as MixtureRegressor
    from sparsemix.mixture import SparseBernoulliMixture as SparseBernoulliMixture
    from sparsemix.mixture import SparseGaussianMixture as SparseGaussianMixture
    from sparsemix.mixture import SparseMixedMixture as SparseMixedMixture
    from sparsemix.mixture import SparseMultinomialMixture as SparseMultinomialMixture
    from sparsemix.mixture import SparseVonMisesFisherMixture as SparseVonMisesFisherMixture
    from sparsemix.skipgram import SkipGramTopicModel as SkipGramTopicModel
    from sparsemix.skipgram import TokenSequences as TokenSequences
    from sparsemix.texts import Report as Report
    from sparsemix.texts import report as report
    from sparsemix.texts import representative_documents as representative_documents
    from sparsemix.topics import CollapsedLDA as CollapsedLDA
    from sparsemix.topics import GibbsLDA as GibbsLDA
    from sparsemix.topics import SparseDMR as SparseDMR
    from sparsemix.topics import SparseHDP as SparseHDP
    from sparsemix.topics import SparseLDA as SparseLDA
    from sparsemix.topics import SparseSCVB0LDA as SparseSCVB0LDA
else:

    def __getattr__(name):
        if name in PLACES and not name.startswith("_"):
            return import_module(f"sparsemix.{name}")
        if name not in PLACE_OF:
            raise AttributeError(f"module 'sparsemix' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"sparsemix.{PLACE_OF[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *PLACES, *PLACE_OF})
