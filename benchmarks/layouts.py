"""CPU seconds of fits and predictions by the layout of the rows in memory, relative to C-ordered rows.

python benchmarks/layouts.py                     200,000 and 800,000 rows of 8 columns
python benchmarks/layouts.py --rows 400000       400,000 and 1,600,000 rows

Each figure is the least of several repetitions, whose layouts take turns, in one process on one core.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from _report import print_table

from sparsemix import SparseGaussianMixture, SparseVonMisesFisherMixture, StreamingNGGPMixture

FITTED = {
    "memoized": SparseGaussianMixture(5, max_iter=2, tol=0.0, random_state=0),
    "online": SparseGaussianMixture(5, max_iter=2, tol=0.0, learning_method="online", random_state=0),
    "batch": SparseGaussianMixture(5, max_iter=2, tol=0.0, learning_method="batch", random_state=0),
    "directions": SparseVonMisesFisherMixture(5, max_iter=2, tol=0.0, random_state=0),
    "stream": StreamingNGGPMixture("diag", max_components=5, random_state=0),
}
READ = ("predict", "score_samples", "transform")
LAYOUTS = {
    "C order": lambda X: X,
    "Fortran": np.asfortranarray,
    "frame": lambda X: pd.DataFrame({j: X[:, j] for j in range(X.shape[1])}),
    "every 2nd row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "rows reversed": lambda X: X[::-1].copy()[::-1],
    "columns reversed": lambda X: X[:, ::-1].copy()[:, ::-1],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000, help="the smaller number; the larger is four times this")
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # fits of two epochs do not converge
    for n_rows in (options.rows, 4 * options.rows):
        report(np.random.default_rng(0).normal(size=(n_rows, options.columns)), options.rounds)


def report(X, rounds):
    """Print the seconds of C-ordered rows, and those of other layouts relative to them."""
    forms = {name: make(X) for name, make in LAYOUTS.items()}
    lines = []
    for name, est in FITTED.items():
        for method in ("fit", *(READ if name == "memoized" else ())):
            seconds = dict.fromkeys(forms, np.inf)
            for _ in range(rounds):
                for layout, rows in forms.items():
                    seconds[layout] = min(seconds[layout], seconds_of(getattr(est, method), rows))
            base = seconds.pop("C order")
            lines.append([f"{name}, {method}", f"{base:.3f} s", *(f"{each / base:.2f}" for each in seconds.values())])
    print_table(f"{len(X):,} rows of {X.shape[1]} columns", ["", *LAYOUTS], lines)


def seconds_of(call, rows):
    """Processor seconds of a call."""
    before = time.process_time()
    call(rows)
    return time.process_time() - before


if __name__ == "__main__":
    main()
