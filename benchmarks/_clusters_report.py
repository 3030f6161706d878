"""Figures of repeated runs, and names of settings, for the tables of ``clusters.py``."""

from statistics import mean, stdev

NAMES = {"adf": "ADF", "chosen": "ADF", "ep": "EP", "gibbs": "Gibbs"}


def standard_error(values):
    """Of a mean; None of a single value."""
    return stdev(values) / len(values) ** 0.5 if len(values) > 1 else None


def with_error(values, form=".4f"):
    """A mean and its standard error."""
    error = standard_error(values)
    return f"{mean(values):{form}}" + ("" if error is None else f" ± {error:{form}}")


def column(runs, name):
    """One figure of all runs."""
    return [run[name] for run in runs]


def prior_name(params):
    """The process that a discount makes."""
    discount = params.get("discount", 0.0)
    return {0.0: "DP", 0.5: "IG"}.get(discount, f"NGGP {discount:g}")


def short_name(params):
    """Parameters other than the discount, as few letters as they can do with."""
    letters = {
        "concentration": "a", "word_prior": "β", "new_cluster_threshold": "ε", "merge_criterion": "merges",
        "merge_every": "every",
    }  # fmt: skip
    given = {letters.get(name, name): value for name, value in params.items() if name != "discount"}
    return ", ".join(f"{name} {value}" for name, value in given.items()) or "defaults"


def rounded(value):
    """A whole number with thousands apart."""
    return f"{value:,.0f}"


def megabytes(value):
    """Bytes in 10 ** 6."""
    return f"{value / 1e6:,.0f}"
