"""The held-out score of a run and its uncertainty."""

from dataclasses import dataclass

import numpy as np

from sparsemix._commands.topics_options import IN_ORDER
from sparsemix.metrics._completion import completion_by_document

# People compare scores to 0.1 nats, which is a difference of 10 % in the number of likely words.
COMPARED = 0.1
# The standard error of fewer documents is itself chance.
FEW = 10
# Two runs over the same test documents differ by chance by less than this number of standard errors of one of them. The
# standard error of the difference was 0.5 to 0.7 of it for fits to titles with other seeds or numbers of topics.
SURE = 2.0


@dataclass(frozen=True)
class Score:
    """Held-out log-likelihood per token, or per context word of word sequences.

    ``mean`` is None if no document can be scored, for the ``reason``. ``error`` is the standard error of the mean over
    ``n_documents`` test documents; None for a single document.
    """

    mean: float | None
    error: float | None = None
    n_documents: int = 0
    reason: str = ""

    def __str__(self):
        if self.mean is None:
            return self.reason
        if self.error is None:
            return f"{self.mean:.4f} (one test document: do not compare runs by it)"
        least = SURE * self.error
        doubt = "; too few to compare runs" if least > COMPARED or self.n_documents < FEW else ""
        doubt += f": differences below {least:.2f} may be chance" if least > COMPARED else ""
        return f"{self.mean:.4f} ± {self.error:.4f} (standard error over {self.n_documents:,} test documents{doubt})"

    def record(self, unit):
        """Entries of run.json."""
        name = f"test_log_likelihood_per_{unit.replace(' ', '_')}"
        mean = self.reason if self.mean is None else self.mean
        return {name: mean, f"{name}_standard_error": self.error, "test_documents": self.n_documents}


def held_out_score(model, X):
    """The score of held-out documents."""
    if not X.shape[0]:
        return Score(None, reason="none held out")
    try:
        in_order = type(model).__name__ in IN_ORDER
        sums, sizes = model._score_by_document(X) if in_order else completion_by_document(model, X)
    except ValueError as error:
        return Score(None, reason=f"not available ({error})")
    scored = sizes > 0
    if not scored.any():
        return Score(None, reason="not available (no test document has two distinct words, so none can be hidden)")
    mean, error = mean_and_error(sums[scored], sizes[scored])
    return Score(mean, error, int(scored.sum()))


def mean_and_error(sums, sizes):
    """Mean over all units of some documents, and its standard error over documents; None for one document.

    The error is that of a ratio of sums (Cochran 1977, "Sampling Techniques", section 6.4).
    """
    mean, n = sums.sum() / sizes.sum(), len(sums)
    if n < 2:
        return float(mean), None
    residuals = sums - mean * sizes
    return float(mean), float(np.sqrt(n / (n - 1) * (residuals**2).sum()) / sizes.sum())


def scored_unit(model):
    """Unit of the held-out log-likelihood."""
    return "context word" if type(model).__name__ in IN_ORDER else "token"
