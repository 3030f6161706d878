"""Ways to copy an estimator."""

import copy
import pickle
import tempfile
from pathlib import Path

import joblib


def by_pickle(est, folder):  # noqa: ARG001
    return pickle.loads(pickle.dumps(est))


def by_old_pickle(est, folder):  # noqa: ARG001
    return pickle.loads(pickle.dumps(est, protocol=2))


def by_joblib(est, folder):
    joblib.dump(est, folder / "compressed.joblib", compress=3)
    return joblib.load(folder / "compressed.joblib")


def by_read_only_memmap(est, folder):
    path = Path(tempfile.mkdtemp(dir=folder)) / "plain.joblib"  # what others read as a map is not written over
    joblib.dump(est, path)
    return joblib.load(path, mmap_mode="r")


def by_deepcopy(est, folder):  # noqa: ARG001
    return copy.deepcopy(est)


def by_copy(est, folder):  # noqa: ARG001
    return copy.copy(est)


COPIES = [by_pickle, by_old_pickle, by_joblib, by_read_only_memmap, by_deepcopy, by_copy]
