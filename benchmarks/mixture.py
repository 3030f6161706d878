"""Mixtures of hundreds of Gaussians on image patches: seconds, held-out scores and memory, compared with scikit-learn.

python benchmarks/mixture.py                     the two photographs that scikit-learn bundles
python benchmarks/mixture.py --images DIR        8-bit grey PNG images, some of them held out

Every measurement runs in its own process, pinned to one core (two for rows of two threads). All fits of one K start
from the same parameters.
"""

import argparse
import sys
import tempfile
from dataclasses import replace

from _bench import DEFAULT, FULL, QUICK, Bench
from _measure import CORES, MeasurementError
from _report import number, plot_curves, print_table, seconds_until
from _results import add_options, recorder

SPARSE, RIVAL = "SparseGaussianMixture", "scikit-learn GaussianMixture"
SECONDS = ("sparsity_passes", "learning_seconds", "rival_seconds", "own_start_seconds")  # one for each K
OWN_STARTS = (SPARSE, "GaussianMixture", "MiniBatchKMeans, GaussianMixture")
OWN_ENDS = OWN_STARTS[:2]  # the last runs until its budget ends
COMMON = {
    "inference": "em", "learning_method": "batch", "n_nonzero": 4, "candidates": "all", "candidates_init": "random",
}  # fmt: skip


def section_pass(bench):
    """Seconds of an epoch, and how far it is from the fastest that this core could do."""
    d = bench.patches(8)["n_features"]
    peak = bench.measure("pass", "float32 GEMM peak", "gemm_peak")["flops"]
    rows, rivals = [], []
    for n_components in bench.sizes.pass_components:
        rival = time_rival(bench, "pass", n_components, "full", bench.n_rows, bench.sizes.rival_pairs // n_components)
        floor = bench.n_rows * n_components * d * (d + 1) / peak
        sides = [time_sparse(bench, "pass", n_components, kind, bench.n_rows) for kind in ("zero_mean", "full")]
        rows += [pass_row(record, rival, floor) for record in [*sides, rival]]
        rivals.append(rival)
    print_table(
        f"Seconds of a pass: batch EM, L=4, {bench.n_rows:,} rows, D={d}, float32, one core",
        ["", "covariance", "K", "s/pass", "times faster", "ns/pair", "floor s", "% of floor"], rows, n_left=2,
        notes=[
            f"floor: D (D + 1) operations a pair of row and component, at the {peak / 1e9:.0f} GFLOP/s of this core's "
            "float32 matrix product",
            *rival_notes(rivals),
        ],
    )  # fmt: skip


def pass_row(record, rival, floor):
    """One row of the table of ``section_pass``."""
    seconds = record["seconds"]
    faster = rival["seconds"] / seconds if seconds and rival["seconds"] else None
    per_pair = 1e9 * seconds / record["pairs"] if seconds else None
    reached = 100 * floor / seconds if seconds else None
    return [
        record["name"], record["covariance_type"], record["n_components"],
        number(seconds, ".3f", record["mark"]), number(faster, ".1f"), number(per_pair, ".1f"),
        number(floor), number(reached, ".0f"),
    ]  # fmt: skip


def start_type(covariance_type):
    """Full covariances start with zero means, so that there is one start for all of them."""
    return covariance_type if covariance_type in ("diag", "spherical") else "zero_mean"


def time_sparse(bench, section, n_components, covariance_type, n_rows, size=8, candidates="all"):
    """Seconds of an epoch of our mixture."""
    fields = {
        "name": SPARSE if candidates == "all" else f"{SPARSE}, candidates", "covariance_type": covariance_type,
        "n_components": n_components, "n_rows": n_rows, "pairs": n_rows * n_components, "mark": "",
    }  # fmt: skip
    return bench.measure(
        section, f"{fields['name']} {covariance_type}, K={n_components}", "sparse_passes", fields=fields,
        **bench.files(size), start=bench.start(n_components, start_type(covariance_type), size), rows=n_rows,
        passes=bench.sizes.passes if candidates == "all" else bench.sizes.candidate_passes,
        covariance_type=covariance_type, **(COMMON | {"candidates": candidates}),
    )  # fmt: skip


def time_rival(bench, section, n_components, covariance_type, n_rows, at_most, size=8):
    """Seconds of an epoch of scikit-learn's mixture over ``n_rows`` rows, from a part of them when that is many."""
    part = min(n_rows, max(at_most, 2 * n_components))
    fields = {
        "name": RIVAL, "covariance_type": covariance_type, "n_components": n_components, "n_rows": n_rows,
        "pairs": n_rows * n_components, "measured_rows": part, "mark": "~" if part < n_rows else "",
    }  # fmt: skip
    record = bench.measure(
        section, f"{RIVAL} {covariance_type}, K={n_components}", "rival_passes", fields=fields, **bench.files(size),
        start=bench.start(n_components, start_type(covariance_type), size), rows=part,
        passes=bench.sizes.rival_passes, covariance_type=covariance_type,
    )  # fmt: skip
    if record["seconds"] is None:
        return record
    return record | {"seconds": record["seconds"] * n_rows / part}


def rival_notes(records):
    """What has to be known about scikit-learn's figures."""
    notes = []
    if any(record.get("mark") for record in records):
        notes.append("~ measured on a part of the rows and scaled up")
    for record in records:
        if record.get("error"):
            notes.append(f"{RIVAL}, K={record['n_components']}, ended early: {record['error'][:100]} ...")
    return notes


def section_phases(bench):
    """Where the time of an epoch goes, with the weights of all components and with short lists."""
    sizes, rows = bench.sizes, []
    dense = [(n_components, "all") for n_components in sizes.components]
    for n_components, choice in [*dense, *((k, sizes.candidates) for k in sizes.candidate_components)]:
        record = bench.measure(
            "phases", f"K={n_components}, candidates={choice}", "sparse_phases",
            fields={"n_components": n_components, "candidates": choice},
            **bench.files(), start=bench.start(n_components), rows=bench.n_rows,
            passes=max(2, sizes.passes) if choice == "all" else sizes.candidate_passes,
            covariance_type="zero_mean", **(COMMON | {"candidates": choice}),
        )  # fmt: skip
        phases, seconds = record["phases"], record["seconds"]
        shares = [f"{spent:.3f} ({100 * spent / seconds:.0f} %)" for spent in phases.values()]
        rows.append([f"K={n_components}, candidates={choice}", number(seconds), *shares])
    print_table(
        f"Phases of a pass in seconds: batch EM, zero means, L=4, {bench.n_rows:,} rows, one core",
        ["", "pass", *phases], rows,
    )  # fmt: skip


def section_candidates(bench):
    """Seconds of an epoch against the number of components: all weights, short lists, and k-means as the floor."""
    sizes, rows = bench.sizes, []
    for n_components in sizes.candidate_components:
        choices = [sizes.candidates, *(["all"] if n_components <= sizes.dense_at_most else [])]
        for choice in choices:
            record = bench.measure(
                "candidates", f"K={n_components}, candidates={choice}", "sparse_passes",
                fields={"n_components": n_components, "candidates": choice}, **bench.files(held_out=True),
                start=bench.start(n_components), rows=bench.n_rows, passes=sizes.candidate_passes,
                covariance_type="zero_mean", **(COMMON | {"candidates": choice}),
            )  # fmt: skip
            rows.append(candidate_row(bench, f"candidates={choice}", record))
        record = bench.measure(
            "candidates", f"K={n_components}, faiss k-means", "kmeans_passes", fields={"n_components": n_components},
            **bench.files(), n_components=n_components, rows=bench.n_rows, passes=sizes.kmeans_passes,
        )  # fmt: skip
        if record["seconds"]:
            rows.append(candidate_row(bench, "faiss k-means, assignment alone", record))
    print_table(
        f"Candidates: batch EM, zero means, L=4, {bench.n_rows:,} rows, {sizes.candidate_passes} passes, one core",
        ["", "K", "s/pass", "us/row", "held-out, nats", "weights > 0.1/K"], rows,
    )  # fmt: skip


def candidate_row(bench, label, record):
    """One row of the table of ``section_candidates``."""
    return [
        label, record["n_components"], number(record["seconds"]), number(1e6 * record["seconds"] / bench.n_rows, ".2f"),
        number(record.get("held_out")), record.get("live", "-"),
    ]  # fmt: skip


def section_sparsity(bench):
    """What L costs and what it gains."""
    n_rows = round(bench.n_rows * bench.sizes.sparsity_share)
    for n_components, passes in zip(bench.sizes.components, bench.sizes.sparsity_passes, strict=True):
        records = []
        for n_nonzero in bench.sizes.nonzeros:
            label = f"L={n_nonzero or 'K'}"
            record = bench.measure(
                "sparsity", f"K={n_components}, {label}", "sparse_passes",
                fields={"name": label, "n_components": n_components, "n_nonzero": n_nonzero or n_components},
                **bench.files(held_out=True), start=bench.start(n_components), rows=n_rows, passes=passes,
                covariance_type="zero_mean", **(COMMON | {"n_nonzero": n_nonzero, "learning_method": "memoized"}),
            )  # fmt: skip
            records.append(record)
        dense = records[-1]
        rows = [
            [
                record["name"], number(record["seconds"]), number(dense["seconds"] / record["seconds"], ".2f"),
                number(record["held_out"]), number(record["held_out"] - dense["held_out"], "+.4f"),
            ]
            for record in records
        ]  # fmt: skip
        print_table(
            f"Non-zero responsibilities: K={n_components}, memoized EM, zero means, {n_rows:,} rows, {passes} passes",
            ["", "s/pass", "times faster", "held-out, nats", "less that of L=K"], rows,
        )  # fmt: skip


def section_learning(bench):
    """Held-out score against seconds of training."""
    sizes = bench.sizes
    for n_components, budget, rival_budget in zip(
        sizes.components, sizes.learning_seconds, sizes.rival_seconds, strict=True
    ):
        shared = {"start": bench.start(n_components), "marks": sizes.marks, **bench.files(held_out=True)}
        fields = {"n_components": n_components}
        before = bench.measure(
            "learning", "start", "start_score", fields=fields, start=shared["start"], test=shared["test"]
        )
        kinds = [(inference, "all") for inference in sizes.inferences] + [(sizes.inferences[0], sizes.candidates)]
        records = [
            bench.measure(
                "learning", f"{method} {inference}{', candidates' * (choice != 'all')}", "sparse_curve", fields=fields,
                budget=budget, **shared, covariance_type="zero_mean",
                **(COMMON | {"inference": inference, "learning_method": method, "candidates": choice}),
            )
            for inference, choice in kinds for method in sizes.methods
        ]  # fmt: skip
        records.append(bench.measure("learning", RIVAL, "rival_curve", fields=fields, budget=rival_budget, **shared))
        print_curves(bench, n_components, before["checkpoints"][0][2], records)


def print_curves(bench, n_components, start_score, records):
    """Checkpoints, and seconds until a score is reached."""
    rows, notes = [], [f"start, 0 passes: {start_score:.3f}", *rival_notes(records)]
    for record in records:
        for i, (passes, seconds, score) in enumerate(record["checkpoints"]):
            rows.append(["" if i else record["label"], passes, number(seconds, ".2f"), number(score)])
    print_table(
        f"Learning: K={n_components}, L=4, {bench.n_rows:,} rows, one core; held-out log-likelihood of a patch",
        ["", "passes", "seconds", "held-out, nats"], rows, notes=notes,
    )  # fmt: skip
    best = max((point[2] for record in records for point in record["checkpoints"]), default=0.0)
    gaps = (4.0, 2.0, 1.0, 0.5, 0.25, 0.1)
    print_table(
        f"Seconds until the held-out score is within x nats of {best:.3f}, the best above (at checkpoints)",
        ["", *(f"{gap:g}" for gap in gaps)],
        [
            [record["label"], *(number(seconds_until(record["checkpoints"], best - gap), ".2f") for gap in gaps)]
            for record in records
        ],
    )


def section_rivals(bench):
    """Held-out score against seconds, everybody with defaults and their own start, which counts."""
    sizes = bench.sizes
    shared = {"rows": min(sizes.own_start_rows, bench.n_rows), "marks": sizes.own_start_marks}
    for n_components, budget in zip(sizes.components, sizes.own_start_seconds, strict=True):
        records = [
            bench.measure(
                "rivals", contestant, "_own_starts:own_start_curve", contestant=contestant, budget=budget,
                n_components=n_components, fields={"n_components": n_components}, **shared,
                **bench.files(held_out=True),
            )
            for contestant in (OWN_STARTS if budget else OWN_ENDS)
        ]  # fmt: skip
        print_table(
            f"Own starts: K={n_components}, {shared['rows']:,} rows, one core; held-out log-likelihood of a patch",
            ["", "passes", "seconds of the processor", "held-out, nats"],
            [[record["label"], passes, number(seconds, ".1f"), number(score)]
             for record in records for passes, seconds, score in record["checkpoints"]],
            notes=rival_notes(records),
        )  # fmt: skip


def section_threads(bench):
    """Two threads on one core and on two, and whether they give the same bits."""
    for n_components in bench.sizes.components:
        rows = []
        for method in bench.sizes.thread_methods:
            records = [
                time_threads(bench, n_components, method, n_jobs, n_cores)
                for n_jobs, n_cores in [(1, 1), (2, 1), (2, 2)] if n_cores <= len(CORES)
            ]  # fmt: skip
            one = records[0]
            rows += [
                [
                    method, record["name"], number(record["seconds"]),
                    number(one["seconds"] / record["seconds"], ".2f"),
                    "the same" if record["digest"] == one["digest"] else "DIFFERENT",
                ]
                for record in records
            ]  # fmt: skip
        print_table(
            f"Threads: K={n_components}, EM, zero means, L=4, {bench.n_rows:,} rows",
            ["", "", "s/pass", "times faster", "bits"], rows, n_left=2,
        )  # fmt: skip


def time_threads(bench, n_components, method, n_jobs, n_cores):
    """Seconds of an epoch of our mixture with some threads on some cores."""
    label = f"n_jobs={n_jobs} on {n_cores} core{'s' * (n_cores > 1)}"
    return bench.measure(
        "threads", f"{method}, K={n_components}, {label}", "sparse_passes", n_cores,
        fields={"name": label, "n_components": n_components, "n_jobs": n_jobs, "n_cores": n_cores},
        **bench.files(), start=bench.start(n_components), rows=bench.n_rows, passes=bench.sizes.passes,
        covariance_type="zero_mean", n_jobs=n_jobs, **(COMMON | {"learning_method": method}),
    )  # fmt: skip


def section_memory(bench):
    """Peak of resident memory beyond the data."""
    n_components = bench.sizes.memory_components
    shared = {"start": bench.start(n_components), **bench.files()}
    records = [
        bench.measure(
            "memory", f"{SPARSE}, {method}, candidates={choice}", "sparse_memory",
            fields={"n_components": n_components, "candidates": choice}, **shared,
            passes=2, covariance_type="zero_mean", **(COMMON | {"learning_method": method, "candidates": choice}),
        )
        for choice in ("all", bench.sizes.candidates) for method in bench.sizes.methods
    ]  # fmt: skip
    records.append(
        bench.measure("memory", RIVAL, "rival_memory", fields={"n_components": n_components}, passes=1, **shared)
    )
    data = bench.n_rows * bench.patches(8)["n_features"] * 4
    print_table(
        f"Peak memory of a fit beyond the {data / 1e6:.0f} MB of data: K={n_components}, L=4, {bench.n_rows:,} rows",
        ["", "MB"], [[record["label"], number(record["bytes"] / 1e6, ".0f")] for record in records],
        notes=rival_notes(records),
    )  # fmt: skip


def section_diagonal(bench):
    """Thousands of diagonal and spherical components in many dimensions."""
    sizes, size = bench.sizes, bench.sizes.diagonal_patch
    n_rows, n_components = bench.patches(size)["n_rows"], sizes.diagonal_components
    rows, rivals = [], []
    for kind in sizes.diagonal_types:
        rival = time_rival(bench, "diagonal", n_components, kind, n_rows, sizes.diagonal_rival_rows, size)
        ours = [
            time_sparse(bench, "diagonal", n_components, kind, n_rows, size, candidates)
            for candidates in ("all", sizes.candidates)
        ]
        rows += [pass_row(record, rival, 0.0)[:6] for record in (*ours, rival)]
        rivals.append(rival)
    print_table(
        f"Diagonal covariances: seconds of a pass, batch EM, L=4, {n_rows:,} rows, D={size * size}, float32, one core",
        ["", "covariance", "K", "s/pass", "times faster", "ns/pair"], rows, n_left=2,
        notes=rival_notes(rivals),
    )  # fmt: skip


SECTIONS = {name.removeprefix("section_"): value for name, value in globals().items() if name.startswith("section_")}


def parse(arguments=None):
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", metavar="DIR", help="folder of 8-bit grey PNG images (needs pillow)")
    parser.add_argument("--n-rows", type=int, help="training rows of 8x8 patches (default: 200000)")
    parser.add_argument("--n-test", type=int, help="held-out patches (default: 20000)")
    parser.add_argument("--components", type=int, help="one K for all sections that have several (default: see --full)")
    parser.add_argument("--own-end", action="store_true", help="section rivals: every fit runs to its own end")
    parser.add_argument("--sections", default=",".join(SECTIONS), help="some of %(default)s")
    add_options(parser)
    parser.add_argument("--plot", metavar="FILE", help="draw the learning curves (needs matplotlib)")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--full", action="store_true", help="K=800 too, more passes, scikit-learn on more rows")
    amount.add_argument("--quick", action="store_true", help="tiny sizes: shows that everything runs, times nothing")
    options = parser.parse_args(arguments)
    options.sections = options.sections.split(",")
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"no section {sorted(unknown)}; there are {', '.join(SECTIONS)}")
    return options


def main():
    """Run the chosen sections; one that fails does not stop the others."""
    options = parse()
    sizes = FULL if options.full else QUICK if options.quick else DEFAULT
    given = {name: getattr(options, name) for name in ("n_rows", "n_test") if getattr(options, name)}
    if options.components:
        given |= dict.fromkeys(("components", "pass_components", "candidate_components"), (options.components,))
        given |= {name: getattr(sizes, name)[-1:] for name in SECONDS}
    if options.own_end:
        given["own_start_seconds"] = (None,) * len(given.get("components", sizes.components))
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            bench = Bench(replace(sizes, **given), options.images, folder, recorder(options))
            for name, value in bench.environment.items():
                print(f"{name}: {value}")
            print(f"data: {bench.patches(8)['source']}", flush=True)
        except MeasurementError as error:
            sys.exit(str(error))
        for name in options.sections:
            try:
                SECTIONS[name](bench)
            except MeasurementError as error:
                failed.append(name)
                print(f"\nsection {name} failed: {error}", flush=True)
    curves = [record for record in bench.records if record["section"] == "learning"]
    if options.plot and curves:
        plot_curves(curves, options.plot, ["held-out log-likelihood of a patch, nats"])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
