"""Experiments on bags of words: the table of the paper, orders, a long stream, short texts, speed."""

from statistics import mean, stdev

from _clusters_report import NAMES, column, megabytes, prior_name, rounded, short_name, with_error
from _report import number, print_rst_table

DP, IG = {"discount": 0.0}, {"discount": 0.5}
# What the paper's table takes, as far as it is known; the library's defaults are the other setting.
PAPER = {"concentration": 10.0, "word_prior": 0.1}
PAPER_PRIORS = (DP | PAPER | {"new_cluster_threshold": 0.01}, IG | PAPER | {"new_cluster_threshold": 0.501})
SETTINGS = {"as in the paper": PAPER_PRIORS, "defaults": (DP, IG)}
METHODS = ("adf", "ep", "gibbs")
# Published totals and clusters; a tenth of the tokens of KOS fits their scale, without the multinomial coefficient.
PAPER_TABLE = {
    "ADF-DP": (-346023, 80), "ADF-IG": (-345588, 92), "EP-DP": (-342535, 104), "EP-IG": (-342195, 114),
    "Gibbs-DP": (-342164, 119), "Gibbs-IG": (-341468, 128),
}  # fmt: skip
PAPER_TOKENS = 46_771


def of_gibbs(params):
    """Without what sampling has no use for."""
    return {name: value for name, value in params.items() if name != "new_cluster_threshold"}


# -- the table of the paper


def table(bench):
    """Six methods on KOS, several splits, at the paper's setting and at the defaults."""
    for name in bench.sizes.table_settings:
        priors, rows, gains = SETTINGS[name], [], {}
        for split in range(bench.sizes.table_splits):
            base = None
            for method in METHODS:
                for params in priors:
                    record = measure_held_out(bench, "table", name, split, method, params, base=base)
                    base = base or record
                    for row, gain in table_rows(record, base):
                        rows.append([split, *row])
                        gains.setdefault(row[0], []).append((gain, mean(column(record["runs"], "n_clusters"))))
        print_rst_table(
            f"KOS, a tenth of the documents held out, {name}",
            ["split", "method", "total", "per token", "gain", "clusters", "epochs", "seconds"], rows,
            ["Means and standard errors over orders of the documents (ADF, EP) or chains (Gibbs). Gain: over ADF-DP of "
             "the same split, per token. Logs: logarithms of densities averaged over samples, as in the paper."],
        )  # fmt: skip
        print_gains(gains, name)


def paper(bench):
    """The table at the paper's scale: a fifth held out, multinomial coefficients, both priors at both thresholds."""
    rows, sizes = [], bench.sizes
    for method in METHODS:
        for split in range(sizes.paper_splits):
            for prior in (DP, IG):
                for threshold in (0.501,) if method == "gibbs" or prior is IG else (0.01, 0.501):
                    params = prior | PAPER | {"new_cluster_threshold": threshold}
                    epochs = sizes.table_epochs
                    if method == "gibbs":
                        params, epochs = of_gibbs(params) | sizes.table_samples, sizes.table_sweeps
                    name = f"{NAMES[method]}-{prior_name(params)}"
                    total, known = PAPER_TABLE[name]
                    record = bench.measure(
                        "paper", f"{name}, {threshold}, split {split}", "paper_scale", path=bench.path("kos"),
                        split_number=split, method=method, params=params, n_repeats=sizes.paper_repeats[method],
                        n_epochs=epochs, n_documents=sizes.n_documents,
                        fields={"method": name, "published_total": total, "published_clusters": known},
                    )  # fmt: skip
                    totals, clusters = (column(record["runs"], field) for field in ("total", "n_clusters"))
                    rows.append([
                        split, name, "-" if method == "gibbs" else threshold, with_error(totals, ".0f"), total,
                        with_error(clusters, ".1f"), known,
                    ])  # fmt: skip
    print_rst_table(
        "KOS, a fifth of the documents held out, with multinomial coefficients",
        ["split", "method", "threshold", "total", "paper's", "clusters", "paper's"],
        sorted(rows, key=lambda row: row[0]),
        ["Means and standard errors over orders of the documents or chains. The inverse Gaussian has no threshold "
         "below its discount."],
    )  # fmt: skip


def chains(bench):
    """Log joint of chains from two starts, with proposals that split and merge and without."""
    rows = []
    for name, params in (("as in the paper", PAPER), ("defaults", {})):
        for moves in (True, False):
            for start in ("streaming", "single"):
                record = bench.measure(
                    "chains", f"{name}, {start}, moves {moves}", "chain", path=bench.path("kos"),
                    params=params | {"init_params": start, "split_merge": moves}, n_sweeps=bench.sizes.chain_sweeps,
                    n_documents=bench.sizes.n_documents, fields={"setting": name},
                )  # fmt: skip
                joints = [f"{value:.0f}" for value in record["log_joint"]]
                rows.append([
                    name, start, "yes" if moves else "no", *joints, record["n_clusters"], f"{record['seconds']:.1f}"
                ])  # fmt: skip
    print_rst_table(
        "KOS: log joint of chains", ["setting", "start", "moves", "a tenth", "half", "end", "clusters", "seconds"], rows
    )


def print_gains(gains, name):
    """Means over splits, compared with the paper's figures."""
    rows = []
    for method, values in gains.items():
        total, clusters = PAPER_TABLE[method.removesuffix(", logs")]
        paper = (total - PAPER_TABLE["ADF-DP"][0]) / PAPER_TOKENS
        gained, found = zip(*values, strict=True)
        rows.append([method, with_error(gained), f"{paper:.4f}", f"{mean(found):.0f}", f"{clusters:.0f}"])
    header = ["method", "gain over ADF-DP", "paper's", "clusters", "paper's"]
    print_rst_table(f"KOS, means over splits, {name}", header, rows)


def measure_held_out(bench, section, name, split, method, params, n_repeats=None, base=None):
    """The record of one method on one split, with what it gains over another, or over itself."""
    sizes, gibbs = bench.sizes, method == "gibbs"
    params = of_gibbs(params) | sizes.table_samples if gibbs else params
    record = bench.measure(
        section, f"{NAMES[method]}-{prior_name(params)}, {name}, split {split}", "held_out", path=bench.path("kos"),
        split_number=split, method=method, params=params, n_repeats=n_repeats or sizes.table_repeats[method],
        n_epochs=sizes.table_sweeps if gibbs else sizes.table_epochs, n_documents=sizes.n_documents, kept=False,
        fields={"method": f"{NAMES[method]}-{prior_name(params)}", "setting": name},
    )  # fmt: skip
    tokens, reference = record["test_tokens"], mean(column((base or record)["runs"], "total"))
    for run in record["runs"]:
        for suffix in ("", "_of_logs"):
            if total := run.get(f"total{suffix}"):
                run[f"per_token{suffix}"], run[f"gain{suffix}"] = total / tokens, (total - reference) / tokens
    bench.keep(record)
    return record


def table_rows(record, base):
    """Of one method, each with its gain; sampling has one for each way to average."""
    runs, tokens = record["runs"], record["test_tokens"]
    reference = mean(column(base["runs"], "total"))
    for field, suffix in (("total_of_logs", ", logs"), ("total", "")):
        if field in runs[0]:
            totals = column(runs, field)
            gain = (mean(totals) - reference) / tokens
            yield [
                record["method"] + suffix, with_error(totals, ".0f"), f"{mean(totals) / tokens:.4f}", f"{gain:+.4f}",
                with_error(column(runs, "n_clusters"), ".1f"), f"{mean(column(runs, 'n_epochs')):.0f}",
                f"{mean(column(runs, 'seconds')):.2f}",
            ], gain  # fmt: skip


def orders(bench):
    """How much one split moves with the order of its documents."""
    rows = []
    for name, priors in SETTINGS.items():
        for method in ("adf", "ep"):
            for params in priors:
                record = measure_held_out(bench, "orders", name, 0, method, params, bench.sizes.orders[method])
                totals, clusters = (column(record["runs"], field) for field in ("total", "n_clusters"))
                rows.append([
                    record["method"], name, len(totals), with_error(totals, ".0f"), f"{stdev(totals):.0f}",
                    f"{mean(totals) / record['test_tokens']:.4f}", f"{mean(clusters):.1f}", f"{stdev(clusters):.1f}",
                ])  # fmt: skip
    header = ["method", "setting", "orders", "total", "sd", "per token", "clusters", "sd of clusters"]
    print_rst_table("KOS, split 0: spread over orders of the training documents", header, rows)


# -- a long stream


def stream(bench):
    """Along the arXiv abstracts in blocks."""
    for params in (DP, IG, DP | PAPER | {"new_cluster_threshold": 0.01}):
        label = f"{prior_name(params)}, {short_name(params)}"
        record = bench.measure(
            "stream", label, "stream", path=bench.path("arxiv"), params=params, block=bench.sizes.block,
            marks=bench.sizes.marks, n_documents=bench.sizes.n_documents,
        )  # fmt: skip
        rows = [
            [
                rounded(point["n_samples"]), rounded(point["n_clusters"]), rounded(point["documents_per_second"]),
                number(point["prequential"], ".4f"), megabytes(point["bytes"]), megabytes(point["state_bytes"]),
            ]
            for point in record["points"]
        ]  # fmt: skip
        print_rst_table(
            f"arXiv abstracts in blocks of {bench.sizes.block:,}: {label}",
            ["documents", "clusters", "documents/s", "prequential score per token", "MB", "MB pickled"], rows,
            ["Documents/s and scores are those since the line before."],
        )  # fmt: skip


# -- short texts


def short_settings():
    """Defaults, and what is around them."""
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
    for corpus in bench.sizes.short_corpora:
        rows = [
            short_row(*(measure_short(bench, corpus, order, method, params) for order in ("stream", "0")))
            for method, params in short_settings()
        ]
        print_rst_table(
            f"{corpus}: stream order, and at the right random order",
            ["method", "NMI", "hom.", "compl.", "clusters", "score", "docs/s", "NMI", "clusters", "score"], rows,
            [f"NMI, homogeneity and completeness: a document's label when its batch, one of {bench.sizes.batches}, "
             "has been learned; EP and Gibbs: at the end. Score: of each document before it was learned, per token. "
             "Chosen: a and β, on the first 1,000 documents."],
        )  # fmt: skip


def measure_short(bench, corpus, order, method, params):
    """The record of one setting."""
    label = f"{NAMES[method]}-{prior_name(params)}, {short_name(params) if method != 'chosen' else 'chosen'}"
    return bench.measure(
        "short", label, "short", path=bench.path(corpus), order=order, method=method, params=params,
        n_epochs=bench.sizes.short_sweeps if method == "gibbs" else 10, n_batches=bench.sizes.batches,
        n_documents=bench.sizes.n_documents, grid=bench.sizes.short_grid, fields={"corpus": corpus, "order": order},
    )  # fmt: skip


def short_row(stream, shuffled):
    """Of one setting."""
    now, then = (record.get("as_they_come", record["at_end"]) for record in (stream, shuffled))
    speed = stream.get("documents_per_second")
    return [
        stream["label"] + "".join(f" {value:g}" for value in stream.get("chosen", {}).values()),
        *(f"{now[name]:.3f}" for name in ("nmi", "homogeneity", "completeness")), rounded(stream["n_clusters"]),
        number(stream.get("prequential"), ".3f"), f"{stream['seconds']:.1f} s" if speed is None else rounded(speed),
        f"{then['nmi']:.3f}", rounded(shuffled["n_clusters"]), number(shuffled.get("prequential"), ".3f"),
    ]  # fmt: skip


# -- speed


def speed(bench):
    """Passes of KOS, documents a second of other corpora, cost by number of clusters."""
    rows = []
    for name, priors in SETTINGS.items():
        for params in priors:
            label = f"{prior_name(params)}, {name}"
            record = bench.measure(
                "passes", label, "passes", path=bench.path("kos"), params=params, n_epochs=bench.sizes.speed_epochs
            )
            rows.append([label, *(f"{record[field]:.3f}" for field in ("adf", "epoch", "sweep"))])
    header = ["prior", "pass of ADF", "epoch of EP", "sweep of Gibbs"]
    print_rst_table("KOS, 3,087 documents: processor seconds", header, rows)
    print_throughput(bench)
    print_cost(bench)


def print_throughput(bench):
    """One epoch over each corpus."""
    rows = []
    for corpus in ("kos", "tweets_t", "news_t", "20news", "reuters21578", "nips", "arxiv"):
        for params in (DP, IG, PAPER_PRIORS[0]):
            label = f"{corpus}, {prior_name(params)}, {'defaults' if params in (DP, IG) else 'as in the paper'}"
            record = bench.measure(
                "speed", label, "throughput", path=bench.path(corpus), params=params,
                n_documents=bench.sizes.throughput_documents, fields={"method": label.split(", ", 1)[1]},
            )  # fmt: skip
            rows.append([
                label, rounded(record["n_documents"]), rounded(record["n_words"]),
                f"{record['tokens'] / record['n_documents']:.0f}", rounded(record["n_clusters"]),
                f"{record['seconds']:.3f}", rounded(record["documents_per_second"]), megabytes(record["bytes"]),
                megabytes(record["state_bytes"]),
            ])  # fmt: skip
    print_rst_table(
        "One pass of assumed density filtering",
        ["corpus", "documents", "words", "tokens each", "clusters", "seconds", "documents/s", "MB", "MB pickled"], rows,
    )  # fmt: skip


def print_cost(bench):
    """A document under more and more clusters."""
    sizes, rows = bench.sizes, []
    for n_clusters in sizes.cost_clusters:
        record = bench.measure(
            "cost", f"{n_clusters} clusters", "cost", path=bench.path("arxiv"), params={"word_prior": 0.005},
            n_clusters=n_clusters, n_first=sizes.cost_first, n_timed=sizes.cost_timed,
        )  # fmt: skip
        rows.append([
            rounded(record["n_clusters"]), f"{record['microseconds']:.1f}", rounded(1e6 / record["microseconds"]),
            f"{record['nanoseconds']:.2f}",
        ])  # fmt: skip
    header = ["clusters", "microseconds a document", "documents/s", "nanoseconds a pair of word and cluster"]
    print_rst_table("arXiv abstracts by number of clusters (max_components, β 0.005)", header, rows)


# -- merges


def merges(bench):
    """Rows a second with merges by Bayes factor and without: while clusters are opened, and when there are some."""
    documents = {"path": bench.path("tweets_t"), "n_rows": bench.sizes.merge_rows}
    many = {"concentration": 10_000.0, "word_prior": 0.01}
    cases = [("tweets, defaults", documents, {}), ("tweets, a 10000, β 0.01", documents, many)]
    for likelihood in ("full", "diag"):
        for n_clusters in (50, 400):
            rows = {"n_clusters": n_clusters, "n_rows": bench.sizes.merge_rows}
            cases.append((f"{likelihood}, 64 columns, {n_clusters} blobs", rows, {"likelihood": likelihood}))
    rows = []
    for label, data, params in cases:
        record = bench.measure("merges", label, "merging", params=params, **data)
        rows.append([label, *(rounded(record[name]) for name in ("clusters", "plain", "merging")),
                     f"{record['merging'] / record['plain']:.0%}", rounded(record["settled"])])  # fmt: skip
    header = ["rows", "clusters", "rows/s", "with merges", "left", "rows/s when settled"]
    print_rst_table("Growth and merges", header, rows)
