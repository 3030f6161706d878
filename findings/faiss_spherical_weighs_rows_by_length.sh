#!/usr/bin/env bash
# faiss-cpu 1.15.1: Kmeans(spherical=True) normalises centroids and not rows, so a row counts by its length.
#
# Expected: spherical k-means compares directions, so rows in the same directions have the same centroid whatever their
# lengths.
# Seen: the centroid is the direction of the sum of rows. Of as many rows in each of two directions, nine times as long
# in the second, the centroid has 0.11 and 0.99. Rows of unit length have 0.71 and 0.71, so normalise before train().
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > show.py <<'PYTHON'
import faiss
import numpy as np

rows = np.repeat(np.array([[1, 0], [0, 9]], dtype=np.float32), 50, axis=0)
for name, X in ("lengths 1 and 9", rows), ("unit length", rows / np.linalg.norm(rows, axis=1, keepdims=True)):
    kmeans = faiss.Kmeans(2, 1, spherical=True)
    kmeans.train(X)
    print(name, [f"{share:.2f}" for share in kmeans.centroids[0]])
PYTHON
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check faiss-cpu==1.15.1 numpy==2.4.6
seen=$(venv/bin/python show.py)
printf '%s\n' "$seen"
[ "$seen" = "lengths 1 and 9 ['0.11', '0.99']
unit length ['0.71', '0.71']" ]
