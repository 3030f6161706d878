"""Whether the number of clusters is found with defaults: many problems with known clusters, and labelled tables."""

from _tables import print_records

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
# n_components of BayesianGaussianMixture, which needs an upper bound, and those that BIC chooses from.
BOUND, NUMBERS = 20, (1, 2, 3, 5, 8, 12, 20)
CLASSES = {
    "HDBSCAN": "HDBSCAN", "variational": "BayesianGaussianMixture", "BIC": "SparseGaussianMixture", "EVoC": "EVoC",
}  # fmt: skip
PARAMETERS = {"variational": {"n_components": BOUND}, "BIC": {"n_components": list(NUMBERS)}}
SCORES = ("clusters", "true", "right", "ari", "held_out", "held_out_error", "above", "above_error", "better")
FOUND = """
    where label = sparsemix | HDBSCAN | variational | BIC | EVoC
    across label
    corpus
    right, ARI, s = {mean scores.right:.0%} {median scores.ari:.2f} {median seconds:.2f}
"""
LABELLED = """
    where label = sparsemix | variational
    corpus
    label
    classes = {min scores.true:.0f}
    clusters = {min scores.clusters:.0f} to {max scores.clusters:.0f}
    ARI = {mean scores.ari:.3f}
    held-out = {mean scores.held_out:.2f} ({mean scores.held_out_error:.2f})
    above variational = {mean scores.above:.2f} ({mean scores.above_error:.2f})
    rows better = {mean scores.better:.0%}
"""
STREAMED = """
    where label = sparsemix | random stream | sorted stream
    across label
    corpus
    right, ARI, s = {mean scores.right:.0%} {median scores.ari:.2f} {median seconds:.2f}
"""


def growing(bench):
    """Shares of seeds with the right number; labelled tables with their held-out scores; streams in two orders."""
    sizes, kept = bench.sizes, []
    for name in dict.fromkeys((*sizes.growing, *sizes.growing_tables, *sizes.growing_streams)):
        seeds = list(range(sizes.growing_seeds))
        block = sizes.block if name in sizes.growing_streams else None
        measured = [
            bench.measure("growing", f"{name}, {seed}", "growing", module="_growing_tasks", kept=False, name=name,
                          seed=seed, bound=BOUND, numbers=NUMBERS, block=block)["runs"]
            for seed in seeds
        ]  # fmt: skip
        for method in measured[0]:
            runs = [record[method] for record in measured]
            kept += bench.recorder.add(
                "clusters-growing", name, CLASSES.get(method, "StreamingNGGPMixture"), scores_of(runs), label=method,
                prior="variances given" if name.startswith("given") and method not in CLASSES else "defaults",
                parameters=PARAMETERS.get(method, {"block": block} if "stream" in method else {}), seed=seeds,
                seconds=[round(run["seconds"], 3) for run in runs],
            )  # fmt: skip
    show("Share of seeds with the right number, ARI, seconds", kept, FOUND, sizes.growing)
    show("Labelled tables: held-out score of a row, (standard error)", kept, LABELLED, sizes.growing_tables)
    show("Streams", kept, STREAMED, sizes.growing_streams)


def scores_of(runs):
    """Scores over seeds, without those that no run has."""
    scores = {name: [run.get(name) for run in runs] for name in SCORES if name in runs[0]}
    return {name: [round(value, 4) for value in values] for name, values in scores.items()}


def show(title, records, specification, names):
    """A table of some problems, if there are any."""
    if records := [record for record in records if record["corpus"] in names]:
        print_records(title, records, specification)
