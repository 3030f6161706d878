"""A name in pickles of earlier versions: reports are in ``texts`` now."""

import sys
from importlib import import_module

sys.modules[f"{__name__}.report"] = import_module("sparsemix.texts._report.report")
