"""What the run of all benchmarks runs if corpora are missing."""

import ast
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import compare  # noqa: E402
import evidence  # noqa: E402


def test_what_needs_two_cores_is_left_out_on_one(monkeypatch):
    monkeypatch.setattr(evidence, "CORES", [3])
    for quick in (False, True):
        chosen, notes = evidence.programs(quick, None)
        assert "threads.py" not in {program for program, *_ in chosen}
        assert any("because there is one core: threads.py" in note for note in notes)


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
        alone = {"ablate.py", "compare.py", "evidence.py", "readme.py", "real_tables.py"}
        assert {path.name for path in BENCHMARKS.glob("[!_]*.py")} - ran == alone


def test_comparisons_of_revisions_fit_defaults():
    """A parameter that a task fixes hides a changed default. Chains and sweeps of samplers are shorter."""
    allowed = {"random_state", "covariance_type"}
    for name, (_, code) in compare.TASKS.items():
        calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
        fixed = {keyword.arg for call in calls for keyword in call.keywords} - allowed
        shorter = {"max_iter", "n_chains"} if name in ("GibbsNGGPMixture", "CollapsedLDA", "GibbsLDA") else set()
        assert fixed <= shorter, name
