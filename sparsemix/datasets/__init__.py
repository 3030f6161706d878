"""Example data: image patches, docstrings, generators, and bags of words from files or the UCI repository."""

from sparsemix.datasets._bag_of_words import load_bag_of_words, read_vocabulary
from sparsemix.datasets._cell_generators import make_cells
from sparsemix.datasets._docstrings import load_docstrings
from sparsemix.datasets._fetch import fetch_bag_of_words
from sparsemix.datasets._files import PACKED_ENDINGS, open_packed, text_encoding
from sparsemix.datasets._mixture_generators import make_bars_mixture
from sparsemix.datasets._patches import load_image_patches, make_patch_mixture
from sparsemix.datasets._topic_generators import make_bars, make_skip_gram, make_sparse_lda

__all__ = [
    "PACKED_ENDINGS",
    "fetch_bag_of_words",
    "load_bag_of_words",
    "load_docstrings",
    "load_image_patches",
    "make_bars",
    "make_bars_mixture",
    "make_cells",
    "make_patch_mixture",
    "make_skip_gram",
    "make_sparse_lda",
    "open_packed",
    "read_vocabulary",
    "text_encoding",
]
