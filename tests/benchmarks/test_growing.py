"""Problems with an unknown number of clusters are what their names say, and their experiment records what it shows."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import _growing_tasks as tasks
import clusters
from _clusters_rows import CHOSE, NEW, PROBLEMS, SEARCHED, STREAMS, TABLES, growing, search
from _growing_problems import balanced, draw, variances
from _results import Recorder, read, sizes_of
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture

NUMBER = {"few": 3, "least": 3, "blobs": 5, "ellipses": 4, "given": 3, "one": 1, "student": 1}
NUMBER |= {"unequal": 3, "heavy": 4, "skewed": 3, "whole": 4, "copies": 3, "binary": 3, "typo": 4, "reduced": 10}
NUMBER |= {"nested": 2, "touching": 2, "wide": 4, "oblique": 4, "boxes": 4, "many": 100, "units": 4, "zeros": 3}
NUMBER |= {"codes": 6, "iris": 3, "wine": 3, "breast_cancer": 2, "digits": 10}


@pytest.mark.parametrize("name", dict.fromkeys((*PROBLEMS, *TABLES, *STREAMS, *CHOSE, *NEW, *SEARCHED)))
def test_a_problem_has_the_sizes_of_its_name_and_follows_its_seed(name):
    kind, *words = name.removesuffix(" standardised").split()
    sizes = {key: float(value) for key, value in (word.split("=") for word in words)}
    X, labels = draw(name, 1)
    assert X.shape == (sizes.get("n", len(labels)), sizes.get("d", X.shape[1]))
    assert np.isfinite(X).all()
    groups = sizes["side"] ** sizes["d"] if kind == "lattice" else sizes.get("groups", NUMBER.get(kind))
    assert len(set(labels.tolist())) == groups
    np.testing.assert_array_equal(draw(name, 1)[0], X)
    assert np.array_equal(draw(name, 2)[0], X) == (kind in ("iris", "wine", "breast_cancer", "digits"))
    if name.endswith("standardised"):
        np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-9)
        np.testing.assert_allclose(X.var(axis=0)[X.var(axis=0) > 0.0], 1.0)


def test_groups_differ_in_the_columns_that_the_name_says():
    X, labels = draw("few n=3000 d=6 informative=2 gap=8", 0)
    means = np.stack([X[labels == label].mean(axis=0) for label in range(3)])
    np.testing.assert_allclose(np.sort(means[:, :2], axis=0), 8.0 * np.arange(3)[:, None] * [1, 1], atol=0.2)
    np.testing.assert_allclose(means[:, 2:], 0.0, atol=0.2)


def test_groups_differ_in_the_direction_of_least_variance():
    X, labels = draw("least n=3000 d=5 gap=20", 0)
    within = X - np.stack([X[labels == label].mean(axis=0) for label in range(3)])[labels]
    values, vectors = np.linalg.eigh(within.T @ within / len(X))
    np.testing.assert_allclose(np.sqrt(values[[0, -1]]), [0.01, 1.0], rtol=0.1)
    gaps = np.diff([np.mean(X[labels == label] @ vectors, axis=0) for label in range(3)], axis=0)
    np.testing.assert_allclose(np.abs(gaps[:, 0]), 0.2, rtol=0.05)
    np.testing.assert_allclose(gaps[:, 1:], 0.0, atol=0.15)


def test_given_variances_are_those_within_groups():
    X, labels = draw("given n=9000 d=4", 0)
    means = np.stack([X[labels == label].mean(axis=0) for label in range(3)])
    np.testing.assert_allclose((X - means[labels]).var(axis=0), variances(4), rtol=0.1)
    scaled = means / np.sqrt(variances(4))
    assert np.linalg.norm(scaled[[0, 0, 1]] - scaled[[1, 2, 2]], axis=1).min() == pytest.approx(250.0, abs=0.5)


def test_streams_read_every_row_once_and_end_with_labels_of_all_rows(monkeypatch):
    rng = np.random.default_rng(0)
    labels, order = balanced(rng, 30, 3), rng.permutation(30)
    (_, as_drawn), (_, by_label) = tasks.streams(order, labels)
    np.testing.assert_array_equal(as_drawn, order)
    np.testing.assert_array_equal(labels[by_label], np.sort(labels))
    np.testing.assert_array_equal(np.sort(by_label), np.arange(30))
    read = []
    model = SimpleNamespace(partial_fit=read.append, predict=lambda X: X[:, 0])
    monkeypatch.setattr(tasks, "StreamingNGGPMixture", lambda **_: model)
    X = np.arange(30.0)[:, None]
    np.testing.assert_array_equal(tasks.streamed(X, by_label, 7, {}), X[:, 0])
    assert [len(block) for block in read] == [7, 7, 7, 7, 2]
    np.testing.assert_array_equal(np.concatenate(read)[:, 0], by_label)


def test_least_bic_is_the_right_number_where_groups_are_apart():
    X, labels = draw("few n=300 d=3 informative=3", 0)
    run = tasks.judged(tasks.least_bic(X, (1, 2, 3, 5), 0).predict(X), labels)
    assert (run["clusters"], run["right"], run["ari"]) == (3, 1.0, 1.0)


def test_noise_is_no_cluster():
    run = tasks.judged(np.array([-1, 0, 0, 1]), np.array([0, 0, 0, 1]))
    assert (run["clusters"], run["true"], run["right"]) == (2, 2, 1.0)
    assert run["ari"] < 1.0


def test_peers_take_part_where_they_can_afford_it():
    assert set(tasks.peers(300, 4, (1,), 0)) == {"HDBSCAN", "variational", "BIC"}
    assert set(tasks.peers(100_000, 3, (1,), 0)) == {"variational", "BIC"}
    assert set(tasks.peers(300, 1_000, (1,), 0)) == {"HDBSCAN", "BIC"}


class Bench:
    """Measures in this process."""

    def __init__(self, folder):
        self.sizes, self.recorder = sizes_of(clusters.SIZES, quick=True), Recorder(folder)

    def measure(self, *words, module, kept, **arguments):
        assert not kept
        return getattr(importlib.import_module(module), words[2])(**arguments)


def test_the_experiment_records_what_its_tables_show(tmp_path):
    growing(Bench(tmp_path))
    records = clusters_of(tmp_path)
    peers = ["sparsemix", "HDBSCAN", "variational", "BIC"]
    streamed = [*peers, "random stream", "sorted stream"]
    assert {name: [*dict.fromkeys(one["label"] for one in ones)] for name, ones in records.items()} == {
        "few n=300 d=5 informative=1": peers, "given n=300": streamed, "iris": peers,
    }  # fmt: skip
    assert {one["seed"] for ones in records.values() for one in ones} == {0, 1}
    assert {one["label"] for one in records["given n=300"] if one["prior"] == "variances given"} == {
        "sparsemix", "random stream", "sorted stream",
    }  # fmt: skip
    first = {one["label"]: one["scores"] for one in records["iris"] if one["seed"] == 0}
    ours, variational = first["sparsemix"], first["variational"]
    assert ours["above"] == pytest.approx(ours["held_out"] - variational["held_out"], abs=2e-4)
    assert 0.5 < ours["better"] < 1.0
    assert 0.0 < ours["above_error"] < ours["held_out_error"] + variational["held_out_error"]


def test_seconds_of_a_search_have_those_of_peers(tmp_path):
    search(Bench(tmp_path))
    records = read("clusters-search", tmp_path)
    assert [one["label"] for one in records] == ["sparsemix", "HDBSCAN", "variational"]
    assert min(one["seconds"] for one in records) > 0.0
    assert records[0]["scores"]["clusters"] == 5


def test_held_out_scores_are_of_the_other_half(monkeypatch):
    monkeypatch.setattr(tasks, "StreamingNGGPMixture", GaussianMixture)
    monkeypatch.setattr(tasks, "peers", lambda *_: {})
    run = tasks.growing("iris", 5, (1,))["runs"]["sparsemix"]
    X = load_iris().data[np.random.default_rng(5).permutation(150)]
    assert run["held_out"] == pytest.approx(GaussianMixture(random_state=5).fit(X[:75]).score(X[75:]))


def clusters_of(folder):
    """Records by problem."""
    out = {}
    for one in read("clusters-growing", folder):
        out.setdefault(one["corpus"], []).append(one)
    return out
