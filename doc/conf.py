"""Sphinx configuration: ``sphinx-build -W -b html doc doc/_build/html`` from the top folder."""

import sys
from pathlib import Path

from sparsemix._version import REPOSITORY, SITE, __version__

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import everyday

project = "sparsemix"
author = "The sparsemix developers"
copyright = "the sparsemix developers"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "cards",
    "everyday",
    "mathml",
    "not_found",
    "previews",
    "results",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_extensions", "_templates", "topics/memory.rst"]

# Docstrings give the types.
autodoc_typehints = "none"

# A parameter a line.
maximum_signature_line_length = 100

# Stubs of the API pages are made in doc/generated at each build; _templates/class.rst lists a class's methods.
autosummary_generate = True
autosummary_context = {"everyday": everyday.METHODS}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# The scripts run while the site is built, as they do in the tests; each is also a download.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
}

html_math_renderer = "mathml"
html_theme = "furo"
# Each page links to its source in the repository, and so does the foot of the page.
if REPOSITORY:
    html_theme_options = {"source_repository": REPOSITORY, "source_branch": "main", "source_directory": "doc/"}
# The address of the site, for link previews and the page that a server shows for unknown addresses.
html_baseurl = SITE
html_title = f"sparsemix {version}"
html_static_path = ["_static"]
html_css_files = ["formulas.css", "results.css", "site.css"]
html_show_sphinx = False
