"""Fits over blocks: workers, bytes a round, checkpoints, a death, memory, and a model of what clusters would gain.

python benchmarks/scale.py                       20,000 documents that are drawn, K = 100, SparseLDA; two cores
python benchmarks/scale.py --documents 100000 --K 200 --estimator SparseSCVB0LDA --steps 4
python benchmarks/scale.py --cells 100000 --K 50 --passes 4    topics of cells by 100,000 regions on disk; CPU seconds

Every fit runs in its own process, the client on the first core and workers on all. README.md has the rest.
"""

import argparse
import math
import tempfile
from pathlib import Path

from _measure import CORES, MeasurementError, run
from _results import add_options, figures, recorder

# Of the model of a cluster: bytes a second between two workers, and seconds a message takes.
BANDWIDTH, LATENCY = 0.6e9, 5e-3
# The work that the model is printed for: documents, and rounds that an epoch has.
MODEL_DOCUMENTS, MODEL_WORKERS = 10_000_000, (1, 16, 256)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=5_000)
    parser.add_argument("--K", type=int, default=100)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2, help="global steps a pass")
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--estimator", default="SparseLDA", choices=["SparseLDA", "SparseSCVB0LDA"])
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--cells", type=int, help="topics of so many cells instead, by SparseSCVB0LDA")
    parser.add_argument("--regions", type=int, default=100_000)
    parser.add_argument("--regions-per-cell", type=int, default=3000)
    add_options(parser)
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
    """Measure and print."""
    shape = {"n_samples": options.documents, "n_features": options.words}
    corpus = run("_scale_tasks:prepare", CORES[:1], folder=folder, blocks=options.blocks, **shape)
    print(f"{options.documents:,} documents, {corpus['tokens']:,} tokens, {corpus['bytes'] / 1e6:.0f} MB in "
          f"{options.blocks} blocks")
    print(f"{options.estimator}, K={options.K}, {options.passes} passes of {options.steps} steps", flush=True)
    fit = {"folder": folder, "name": options.estimator, "K": options.K, "passes": options.passes}
    blocks = fit | {"steps": options.steps}
    records = [("fit, rows in memory", try_run("_scale_tasks:plain", CORES[:1], **fit)),
               ("blocks, no client", try_run("_scale_tasks:here", CORES[:1], **blocks)),
               ("the same with checkpoints",
                try_run("_scale_tasks:here", CORES[:1], checkpoint=str(Path(folder, "run")), **blocks))]  # fmt: skip
    for n in map(int, options.workers.split(",")):
        records.append((f"workers: {n}", try_run("_scale_tasks:cluster", CORES, n_workers=n, **blocks)))
    records.append(("two workers, one dies", try_run("_scale_tasks:cluster", CORES, n_workers=2, kill=True, **blocks)))
    compare_clusters(dict(records))
    print("checksums of the topics, equal in all fits over blocks:",
          {name: record["checksum"] for name, record in records if record})
    keep(options, [(name, record) for name, record in records if record])
    measured = dict(records)["blocks, no client"]
    if measured is not None:
        print_model(options, measured)


def compare_clusters(records):
    """Efficiency compared with one worker, and seconds lost to a death, into the records."""
    alone = records.get("workers: 1")
    for record in filter(None, records.values()):
        if alone and "n_workers" in record and not record["killed"]:
            record["efficiency"] = alone["seconds"] / record["seconds"] / record["n_workers"]
    alive, dead = records.get("workers: 2"), records.get("two workers, one dies")
    if alive and dead:
        dead["lost_seconds"] = dead["seconds"] - alive["seconds"]


def keep(options, records):
    """Into the files of results, where --record says."""
    kept = recorder(options)
    for name, record in records:
        kept.add(
            "scale", f"drawn, {options.documents:,} documents", options.estimator,
            figures(record, ("seconds", "n_workers")), label=name, split="1,000 documents", prior="defaults", seed=0,
            parameters={"n_components": options.K, "passes": options.passes, "steps": options.steps,
                        "blocks": options.blocks, "n_words": options.words},
            seconds=record["seconds"], memory=record["anonymous"], clock="wall",
        )  # fmt: skip


def try_run(task, cores, **arguments):
    """A record, or None where the child failed, which has said why."""
    try:
        return run(task, cores, **arguments)
    except MeasurementError as error:
        print(error)
        return None


def print_model(options, measured):
    """T = n c / W + 2 log2(W) (B / bandwidth + latency + add) + step, for one step per epoch; the rest measured."""
    c, size = measured["visit_seconds"] / options.documents, measured["sum_bytes"]
    print(f"A MODEL, not a measurement: an epoch over {MODEL_DOCUMENTS:,} documents with one step")
    print(f"measured: {1e6 * c:.1f} us a document, {size:,} bytes a sum, {1e3 * measured['add_seconds']:.1f} ms to add "
          f"two, {1e3 * measured['step_seconds']:.1f} ms a step; assumed: {BANDWIDTH / 1e9} GB/s and "
          f"{1e3 * LATENCY:.0f} ms between two workers")  # fmt: skip
    for workers in MODEL_WORKERS:
        levels = 2 * math.log2(workers)
        seconds = MODEL_DOCUMENTS * c / workers + measured["step_seconds"]
        seconds += levels * (size / BANDWIDTH + LATENCY + measured["add_seconds"])
        print(f"{workers} workers: {seconds:.1f} s, efficiency {MODEL_DOCUMENTS * c / workers / seconds:.0%}")


if __name__ == "__main__":
    main()
