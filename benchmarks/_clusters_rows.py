"""Experiments on rows of numbers: clusters found with defaults, compared with packages that find their number too."""

FEW = tuple(
    f"few n={n} d={d} informative={informative}"
    for n in (300, 2_000, 20_000)
    for d in (5, 20, 100)
    for informative in (1, 3, d)
)
PROBLEMS = (
    *FEW, "few n=2000 d=20 informative=2 groups=5", "few n=2000 d=50 informative=3 groups=6",
    "few n=300 d=100 informative=1 gap=20", "least n=600 d=40", "least n=2000 d=20 groups=4 gap=30",
    "least n=300 d=10 gap=30", "lattice side=3 d=5", "lattice side=4 d=3", "lattice side=2 d=7",
    "blobs d=2 sd=0.6", "blobs d=5", "blobs d=20", "blobs d=50", "blobs n=3000 d=10 groups=30",
    "ellipses", "given d=5", "given d=20", "one d=2", "one d=10", "one d=30", "student",
    "codes n=400 far=1", "codes d=10 far=20", "codes d=10 far=50 code=1e20",
)  # fmt: skip
TABLES = (
    *(f"{name}{form}" for name in ("iris", "wine", "breast_cancer", "digits") for form in ("", " standardised")),
    "ellipses", "blobs d=10 groups=8 sd=2 standardised", "few n=2000 d=20 informative=3 standardised",
    "least n=600 d=40 standardised",
)  # fmt: skip
STREAMS = (
    "few n=20000 d=5 informative=1", "few n=20000 d=20 informative=3", "blobs d=5", "blobs n=3000 d=10 groups=30",
    "lattice side=4 d=3", "ellipses", "given d=5", "one d=10",
)  # fmt: skip
# Shifts of a moving stream in a block, which are 0, 1, 3, 10, 15 and 50 noise widths; columns; and rows of a block.
SHIFTS = (0.0, 0.2, 0.6, 2.0, 3.0, 10.0)
MOVING = tuple((shift, d, n) for shift in SHIFTS for d in (2, 8, 30) for n in (100, 500, 2_000))
# n_components of BayesianGaussianMixture, which needs an upper bound, and those that BIC chooses from.
BOUND, NUMBERS = 20, (1, 2, 3, 5, 8, 12, 20)
CLASSES = {
    "HDBSCAN": "HDBSCAN", "HDBSCAN chosen": "HDBSCAN", "variational": "BayesianGaussianMixture",
    "variational tied": "BayesianGaussianMixture", "BIC": "SparseGaussianMixture",
    "Birch": "Birch", "nearest centre": "true centres",
}  # fmt: skip
# What differs from the defaults of other packages. The second setting of HDBSCAN is the best of eleven on the digits.
PARAMETERS = {
    "variational": {"n_components": BOUND, "max_iter": 300}, "BIC": {"n_components": list(NUMBERS)},
    "variational tied": {"n_components": BOUND, "max_iter": 300, "covariance_type": "tied"},
    "HDBSCAN chosen": {"min_cluster_size": 50, "min_samples": 1},
}  # fmt: skip
SEARCHED = (
    "blobs n=1000 d=2 groups=8", "blobs n=1000 d=10 groups=8", "blobs n=1000 d=50 groups=8", "oblique n=1000 d=10",
)  # fmt: skip
FINDERS = ("HDBSCAN", "HDBSCAN chosen", "variational", "variational tied")  # of labelled tables
# Some of the problems that the rules were chosen on, and kinds that no rule was chosen on.
CHOSE = (
    "few n=300 d=5 informative=1", "few n=300 d=5 informative=3", "few n=300 d=5 informative=5",
    "few n=300 d=20 informative=1", "few n=2000 d=5 informative=1", "few n=2000 d=20 informative=3",
    "least n=300 d=10 gap=30", "lattice side=4 d=3", "blobs d=2 sd=0.6", "blobs d=5", "blobs n=3000 d=10 groups=30",
    "ellipses", "given d=5", "one d=2", "one d=10", "student", "iris", "wine",
)  # fmt: skip
NEW = (
    "unequal", "heavy", "skewed", "whole", "copies", "binary", "typo", "reduced", "reduced n=600 d=30", "nested",
    "touching", "wide", "oblique", "boxes", "many", "units", "zeros",
)  # fmt: skip


def rows(bench):
    """Blobs in several dimensions as they are and standardised, and labelled sets."""
    sizes = bench.sizes
    for form in ("as they are", "standardised"):
        for n_features in sizes.blob_dimensions:
            corpus = f"five blobs in {n_features} dimensions, {form}, {sizes.blob_rows:,} rows"
            measure(bench, "blobs", corpus, "_clusters_tasks:blobs", sizes.blob_seeds, of_likelihood,
                    n_features=n_features, form=form, n_samples=sizes.blob_rows)  # fmt: skip
    for name in sizes.labelled:
        measure(bench, "labelled", name, "_clusters_tasks:labelled", sizes.labelled_seeds, of_likelihood, name=name)


def growing(bench):
    """Whether the number of clusters is found; labelled tables with held-out scores; streams in two orders."""
    sizes = bench.sizes
    for name in dict.fromkeys((*sizes.growing, *sizes.growing_tables, *sizes.growing_streams)):
        block = sizes.block if name in sizes.growing_streams else None

        def about(method, name=name, block=block):
            given = name.startswith("given") and method not in CLASSES
            return {"prior": "variances given" if given else "defaults",
                    "parameters": PARAMETERS.get(method, {"block": block} if "stream" in method else {})}  # fmt: skip

        measure(bench, "growing", name, "_growing_tasks:growing", sizes.growing_seeds, about, name=name,
                numbers=NUMBERS, block=block)  # fmt: skip


def moving(bench):
    """Streams whose groups are new in each block, at another place."""
    for shift, d, n in bench.sizes.moving:
        measure(bench, "moving", f"shift {shift:g} a block, {d} columns, {n:,} rows a block", "_growing_tasks:moved",
                bench.sizes.moving_seeds, lambda _: {"prior": "defaults"}, shift=shift, d=d, n=n,
                blocks=bench.sizes.moving_blocks)  # fmt: skip


def rules(bench):
    """Fits without each rule of the search for a prior, on data that chose the rules and on other data."""
    sizes = bench.sizes
    for name in (*sizes.rules_chose, *sizes.rules_new):

        def about(rule, name=name):
            chose = {"tuned_on": [name]} if name in sizes.rules_chose else {}
            return {"prior": "defaults", "parameters": {"likelihood": rule.split(": ")[0]}, **chose}

        measure(bench, "rules", name, "_rules_tasks:rules", sizes.rules_seeds, about, name=name)


def search(bench):
    """Seconds of fits with defaults to few rows, where the search for a prior takes most of them."""
    for name in bench.sizes.searched:
        measure(bench, "search", name, "_growing_tasks:search", bench.sizes.searched_seeds, of_defaults, name=name)


def of_defaults(method):
    return {"prior": "defaults", "parameters": PARAMETERS.get(method, {})}


def of_likelihood(method):
    """Prior and parameters of a method of ``rows``."""
    own = {} if method in CLASSES else {"likelihood": method}
    return {"prior": "defaults", "parameters": PARAMETERS.get(method, own)}


def measure(bench, table, corpus, task, n_seeds, about, **arguments):
    """Run a task for each seed; one record for each of its methods, with the results of all seeds."""
    module, function = task.split(":")
    measured = [
        bench.measure(table, f"{corpus}, {seed}", function, module=module, kept=False, seed=seed, **arguments)["runs"]
        for seed in range(n_seeds)
    ]
    for method in measured[0]:
        runs = [one[method] for one in measured]
        scores = {name: [round(float(run[name]), 4) for run in runs] for name in runs[0]
                  if name != "seconds" and all(run.get(name) is not None for run in runs)}  # fmt: skip
        bench.recorder.add(
            f"clusters-{table}", corpus, CLASSES.get(method, "StreamingNGGPMixture"), scores, label=method,
            seed=list(range(n_seeds)), seconds=[round(run["seconds"], 3) for run in runs], **about(method),
        )  # fmt: skip
