"""Rules of the search for a prior are switched off during one fit, and their experiment records what it shows."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import _clusters_rows as experiment
import _rules_tasks as tasks
import clusters
from _results import Recorder, read, sizes_of
from sklearn.mixture import GaussianMixture

from sparsemix._heuristics.clusters.independent import Independent
from sparsemix._heuristics.clusters.matrices import Matrices
from sparsemix._heuristics.clusters.tree import Groups

FEW = {
    "auto": {name: tasks.RULES["auto"][name] for name in (tasks.AS_IT_IS, "always diag", "no clipping")},
    "spherical": tasks.RULES["spherical"],
}  # fmt: skip


@pytest.mark.parametrize("likelihood", tasks.RULES)
def test_replacements_are_new_and_end_with_their_fit(likelihood, monkeypatch):
    replaced = [one for rule in tasks.RULES[likelihood].values() for one in rule]
    before = [getattr(owner, name) for owner, name, _ in replaced]
    assert all(new is not old and new != old for old, (_, _, new) in zip(before, replaced, strict=True))
    monkeypatch.setattr(tasks, "fitted", lambda *_: None)  # the fits all fail
    runs = tasks.rules("iris", 0)["runs"]
    assert all(run["ari"] == run["right"] == run["clusters"] == 0.0 for run in runs.values())
    assert all(getattr(owner, name) is old for old, (owner, name, _) in zip(before, replaced, strict=True))


def test_penalties_count_the_mass_of_rows_for_each_estimate():
    rng = np.random.default_rng(0)
    x, labels = rng.standard_normal((60, 3)), np.repeat([0, 1], 30)
    for matrices, prior, n_estimates in (
        (False, Independent(3, {}), 6), (False, Independent(3, {}, shared=True), 4), (True, Matrices(3, {}), 9),
    ):  # fmt: skip
        groups = Groups.of(x, labels, matrices)
        prior.begin(groups).fit(groups, 1)
        values = []
        for rule in ("no penalty", "penalty by the mass of all rows"):
            methods = {owner: method for owner, _, method in tasks.RULES["auto"][rule]}
            values.append(methods[type(prior)](prior, groups)[0])
        assert values[0] - values[1] == pytest.approx(0.5 * n_estimates * np.log(60.0))


def test_one_kappa_has_the_mean_variance_of_the_columns():
    prior = Independent(2, {})
    prior.kappa = np.array([[1.0, 0.25], [4.0, 4.0]])
    assert tasks.one_kappa(prior) is prior
    np.testing.assert_allclose(prior.kappa, [[0.4, 0.4], [4.0, 4.0]])


def test_structures_are_as_the_rule_says(monkeypatch):
    kept, fit = {}, tasks.fitted
    monkeypatch.setattr(tasks, "fitted", lambda X, arguments: kept.setdefault(len(kept), fit(X, arguments)))
    names = [tasks.AS_IT_IS, "always full", "always diag"]
    monkeypatch.setattr(tasks, "RULES", {"auto": {name: tasks.RULES["auto"][name] for name in names}})
    runs = tasks.rules("iris", 0)["runs"]
    assert [model.covariances_.ndim for model in kept.values()] == [3, 3, 2]
    assert [run["same"] for run in runs.values()] == [1.0, 1.0, 0.0]
    assert not any("held_out_change" in run for run in runs.values())  # values repeat


def test_held_out_changes_are_of_the_other_half(monkeypatch):
    def fitted(X, arguments):
        model = GaussianMixture(1 + np.isinf(tasks.automatic.CLIPPED), random_state=arguments["random_state"]).fit(X)
        model.labels_ = model.predict(X)
        return model

    monkeypatch.setattr(tasks, "RULES", {"auto": FEW["auto"]})
    monkeypatch.setattr(tasks, "fitted", fitted)
    runs = tasks.rules("nested n=200", 5)["runs"]
    X = tasks.draw("nested n=200", 5)[0][np.random.default_rng(5).permutation(200)]
    one, two = (GaussianMixture(number, random_state=5).fit(X[:100]).score_samples(X[100:]) for number in (1, 2))
    change = np.clip(two - one, -tasks.MOST, tasks.MOST).mean()
    assert [run["held_out_change"] for run in runs.values()] == [0.0, 0.0, pytest.approx(change)]


class Bench:
    """Measures in this process."""

    def __init__(self, folder):
        self.sizes, self.recorder = sizes_of(clusters.SIZES, quick=True), Recorder(folder)

    def measure(self, *words, module, kept, **arguments):
        assert not kept
        return getattr(importlib.import_module(module), words[2])(**arguments)


def test_the_experiment_records_what_its_tables_show(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "RULES", FEW)
    experiment.rules(Bench(tmp_path))
    records = read("clusters-rules", tmp_path)
    names = [f"{likelihood}: {rule}" for likelihood, by_name in FEW.items() for rule in by_name]
    assert [one["label"] for one in records if one["corpus"] == "iris"] == names
    chose = {one["corpus"] for one in records if one.get("tuned_on")}
    assert (chose, {one["corpus"] for one in records} - chose) == (
        set(clusters.SIZES["rules_chose"][True]), set(clusters.SIZES["rules_new"][True])
    )  # fmt: skip
