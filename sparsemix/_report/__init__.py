"""Topics as people read them: one page that works offline, made of any topic estimator.

``gathering`` goes over the documents once; ``relevance``, ``layout``, ``strata`` and ``passages`` say what of it is
shown; ``page`` puts it into HTML with the style and the scripts in ``assets``, which need nothing from elsewhere.
"""

from sparsemix._report.gathering import representative_documents
from sparsemix._report.report import Report, report

__all__ = ["Report", "report", "representative_documents"]
