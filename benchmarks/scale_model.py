"""How long an epoch over blocks takes on many machines: a formula of measured terms, and a simulation.

python benchmarks/scale_model.py --terms     measure the terms with 100,000 rows and two numbers of components; one core
python benchmarks/scale_model.py --check     CPU seconds of a round of three other fits, and what the terms predict
python benchmarks/scale_model.py             the simulation, from the recorded terms

``forecast`` has the formula. Network, threads and deaths are assumed: ``NETWORK``, ``LATENCY``, ``THREADS``.
"""

import heapq
import math
import tempfile

import numpy as np
from _measure import CORES, attempt, run
from _results import figures, parser_of, read, recorder

NETWORK, LATENCY = 1.25e9, 1e-3  # bytes and seconds of a message between machines
THREADS = 32  # of a worker, which is a machine; they share its visits without loss
DEATH = 1.7  # seconds that a killed worker cost, measured
BLOCKS = 8  # of a step, for each worker
NAME, SIZES = "SparseGaussianMixture", (100, 1_000)
CHECKS = [(500, 200_000, 1), (500, 200_000, 2), (300, 400_000, 3)]  # K, rows, workers; 16 blocks, 64 columns


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--terms", action="store_true", help="measure the terms")
    parser.add_argument("--check", action="store_true", help="compare with three fits")
    options = parser.parse_args()
    kept = recorder(options)
    (measure if options.terms else check if options.check else simulate)(kept)


def measure(kept):
    """Terms of Gaussians of 64 columns, "full", and of the tasks of Dask."""
    tasks = attempt("tasks", "_scale_terms:of_tasks", CORES[:1])
    with tempfile.TemporaryDirectory() as folder:
        run("_scale_tasks:prepare", CORES[:1], folder=folder, name=NAME, n_samples=100_000, n_features=64, blocks=8)
        for K in SIZES:
            terms = run("_scale_terms:of_fit", CORES[:1], folder=folder, name=NAME, K=K, n_blocks=8, steps=1)
            kept.add("scale-terms", "drawn, 100,000 rows", NAME, figures(terms) | tasks, label=f"K = {K}", seed=0,
                     parameters={"n_components": K})  # fmt: skip


def terms_of(records, K):
    """Terms for K components: straight lines through those measured."""
    low, high = (next(r["scores"] for r in records if r["parameters"]["n_components"] == size) for size in SIZES)
    share = (K - SIZES[0]) / (SIZES[1] - SIZES[0])
    grow = ("row", "sum_bytes", "freeze", "thaw", "add", "step")
    return low | {name: low[name] + share * (high[name] - low[name]) for name in grow}


def cpu_of_round(t, rows, n_tasks, n_workers):
    """CPU seconds of a steady round, all processes together."""
    adds = n_tasks - 1
    visits = rows * t["row"] + n_tasks * t["freeze"]
    tree = adds * (2.0 * t["thaw"] + t["add"] + t["freeze"])
    steps = (n_workers + 1) * (t["thaw"] + t["step"])  # the client makes the step too
    wire = (2 * n_workers - 1) * t["sum_bytes"] * t["byte"]
    return visits + tree + steps + wire + (3 * n_tasks + adds) * t["task"]


def check(kept):
    """Measured and predicted CPU seconds, which other work on the machine changes less than seconds by the clock."""
    records = read("scale-terms", *([kept.folder] if kept.folder else []))
    for K, rows, n_workers in CHECKS:
        with tempfile.TemporaryDirectory() as folder:
            run("_scale_tasks:prepare", CORES[:1], folder=folder, name=NAME, n_samples=rows, n_features=64, blocks=16)
            fit = run("_scale_tasks:cluster", CORES, folder=folder, name=NAME, K=K, passes=12, n_blocks=16, steps=1,
                      n_workers=n_workers)  # fmt: skip
        measured = fit["round_cpu_seconds"]
        wanted = cpu_of_round(terms_of(records, K), rows, tasks_of(16, n_workers, rows, records, K), n_workers)
        kept.add("scale-check", f"drawn, {rows:,} rows", NAME, {
            "measured": measured, "predicted": wanted, "off": wanted / measured - 1.0,
        }, label=f"K = {K}, {rows:,} rows, workers: {n_workers}", seed=0, parameters={"n_components": K})  # fmt: skip


def tasks_of(n_units, n_workers, rows, records, K):
    """Tasks of a step: small blocks share one."""
    from sparsemix.blocks._cluster import branch_size

    return math.ceil(n_units / branch_size(n_units, n_workers, rows / n_units * terms_of(records, K)["row"]))


def forecast(t, rows, n_machines, threads=THREADS):
    """Seconds of a round by its parts; workers fetch the last sum from each other (tree), or all from one (star)."""
    depth, move = math.ceil(math.log2(n_machines)), t["sum_bytes"] / NETWORK + LATENCY
    hop = move + t["add"] + 2.0 * t["thaw"] + t["freeze"]
    return {
        "visits": rows * t["row"] / (n_machines * threads), "up": (depth + BLOCKS.bit_length() - 1) * hop,
        "down_tree": depth * move, "down_star": (n_machines - 1) * move,
        "client": move + t["thaw"] + t["step"], "worker": t["thaw"] + t["step"],
        "tasks": 4 * BLOCKS * n_machines * t["task"],
    }  # fmt: skip


def rest_of(parts):
    """Seconds of a round that more machines do not shorten."""
    return sum(parts[name] for name in ("up", "down_tree", "client", "worker", "tasks"))


def slowest(rng, seconds, n_machines, spread, deaths_an_hour=0.0, repeats=20):
    """Mean seconds until all visits end: each worker takes the next block; lognormal seconds; the dead lose theirs."""
    ends = []
    for _ in range(repeats):
        visits = seconds / BLOCKS * rng.lognormal(-0.5 * spread**2, spread, size=BLOCKS * n_machines)
        free = [0.0] * n_machines
        for visit in visits:
            heapq.heapreplace(free, free[0] + visit)
        end = max(free)
        lost = rng.uniform(0.0, end, size=rng.poisson(deaths_an_hour * end / 3600.0)).sum()
        deaths = np.count_nonzero(lost)
        ends.append(end + deaths * DEATH + lost / max(1, n_machines - 1))
    return float(np.mean(ends))


def simulate(kept):
    """10^9 rows of 64 columns, 10,000 "full" components: 1 to 1,024 cores."""
    folder = [kept.folder] if kept.folder else []
    rng, t = np.random.default_rng(0), terms_of(read("scale-terms", *folder), 10_000)
    alone = 1e9 * t["row"]
    for cores in (1, 32, 64, 128, 256, 512, 1024):
        machines, threads = max(1, cores // THREADS), min(cores, THREADS)
        parts = forecast(t, 1e9, machines, threads)
        rest = rest_of(parts)
        ends = {f"deaths_{rate}": slowest(rng, parts["visits"], machines, t["spread"], rate) for rate in (0, 1, 60)}
        scores = parts | {"epoch": ends["deaths_0"] + rest, "epoch_hour": ends["deaths_1"] + rest,
                          "epoch_minute": ends["deaths_60"] + rest, "rest": rest}  # fmt: skip
        scores["efficiency"] = alone / scores["epoch"] / cores
        kept.add("scale-model", "1,000,000,000 rows of 64 columns", NAME, scores, label=f"{cores:,}", seed=0,
                 parameters={"n_components": 10_000})  # fmt: skip
    for K in (100, 1_000, 10_000):  # rows of a step from which a tenth of the seconds is lost
        t = terms_of(read("scale-terms", *folder), K)
        least = {f"machines_{n}": 9.0 * rest_of(forecast(t, 0, n)) * n * THREADS / t["row"] for n in (1, 2, 4, 16, 32)}
        kept.add("scale-rows", "rows of 64 columns", NAME, least, label=f"K = {K:,}", parameters={"n_components": K})


if __name__ == "__main__":
    main()
