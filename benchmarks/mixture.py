"""Mixtures of hundreds of Gaussians on image patches: seconds, held-out scores and memory, compared with scikit-learn.

python benchmarks/mixture.py                     the two photographs that scikit-learn bundles
python benchmarks/mixture.py --images DIR        8-bit grey PNG images, some of them held out

Every measurement runs in its own process, pinned to one core (two for rows of two threads). All fits of one K start
from the same parameters.
"""

import sys
import tempfile
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace

from _measure import CORES, MeasurementError, run
from _results import figures, parser_of, recorder, sizes_of

SPARSE, RIVAL = "SparseGaussianMixture", "scikit-learn GaussianMixture"
SECONDS = ("sparsity_passes", "own_start_seconds")  # one for each K
# Contestants with starts of their own, and what differs from their defaults. Patches less their means have no variance
# in one direction, and with the default ridge of 1e-6 float32 rows end in an error. A ridge of 1e-3 ends 4 nats lower.
OWN_STARTS = {
    SPARSE: (SPARSE, {}), "GaussianMixture": ("GaussianMixture", {"reg_covar": 1e-5}),
    "MiniBatchKMeans, GaussianMixture": ("MiniBatchKMeans, GaussianMixture", {"reg_covar": 1e-5}),
}  # fmt: skip
OWN_ENDS = {name: OWN_STARTS[name] for name in (SPARSE, "GaussianMixture")}  # the last runs until its budget ends
LONGEST = 1200.0  # seconds of the processor after which a fit that has not ended is left
COMMON = {"inference": "em", "learning_method": "batch", "n_nonzero": 4, "candidates": "all"}
# Arguments of a task that name places, or what a record has in another field.
PLACES = ("train", "test", "start", "out", "rows", "n_jobs", "contestant", "seed")


# How much is measured: by default, and by --quick. Tuples other than ``components`` hold one value for each K.
SIZES = {
    "n_rows": (200_000, 2_000), "n_test": (20_000, 200), "components": ((100, 400), (6,)), "passes": (4, 2),
    "rival_passes": (2, 1), "rival_pairs": (20_000_000, 9_000),  # rows times components that scikit-learn is timed on
    "nonzeros": ((1, 2, 4, 16, None), (2, None)), "sparsity_share": (0.5, 1.0),  # of the rows
    "sparsity_passes": ((20, 7), (2,)), "own_start_rows": (100_000, 100_000), "own_start_seconds": ((40, 60), (0.2,)),
    "candidate_components": ((100, 400, 1_000, 2_000, 5_000), (20,)), "candidates": (4, 1),
    "candidate_passes": (17, 2),  # two periods of the search
    "dense_at_most": (400, 400),  # components of a dense epoch compared with one with candidates
    "memory_components": (400, 6), "methods": (("batch", "memoized", "online"), ("online",)),
    "thread_methods": (("batch", "memoized"), ("memoized",)), "diagonal_types": (("diag", "spherical"), ("diag",)),
    "diagonal_patch": (16, 8), "diagonal_components": (1_000, 6), "diagonal_rows": (100_000, 100_000),
    "diagonal_rival_rows": (20_000, 500),
}  # fmt: skip


class Bench:
    """Data, common starts and records of one run; ``folder`` holds what the children share."""

    def __init__(self, sizes, images, folder, recorder):
        self.sizes = sizes
        self.images = images
        self.folder = Path(folder)
        self.recorder = recorder
        self.patches = cache(self._patches)
        self.start = cache(self._start)

    def measure(self, section, label, task, n_cores=1, fields=(), **arguments):
        """One measurement, announced on stderr and kept as a record."""
        print(f"{section}: {label} ...", file=sys.stderr)
        result = run(f"_mixture_tasks:{task}", CORES[:n_cores], **arguments)
        if error := result.get("error"):
            print(f"{label} ended early: {error}", file=sys.stderr)
        if result.get("seconds", 0.0) is not None:  # else no epoch ended
            self.keep(section, label, task, arguments, dict(fields) | result)

    def keep(self, section, label, task, arguments, record):
        """What of a record is kept, where --record says."""
        of_task = "GaussianMixture" if task.startswith("rival") else SPARSE
        estimator = arguments.get("contestant", of_task)
        own = "contestant" in arguments  # start and defaults, by seconds of the processor
        n_rows = arguments.get("rows", self.n_rows)  # that were measured
        parameters = {name: value for name, value in arguments.items() if name not in PLACES}
        shown = {name: record[name] for name in ("n_components", "n_jobs", "n_cores") if name in record}
        scores = figures(record, ("seconds", "bytes", *shown, *parameters, "n_rows", "pairs", "measured_rows"))
        if task.endswith("_passes") and record["seconds"]:
            scores["us_row"] = round(1e6 * record["seconds"] / n_rows, 4)
        scores |= {f"seconds_{name.replace(' ', '_')}": round(spent, 4)
                   for name, spent in record.get("phases", {}).items()}  # fmt: skip
        curve = [{"passes": p, "seconds": round(s, 4), "score": round(score, 4)}
                 for p, s, score in record.get("checkpoints", [])]  # fmt: skip
        end = {"score": curve[-1]["score"]} if curve else {}
        self.recorder.add(
            f"mixture-{section}", f"patches of {self.patches(8)['source']}, {n_rows:,} rows",
            estimator, scores | end, label=label, parameters=parameters | shown,
            prior="defaults" if own else "the same start", seed=arguments.get("seed", 0),
            split=f"{self.sizes.n_test:,} rows of other images" if own else None,
            seconds=record.get("seconds", curve[-1]["seconds"] if curve else None), memory=record.get("bytes"),
            clock="processor" if own else "wall", tuned_on=["patches"] if estimator == SPARSE else [],
            **({"curve": curve} if curve else {}),
        )  # fmt: skip

    def files(self, size=8, held_out=False):
        """Paths of the patches, as tasks take them."""
        self.patches(size)
        paths = self._paths(size)
        return paths if held_out else {"train": paths["train"]}

    def _paths(self, size):
        return {name: str(self.folder / f"{name}{size}.npy") for name in ("train", "test")}

    def _patches(self, size):
        n_rows = self.sizes.n_rows if size == 8 else self.sizes.diagonal_rows
        return run(
            "_patches:write_patches", CORES, images=self.images, size=size, n_rows=n_rows, n_test=self.sizes.n_test,
            **self._paths(size),
        )  # fmt: skip

    def _start(self, n_components, covariance_type="zero_mean", size=8):
        out = str(self.folder / f"start-{covariance_type}-{n_components}.npz")
        # a subset to draw from: the divergences of diagonal families are slow, and a start for timing may be poor
        n_rows = None if covariance_type == "zero_mean" else 5 * n_components
        run(
            "_patches:write_start", CORES, **self.files(size), n_components=n_components,
            covariance_type=covariance_type, n_rows=n_rows, out=out,
        )  # fmt: skip
        return out

    @property
    def n_rows(self):
        """Training rows of 8x8 patches; the photographs may give fewer than were asked for."""
        return self.patches(8)["n_rows"]


def passes_of_ours(bench, section, label, n_components, covariance_type="zero_mean", size=8, n_cores=1, **more):
    """Seconds of an epoch of our mixture; more arguments are parameters of it, or of the task."""
    dense = more.get("candidates", "all") == "all"
    start = covariance_type if covariance_type in ("diag", "spherical") else "zero_mean"  # one for all full ones
    bench.measure(
        section, label, "sparse_passes", n_cores, fields={"n_components": n_components},
        **{"start": bench.start(n_components, start, size), "rows": bench.patches(size)["n_rows"],
           "passes": bench.sizes.passes if dense else bench.sizes.candidate_passes,
           "covariance_type": covariance_type, **bench.files(size), **COMMON, **more},
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
    for n_components in bench.sizes.components:
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
    """Seconds of an epoch against the number of components: all weights, short lists."""
    sizes = bench.sizes
    for n_components in sizes.candidate_components:
        for choice in [sizes.candidates, *(["all"] if n_components <= sizes.dense_at_most else [])]:
            passes_of_ours(
                bench, "candidates", f"K={n_components}, candidates={choice}", n_components, candidates=choice,
                passes=sizes.candidate_passes, **bench.files(held_out=True),
            )  # fmt: skip


def section_sparsity(bench):
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
        contestants = OWN_ENDS if budget == LONGEST else OWN_STARTS
        for (label, (contestant, parameters)), seed in product(contestants.items(), range(sizes.own_start_seeds)):
            bench.measure(
                "rivals", label, "own_start_curve", contestant=contestant, budget=budget, seed=seed,
                n_components=n_components, fields={"n_components": n_components}, **parameters,
                rows=min(sizes.own_start_rows, bench.n_rows), **bench.files(held_out=True),
            )  # fmt: skip


def section_threads(bench):
    for n_components in bench.sizes.components:
        for method in bench.sizes.thread_methods:
            for n_jobs, n_cores in [(1, 1), (2, 1), (2, 2)]:
                if n_cores <= len(CORES):
                    label = f"{method}, K={n_components}, n_jobs={n_jobs} on {n_cores} core{'s' * (n_cores > 1)}"
                    passes_of_ours(bench, "threads", label, n_components, n_cores=n_cores, n_jobs=n_jobs,
                                   learning_method=method)  # fmt: skip


def section_memory(bench):
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
    parser = parser_of(__doc__)
    parser.add_argument("--images", metavar="DIR", help="folder of 8-bit grey PNG images (needs pillow)")
    parser.add_argument("--n-test", type=int, help="held-out patches (default: 20000)")
    parser.add_argument("--components", type=int, help="one K for all sections that have several")
    parser.add_argument("--own-end", action="store_true",
                        help=f"section rivals: every fit runs to its own end, or for {LONGEST:g} s")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=1, help="section rivals: fits of each (default: 1)")
    parser.add_argument("--sections", default=",".join(SECTIONS), help="some of %(default)s")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that everything runs, times nothing")
    options = parser.parse_args(arguments)
    options.sections = options.sections.split(",")
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"no section {sorted(unknown)}; there are {', '.join(SECTIONS)}")
    return options


def sizes(options):
    """How much is measured, by the command line."""
    given = {"n_test": options.n_test} if options.n_test else {}
    if options.components:
        given |= dict.fromkeys(("components", "candidate_components"), (options.components,))
        given |= {name: SIZES[name][options.quick][-1:] for name in SECONDS}
    if options.own_end:
        given["own_start_seconds"] = (LONGEST,) * len(given.get("components", SIZES["components"][options.quick]))
    return SimpleNamespace(**vars(sizes_of(SIZES, options.quick, **given)), own_start_seeds=options.seeds)


def main():
    """Run the chosen sections; one that fails does not stop the run."""
    options, failed = parse(), []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sizes(options), options.images, folder, recorder(options))
        for name in options.sections:
            try:
                SECTIONS[name](bench)
            except MeasurementError as error:
                failed.append(name)
                print(f"\nsection {name} failed: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
