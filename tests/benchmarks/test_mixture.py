"""What a record of the mixtures' benchmark says was measured."""

import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from _results import Recorder, sizes_of
from mixture import SIZES, Bench


class Kept(Bench):
    """A bench without data, of whose records ``keep`` gives back what would be written."""

    def __init__(self):
        self.sizes = sizes_of(SIZES, quick=True)
        self.recorder = SimpleNamespace()
        self.patches = lambda _: {"n_rows": 2_000, "source": "two photographs"}

    def keep(self, *of):
        written = []
        self.recorder.add = lambda *about, **fields: written.extend(Recorder(None).add(*about, **fields))
        super().keep(*of)
        return written[0]


def test_a_record_names_the_rows_that_were_timed():
    fields = {"n_components": 6, "n_rows": 2_000, "seconds": 0.003}
    part = Kept().keep("pass", "K=6", "rival_passes", {"rows": 1_500}, fields | {"measured_rows": 1_500})
    whole = Kept().keep("pass", "K=6", "sparse_passes", {"rows": 2_000}, fields)
    assert part["corpus"] == "patches of two photographs, 1,500 rows"
    assert whole["corpus"] == "patches of two photographs, 2,000 rows"
    assert (part["scores"]["us_row"], whole["scores"]["us_row"]) == (2.0, 1.5)
    assert (part["estimator"], part["prior"], part["clock"]) == ("GaussianMixture", "the same start", "wall")


def test_contestants_with_starts_of_their_own_have_their_defaults_and_the_processors_seconds():
    result = {"n_components": 6, "checkpoints": [(1, 0.5, -3.0), (2, 0.7, -2.0)], "error": None}
    arguments = {"contestant": "GaussianMixture", "rows": 1_000, "n_components": 6, "budget": 1}
    record = Kept().keep("rivals", "GaussianMixture", "own_start_curve", arguments, result)
    assert (record["estimator"], record["prior"], record["clock"]) == ("GaussianMixture", "defaults", "processor")
    assert (record["seconds"], record["scores"]) == (0.7, {"score": -2.0})
    assert record["curve"][0] == {"passes": 1, "seconds": 0.5, "score": -3.0}
    assert record["tuned_on"] == []
