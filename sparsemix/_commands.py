"""Names of modules in models that earlier versions of the command have saved; they are in ``texts`` now."""

import sys
from importlib import import_module

for _name in ("reading", "reading.words", "reading.words.tokens", "reading.words.vectorizers"):
    sys.modules[f"{__name__}.{_name}"] = import_module(f"sparsemix.texts._{_name}")
