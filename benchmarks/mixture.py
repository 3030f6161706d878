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
from _results import add_options, recorder

SPARSE, RIVAL = "SparseGaussianMixture", "scikit-learn GaussianMixture"
SECONDS = ("sparsity_passes", "own_start_seconds")  # one for each K
OWN_STARTS = (SPARSE, "GaussianMixture", "MiniBatchKMeans, GaussianMixture")
OWN_ENDS = OWN_STARTS[:2]  # the last runs until its budget ends
COMMON = {"inference": "em", "learning_method": "batch", "n_nonzero": 4, "candidates": "all"}


def passes_of_ours(bench, section, label, n_components, covariance_type="zero_mean", size=8, n_cores=1, **given):
    """Seconds of an epoch of our mixture; more arguments are parameters of it, or of the task."""
    dense = given.get("candidates", "all") == "all"
    start = covariance_type if covariance_type in ("diag", "spherical") else "zero_mean"  # one for all full ones
    bench.measure(
        section, label, "sparse_passes", n_cores, fields={"n_components": n_components},
        **{"start": bench.start(n_components, start, size), "rows": bench.patches(size)["n_rows"],
           "passes": bench.sizes.passes if dense else bench.sizes.candidate_passes,
           "covariance_type": covariance_type, **bench.files(size), **COMMON, **given},
    )  # fmt: skip


def passes_of_rival(bench, section, n_components, covariance_type, at_most, size=8):
    """Seconds of an epoch of scikit-learn's mixture, on a part of the rows if there are many."""
    start = covariance_type if covariance_type in ("diag", "spherical") else "zero_mean"
    bench.measure(
        section, f"{RIVAL} {covariance_type}, K={n_components}", "rival_passes", fields={"n_components": n_components},
        **bench.files(size), start=bench.start(n_components, start, size), covariance_type=covariance_type,
        rows=min(bench.patches(size)["n_rows"], max(at_most, 2 * n_components)), passes=bench.sizes.rival_passes,
    )  # fmt: skip


def section_pass(bench):
    """Seconds of an epoch."""
    for n_components in bench.sizes.pass_components:
        passes_of_rival(bench, "pass", n_components, "full", bench.sizes.rival_pairs // n_components)
        for kind in ("zero_mean", "full"):
            passes_of_ours(bench, "pass", f"{SPARSE} {kind}, K={n_components}", n_components, kind)


def section_phases(bench):
    """Parts of an epoch, with the weights of all components and with short lists."""
    sizes = bench.sizes
    dense = [(n_components, "all") for n_components in sizes.components]
    for n_components, choice in [*dense, *((k, sizes.candidates) for k in sizes.candidate_components)]:
        bench.measure(
            "phases", f"K={n_components}, candidates={choice}", "sparse_phases", fields={"n_components": n_components},
            **bench.files(), start=bench.start(n_components), rows=bench.n_rows,
            passes=max(2, sizes.passes) if choice == "all" else sizes.candidate_passes,
            covariance_type="zero_mean", **(COMMON | {"candidates": choice}),
        )  # fmt: skip


def section_candidates(bench):
    """Seconds of an epoch against the number of components: all weights, short lists, and assignment by faiss."""
    sizes = bench.sizes
    for n_components in sizes.candidate_components:
        for choice in [sizes.candidates, *(["all"] if n_components <= sizes.dense_at_most else [])]:
            passes_of_ours(
                bench, "candidates", f"K={n_components}, candidates={choice}", n_components, candidates=choice,
                passes=sizes.candidate_passes, **bench.files(held_out=True),
            )  # fmt: skip
        bench.measure(
            "candidates", f"K={n_components}, faiss k-means", "kmeans_passes", fields={"n_components": n_components},
            **bench.files(), n_components=n_components, rows=bench.n_rows, passes=sizes.kmeans_passes,
        )  # fmt: skip


def section_sparsity(bench):
    """Seconds and held-out score by L."""
    n_rows = round(bench.n_rows * bench.sizes.sparsity_share)
    for n_components, passes in zip(bench.sizes.components, bench.sizes.sparsity_passes, strict=True):
        for n_nonzero in bench.sizes.nonzeros:
            passes_of_ours(
                bench, "sparsity", f"K={n_components}, L={n_nonzero or 'K'}", n_components, rows=n_rows, passes=passes,
                n_nonzero=n_nonzero, learning_method="memoized", **bench.files(held_out=True),
            )  # fmt: skip


def section_rivals(bench):
    """Held-out score against seconds, each with its defaults and its own initialisation, which counts."""
    sizes = bench.sizes
    for n_components, budget in zip(sizes.components, sizes.own_start_seconds, strict=True):
        for contestant in OWN_STARTS if budget else OWN_ENDS:
            bench.measure(
                "rivals", contestant, "_own_starts:own_start_curve", contestant=contestant, budget=budget,
                n_components=n_components, fields={"n_components": n_components}, marks=sizes.own_start_marks,
                rows=min(sizes.own_start_rows, bench.n_rows), **bench.files(held_out=True),
            )  # fmt: skip


def section_threads(bench):
    """Two threads on one core and on two."""
    for n_components in bench.sizes.components:
        for method in bench.sizes.thread_methods:
            for n_jobs, n_cores in [(1, 1), (2, 1), (2, 2)]:
                if n_cores <= len(CORES):
                    label = f"{method}, K={n_components}, n_jobs={n_jobs} on {n_cores} core{'s' * (n_cores > 1)}"
                    passes_of_ours(bench, "threads", label, n_components, n_cores=n_cores, n_jobs=n_jobs,
                                   learning_method=method)  # fmt: skip


def section_memory(bench):
    """Peak of resident memory beyond the data."""
    n_components = bench.sizes.memory_components
    shared = {"fields": {"n_components": n_components}, "start": bench.start(n_components), **bench.files()}
    for choice in ("all", bench.sizes.candidates):
        for method in bench.sizes.methods:
            bench.measure(
                "memory", f"{SPARSE}, {method}, candidates={choice}", "sparse_memory", **shared, passes=2,
                covariance_type="zero_mean", **(COMMON | {"learning_method": method, "candidates": choice}),
            )  # fmt: skip
    bench.measure("memory", RIVAL, "rival_memory", passes=1, **shared)


def section_diagonal(bench):
    """Thousands of diagonal and spherical components in many dimensions."""
    sizes, size = bench.sizes, bench.sizes.diagonal_patch
    for kind in sizes.diagonal_types:
        passes_of_rival(bench, "diagonal", sizes.diagonal_components, kind, sizes.diagonal_rival_rows, size)
        for candidates in ("all", sizes.candidates):
            name = SPARSE if candidates == "all" else f"{SPARSE}, candidates"
            passes_of_ours(bench, "diagonal", f"{name} {kind}, K={sizes.diagonal_components}",
                           sizes.diagonal_components, kind, size, candidates=candidates)  # fmt: skip


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
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--full", action="store_true", help="K=800 too, more passes, scikit-learn on more rows")
    amount.add_argument("--quick", action="store_true", help="tiny sizes: shows that everything runs, times nothing")
    options = parser.parse_args(arguments)
    options.sections = options.sections.split(",")
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"no section {sorted(unknown)}; there are {', '.join(SECTIONS)}")
    return options


def main():
    """Run the chosen sections; one that fails does not stop the run."""
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
        except MeasurementError as error:
            sys.exit(str(error))
        for name in options.sections:
            try:
                SECTIONS[name](bench)
            except MeasurementError as error:
                failed.append(name)
                print(f"\nsection {name} failed: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
