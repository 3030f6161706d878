"""Experiments on documents: known clusters, the table of the paper, a long stream, short texts, speed."""

from statistics import mean

NAMES = {"adf": "ADF", "chosen": "ADF", "ep": "EP", "gibbs": "Gibbs"}
DP, IG = {"discount": 0.0}, {"discount": 0.5}
MERGES = {"merge_criterion": "bayes_factor", "merge_every": 50}
TRUTH = "the clusters that made the documents"
# The setting of the paper's table, as far as it is known; the library's defaults are the other setting.
PAPER = {"concentration": 10.0, "word_prior": 0.1}
PAPER_PRIORS = (DP | PAPER | {"new_cluster_threshold": 0.01}, IG | PAPER | {"new_cluster_threshold": 0.501})
SETTINGS = {"as in the paper": PAPER_PRIORS, "defaults": (DP, IG)}
METHODS = ("adf", "ep", "gibbs")
# Published totals and clusters.
PAPER_TABLE = {
    "ADF-DP": (-346023, 80), "ADF-IG": (-345588, 92), "EP-DP": (-342535, 104), "EP-IG": (-342195, 114),
    "Gibbs-DP": (-342164, 119), "Gibbs-IG": (-341468, 128),
}  # fmt: skip


def prior_name(params):
    """The process that a discount makes."""
    discount = params.get("discount", 0.0)
    return {0.0: "DP", 0.5: "IG"}.get(discount, f"NGGP {discount:g}")


def short_name(params):
    """Parameters other than the discount, in short."""
    letters = {
        "concentration": "a", "word_prior": "β", "new_cluster_threshold": "ε", "merge_criterion": "merges",
        "merge_every": "every",
    }  # fmt: skip
    given = {letters.get(name, name): value for name, value in params.items() if name != "discount"}
    return ", ".join(f"{name} {value}" for name, value in given.items()) or "defaults"


def bars(bench):
    """Whether the clusters of images of one bar each are found exactly."""
    sizes = bench.sizes
    for prior in (DP, IG):
        for shared in ({}, {"concentration": 1.0}):
            for method, own in (("adf", {}), ("adf", MERGES), ("ep", {}), ("gibbs", {})):
                params = prior | shared | own
                label = f"{NAMES[method]}-{prior_name(params)}, {short_name(shared)}{', merges' if own else ''}"
                bench.measure(
                    "bars", label, "bars", method=method, params=params, n_side=5, n_seeds=sizes.bar_seeds,
                    n_orders=sizes.bar_orders, n_epochs=sizes.bar_sweeps if method == "gibbs" else 10,
                )  # fmt: skip


def pitman_yor(bench):
    """Priors on streams whose clusters grow like the square root of n; hyperparameters from the first documents."""
    sizes = bench.sizes
    for doc_length in sizes.power_lengths:
        setting = {
            "doc_length": doc_length, "n_features": 500, "word_prior": 0.05, "marks": sizes.power_marks,
            "n_test": sizes.power_test,
        }  # fmt: skip
        for seed in range(sizes.power_seeds):
            fields = {"method": TRUTH}
            truth = bench.measure("pitman-yor", f"truth, {seed}", "power_law_truth", fields, seed=seed, **setting)
            for discount in (0.0, 0.5, 0.7):
                label = prior_name({"discount": discount})
                record = bench.measure(
                    "pitman-yor", f"{label}, {doc_length} tokens, {seed}", "power_law", seed=seed, discount=discount,
                    grid=sizes.power_grid, kept=False, fields={"method": label}, **setting,
                )  # fmt: skip
                for point, best in zip(record["points"], truth["points"], strict=True):
                    point["below"] = best["score"] - point["score"]
                bench.keep(record)


def table(bench):
    """Six methods on KOS, several splits, at the paper's setting and at the defaults."""
    sizes = bench.sizes
    for setting in sizes.table_settings:
        for number in range(sizes.table_splits):
            reference = None
            for method in METHODS:
                for params in SETTINGS[setting]:
                    record = on_kos(bench, "table", method, params, number, sizes.table_repeats, {"setting": setting})
                    reference = reference or mean(run["total"] for run in record["runs"])
                    add_gains(record, reference)
                    bench.keep(record)


def on_kos(bench, section, method, params, number, repeats, fields, **more):
    """Held-out documents of a split of KOS by one method, not yet kept."""
    sizes, name, epochs = bench.sizes, f"{NAMES[method]}-{prior_name(params)}", bench.sizes.table_epochs
    if method == "gibbs":  # which has no threshold
        params = {key: value for key, value in params.items() if key != "new_cluster_threshold"} | sizes.table_samples
        epochs = sizes.table_sweeps
    return bench.measure(
        section, f"{name}, {short_name(params)}, split {number}", "held_out", path=bench.path("kos"), kept=False,
        split_number=number, method=method, params=params, n_repeats=repeats[method], n_epochs=epochs,
        n_documents=sizes.n_documents, fields={"method": name} | fields, **more,
    )  # fmt: skip


def add_gains(record, reference):
    """Scores per token of each run, and what they gain over a total; sampling also averages logarithms."""
    tokens = record["test_tokens"]
    for run in record["runs"]:
        for suffix in ("", "_of_logs"):
            if total := run.get(f"total{suffix}"):
                run[f"per_token{suffix}"], run[f"gain{suffix}"] = total / tokens, (total - reference) / tokens


def paper(bench):
    """The table at the paper's scale: a fifth held out, multinomial coefficients, both priors at both thresholds."""
    for method in METHODS:
        for number in range(bench.sizes.paper_splits):
            for prior in (DP, IG):
                total, known = PAPER_TABLE[f"{NAMES[method]}-{prior_name(prior)}"]
                published = {"published_total": total, "published_clusters": known}
                for threshold in (0.501,) if method == "gibbs" or prior is IG else (0.01, 0.501):
                    params = prior | PAPER | {"new_cluster_threshold": threshold}
                    bench.keep(on_kos(bench, "paper", method, params, number, bench.sizes.paper_repeats, published,
                                      as_published=True))  # fmt: skip


def chains(bench):
    """Log joint of chains from two starts, with proposals that split and merge and without."""
    for name, params in (("as in the paper", PAPER), ("defaults", {})):
        for moves in (True, False):
            for start in ("streaming", "single"):
                bench.measure(
                    "chains", f"{name}, {start}, moves {moves}", "chain", path=bench.path("kos"),
                    params=params | {"init_params": start, "split_merge": moves}, n_sweeps=bench.sizes.chain_sweeps,
                    n_documents=bench.sizes.n_documents, fields={"setting": name},
                )  # fmt: skip


def stream(bench):
    """Along the arXiv abstracts in blocks."""
    for params in (DP, IG, DP | PAPER | {"new_cluster_threshold": 0.01}):
        bench.measure(
            "stream", f"{prior_name(params)}, {short_name(params)}", "stream", path=bench.path("arxiv"), params=params,
            block=bench.sizes.block, marks=bench.sizes.marks, n_documents=bench.sizes.n_documents,
        )  # fmt: skip


def short_settings():
    """Defaults, and settings that differ from them."""
    yield "adf", {}
    for name, values in {
        "concentration": (1.0, 10.0, 100.0, 10_000.0), "word_prior": (0.003, 0.01, 0.1),
        "new_cluster_threshold": (0.01, 0.9), "discount": (0.5, 0.7),
    }.items():  # fmt: skip
        for value in values:
            yield "adf", {name: value}
    yield "adf", {"discount": 0.5, "concentration": 10_000.0}
    yield "adf", {"concentration": 10.0, "word_prior": 0.1, "new_cluster_threshold": 0.01}
    yield "adf", {"word_prior": 0.01, "concentration": 10_000.0}
    yield "adf", {"merge_criterion": "bayes_factor", "merge_every": 5_000}
    yield "chosen", {}
    for method in ("ep", "gibbs"):
        for params in ({}, IG, {"word_prior": 0.01}):
            yield method, params


def short(bench):
    """Titles and tweets compared with their known clusters, in stream order and in random order."""
    sizes = bench.sizes
    for corpus in sizes.short_corpora:
        for method, params in short_settings():
            name = short_name(params) if method != "chosen" else "chosen"
            for order in ("stream", "0"):
                bench.measure(
                    "short", f"{NAMES[method]}-{prior_name(params)}, {name}", "short", path=bench.path(corpus),
                    order=order, method=method, params=params, grid=sizes.short_grid, n_batches=sizes.batches,
                    n_epochs=sizes.short_sweeps if method == "gibbs" else 10, n_documents=sizes.n_documents,
                    fields={"corpus": corpus, "order": order},
                )  # fmt: skip


def speed(bench):
    """Epochs of KOS, documents a second of other corpora, cost by number of clusters."""
    sizes = bench.sizes
    for name, priors in SETTINGS.items():
        for params in priors:
            bench.measure("passes", f"{prior_name(params)}, {name}", "passes", path=bench.path("kos"), params=params,
                          n_epochs=sizes.speed_epochs)  # fmt: skip
    for corpus in ("kos", "tweets_t", "news_t", "20news", "reuters21578", "nips", "arxiv"):
        for params in (DP, IG, PAPER_PRIORS[0]):
            method = f"{prior_name(params)}, {'defaults' if params in (DP, IG) else 'as in the paper'}"
            bench.measure(
                "speed", f"{corpus}, {method}", "throughput", path=bench.path(corpus), params=params,
                n_documents=sizes.throughput_documents, fields={"method": method},
            )  # fmt: skip
    for n_clusters in sizes.cost_clusters:
        bench.measure(
            "cost", f"{n_clusters} clusters", "cost", path=bench.path("arxiv"), params={"word_prior": 0.005},
            n_clusters=n_clusters, n_first=sizes.cost_first, n_timed=sizes.cost_timed,
        )  # fmt: skip


def merges(bench):
    """Rows a second with merges by Bayes factor and without: while clusters are opened, and when there are some."""
    documents = {"path": bench.path("tweets_t"), "n_rows": bench.sizes.merge_rows}
    many = {"concentration": 10_000.0, "word_prior": 0.01}
    cases = [("tweets, defaults", documents, {}), ("tweets, a 10000, β 0.01", documents, many)]
    for likelihood in ("full", "diag"):
        for n_clusters in (50, 400):
            rows = {"n_clusters": n_clusters, "n_rows": bench.sizes.merge_rows}
            cases.append((f"{likelihood}, 64 columns, {n_clusters} blobs", rows, {"likelihood": likelihood}))
    for label, data, params in cases:
        bench.measure("merges", label, "merging", params=params, **data)
