"""What each rule of the heuristics for mixtures of Gaussians gains: fits with one rule switched off or changed.

python benchmarks/ablate.py                              the small tables of mixture_defaults.py
python benchmarks/ablate.py --tables FOLDER --half 1     numeric columns of the CSV files of a folder, one half of them

A gain is the mean log density of a held-out row minus that of the default policy, cut at half a nat; ± is the
standard error over tables. A setting (table, covariances, K) is worse or better by 0.01 nats and two standard errors
over seeds. Seconds are those of the processor, relative to GaussianMixture, as a median over settings. Rules were
chosen on half 0 of every third of the 206 tables that the package pydataset 0.2.0 gives; report the other half.
"""

import argparse
import warnings
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from _measure import spent
from mixture_defaults import TABLES
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from sparsemix import SparseGaussianMixture
from sparsemix._heuristics.mixture import policy

# Columns of measurements: many values. Tables of enough rows, some of them if there are many.
VALUES, SHARE, COLUMNS, LEAST, MOST = 15, 0.02, (2, 60), 120, 4_000
CUT, SEEDS, ROWS = 0.5, 3, 8
TYPES, NUMBERS = ("full", "diag", "tied"), (3, 6, 16, 24)
DEFAULT, PEER = "default", "GaussianMixture"
OFF = {
    DEFAULT: {}, "no exchanges": {"exchanges": False}, "one run of k-means": {"kmeans_runs": 1},
    "three steps around exchanges": {"climb_steps": 3}, "one choice of halves": {"choices": 1},
    "one step after a round": {"growth_steps": 1}, "three power iterations": {"power_steps": 3},
    "one merge a component": {"partners": 1}, "sure by one standard error": {"sure": 1.1},
    "no births": {"births_from": 10**9}, "no held-out rows": {"held_out": 0.0},
}  # fmt: skip


def tables_of(folder):
    """Tables of numbers in a folder of CSV files, whose first column numbers the rows."""
    found = {}
    for path in sorted(Path(folder).rglob("*.csv")):
        try:
            frame = pd.read_csv(path).iloc[:, 1:].select_dtypes("number").dropna()
        except (ValueError, pd.errors.ParserError):
            continue
        X = frame[[c for c in frame if frame[c].nunique() > max(VALUES, SHARE * len(frame))]].to_numpy(float)
        if COLUMNS[0] <= X.shape[1] <= COLUMNS[1] and len(X) >= LEAST and (X.std(axis=0) > 0).all():
            rng = np.random.default_rng(0)
            found[path.stem] = X if len(X) <= MOST else X[rng.choice(len(X), MOST, replace=False)]
    return found


def fits(X, make):
    """Held-out score and seconds of each seed."""
    out = []
    for seed in range(SEEDS):
        order = np.random.default_rng(seed).permutation(len(X))
        kept, held = X[order[: int(0.7 * len(X))]], X[order[int(0.7 * len(X)) :]]
        mixture, seconds = spent(lambda seed=seed, kept=kept: make(seed).fit(kept))
        out.append((mixture.score(held), seconds))
    return np.array(out)


def measured(tables):
    """Scores and seconds (SEEDS, 2) by rule and setting; settings that GaussianMixture cannot fit are left out."""
    found = {rule: {} for rule in (*OFF, PEER)}
    for name, X in tables.items():
        for kind, k in ((kind, k) for kind in TYPES for k in NUMBERS if 0.7 * len(X) >= ROWS * k):
            params = {"n_components": k, "covariance_type": kind}
            try:
                peer = fits(X, lambda seed, params=params: GaussianMixture(**params, random_state=seed))
            except ValueError:
                continue
            found[PEER][name, kind, k] = peer
            for rule, changes in OFF.items():
                policy.POLICY = replace(policy.Policy(), **changes)
                found[rule][name, kind, k] = fits(
                    X, lambda seed, params=params: SparseGaussianMixture(**params, random_state=seed)
                )
    policy.POLICY = policy.Policy()
    return found


def summary(found, against, few):
    """A line for each rule: gain over another, settings that are worse and better, seconds."""
    settings = [key for key in found[PEER] if (key[2] < policy.POLICY.births_from) == few]
    rows = []
    for rule, results in found.items():
        differences = {key: results[key][:, 0] - found[against][key][:, 0] for key in settings}
        gain = {key: np.clip(each.mean(), -CUT, CUT) for key, each in differences.items()}
        noise = {key: 2.0 * each.std() / np.sqrt(SEEDS) for key, each in differences.items()}
        tables = pd.Series(gain).groupby(level=0).mean()
        rows.append({
            "rule": rule, "gain": f"{tables.mean():+.4f} ± {tables.sem():.4f}",
            "worse": sum(g < -max(0.01, noise[key]) for key, g in gain.items()),
            "better": sum(g > max(0.01, noise[key]) for key, g in gain.items()),
            "seconds": round(np.median([results[k][:, 1].sum() / found[PEER][k][:, 1].sum() for k in settings]), 2),
        })  # fmt: skip
    print(f"\n{'few' if few else 'many'} components, {len(settings)} settings; against {against}")
    print(pd.DataFrame(rows).to_string(index=False))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", metavar="FOLDER", help="folder of CSV files")
    parser.add_argument("--half", type=int, choices=[0, 1], help="tables whose name has this parity")
    options = parser.parse_args()
    tables = tables_of(options.tables) if options.tables else {name: load()[0] for name, load in TABLES.items()}
    names = [name for name in tables if options.half is None or zlib.crc32(name.encode()) % 2 == options.half]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = measured({name: tables[name] for name in names})
    for few in (True, False):
        summary(found, DEFAULT, few)
        summary(found, PEER, few)


if __name__ == "__main__":
    main()
