"""Bins of documents and of their parts: periods, groups, documents, positions in the document, chapters."""

from collections import Counter
from datetime import date
from typing import NamedTuple

import numpy as np

from sparsemix.texts._report.dates import FAR_DATES, far_dates, is_blank

MOST_BINS, MOST_GROUPS = 60, 30
# Bins of positions in a document.
FEWEST_PARTS, MOST_PARTS = 3, 10
# The central dates are all but one in CUT at each end, at least one of SOME dates. Dates are far from them by WIDER
# times their range, and by MARGIN bins.
CUT, SOME, WIDER, MARGIN = 10, 10, 1.5, 24
# Years after today of the last date that a text may have.
FUTURE = 10
# The mean share of fewer documents is chance: with shares of 0 and 1 its standard error is up to 0.11.
FEW = 20


class Kind(NamedTuple):
    """What bins are, what is measured in them and its heading, the units they count, and whether they have an order."""

    kind: str
    measure: str
    label: str
    unit: str
    ordered: bool


PERIOD = Kind("period", "Mean document share", "Mean document share over time", "documents", True)
GROUP = Kind("group", "Mean document share", "Mean document share by group", "documents", False)
DOCUMENT = Kind("document", "Share", "Share by document", "passages", False)
POSITION = Kind("position", "Mean share", "Mean share by position in the document", "passages", True)
CHAPTER = Kind("chapter", "Share", "Share by chapter", "passages", True)


class Parts(NamedTuple):
    """The documents of which rows are parts: the document of each row, and the names of all documents."""

    codes: np.ndarray
    names: list

    @classmethod
    def of(cls, values):
        """Number documents in order of appearance. Raises unless their parts follow each other."""
        numbers = {}
        codes = np.array([numbers.setdefault(str(value), len(numbers)) for value in values])
        back = np.flatnonzero(np.diff(codes) < 0)
        if len(back):
            row = back[0] + 1
            raise ValueError(f"row {row} is a part of {list(numbers)[codes[row]]!r}, and rows of other documents are "
                             "between its parts; sort the rows by parts_of")  # fmt: skip
        return cls(codes, list(numbers))


class Stratum(NamedTuple):
    """One division of the rows: the bin of each row, -1 for none, and the labels of the bins."""

    kind: Kind
    codes: np.ndarray
    bins: list

    def record(self, parts):
        """Data for the page. Means of fewer units than "few" are chance; a share in one document is no such mean."""
        whole = self.kind.measure == "Share" or (parts is not None and len(parts.names) == 1)
        sizes = {"few": 0 if whole else FEW, "bins": self.bins, "sizes": self.sizes(parts)}
        return self.kind._asdict() | sizes

    def sizes(self, parts):
        """Numbers of the documents, or of the passages, in the bins."""
        codes = self.codes
        if parts is not None and self.kind.unit == "documents":
            codes = np.unique(np.column_stack([codes, parts.codes]), axis=0)[:, 0]
        return np.bincount(codes[codes >= 0], minlength=len(self.bins)).tolist()


def strata_of(days, groups, parts, tokens):
    """All divisions of the rows that have bins: by ``days`` and ``groups``, and by the documents of ``parts``."""
    found = [] if days is None else [Stratum(PERIOD, *bins_of_dates(days))]
    names = None if groups is None else ["" if is_blank(group) else str(group) for group in groups]
    if parts is not None and len(parts.names) == 1 and names is not None and follow_each_other(names):
        found.append(Stratum(CHAPTER, *Parts.of(names)))
    else:
        if names is not None:
            found.append(Stratum(GROUP, *bins_of_groups(names)))
        elif parts is not None and 1 < len(parts.names) <= MOST_GROUPS:
            found.append(Stratum(DOCUMENT, *parts))
        if parts is not None:
            found.append(Stratum(POSITION, *bins_of_positions(parts.codes, tokens)))
    return [stratum for stratum in found if stratum.bins]


def follow_each_other(names):
    """Whether names are those of sections: all rows have one, and rows of one name follow each other."""
    n, changes = len(set(names)), sum(name != before for name, before in zip(names[1:], names, strict=False))
    return "" not in names and 1 < n <= MOST_BINS and changes == n - 1


def missing_facts(dates, groups, strata, names, parts):
    """Numbers of documents without a date or group, and of those whose dates are in no period."""
    documents, names = (np.arange(len(dates or groups or ())), names) if parts is None else parts
    facts = []
    for values, what, is_missing in ((dates, "date", lambda day: day is None), (groups, "group", is_blank)):
        known = None if values is None else np.bincount(documents, [not is_missing(value) for value in values])
        if known is not None and (n := int((known == 0).sum())):
            facts.append((f"documents without a {what}", f"{n:,}"))
    first = np.unique(documents, return_index=True)[1]
    for kind, codes, _ in strata:
        if kind is PERIOD and (far := far_dates([dates[row] for row in first], codes[first], names)):
            facts.append((FAR_DATES, far))
    return facts


def bins_of_dates(days):
    """Bins of documents by days, months, years or decades, whichever gives some dozens of bins to the central dates.

    Returns the bin of each document, and labels in order of time, also of bins without documents. The bin is -1
    without a date, and for a date that is far from the central range.
    """
    known = sorted(day for day in days if day is not None)
    known = [day for day in known if day.year <= date.today().year + FUTURE] or known  # 9999 is no date of a text
    if not known:
        return np.full(len(days), -1), []
    cut = 1 + len(known) // CUT if len(known) >= SOME else 0
    central = known[cut : len(known) - cut]
    n_days = (central[-1] - central[0]).days
    years_alone = all(day.month == day.day == 1 for day in central)
    if n_days < MOST_BINS and not years_alone:
        number, label = date.toordinal, lambda n: date.fromordinal(n).isoformat()
    elif n_days < 30 * MOST_BINS and not years_alone:
        number, label = (lambda day: 12 * day.year + day.month - 1), lambda n: f"{n // 12:04d}-{n % 12 + 1:02d}"
    elif central[-1].year - central[0].year < MOST_BINS:
        number, label = (lambda day: day.year), str
    else:
        number, label = (lambda day: day.year // 10), lambda n: f"{10 * n}s"
    low, high = number(central[0]), number(central[-1])
    margin = max(int(WIDER * (high - low)), MARGIN)
    near = [n for n in map(number, known) if low - margin <= n <= high + margin]
    codes = [-1 if day is None or not near[0] <= number(day) <= near[-1] else number(day) - near[0] for day in days]
    return np.array(codes), [label(n) for n in range(near[0], near[-1] + 1)]


def positions(parts_of, tokens):
    """Where the middle of each part is in its document, from 0 to 1; parts of a document follow each other."""
    after = np.cumsum(tokens)
    new = np.append(True, parts_of[1:] != parts_of[:-1])
    document, before = np.cumsum(new) - 1, (after - tokens)[new]
    totals = np.maximum(np.append(before[1:], after[-1]) - before, 1e-300)  # documents may have no words
    return (after - tokens / 2 - before[document]) / totals[document]


def bins_of_positions(parts_of, tokens):
    """Bins of parts by their position in the document, and labels; no label if documents have few parts."""
    n_bins = int(min(MOST_PARTS, np.median(np.unique(parts_of, return_counts=True)[1])))
    if n_bins < FEWEST_PARTS:
        return np.full(len(parts_of), -1), []
    labels = [f"{100 * b / n_bins:.0f} to {100 * (b + 1) / n_bins:.0f} %" for b in range(n_bins)]
    # an empty part at the end is at 1
    return np.minimum(positions(parts_of, tokens) * n_bins, n_bins - 1).astype(int), labels


def bins_of_groups(names):
    """Bins of documents by the names of groups, -1 for "", and their labels, largest first.

    Of very many groups, the small ones are one bin.
    """
    sizes = Counter(name for name in names if name)
    labels = [name for name, _ in sorted(sizes.items(), key=lambda item: (-item[1], item[0]))]
    rest = labels[MOST_GROUPS:]
    numbers = {name: i for i, name in enumerate(labels[:MOST_GROUPS])} | dict.fromkeys(rest, MOST_GROUPS)
    labels = labels[:MOST_GROUPS] + ([f"{len(rest)} other groups"] if rest else [])
    return np.array([numbers.get(name, -1) for name in names], dtype=int), labels
