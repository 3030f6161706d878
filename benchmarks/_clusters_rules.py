"""What each rule of the search for a prior gains: fits without it, on data that chose the rules and on other data."""

from statistics import mean

from _clusters_report import with_error
from _report import number, print_table

# Some of the problems that the rules were chosen on, and kinds that no rule was chosen on.
CHOSE = (
    "few n=300 d=5 informative=1", "few n=300 d=5 informative=3", "few n=300 d=5 informative=5",
    "few n=300 d=20 informative=1", "few n=2000 d=5 informative=1", "few n=2000 d=20 informative=3",
    "least n=300 d=10 gap=30", "lattice side=4 d=3", "blobs d=2 sd=0.6", "blobs d=5", "blobs n=3000 d=10 groups=30",
    "ellipses", "given d=5", "one d=2", "one d=10", "student", "iris", "wine",
)  # fmt: skip
NEW = (
    "unequal", "heavy", "skewed", "whole", "copies", "binary", "typo", "reduced", "reduced n=600 d=30", "nested",
    "touching", "wide", "oblique", "boxes", "many", "units", "zeros",
)  # fmt: skip
AS_IT_IS = "as it is"
HEADER = [
    "rule", "right", "ARI", "change of ARI", "change of held-out score", "fits changed", "CPU s",
    "largest change of ARI",
]  # fmt: skip


def rules(bench):
    """A table for each half of the data: a line a rule, changes against the search as it is."""
    sizes, seeds = bench.sizes, list(range(bench.sizes.rules_seeds))
    for title, names, chose in (
        ("Data that chose the rules", sizes.rules_chose, True), ("Other data", sizes.rules_new, False),
    ):  # fmt: skip
        kept = [record for name in names for record in measured(bench, name, seeds, chose)]
        if kept:
            print_table(f"{title}: {len(names)} problems, {len(seeds)} seeds", HEADER, lines(kept))


def measured(bench, name, seeds, chose):
    """Records of one problem: a line a rule, with all seeds."""
    runs = [
        bench.measure("rules", f"{name}, {seed}", "rules", module="_rules_tasks", kept=False, name=name, seed=seed)
        for seed in seeds
    ]
    kept = []
    for rule in runs[0]["runs"]:
        of_rule = [run["runs"][rule] for run in runs]
        scores = {key: [round(run[key], 4) for run in of_rule] for key in of_rule[0] if key != "seconds"}
        kept += bench.recorder.add(
            "clusters-rules", name, "StreamingNGGPMixture", scores, label=rule, seed=seeds, prior="defaults",
            parameters={"likelihood": rule.split(": ")[0]},
            seconds=[round(run["seconds"], 3) for run in of_rule], **({"tuned_on": [name]} if chose else {}),
        )  # fmt: skip
    return kept


def lines(records):
    """A row a rule: figures are means over seeds, then over problems, with standard errors over problems."""
    figures = {}
    for record in records:
        problem = figures.setdefault(record["label"], {}).setdefault(record["corpus"], [])
        problem.append(record["scores"] | {"seconds": record["seconds"]})
    out = []
    for rule, problems in figures.items():
        plain = figures[f"{rule.split(': ')[0]}: {AS_IT_IS}"]
        means = {name: averages(runs) for name, runs in problems.items()}
        changes = {name: means[name]["ari"] - averages(plain[name])["ari"] for name in means}
        largest = max(changes, key=lambda name: abs(changes[name]))
        held_out = [one["held_out_change"] for one in means.values() if "held_out_change" in one]
        out.append([
            rule, f"{mean(one['right'] for one in means.values()):.3f}",
            f"{mean(one['ari'] for one in means.values()):.4f}", with_error(list(changes.values())),
            with_error(held_out) if held_out else number(None),
            f"{1.0 - mean(one['same'] for one in means.values()):.0%}",
            f"{mean(one['seconds'] for one in means.values()):.2f}",
            f"{changes[largest]:+.3f} {largest}" if changes[largest] else number(None),
        ])  # fmt: skip
    return out


def averages(runs):
    """Each figure's mean over seeds."""
    return {name: mean(run[name] for run in runs) for name in runs[0]}
