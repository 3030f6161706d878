"""Effects of covariates in the report: the numbers of the estimate, on paper and in a browser."""

from types import SimpleNamespace

import numpy as np
import pytest
from fitted import records
from test_report_browser import WORDS, browser, make_report, pytestmark, visit

from sparsemix import Report, SparseSCVB0LDA, report
from sparsemix.texts._report.page import static_content
from sparsemix.topics import estimate_effect

__all__ = ["browser", "pytestmark", "visit"]
pytest.importorskip("formulaic")


@pytest.fixture(scope="module")
def made():
    """A model, its effects and the report; the level of a category is markup."""
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (60, 8))
    X[:30, :4] += 3
    table = {"side": np.where(np.arange(60) < 30, "a", "<b>"), "year": 1990 + np.arange(60) % 7}
    model = SparseSCVB0LDA(2, random_state=0).fit(X)
    effects = estimate_effect(model, X, table, "side + s(year, df=3)", n_draws=2)
    return model, X, effects, report(model, X, WORDS[:8], effects=effects)


def test_the_report_has_the_effects_of_the_estimate(made):
    model, X, effects, page = made
    assert page.data["effects"]["labels"] == ["side: a less <b>", "year: 1996 less 1990"]
    expected = records(effects.contrast({"side": ["a"]}, {"side": ["<b>"]}))
    curve = effects._expected({"year": np.linspace(1990, 1996, 25)})
    for topic in page.data["topics"]:
        row, k = expected[topic["id"]], topic["id"]
        np.testing.assert_allclose(topic["effects"]["rows"][0], [row["estimate"], row["low"], row["high"]], rtol=1e-3)
        ends = np.column_stack([curve.mean[:, k], curve.low[:, k], curve.high[:, k]])
        np.testing.assert_allclose(topic["effects"]["curves"][0], ends, rtol=1e-3)
        paper = f'side: a less &lt;b&gt;</th><td class="number">{100 * row["estimate"]:+.1f}</td>'
        assert paper in static_content(page.data)
    one = Report(page.data).rename(["both", "both"])
    assert "less" not in static_content(one.data)
    assert report(model, X).data["effects"] is None
    with pytest.raises(ValueError, match="effects is a list; give the result of estimate_effect"):
        report(model, X, effects=records(effects.table()))
    with pytest.raises(ValueError, match="effects has 3 topics but model has 2; estimate them with this model"):
        report(model, X, effects=SimpleNamespace(estimates=np.ones((2, 3))))


def test_the_page_of_a_topic_shows_its_effects(visit, tmp_path, made):
    page = visit(made[3].save(tmp_path / "page.html"))
    topic = made[3].data["topics"][0]
    page.click(f'.row[data-topic="{topic["id"]}"]')
    rows = [row.inner_text().split("\t") for row in page.query_selector_all("table.effects tr")]
    assert [row[0] for row in rows] == made[3].data["effects"]["labels"]
    shown = [float(row[1].replace("−", "-")) for row in rows]
    np.testing.assert_allclose(shown, [100 * row[0] for row in topic["effects"]["rows"]], atol=0.06)
    assert page.query_selector(".detail .band") is not None
    points = page.get_attribute(".detail section .curve", "points").split()
    assert len(points) == 25
    heights = -np.array([float(point.split(",")[1]) for point in points])
    means = np.array([mean for mean, _, _ in topic["effects"]["curves"][0]])
    assert np.corrcoef(heights, means)[0, 1] > 0.99


def test_a_report_without_effects_shows_none(visit, tmp_path):
    page = visit(make_report(WORDS).save(tmp_path / "page.html"))
    assert page.query_selector("table.effects") is None
