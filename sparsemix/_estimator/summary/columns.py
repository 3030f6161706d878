"""What a summary says of columns: typical values in each cluster and in all rows, and how much they tell.

The information of a column in a cluster is the Kullback-Leibler divergence, in nats, of its distribution there from
that in all rows. It has the same unit for columns of any kind, so it orders them. A class describes all columns of one
kind by arrays, since words may be many. Each has

- ``names``: names of its D columns, or None if they have none;
- ``information`` (K, D);
- ``cells(k, j)``: column j in cluster k, in all rows, and the difference, as texts;
- ``table()``: arrays "typical", "spread", "overall" and "overall_spread" that can be broadcast to (K, D);
- ``note``: how to read the cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import rel_entr

from sparsemix._estimator.summary.numbers import number, percent

# Less information is not worth a word. A mean that differs by a fifth of the standard deviation of all rows has this.
LEAST = 0.02
# Levels of a category in a text, the most probable ones.
LEVELS = 2


@dataclass(frozen=True, eq=False)
class Numbers:
    """Columns of numbers or counts: mean and standard deviation."""

    names: Sequence[str] | None
    typical: np.ndarray  # (K, D)
    spread: np.ndarray  # (K, D)
    overall: np.ndarray  # (D,)
    overall_spread: np.ndarray  # (D,)
    information: np.ndarray  # (K, D)
    note = "a ± b: mean and standard deviation."

    @classmethod
    def of_moments(cls, names, means, variances, shares):
        """Columns with these means and variances (K, D) in clusters with these shares (K,) of the rows.

        Information is that between normal distributions with these moments.
        """
        overall = shares @ means
        squares = (means - overall) ** 2
        total = shares @ (variances + squares)
        with np.errstate(divide="ignore", invalid="ignore"):  # a constant column tells nothing
            ratio = variances / total
            information = np.where(total > 0.0, 0.5 * (squares / total + ratio - 1.0 - np.log(ratio)), 0.0)
        return cls(names, means, np.sqrt(variances), overall, np.sqrt(total), information)

    @classmethod
    def of_rates(cls, names, rates, shares):
        """Counts with Poisson distributions of these means (K, D) in clusters with these shares (K,) of the rows."""
        overall = shares @ rates
        spread = np.sqrt(overall + shares @ (rates - overall) ** 2)
        return cls(names, rates, np.sqrt(rates), overall, spread, rel_entr(rates, overall) - rates + overall)

    def cells(self, k, j):
        """See the module."""
        inside, outside = (self.typical[k, j], self.spread[k, j]), (self.overall[j], self.overall_spread[j])
        texts = [f"{number(mean, spread)} ± {number(spread, spread)}" for mean, spread in (inside, outside)]
        return *texts, self._difference(k, j)

    def _difference(self, k, j):
        """The means if they have information, else the spreads: clusters are narrower than all rows in most columns."""
        if self.information[k, j] < LEAST:
            return "similar"
        distance = (self.typical[k, j] - self.overall[j]) / self.overall_spread[j]
        if 0.5 * distance**2 >= LEAST:
            return "higher" if distance > 0.0 else "lower"
        return "narrower" if self.spread[k, j] < self.overall_spread[j] else "wider"

    def table(self):
        """See the module."""
        return {
            "typical": self.typical, "spread": self.spread, "overall": self.overall,
            "overall_spread": self.overall_spread,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Shares:
    """Columns of one probability: that of yes for flags, or that of a word among the words of a row."""

    names: Sequence[str] | None
    typical: np.ndarray  # (K, D)
    overall: np.ndarray  # (D,)
    information: np.ndarray  # (K, D)
    note: str

    @classmethod
    def of_flags(cls, names, probabilities, shares):
        """Flags with these probabilities of yes (K, D) in clusters with these shares (K,) of the rows."""
        overall = shares @ probabilities
        information = rel_entr(probabilities, overall) + rel_entr(1.0 - probabilities, 1.0 - overall)
        return cls(names, probabilities, overall, information, "Percent: share of the rows that have the column.")

    @classmethod
    def of_words(cls, names, proportions, shares):
        """Words with these proportions (K, D); information is a word's term of the divergence of all words."""
        overall = shares @ proportions
        note = "Percent: share of the words of a row."
        return cls(names, proportions, overall, rel_entr(proportions, overall), note)

    def cells(self, k, j):
        """See the module."""
        inside, outside = self.typical[k, j], self.overall[j]
        ratio = inside / outside if outside > 0.0 else 1.0
        return percent(inside), percent(outside), f"{number(ratio, ratio)} times as often"

    def table(self):
        """See the module."""
        return {"typical": self.typical, "spread": np.nan, "overall": self.overall, "overall_spread": np.nan}


@dataclass(frozen=True, eq=False)
class Category:
    """One column of categories, the probabilities of its C levels."""

    name: str
    levels: Sequence[object]  # (C,)
    probabilities: np.ndarray  # (K, C)
    overall: np.ndarray  # (C,)
    note = "Percent after a level: share of the rows with this level."

    @property
    def names(self):
        """See the module."""
        return [self.name]

    @property
    def information(self):
        """See the module, (K, 1)."""
        return rel_entr(self.probabilities, self.overall).sum(axis=1, keepdims=True)

    def cells(self, k, j):  # noqa: ARG002
        """See the module."""
        best = np.argsort(-self.probabilities[k], kind="stable")[:LEVELS]
        inside, outside = (
            ", ".join(f"{self.levels[c]} {percent(shares[c])}" for c in best)
            for shares in (self.probabilities[k], self.overall)
        )
        return inside, outside, "similar" if self.information[k, 0] < LEAST else ""

    def table(self):
        """See the module: the most probable level and its probability."""
        levels = np.empty(len(self.levels), dtype=object)
        levels[:] = list(self.levels)
        typical, overall = self.probabilities.argmax(axis=1), self.overall.argmax()
        return {
            "typical": levels[typical, None], "spread": self.probabilities.max(axis=1, keepdims=True),
            "overall": levels[[overall]], "overall_spread": self.overall[overall],
        }  # fmt: skip
