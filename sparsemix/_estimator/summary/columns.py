"""What a summary says of columns: typical values in each cluster and in all rows, and how much they tell.

The information of a column in a cluster is the Kullback-Leibler divergence, in nats, of its distribution there from
that in all rows. It has the same unit for columns of any kind, so it orders them. A class describes all columns of one
kind by arrays, since words may be many. Each has

- ``names``: names of its D columns, or None if they have none;
- ``information`` (K, D);
- ``known``: share of the rows of a cluster that have a value, (K, D) or one number; information counts for these rows
  alone. NaN if the mixture does not know it;
- ``cells(k, j)``: column j in cluster k, in all rows, and the difference, as texts;
- ``table()``: arrays by the names of ``CELLS`` that can be broadcast to (K, D);
- ``note``: how to read the cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import rel_entr

from sparsemix._estimator.summary.numbers import number, percent

# Less information is not worth a word. A mean that differs by a fifth of the standard deviation of all rows has this.
LEAST = 0.02
# Levels of a category in a text, the most probable ones, and characters of a level.
LEVELS, LEVEL_WIDTH = 2, 16
# What a table says of a column in a cluster.
CELLS = ("typical", "spread", "probability", "overall", "overall_spread", "overall_probability")


@dataclass(frozen=True, eq=False)
class Numbers:
    """Columns of numbers or counts: mean and standard deviation."""

    names: Sequence[str] | None
    typical: np.ndarray  # (K, D)
    spread: np.ndarray  # (K, D)
    overall: np.ndarray  # (D,)
    overall_spread: np.ndarray  # (D,)
    information: np.ndarray  # (K, D)
    known: np.ndarray | float = 1.0
    note: str = "a ± b: mean and standard deviation."

    @classmethod
    def of_moments(cls, names, means, variances, shares, known=1.0):
        """Columns with these means and variances (K, D) in clusters with these shares (K,) of the rows.

        Information is that between normal distributions with these moments.
        """
        shares = known_shares(shares, known, means.shape)
        overall = (shares * means).sum(axis=0)
        squares = (means - overall) ** 2
        total = (shares * (variances + squares)).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):  # a constant column tells nothing
            ratio = variances / total
            information = np.where(total > 0.0, 0.5 * (squares / total + ratio - 1.0 - np.log(ratio)), 0.0)
        return cls(names, means, np.sqrt(variances), overall, np.sqrt(total), information, known)

    @classmethod
    def of_rates(cls, names, rates, variances, shares, known=1.0):
        """Counts with Poisson distributions of these means (K, D), and the variances of their values."""
        found = cls.of_moments(names, rates, variances, shares, known)
        return replace(found, information=rel_entr(rates, found.overall) - rates + found.overall)

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
            "overall_spread": self.overall_spread, "probability": np.nan, "overall_probability": np.nan,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Shares:
    """Columns of one probability: that of yes for flags, or that of a word among the words of a row."""

    names: Sequence[str] | None
    typical: np.ndarray  # (K, D)
    overall: np.ndarray  # (D,)
    information: np.ndarray  # (K, D)
    note: str
    known: np.ndarray | float = 1.0

    @classmethod
    def of_flags(cls, names, probabilities, shares, known=1.0):
        """Flags with these probabilities of yes (K, D) in clusters with these shares (K,) of the rows."""
        overall = shares @ probabilities
        information = rel_entr(probabilities, overall) + rel_entr(1.0 - probabilities, 1.0 - overall)
        note = "Percent: share of the rows that have the column."
        return cls(names, probabilities, overall, information, note, known)

    @classmethod
    def of_words(cls, names, proportions, shares, known=1.0):
        """Words with these proportions (K, D); information is a word's term of the divergence of all words."""
        overall = shares @ proportions
        note = "Percent: share of the words of a row."
        return cls(names, proportions, overall, rel_entr(proportions, overall), note, known)

    def cells(self, k, j):
        """See the module."""
        inside, outside = self.typical[k, j], self.overall[j]
        ratio = inside / outside if outside > 0.0 else 1.0
        return percent(inside), percent(outside), f"{number(ratio, ratio)} times as often"

    def table(self):
        """See the module."""
        return {
            "typical": self.typical, "spread": np.nan, "overall": self.overall, "overall_spread": np.nan,
            "probability": self.typical, "overall_probability": self.overall,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Category:
    """One column of categories, the probabilities of its C levels, and the mass of each cluster's rows with a level.

    Its information is above what that many rows have by chance, (C - 1) / (2 n) for C levels: nearly each of many rare
    levels is in one cluster alone.
    """

    name: str
    levels: Sequence[object]  # (C,)
    probabilities: np.ndarray  # (K, C)
    overall: np.ndarray  # (C,)
    mass: np.ndarray  # (K,)
    known: np.ndarray | float = 1.0  # (K, 1)
    note = "Percent after a level: share of the rows with this level."

    @classmethod
    def of(cls, name, levels, probabilities, masses, known):
        """From the masses (K,) of the clusters and the share (K, 1) of them that has a level."""
        mass = masses * known[:, 0]
        return cls(name, levels, probabilities, mass @ probabilities / max(mass.sum(), 1e-300), mass, known)

    @property
    def names(self):
        """See the module."""
        return [self.name]

    @property
    def information(self):
        """See the module, (K, 1)."""
        found = rel_entr(self.probabilities, self.overall).sum(axis=1)
        by_chance = 0.5 * (np.count_nonzero(self.overall) - 1) / np.maximum(self.mass, 1.0)
        return np.maximum(found - by_chance, 0.0)[:, None]

    def cells(self, k, j):  # noqa: ARG002
        """See the module."""
        best = np.argsort(-self.probabilities[k], kind="stable")[:LEVELS]
        inside, outside = (
            ", ".join(f"{shown(self.levels[c])} {percent(shares[c])}" for c in best)
            for shares in (self.probabilities[k], self.overall)
        )
        return inside, outside, "similar" if self.information[k, 0] < LEAST else ""

    def table(self):
        """See the module: the most probable level, and its probabilities in the cluster and in all rows."""
        levels = np.empty(len(self.levels), dtype=object)
        levels[:] = list(self.levels)
        typical = self.probabilities.argmax(axis=1)[:, None]
        return {
            "typical": levels[typical], "spread": np.nan, "overall": levels[[self.overall.argmax()]],
            "overall_spread": np.nan, "probability": self.probabilities.max(axis=1, keepdims=True),
            "overall_probability": self.overall[typical],
        }  # fmt: skip


def shown(level):
    """A level in a text; one without letters is quoted."""
    text = str(level)
    text = repr(text) if not text.strip() or text != text.strip() else text
    return text if len(text) <= LEVEL_WIDTH else text[: LEVEL_WIDTH - 1] + "…"


def known_shares(shares, known, shape):
    """Shares (K, D) of the clusters among the rows that have a value."""
    shares = np.broadcast_to(shares[:, None] * np.nan_to_num(known, nan=1.0), shape)
    return shares / np.maximum(shares.sum(axis=0), 1e-300)
