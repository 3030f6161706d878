"""Whether another seed finds the topics of a run again."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from sparsemix._commands.quality.alike import roots
from sparsemix._report.gathering import shares_of
from sparsemix.metrics import distinctive_words

# More tokens are not fitted a second time: a fit to so many takes some ten seconds.
MOST_TOKENS = 500_000
LABEL = "found again by another seed"
REMEDY = "run again with --random-state 1 and another --output, and compare the topics"


class Again:
    """Comparison of topics with those of a second fit, whose only difference is the seed.

    Topics are paired one to one, so that the sum of their Bhattacharyya coefficients is largest.

    Parameters
    ----------
    model : estimator
        Of the run.
    other : estimator
        Of the second fit.
    rows : sparse matrix
        Input of both models.
    n_top_words : int
        Words listed for each topic.

    Attributes
    ----------
    common : ndarray of shape (n_components,)
        Number of the main words of each topic that its counterpart lists too.
    n_listed : int
        Number of main words.
    """

    def __init__(self, model, other, rows, n_top_words):
        likeness = (roots(model.components_) @ roots(other.components_).T).toarray()
        self.counterpart = linear_sum_assignment(-likeness)[1]
        self.n_listed = min(n_top_words, model.components_.shape[1])
        ours, theirs = (distinctive_words(one, self.n_listed) for one in (model, other))
        pairs = zip(ours, theirs[self.counterpart], strict=True)
        self.common = np.array([len(np.intersect1d(*pair)) for pair in pairs])
        self.other, self.rows = other, rows
        self.n_same = self.n_documents = 0

    def add(self, start, shares):
        """Count the documents with these topic shares whose main topic is the same in both fits."""
        others = shares_of(self.other, self.rows[start : start + len(shares)])
        self.n_same += int((self.counterpart[shares.argmax(axis=1)] == others.argmax(axis=1)).sum())
        self.n_documents += len(shares)

    def of(self, k):
        """How many of the main words of topic k are found again, such as "7/10"."""
        return f"{self.common[k]}/{self.n_listed}"

    def __str__(self):
        n = int((2 * self.common >= self.n_listed).sum())
        advice = "" if n == len(self.common) else "; do not build on a topic that is not found again"
        return (
            f"{n} of {len(self.common)} topics, with at least half of their {self.n_listed} main words; "
            f"{self.n_same / max(1, self.n_documents):.0%} of the documents keep their main topic{advice}"
        )
