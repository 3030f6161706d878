"""Hashes of all that fitted estimators tell: the part of ``gate.py`` that runs once for each revision."""

import argparse
import hashlib
import inspect
import json
import pickle
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
from gate_settings import SUBJECTS, WAYS, epochs, part_of
from scipy import sparse

READERS = (
    "transform", "predict", "predict_proba", "predict_sparse_proba", "score_samples", "score", "bic", "aic",
    "perplexity", "transform_words", "predict_labels", "predict_label_proba", "impute",
)  # fmt: skip
N_READ = 60


def statistics(stats):
    """Arrays of statistics by name. A copy, since pending factors are folded in, which moves last bits."""
    if not hasattr(stats, "_arrays"):
        raise SystemExit("tests/gate_hashes.py: statistics() must list the arrays in another way")
    stats = stats.copy()
    values = {name: stats[name] for name, _ in stats._arrays()}
    return {name: value.toarray() if hasattr(value, "toarray") else value for name, value in values.items()}


def fitted_statistics(estimator):
    """Arrays that a fitted estimator has learned and publishes as no attribute; empty if it keeps none."""
    if not hasattr(estimator, "_fitted"):  # as an error it would be the value of every setting, and hide differences
        raise SystemExit("tests/gate_hashes.py: fitted_statistics() must read statistics from another attribute")
    stats = getattr(estimator._fitted, "stats", None)
    return {} if stats is None else statistics(stats)


def attempt(function, *arguments, **named):
    """What a function returns, or the error that it raises."""
    try:
        return function(*arguments, **named)
    except Exception as error:  # whatever it is, it is the value of the setting
        return described(error)


def described(error):
    """Type and message of an error, without the names of temporary folders."""
    return f"{type(error).__name__}: {error}".replace(tempfile.gettempdir(), "")


def attributes(estimator):
    """Fitted attributes by name, those that are made on demand too."""
    names = {*dir(type(estimator)), *vars(estimator)}
    found = {name: attempt(getattr, estimator, name) for name in names if name[0] != "_" and name.endswith("_")}
    return {name: value for name, value in found.items() if not callable(value)}


def readings(estimator, rows, about):
    """What an estimator tells of rows, with and without what is known about them, and what it draws."""
    out = {}
    for name in READERS:
        method = getattr(estimator, name, None)
        if method is not None:
            out[name] = attempt(method, rows)
            known = {key: about[key] for key in about if key in inspect.signature(method).parameters}
            if known:
                out[f"{name} with {', '.join(known)}"] = attempt(method, rows, **known)
    if hasattr(estimator, "expected_stats"):
        weights = {key: about[key] for key in about if key == "sample_weight"}
        stats = attempt(estimator.expected_stats, rows, **weights)
        out["expected_stats"] = stats if isinstance(stats, str) else statistics(stats)
        out["lower_bound"] = attempt(estimator.lower_bound), attempt(estimator.lower_bound, stats)
    for name, arguments in {"sample": (9,), "co_clustering": (), "topic_table": ()}.items():
        if hasattr(estimator, name):
            out[name] = attempt(getattr(estimator, name), *arguments)
    return out


def told(estimator, subject):
    """Everything."""
    some = slice(0, N_READ)
    learned = {f"statistic {name}": value for name, value in fitted_statistics(estimator).items()}
    return attributes(estimator) | learned | readings(estimator, *part_of(subject.rows, subject.about, some))


def update(digest, value):
    """Add a value to a hash."""
    if sparse.issparse(value):
        coo = sparse.coo_array(value)
        update(digest, (value.format, value.shape, coo.data, *coo.coords))
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        digest.update(f"{value.shape} {value.dtype}".encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            if key != "seconds":  # of records of epochs
                update(digest, (str(key), value[key]))
    elif hasattr(value, "to_dict"):  # a data frame
        update(digest, value.to_dict("records"))
    elif isinstance(value, (list, tuple, np.ndarray)):
        digest.update(f"{type(value).__name__} {len(value)}".encode())
        for each in value:
            update(digest, each)
    else:
        text = repr(value)
        assert " at 0x" not in text, f"the text {text} differs from process to process"
        digest.update(text.encode())


def hash_of(value):
    """A short hash of a value."""
    digest = hashlib.sha256()
    update(digest, value)
    return digest.hexdigest()[:16]


def hashes(function, *arguments):
    """Hashes of the values that a function returns by name, and of the warnings meanwhile; or what it raises."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            values = function(*arguments)
        except Exception as error:
            return {"raises": " ".join(described(error).split())}
    texts = [f"{warning.category.__name__}: {warning.message}" for warning in caught]
    return {name: hash_of(value) for name, value in sorted((values | {"warnings": texts}).items())}


def result(subject, way):
    """What an estimator tells that has learned in one way."""
    return told(WAYS[way](subject.make(), subject.rows, **subject.about), subject)


# -- files of another revision


def write(subject, way, folder):
    """The files of a model that has learned in a way: the model, or the checkpoint of a fit that is not finished."""
    folder.mkdir()
    if way == "checkpoint":
        epochs(subject.make(), 2).fit(subject.rows, checkpoint=folder / "checkpoint", **subject.about)
    else:
        estimator = WAYS[way](subject.make(), subject.rows, **subject.about)
        (folder / "model.pickle").write_bytes(pickle.dumps(estimator))


def followed(subject, way, folder):
    """What an estimator tells that continues from files, in each way in which it can."""
    if way == "checkpoint":
        copy = folder / "copy"
        shutil.copytree(folder / "checkpoint", copy, dirs_exist_ok=True)
        return told(epochs(subject.make(), 4).fit(subject.rows, checkpoint=copy, **subject.about), subject)
    saved = (folder / "model.pickle").read_bytes()
    out = told(pickle.loads(saved), subject)
    if hasattr(subject.make(), "partial_fit"):
        rows, about = part_of(subject.rows, subject.about, slice(0, N_READ))
        out["partial_fit"] = told(pickle.loads(saved).partial_fit(rows, **about), subject)
    if hasattr(subject.make(), "warm_start"):
        again = pickle.loads(saved).set_params(warm_start=True)
        out["warm_start"] = told(again.fit(subject.rows, **subject.about), subject)
    return out


def files(subject, folder, is_writing):
    """Hashes of what follows from the files of a subject, by name."""
    for way in (each for each in ("fit", "stream", "checkpoint") if each in subject.ways):
        name = f"{subject.name}/file-{way}"
        place = folder / name.replace("/", "-")
        if is_writing and attempt(write, subject, way, place) is not None:  # it raised an error, which a setting shows
            shutil.rmtree(place)
        if place.exists():
            yield name, hashes(followed, subject, way, place)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--read", type=Path)
    given = parser.parse_args()
    folder, found = given.write or given.read, {}
    warnings.simplefilter("ignore")

    def keep(name, values):
        found[name] = values
        print(name, values.get("raises") or hash_of(values), flush=True)

    for subject in SUBJECTS:
        wanted = [way for way in subject.ways if any(part in f"{subject.name}/{way}" for part in given.parts or [""])]
        for way in wanted:
            keep(f"{subject.name}/{way}", hashes(result, subject, way))
        if folder is not None and wanted:
            for name, values in files(subject, folder, given.write is not None):
                keep(name, values)
    given.record.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
