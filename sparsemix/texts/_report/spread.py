"""Intervals of the mean shares of bins, from the spread of documents within each bin."""

import numpy as np
from scipy.stats import t

# Level of the confidence intervals.
LEVEL = 0.95


class Spread:
    """Sums of squared shares by bin. ``codes`` (N,) are the bins of documents, -1 for none."""

    def __init__(self, codes, n_bins, n_components):
        self.codes = codes
        self.n_documents = np.bincount(codes[codes >= 0], minlength=n_bins)
        self.squares = np.zeros((n_bins, n_components))

    def add(self, start, shares):
        """Add the shares (n, K) of documents from row ``start`` on."""
        codes = self.codes[start : start + len(shares)]
        np.add.at(self.squares, codes[codes >= 0], np.square(shares[codes >= 0], dtype=np.float64))

    def intervals(self, means):
        """Standard errors of the means (n_bins, K), and ends of their intervals; NaN for fewer than two documents."""
        n = np.where(self.n_documents > 1, self.n_documents, np.nan)[:, None]
        errors = np.sqrt(np.maximum(self.squares / n - means**2, 0.0) / (n - 1))
        reach = t.ppf((1 + LEVEL) / 2, n - 1) * errors
        return errors, np.maximum(means - reach, 0.0), np.minimum(means + reach, 1.0)
