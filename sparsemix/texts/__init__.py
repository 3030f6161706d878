"""Topics of texts as pages: reports, maps, shares over time. The command line is ``python -m sparsemix topics``.

This is an application: it imports public names of the package only. Its modules are imported at their first use, so
that the command line shows its help at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

# Public names and their modules.
PLACES = {
    "Report": "_report.report",
    "report": "_report.report",
    "representative_documents": "_report.gathering",
    "shares_over_time": "_report.gathering",
    "topic_map": "_report.layout",
}

__all__ = ["Report", "report", "representative_documents", "shares_over_time", "topic_map"]

if TYPE_CHECKING:  # after a __getattr__ a checker would accept every misspelled name
    from sparsemix.texts._report.gathering import representative_documents as representative_documents
    from sparsemix.texts._report.gathering import shares_over_time as shares_over_time
    from sparsemix.texts._report.layout import topic_map as topic_map
    from sparsemix.texts._report.report import Report as Report
    from sparsemix.texts._report.report import report as report
else:

    def __getattr__(name):
        if name not in PLACES:
            raise AttributeError(f"module 'sparsemix.texts' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"sparsemix.texts.{PLACES[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *PLACES})
