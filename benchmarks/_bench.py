"""How much is measured, and what the measurements of one run share: patches, starts, records."""

import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from _measure import CORES, run
from _results import figures


@dataclass(frozen=True)
class Sizes:
    """How much is measured; tuples other than ``components`` hold one value for each K."""

    n_rows: int = 200_000
    n_test: int = 20_000
    components: tuple = (100, 400)
    pass_components: tuple = (100, 400)
    passes: int = 4
    rival_passes: int = 2
    rival_pairs: int = 20_000_000  # rows times components that scikit-learn is timed on
    nonzeros: tuple = (1, 2, 4, 16, None)
    sparsity_share: float = 0.5  # of the rows
    sparsity_passes: tuple = (20, 7)
    own_start_rows: int = 100_000
    own_start_marks: tuple = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 50, 70, 100)
    own_start_seconds: tuple = (40, 60)
    candidate_components: tuple = (100, 400, 1_000, 2_000, 5_000)
    dense_at_most: int = 400  # components of a dense pass compared with one with candidates
    candidate_passes: int = 17  # two periods of the search
    candidates: int = 4
    memory_components: int = 400
    methods: tuple = ("batch", "memoized", "online")
    thread_methods: tuple = ("batch", "memoized")
    diagonal_types: tuple = ("diag", "spherical")
    kmeans_passes: int = 3
    diagonal_patch: int = 16
    diagonal_components: int = 1_000
    diagonal_rows: int = 100_000
    diagonal_rival_rows: int = 20_000


DEFAULT = Sizes()
FULL = replace(
    DEFAULT, pass_components=(100, 400, 800), passes=8,
    rival_passes=3, rival_pairs=80_000_000, sparsity_share=1.0,
    sparsity_passes=(20, 20),
)  # fmt: skip
QUICK = Sizes(
    n_rows=2_000, n_test=200, components=(6,), pass_components=(6,), passes=2, rival_passes=1, rival_pairs=9_000,
    nonzeros=(2, None), sparsity_share=1.0, sparsity_passes=(2,), own_start_seconds=(0.2,), memory_components=6,
    methods=("online",), thread_methods=("memoized",),
    candidate_components=(20,), candidate_passes=2, candidates=1, diagonal_types=("diag",), diagonal_patch=8,
    diagonal_components=6, diagonal_rival_rows=500,
)  # fmt: skip


# Of a task's arguments those that say where things are, and what is known of the record otherwise.
PLACES = ("train", "test", "start", "out", "marks", "rows", "n_jobs", "contestant")


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
        result = run(task if ":" in task else f"_tasks:{task}", CORES[:n_cores], **arguments)
        if error := result.get("error"):
            print(f"{label} ended early: {error}", file=sys.stderr)
        if result.get("seconds", 0.0) is not None:  # else the package is missing, or no epoch ended
            self.keep(section, label, task, arguments, dict(fields) | result)

    def keep(self, section, label, task, arguments, record):
        """What of a record is kept, where --record says."""
        of_task = {"rival": "GaussianMixture", "kmeans": "faiss"}.get(task.partition("_")[0], "SparseGaussianMixture")
        estimator = arguments.get("contestant", of_task)
        own = "contestant" in arguments  # start and defaults, by the processor's clock
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
            prior="defaults" if own else "the same start", seed=0,
            split=f"{self.sizes.n_test:,} rows of other images" if own else None,
            seconds=record.get("seconds", curve[-1]["seconds"] if curve else None), memory=record.get("bytes"),
            clock="processor" if own else "wall", tuned_on=["patches"] if estimator == "SparseGaussianMixture" else [],
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
