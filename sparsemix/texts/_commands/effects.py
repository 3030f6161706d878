"""Effects of fields of records on topics (``--effect``): the covariates of documents, the table, what is printed."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sparsemix.texts._commands.console import printable
from sparsemix.texts._commands.options import IN_ORDER
from sparsemix.texts._commands.outputs import cell
from sparsemix.texts._report.dates import is_blank, number_of, read_dates
from sparsemix.topics import check_formula, estimate_effect

# Effects that are printed.
STRONGEST = 10


@dataclass(frozen=True)
class Covariates:
    """Columns of covariates, for the documents of ``numbers``, which have all of them."""

    columns: dict
    numbers: np.ndarray


def fields_of(options):
    """Names of the fields that the formula reads."""
    if options.effect is None:
        return ()
    if options.estimator in IN_ORDER:
        raise ValueError(f"--effect does not work with {options.estimator}; choose another --estimator.")
    names = tuple(about(lambda: check_formula(options.effect)))
    if not names:
        raise ValueError(f"--effect {options.effect!r} names no field; give a formula such as 'party + s(year)'.")
    return names


def read_covariates(options, corpus, names):
    """The covariates of whole documents, or None without a formula.

    What is wrong with them is found here, before the fit, and not by the estimate after it.
    """
    if options.effect is None:
        return None
    numbers = np.unique(corpus.numbers)
    rows = [corpus.inputs[number].covariates or ("",) * len(names) for number in numbers]
    if not any(map(any, rows)):
        raise ValueError(f"--effect: no document has a field of the formula {options.effect!r}; give records.")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    read = {name: column(texts, name == options.date, options.date_format) for name, texts in columns.items()}
    lacks = {name: missing for name, (_, missing) in read.items() if missing.any()}
    known = ~np.any([missing for _, missing in read.values()], axis=0)
    if n := np.count_nonzero(~known):
        corpus.facts["left out of the effects"] = f"{n:,} documents without {' or '.join(lacks)}"
    found = Covariates({name: values[known] for name, (values, _) in read.items()}, numbers[known])
    about(lambda: check_formula(options.effect, found.columns, found.numbers + 1))  # documents count from 1
    return found


def about(make):
    """What ``make()`` returns; errors name the option."""
    try:
        return make()
    except ValueError as error:
        raise ValueError(f"--effect: {error}") from error


def column(texts, is_date, form):
    """Values of a field, and which of them are missing: numbers, dates, or texts."""
    texts = [text.strip() for text in texts]
    numbers = [np.nan if is_blank(text) else number_of(text) for text in texts]
    if is_date or None in numbers:
        dates = read_dates(texts, form)
        if dates.unread and not is_date:
            return np.array(texts, dtype=object), np.array([is_blank(text) for text in texts])
        values = np.array(dates.days, dtype="datetime64[us]")
        return values, np.isnat(values)
    values = np.array(numbers, dtype=np.float64)
    return values, ~np.isfinite(values)


def effects_of(learned, options):
    """The effects, or None without a formula. Passages of a document are one document, which has one error."""
    if learned.covariates is None:
        return None
    corpus, numbers = learned.corpus, learned.covariates.numbers
    rows = np.flatnonzero(np.isin(corpus.numbers, numbers))
    at = np.searchsorted(numbers, corpus.numbers[rows]), rows
    sums = sparse.csr_array((np.ones(len(rows)), at), shape=(len(numbers), len(corpus.numbers)))
    return estimate_effect(
        learned.model, sums @ corpus.counts, learned.covariates.columns, options.effect,
        random_state=options.random_state, n_jobs=options.n_jobs,
    )  # fmt: skip


def effect_rows(effects, names):
    """Rows of effects.csv."""
    columns = ["topic", "term", "estimate", "std", "low", "high"]
    yield [*columns, "name"]
    for row in effects.table().to_dict("records"):
        numbers = (f"{row[name]:.6g}" for name in columns[2:])
        yield [row["topic"], cell(row["term"]), *numbers, cell(names.get(row["topic"], ""))]


def tell_effects(effects, names):
    """Print the effects whose intervals are farthest from zero."""
    found = [(max(row["low"], -row["high"]), label, row) for label, rows in effects.comparisons() for row in rows]
    found = sorted((one for one in found if one[0] > 0), key=lambda one: -one[0])[:STRONGEST]
    print(f"\nstrongest effects on shares of topics, with intervals of {effects.level:.0%}")
    for _, label, row in found:
        name = printable(names.get(row["topic"], ""))
        size = f"{row['estimate']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f})"
        print(f"{row['topic']:5d}  {size}  {printable(label)}{f' ({name})' if name else ''}")
    if not found:
        print("none: all intervals contain zero")
