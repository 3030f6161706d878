"""Rows of numbers: clusters found with defaults, beside HDBSCAN and a truncated variational mixture."""

from statistics import mean

from _clusters_report import column
from _report import print_rst_table

LIKELIHOODS = ("full", "diag", "spherical")
# n_components of BayesianGaussianMixture, which has to be told an upper bound.
BOUND = 20


def rows(bench):
    """Standardised blobs in several dimensions, and four labelled sets."""
    sizes, table = bench.sizes, []
    for n_features in sizes.blob_dimensions:
        records = [
            bench.measure("rows", f"{n_features} dimensions, {seed}", "blobs", n_features=n_features, seed=seed,
                          n_samples=sizes.blob_rows, bound=BOUND)
            for seed in range(sizes.blob_seeds)
        ]  # fmt: skip
        for method in [*LIKELIHOODS, "HDBSCAN", "variational"]:
            runs = [record["runs"][method] for record in records]
            clusters = " ".join(str(value) for value in column(runs, "n_clusters"))
            table.append([
                n_features, method, clusters, f"{mean(column(runs, 'ari')):.3f}",
                f"{mean(column(runs, 'seconds')):.2f}",
            ])  # fmt: skip
    print_rst_table(
        "Five blobs, standardised", ["dimensions", "method", "clusters, by seed", "ARI", "seconds"], table,
        [f"variational: BayesianGaussianMixture(n_components={BOUND}), full covariances."],
    )  # fmt: skip
    table = []
    for name in ("iris", "wine", "breast_cancer", "digits"):
        runs = bench.measure("rows", name, "labelled", name=name, bound=BOUND)["runs"]
        for method in ["auto", "full", "full, 10 epochs", "HDBSCAN", "variational"]:
            one = runs[method]
            table.append([name, method, one["n_clusters"], f"{one['ari']:.3f}", f"{one['seconds']:.2f}"])
    print_rst_table("Labelled sets, standardised", ["set", "method", "clusters", "ARI", "seconds"], table)
