"""Charts of the documentation: a wide and a narrow drawing that say the same and share no identifier."""

import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="matplotlib draws the charts")
pytest.importorskip("docutils", reason="the documentation's packages are not installed")


def test_the_narrow_drawing_has_all_names_and_marks(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "doc" / "_extensions"))
    monkeypatch.delitem(sys.modules, "charts", raising=False)
    import charts

    rows = {f"a row with a long name, {i}": {"ours": (i, 0.1), "theirs": (2 * i, 0.0)} for i in range(3)}
    both = charts.pair(charts.dots(rows, "score"), (6.8, 2), (3.7, 3), "scores", "chart-0")
    wide, narrow = (f"<svg{part}" for part in both.split("<svg")[1:])
    assert 'class="chart wide"' in wide
    assert 'class="chart narrow"' in narrow
    identifiers = re.findall(r'\bid="([^"]*)"', both)
    assert len(identifiers) == len(set(identifiers)) > 20
    words = [set(re.findall(r"<text[^>]*>([^<]*)</text>", part)) for part in (wide, narrow)]
    assert all({*rows, "ours", "theirs", "score"} <= found for found in words)
    widths = [float(re.search(r'viewBox="0 0 (\S+) ', part)[1]) for part in (wide, narrow)]
    assert widths[0] > 480
    assert widths[1] < 270  # 358 pixels, the column of a phone
    assert "#010203" not in both
