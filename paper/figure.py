"""Draws topics.png, the figure of paper.md and README.md, from the records of the table's first row.

python paper/figure.py
"""

import sys
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

HERE = Path(__file__).parent
sys.path += [str(HERE.parent / "doc" / "_extensions"), str(HERE.parent / "benchmarks")]

import charts  # noqa: E402
import readme  # noqa: E402
import results  # noqa: E402

# A fit of tomotopy with more iterations begins as the shorter one does.
NAMES = {"LatentDirichletAllocation": "scikit-learn", "tomotopy": None, "tomotopy, longer": "tomotopy"}


def main():
    """Write the figure; its metadata have the commit measured."""
    groups = {NAMES.get(name, name): group for _, name, group in readme.chosen(readme.ROWS[0])}
    labels = {group["label"].iloc[0]: name for name, group in groups.items() if name}
    found = results.curves(pd.concat(groups.values()), "nats", best=True)
    lines = {name: found[label] for label, name in labels.items()}
    commit = next(iter(groups.values()))["commit"].iloc[0]
    with mpl.rc_context({**charts.SETTINGS, "savefig.facecolor": "white"}):
        figure = Figure(figsize=(5.2, 3.2), layout="constrained")
        charts.curves(lines, "log-likelihood of a held-out word")(figure.subplots())
        figure.savefig(HERE / "topics.png", dpi=160, metadata={"Software": None, "Source": f"commit {commit}"})


if __name__ == "__main__":
    main()
