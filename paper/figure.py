"""Draws topics.png, the figure of paper.md and README.md, from benchmarks/results.

python paper/figure.py
"""

import sys
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "doc" / "_extensions"))

import charts  # noqa: E402
import results  # noqa: E402

# The conditions and names of the chart of doc/index.rst.
WHERE = ["where corpus = docstrings, 5,841 documents", "where parameters.n_components = 50"]
NAMES = {
    "SparseSCVB0LDA, auto": "SparseSCVB0LDA", "tomotopy": "tomotopy", "gensim-256": "gensim",
    "sklearn-batch": "scikit-learn",
}  # fmt: skip


def main():
    """Write the figure."""
    data, _ = results.choose(results.frame(results.read("topics")), WHERE)
    found = results.curves(data, "nats", best=True)
    lines = {name: found[label] for label, name in NAMES.items()}
    with mpl.rc_context({**charts.SETTINGS, "savefig.facecolor": "white"}):
        figure = Figure(figsize=(5.2, 3.2), layout="constrained")
        charts.curves(lines, "log-likelihood of a held-out word")(figure.subplots())
        figure.savefig(HERE / "topics.png", dpi=160, metadata={"Software": None})


if __name__ == "__main__":
    main()
