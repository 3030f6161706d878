"""Topics of cells by regions, wide and long binary rows with known topics, compared with tomotopy.

python benchmarks/cells.py                             2,000 cells, 20,000 regions, 1,000 open in a cell
python benchmarks/cells.py --full --K 50,200           20,000 cells, 100,000 regions, 3,000 open in a cell
python benchmarks/cells.py --full --cells 5000         5,000 such cells

Every contestant runs in its own process, pinned to one core, the same cells and the same evaluation. Ours has its
defaults. README.md has the rest.
"""

import json
import sys
import tempfile
from importlib.util import find_spec

from _measure import CORES, MeasurementError, attempt, run
from _results import by_commas, parser_of, recorder
from topics import NOT_PARAMETERS, PEERS, names, ours, peer

SIZES = {False: (2_000, 20_000, 1_000), True: (20_000, 100_000, 3_000)}
N_TEST = 300


def contestants(options, n_components):
    """Labels, and what a child needs to make each contestant."""
    own = {"SparseSCVB0LDA": ours("SparseSCVB0LDA", **options.params)} if options.ours else {}
    return own | {name: peer(name, "5/K", n_components) for name in options.peers}


def measure(options, n_components, folder, keep):
    n_cells, n_regions, each = SIZES[options.full]
    n_cells = options.cells or n_cells
    corpus = run(
        "_cells_tasks:prepare", options.cores, n_threads=1, n_cells=n_cells, n_regions=n_regions, regions_per_cell=each,
        n_test=N_TEST, n_components=n_components, folder=folder,
    )  # fmt: skip
    name = f"made cells, {n_cells:,} by {n_regions:,} regions"
    print(f"{name}: {corpus['n_entries']:,} ones, K={n_components}", flush=True)
    setting = {
        "n_components": n_components, "doc_topic_prior": min(0.1, 5.0 / n_components), "topic_word_prior": None,
        "seed": 0,
    }  # fmt: skip
    for label, contestant in contestants(options, n_components).items():
        result = attempt(
            label, "_cells_tasks:curve", options.cores, n_threads=1, folder=folder, contestant=contestant,
            setting=setting, seconds=options.seconds, of_processor=options.cpu,
        )  # fmt: skip
        if result is None:
            continue
        curve = [{"passes": p, "seconds": round(s, 2), "nats": round(nats, 4), "shares": round(shares, 3),
                  "apart": round(apart, 3)} for p, s, nats, shares, apart in result["checkpoints"]]  # fmt: skip
        end = curve[-1] | {"tokens_per_second": result["tokens_per_second"]}
        own = {key: value for key, value in contestant.items() if key not in NOT_PARAMETERS}
        keep.add(
            "cells", name, label, scores={key: value for key, value in end.items() if key != "seconds"}, label=label,
            parameters={"n_components": n_components, "budget": options.seconds, **own}, prior="5/K", seed=0,
            split=f"{N_TEST} cells, a fifth of their regions", seconds=end["seconds"],
            clock="processor" if options.cpu else "wall", curve=curve, memory=result["bytes"],
        )  # fmt: skip


def parse(arguments=None):
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("--full", action="store_true", help="20,000 cells of 3,000 among 100,000 regions")
    add("--cells", type=int, help="another number of cells")
    add("--K", type=by_commas(int), default=[50], help="by commas (default: 50)")
    add("--seconds", type=float, default=20.0, help="of training for each contestant (default: %(default)g)")
    add("--peers", type=names(PEERS), default=None, help="by commas, or none (default: tomotopy, if installed)")
    add("--no-ours", dest="ours", action="store_false", help="other packages alone")
    add("--params", type=json.loads, default={}, metavar="JSON", help="parameters of ours")
    add("--cpu", action="store_true", help="seconds of the processor, for a machine with other work")
    add("--cores", type=by_commas(int), default=CORES[:1], help="number of the core to use")
    options = parser.parse_args(arguments)
    if options.peers is None:
        options.peers = ["tomotopy"] if find_spec("tomotopy") else []
    return options


def main():
    options = parse()
    keep = recorder(options)
    for n_components in options.K:
        with tempfile.TemporaryDirectory() as folder:
            try:
                measure(options, n_components, folder, keep)
            except MeasurementError as error:
                sys.exit(str(error))


if __name__ == "__main__":
    main()
