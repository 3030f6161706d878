"""Experiments on documents whose clusters are known: bars, and streams with a power law."""

from statistics import mean

from _clusters_report import NAMES, column, prior_name, short_name, with_error
from _report import print_rst_table

MERGES = {"merge_criterion": "bayes_factor", "merge_every": 50}
TRUTH = "the clusters that made the documents"
PRIORS = ({"discount": 0.0}, {"discount": 0.5})


def bars(bench):
    """Whether the clusters of images of one bar each are found exactly."""
    sizes, rows = bench.sizes, []
    for prior in PRIORS:
        for shared in ({}, {"concentration": 1.0}):
            for method, own in (("adf", {}), ("adf", MERGES), ("ep", {}), ("gibbs", {})):
                params = prior | shared | own
                label = f"{NAMES[method]}-{prior_name(params)}, {short_name(shared)}{', merges' if own else ''}"
                record = bench.measure(
                    "bars", label, "bars", method=method, params=params, n_side=5, n_seeds=sizes.bar_seeds,
                    n_orders=sizes.bar_orders, n_epochs=sizes.bar_sweeps if method == "gibbs" else 10,
                )  # fmt: skip
                runs = record["runs"]
                rows.append([
                    label, f"{sum(column(runs, 'exact'))} of {len(runs)}",
                    with_error(column(runs, "n_clusters"), ".2f"), f"{mean(column(runs, 'nmi')):.4f}",
                    f"{mean(column(runs, 'distance')):.4f}",
                ])  # fmt: skip
    print_rst_table(
        "Images of one bar each: 10 bars of 25 pixels, 200 images of 100 tokens",
        ["method", "exactly right", "clusters", "NMI", "distance"], rows,
        ["Distance: total variation between a bar's pixels and the best cluster's, mean over bars."],
    )  # fmt: skip


def pitman_yor(bench):
    """Priors on streams whose clusters grow like the square root of n; hyperparameters from the first documents."""
    sizes = bench.sizes
    for doc_length in sizes.power_lengths:
        setting = {
            "doc_length": doc_length, "n_features": 500, "word_prior": 0.05, "marks": sizes.power_marks,
            "n_test": sizes.power_test,
        }  # fmt: skip
        curves = {TRUTH: []}
        for seed in range(sizes.power_seeds):
            fields = {"method": TRUTH}
            truth = bench.measure("pitman-yor", f"truth, {seed}", "power_law_truth", fields, seed=seed, **setting)
            curves[TRUTH].append(truth)
            for discount in (0.0, 0.5, 0.7):
                label = prior_name({"discount": discount})
                record = bench.measure(
                    "pitman-yor", f"{label}, {doc_length} tokens, {seed}", "power_law", seed=seed, discount=discount,
                    grid=sizes.power_grid, kept=False, fields={"method": label}, **setting,
                )  # fmt: skip
                for point, best in zip(record["points"], truth["points"], strict=True):
                    point["below"] = best["score"] - point["score"]
                bench.keep(record)
                curves.setdefault(label, []).append(record)
        print_power_laws(curves, doc_length)


def print_power_laws(curves, doc_length):
    """A line for each prior and length of the stream."""
    (truth, true_curves), *others = curves.items()
    rows = []
    for place, point in enumerate(true_curves[0]["points"]):
        best = [curve["points"][place]["score"] for curve in true_curves]
        for label, records in [(truth, true_curves), *others]:
            points = [record["points"][place] for record in records]
            below = [top - score for top, score in zip(best, column(points, "score"), strict=True)]
            rows.append([
                f"{point['n_samples']:,}", label, with_error(column(points, "n_clusters"), ".0f"),
                f"{mean(column(points, 'score')):.4f}", "" if label == truth else with_error(below),
                "" if label == truth else f"{mean(column(points, 'nmi')):.4f}",
            ])  # fmt: skip
    chosen = [
        f"{label}: " + "; ".join(", ".join(map(str, record["chosen"].values())) for record in records)
        for label, records in others
    ]
    print_rst_table(
        f"Pitman-Yor streams (discount 0.5), documents of {doc_length} tokens, 500 words",
        ["documents", "prior", "clusters", "score per token", "below the truth", "NMI"], rows,
        ["Chosen on the first documents (" + ", ".join(others[0][1][0]["chosen"]) + "): " + " | ".join(chosen)],
    )  # fmt: skip
