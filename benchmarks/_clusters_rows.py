"""Rows of numbers: clusters found with defaults, compared with HDBSCAN and a truncated variational mixture."""

from _tables import print_records

LIKELIHOODS = ("full", "diag", "spherical")
PEERS = ("HDBSCAN", "variational")
CLASSES = {"HDBSCAN": "HDBSCAN", "variational": "BayesianGaussianMixture"}
# n_components of BayesianGaussianMixture, which needs an upper bound.
BOUND = 20
BLOBS = """
    corpus
    label
    right = {mean scores.right:.1f}
    fewest = {min scores.clusters:.0f}
    most = {max scores.clusters:.0f}
    ARI = {mean scores.ari:.3f}
    s = {mean seconds:.2f}
"""
LABELLED = """
    corpus
    label
    fewest = {min scores.clusters:.0f}
    most = {max scores.clusters:.0f}
    ARI = {mean scores.ari:.3f}
    least = {min scores.ari:.3f}
    s = {mean seconds:.2f}
"""


def rows(bench):
    """Blobs in several dimensions as they are and standardised, and labelled sets."""
    sizes, kept = bench.sizes, []
    for form in ("as they are", "standardised"):
        for n_features in sizes.blob_dimensions:
            measured = [
                bench.measure("rows", f"{n_features} dimensions, {form}, {seed}", "blobs", n_features=n_features,
                              kept=False, form=form, seed=seed, n_samples=sizes.blob_rows, bound=BOUND)
                for seed in range(sizes.blob_seeds)
            ]  # fmt: skip
            for method in [*LIKELIHOODS, *PEERS]:
                runs = [record["runs"][method] for record in measured]
                corpus = f"five blobs in {n_features} dimensions, {form}, {sizes.blob_rows:,} rows"
                scores = scores_of(runs) | {
                    "right": [float(run["n_clusters"] == 5) for run in runs],
                    "nearest": [round(record["nearest"], 2) for record in measured],
                }
                seconds = [round(run["seconds"], 3) for run in runs]
                kept += bench.recorder.add("clusters-blobs", corpus, seed=list(range(sizes.blob_seeds)), scores=scores,
                                         seconds=seconds, **describe(method))  # fmt: skip
    if kept:
        print_records("Five blobs", kept, BLOBS)
    kept = []
    for name in sizes.labelled:
        seeds = list(range(sizes.labelled_seeds))
        measured = [
            bench.measure("rows", f"{name}, {seed}", "labelled", kept=False, name=name, seed=seed, bound=BOUND)["runs"]
            for seed in seeds
        ]
        for method in ["auto", "full", *PEERS]:
            runs = [record[method] for record in measured]
            seconds = [round(run["seconds"], 3) for run in runs]
            kept += bench.recorder.add("clusters-labelled", f"{name}, standardised", seed=seeds,
                                     scores=scores_of(runs), seconds=seconds, **describe(method))  # fmt: skip
    if kept:
        print_records("Labelled sets", kept, LABELLED)


def scores_of(runs):
    """Clusters, agreement with the labels, and log joint density above that of the labels."""
    scores = {"clusters": [run["n_clusters"] for run in runs], "ari": [round(run["ari"], 4) for run in runs]}
    if all(run["above"] is not None for run in runs):
        scores["above"] = [round(run["above"], 1) for run in runs]
    return scores


def describe(method):
    """Fields of a method that all its records have."""
    parameters = {"n_components": BOUND} if method == "variational" else {}
    if method not in CLASSES:
        parameters = {"likelihood": method}
    return {
        "estimator": CLASSES.get(method, "StreamingNGGPMixture"), "label": method, "parameters": parameters,
        "prior": "defaults",
    }  # fmt: skip
