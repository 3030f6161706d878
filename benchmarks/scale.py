"""Fits over blocks: workers, bytes on the wire, checkpoints, a death, memory.

python benchmarks/scale.py                       20,000 documents that are drawn, K = 100, SparseLDA; two cores
python benchmarks/scale.py --documents 100000 --K 200 --estimator SparseSCVB0LDA --steps 4
python benchmarks/scale.py --wire                bytes on the wire with 1, 2 and 4 workers (Linux)
python benchmarks/scale.py --wire --estimator SparseGaussianMixture --documents 48000 --words 64 --K 300 --steps 1
python benchmarks/scale.py --cells 100000 --K 50 --passes 4    topics of cells by 100,000 regions on disk; CPU seconds

Every fit runs in its own process, the client on the first core and workers on all. README.md has the rest.
"""

import tempfile
from pathlib import Path

from _measure import CORES, attempt, run
from _results import figures, parser_of, recorder


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=5_000)
    parser.add_argument("--K", type=int, default=100)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2, help="global steps a pass")
    parser.add_argument("--wire", action="store_true", help="only bytes on the wire")
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--estimator", default="SparseLDA",
                        choices=["SparseLDA", "SparseSCVB0LDA", "SparseGaussianMixture"])
    parser.add_argument("--cells", type=int, help="topics of this number of cells instead, by SparseSCVB0LDA")
    parser.add_argument("--regions", type=int, default=100_000)
    parser.add_argument("--regions-per-cell", type=int, default=3000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (report if options.cells is None else report_cells)(options, folder)


def report_cells(options, folder):
    """Cells on disk: seconds, memory, and whether the known topics were found."""
    shape = {"n_samples": options.cells, "n_features": options.regions, "n_components": options.K}
    made = run("_cells_on_disk:prepare", CORES[:1], folder=folder, regions_per_cell=options.regions_per_cell, **shape)
    megabytes = made["bytes"] / 1e6
    print(f"{options.cells:,} cells, {made['tokens']:,} open regions, {megabytes:,.0f} MB on disk", flush=True)
    record = run("_cells_on_disk:fit", CORES[:1], folder=folder, K=options.K, passes=options.passes)
    recorder(options).add(
        "cells-on-disk", f"{options.cells:,} cells, {made['tokens']:,} open regions", "SparseSCVB0LDA",
        figures(record, ("cpu_seconds", "passes")) | {"file_bytes": made["bytes"]}, label="over blocks",
        split="in sample", prior="defaults", seed=0,
        parameters={"n_components": options.K, "passes": options.passes, "n_regions": options.regions},
        seconds=record["cpu_seconds"], memory=record["anonymous"], clock="processor",
    )  # fmt: skip


def report(options, folder):
    shape = {"n_samples": options.documents, "n_features": options.words}
    corpus = run(
        "_scale_tasks:prepare", CORES[:1], folder=folder, name=options.estimator, blocks=options.blocks, **shape
    )
    print(f"{options.documents:,} rows, {corpus['tokens']:,} tokens or numbers, {corpus['bytes'] / 1e6:.0f} MB in "
          f"{options.blocks} blocks")
    print(f"{options.estimator}, K={options.K}, {options.passes} passes of {options.steps} steps", flush=True)
    fit = {"folder": folder, "name": options.estimator, "K": options.K, "passes": options.passes,
           "n_blocks": options.blocks}  # fmt: skip
    blocks = fit | {"steps": options.steps}
    cases = {
        "fit, rows in memory": ("plain", fit), "blocks, no client": ("here", blocks),
        "the same with checkpoints": ("here", blocks | {"checkpoint": str(Path(folder, "run"))}),
        "workers: 1": ("cluster", blocks | {"n_workers": 1}), "workers: 2": ("cluster", blocks | {"n_workers": 2}),
        "two workers, one dies": ("cluster", blocks | {"n_workers": 2, "kill": True}),
    }  # fmt: skip
    if options.wire:
        cases = {f"workers: {n}": ("cluster", blocks | {"n_workers": n}) for n in (1, 2, 4)}
    measured = {name: attempt(name, f"_scale_tasks:{task}", CORES if task == "cluster" else CORES[:1], **arguments)
                for name, (task, arguments) in cases.items()}  # fmt: skip
    records = {name: record for name, record in measured.items() if record}
    if not options.wire:
        compare_clusters(records)
    print("checksums of topics or means, equal in all fits over blocks:",
          {name: record["checksum"] for name, record in records.items()})  # fmt: skip
    keep(options, records)


def compare_clusters(records):
    """Efficiency compared with one worker, where each has a core, and seconds lost to a death, into the records."""
    alone = records.get("workers: 1")
    for record in records.values():
        if alone and not record.get("killed", True) and record["n_workers"] <= len(CORES):
            record["efficiency"] = alone["seconds"] / record["seconds"] / record["n_workers"]
    alive, dead = records.get("workers: 2"), records.get("two workers, one dies")
    if alive and dead:
        dead["lost_seconds"] = dead["seconds"] - alive["seconds"]


def keep(options, records):
    """Into the files of results, where --record says."""
    kept = recorder(options)
    rows = "rows" if options.estimator == "SparseGaussianMixture" else "documents"
    about = {"prior": "defaults", "seed": 0, "clock": "wall", "parameters": {
        "n_components": options.K, "passes": options.passes, "steps": options.steps, "blocks": options.blocks,
        "n_words": options.words,
    }}  # fmt: skip
    for name, record in records.items():
        if options.wire:  # no seconds: workers may share cores
            scores = {key: record[key] for key in ("sum_bytes", "wire_bytes", "wire_round_bytes", "wire_sums")}
            corpus = f"drawn, {options.documents:,} {rows}"
            kept.add("scale-wire", corpus, options.estimator, scores, label=name, **about)
            continue
        kept.add(
            "scale", f"drawn, {options.documents:,} {rows}", options.estimator,
            figures(record, ("seconds", "n_workers")), label=name, split=f"1,000 {rows}",
            seconds=record["seconds"], memory=record["anonymous"], **about,
        )  # fmt: skip


if __name__ == "__main__":
    main()
