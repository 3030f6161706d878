#!/usr/bin/env bash
# hdbscan 0.8.44: approximate_predict gives the rows of the fit other probabilities than the fit, only higher ones.
#
# Expected: rows of the fit keep their labels and probabilities_, or differ in both directions, as "approximate" allows.
# Seen: all labels are the same. No probability falls, and two fifths of those in clusters rise, by up to a half with
# min_samples=1. So do not compare the probabilities of new rows with those of the fit: predict both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > show.py <<'PYTHON'
import hdbscan
import numpy as np
from sklearn.datasets import make_blobs

X, _ = make_blobs(2000, n_features=2, centers=4, random_state=0)
fitted = hdbscan.HDBSCAN(min_cluster_size=50, min_samples=1, prediction_data=True).fit(X)
labels, probabilities = hdbscan.approximate_predict(fitted, X)
gain = (probabilities - fitted.probabilities_)[labels >= 0]
print("same labels:", np.array_equal(labels, fitted.labels_))
print("rise:", np.mean(gain > 1e-9) > 0.2, "by more than 0.3:", gain.max() > 0.3, "fall:", bool(np.any(gain < -1e-9)))
print(f"{np.mean(gain > 1e-9):.0%} rise, by {gain.max():.2f} at most")
PYTHON
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check hdbscan==0.8.44 numpy==2.4.6 scikit-learn==1.9.1
seen=$(venv/bin/python -W ignore show.py)
printf '%s\n' "$seen"
[ "$(head -2 <<< "$seen")" = "same labels: True
rise: True by more than 0.3: True fall: False" ]
