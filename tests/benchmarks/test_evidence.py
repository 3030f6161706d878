"""What the run of all benchmarks calls a change, and what it runs where corpora are missing."""

import ast
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import compare  # noqa: E402
import evidence  # noqa: E402
from test_results import record  # noqa: E402


def moved(old, new):
    """Names of figures that are reported as changed."""
    rows, _ = evidence.changes({"key": old}, {"key": new})
    return [row[4] for row in rows]


def test_what_moves_by_more_than_seeds_do_has_changed():
    old = [record(seed=seed, scores={"nats": nats}) for seed, nats in enumerate([-7.4, -7.5, -7.6])]
    assert moved(old, [record(scores={"nats": -7.75})]) == []
    assert moved(old, [record(scores={"nats": -7.85})]) == ["nats"]
    assert moved(old[1:2], [record(scores={"nats": -7.53})]) == []
    assert moved(old[1:2], [record(scores={"nats": -7.54})]) == ["nats"]


def test_seconds_compare_on_the_same_machine_by_the_same_clock():
    quick, slow = record(scores={}, clock="quiet"), record(scores={}, clock="quiet", seconds=2.6)
    assert moved([quick], [slow]) == ["seconds"]
    assert moved([quick], [slow | {"machine": {"cpu": "another", "cores": 2}}]) == []
    assert moved([quick], [slow | {"clock": "processor"}]) == []
    assert moved([quick | {"clock": "wall"}], [slow | {"clock": "wall"}]) == []
    assert moved([quick], [record(scores={}, seconds=2.4, clock="quiet")]) == []
    rate = {"scores": {"tokens_per_second": 8e6}, "clock": "processor"}  # a machine with other work: twice or half
    assert moved([record(**rate)], [record(**rate | {"scores": {"tokens_per_second": 5e6}}, seconds=3.0)]) == []
    assert moved([record(**rate)], [record(**rate | {"scores": {"tokens_per_second": 3e6}})]) == ["tokens_per_second"]
    times = {"microseconds": 2.0}
    assert moved([record(scores=times, clock="quiet")], [record(scores={"microseconds": 2.2}, clock="quiet")]) == []


def test_memory_is_no_change_for_some_pages():
    small, large = {"anonymous": 8.6e6}, {"anonymous": 14e6}
    assert moved([record(scores=small, memory=3e5)], [record(scores={"anonymous": 9.9e6}, memory=8e5)]) == []
    assert moved([record(scores=small)], [record(scores=large)]) == ["anonymous"]


def test_fits_that_their_time_ended_compare_after_as_many_epochs():
    curve = [{"seconds": 0.1, "passes": 1, "nats": -7.0}, {"seconds": 0.4, "passes": 5, "nats": -6.5}]
    late = [*curve, {"seconds": 0.9, "passes": 9, "nats": -6.2}]
    old = record(scores={"nats": -6.5, "passes": 5}, curve=curve, clock="wall")
    new = record(scores={"nats": -6.2, "passes": 9}, curve=late, clock="wall")
    assert moved([old], [new]) == []
    worse = [curve[0], {"seconds": 0.4, "passes": 5, "nats": -6.7}, late[-1]]
    assert moved([old], [new | {"curve": worse}]) == ["nats"]
    assert moved([old], [new | {"curve": []}]) == []  # nothing that both have seen
    assert moved([old], [new | {"scores": {"nats": -6.2, "passes": 5}}]) == ["nats"]


def test_what_needs_two_cores_is_left_out_on_one(monkeypatch):
    monkeypatch.setattr(evidence, "CORES", [3])
    for quick in (False, True):
        chosen, notes = evidence.programs(quick, None)
        assert "threads.py" not in {program for program, *_ in chosen}
        assert any("for want of a second core: threads.py" in note for note in notes)


def test_every_benchmark_runs_with_and_without_corpora(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "CORES", [0, 1])
    for quick in (False, True):
        bare, notes = evidence.programs(quick, None)
        assert notes
        assert not any("--data" in program for program in bare)
        assert all(bare.count(program) == 1 for program in bare)
        for name, *_ in bare:
            assert (BENCHMARKS / name).exists()
        (tmp_path / "docword.kos.txt.gz").write_bytes(b"")
        given, _ = evidence.programs(quick, str(tmp_path))
        assert any(str(tmp_path / "docword.kos.txt.gz") in program for program in given)
        ran = {program[0] for program in [*bare, *given]}  # some need corpora
        alone = {"compare.py", "evidence.py", "readme.py"}
        assert {path.name for path in BENCHMARKS.glob("[!_]*.py")} - ran == alone


def test_comparisons_of_revisions_fit_defaults():
    """A parameter that a task fixes hides a changed default. Chains and sweeps of samplers are shorter."""
    allowed = {"random_state", "covariance_type"}
    for name, (_, code) in compare.TASKS.items():
        calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
        fixed = {keyword.arg for call in calls for keyword in call.keywords} - allowed
        shorter = {"max_iter", "n_chains"} if name in ("GibbsNGGPMixture", "CollapsedLDA", "GibbsLDA") else set()
        assert fixed <= shorter, name
