#!/usr/bin/env bash
# MLflow 3.17.2 with scikit-learn 1.9.1: autologging logs the estimator within a fit as the model of the run.
#
# Expected: mlflow.sklearn.autolog() logs estimators of scikit-learn that the user fits, and nothing of an estimator of
# another package.
# Seen: an estimator of another package that calls KMeans in its own fit leaves a run named KMeans, with the nine
# parameters of KMeans and none of the user's. A user who reads the run takes it for the model that was fitted.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > show.py <<'PYTHON'
import mlflow
import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans


class Outer(ClusterMixin, BaseEstimator):
    def __init__(self, outer=7):
        self.outer = outer

    def fit(self, X, y=None):
        self.labels_ = KMeans(2, n_init=1, random_state=0).fit(X).labels_
        return self


mlflow.set_tracking_uri("sqlite:///runs.db")
mlflow.sklearn.autolog(log_models=False)
with mlflow.start_run() as run:
    Outer().fit(np.random.default_rng(0).normal(size=(50, 2)))
data = mlflow.get_run(run.info.run_id).data
print(data.tags["estimator_name"], len(data.params), "outer" in data.params)
PYTHON
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check mlflow==3.17.2 scikit-learn==1.9.1
found=$(env/bin/python show.py 2> /dev/null)
echo "$found"
[ "$found" = "KMeans 9 False" ]
