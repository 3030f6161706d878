"""The report in a browser: playwright drives the Chromium that is installed; without either the tests are skipped."""

import shutil
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation
from test_report import HOSTILE

from sparsemix import SparseLDA, report
from sparsemix.texts._report.naming import read_names

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on the path")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
WORDS = ["apple", "pear", "plum", "cherry", "river", "lake", "ocean", "brook", "guitar", "violin", "flute", "drum"]


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


def make_report(words, **options):
    rng = np.random.default_rng(0)
    rows = [np.bincount(rng.choice(4, 12) + 4 * (i % 3), minlength=12) for i in range(60)]
    X = sparse.csr_matrix(np.array(rows))
    return report(SparseLDA(3, n_nonzero=2, max_iter=10, tol=0, random_state=0).fit(X), X, words, **options)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "page.html"
    options = {"dates": [2000 + i % 5 for i in range(60)], "groups": [f"group {i % 3}" for i in range(60)]}
    return make_report(WORDS, names=[f"text {i}" for i in range(60)], **options).save(path)


@pytest.fixture
def visit(browser):
    """Opens a file in a window of some size; errors and requests beyond the file fail the test at its end."""
    wrong, contexts = [], []

    def open_page(path, width=1280, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("dialog", lambda dialog: (wrong.append("a dialog"), dialog.dismiss()))
        page.on("request", lambda request: request.url.startswith("file:") or wrong.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def topics_of(page):
    return [int(row.get_attribute("data-topic")) for row in page.query_selector_all(".side .row")]


def test_search_and_sort(visit, path):
    page = visit(path)
    assert len(topics_of(page)) == 3
    page.fill("#search", "GUITAR")
    page.wait_for_selector("text=1 of 3 topics have")
    (row,) = page.query_selector_all(".side .row")
    assert row.query_selector("mark").inner_text() == "guitar"
    page.fill("#search", "")
    page.wait_for_selector(".side .row >> nth=2")
    page.select_option("#sort", "id")
    assert topics_of(page) == [0, 1, 2]


def test_the_slider_sorts_words_between_distinctive_and_frequent(visit, path):
    """The same order as the formula gives."""
    page = visit(path)
    data = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
    topic, counts = data["topics"][0], np.array(data["counts"])
    p, everywhere = np.array(topic["p"]), counts[topic["words"]] / data["nTokens"]
    for position in (0.0, 0.5, 1.0):
        page.fill("#relevance", str(position))
        shown = page.query_selector_all(".detail table.bars >> nth=0 >> tbody th")
        score = np.log(p) - (1 - position) * np.log(np.maximum(everywhere, 0.5 / data["nTokens"]))
        expected = [data["words"][topic["words"][i]] for i in np.argsort(-score, kind="stable")]
        assert [th.inner_text() for th in shown] == expected[: len(shown)]


def test_map_and_list_are_linked(visit, path):
    page = visit(path)
    page.click("nav >> text=Map")
    circles = page.query_selector_all("svg.map circle")
    assert len(circles) == 3
    wanted = circles[1].get_attribute("data-topic")
    circles[1].click()
    assert page.inner_text("#heading").startswith(f"Topic {wanted}:")
    page.click("nav >> text=Topics")
    assert page.get_attribute('.row[aria-current="true"]', "data-topic") == wanted


def test_the_map_by_keyboard(visit, path):
    page = visit(path)
    page.click("nav >> text=Map")
    before = page.inner_text("#heading")
    page.focus("svg.map")
    for key in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    told = page.inner_text(".side [role=status]")
    page.keyboard.press("Enter")
    assert page.inner_text("#heading").split(":")[0] == told.split(",")[0]
    assert before


def test_everything_can_be_done_by_keyboard(visit, path):
    page = visit(path)
    page.keyboard.press("/")
    page.keyboard.type("violin")
    page.wait_for_selector("text=1 of 3 topics have")
    page.keyboard.press("Tab")
    while "row" not in (page.evaluate("document.activeElement.className") or ""):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "heading"
    page.keyboard.press("Escape")
    assert page.query_selector("#heading") is None


def test_documents_have_coloured_words_and_a_way_back(visit, path):
    page = visit(path)
    page.click(".card .link >> nth=0")
    assert page.inner_text("#heading").startswith("text ")
    marked = page.query_selector_all(".text span")
    assert marked
    assert {span.inner_text() for span in marked} <= set(WORDS)
    chip = page.query_selector(".chip >> nth=0")
    chip.click()
    assert chip.get_attribute("aria-pressed") == "false"
    assert page.query_selector(".text .dim")
    page.go_back()
    assert page.inner_text("#heading").startswith("Topic ")


def test_similar_topics_are_folded(visit, path):
    page = visit(path)
    page.click("nav >> text=Similar")
    page.fill("#sets", "1")
    assert len(page.query_selector_all("details.fold")) == 1
    page.fill("#sets", "3")
    assert len(page.query_selector_all("details.fold")) == 3


def test_groups_of_documents_are_compared(visit, path, tmp_path):
    page = visit(path)
    page.click("nav >> text=Groups")
    folds = page.query_selector_all("details.fold")
    assert [fold.inner_text().split("\n")[0] for fold in folds] == [f"group {i} 20 documents" for i in range(3)]
    assert " in all groups" in folds[0].inner_text()
    without = visit(make_report(WORDS).save(tmp_path / "without.html"))
    assert without.query_selector("nav >> text=Groups") is None


def test_shares_by_time_and_group_and_the_curve(visit, path):
    page = visit(path)
    assert len(page.query_selector_all(".detail rect.column")) == 5
    assert page.inner_text(".detail").count("group ") >= 3
    page.click("nav >> text=Data")
    assert len(page.query_selector_all("polyline.curve")) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_has_all_of_it_on_the_screen(visit, path, scheme):
    page = visit(path, 390, 844, color_scheme=scheme, has_touch=True, is_mobile=True)
    tabs = [f"nav >> text={name}" for name in ("Map", "Groups", "Similar", "Data", "Topics")]
    for step in (*tabs, ".row", ".card .link"):
        page.click(f"{step} >> nth=0")
        assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.click(".back")
    word = page.query_selector("table.bars tbody th").bounding_box()
    assert word["height"] < 50
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")


def test_colours_have_contrast(visit, path):
    """At least 4.5 to 1 for text on its ground, as the accessibility guidelines ask."""

    def luminance(colour):
        parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for scheme in ("light", "dark"):
        page = visit(path, color_scheme=scheme)
        ground = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        for selector in (".soft", ".link", "h1"):
            text = luminance(page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).color"))
            assert (max(text, ground) + 0.05) / (min(text, ground) + 0.05) >= 4.5


def test_hostile_words_do_nothing(visit, tmp_path):
    """No dialog, no request, no error; the words stand there as they are."""
    names = [HOSTILE[i % 10] for i in range(60)]
    facts = [(HOSTILE[1], HOSTILE[0])]
    made = make_report((HOSTILE * 2)[:12], names=names, groups=names, title=HOSTILE[0], facts=facts)
    page = visit(made.save(tmp_path / "hostile.html"))
    assert page.inner_text("h1") == HOSTILE[0]
    tabs = [f"nav >> text={name}" for name in ("Map", "Groups", "Similar", "Data", "Topics")]
    for step in (*tabs, ".card .link"):
        page.click(f"{step} >> nth=0")
    assert page.query_selector("img") is None
    assert page.evaluate("document.scripts.length") == 2


def test_a_notebook_shows_it_in_a_frame(visit, tmp_path):
    """Within a sandbox it has no address, and works all the same."""
    outer = tmp_path / "notebook.html"
    outer.write_text("<!DOCTYPE html><title>n</title>" + make_report(WORDS)._repr_html_(), encoding="utf-8")
    page = visit(outer)
    frame = page.frames[1]
    frame.click(".row >> nth=1")
    assert frame.inner_text("#heading").startswith("Topic ")
    frame.click(".card .link >> nth=0")
    assert frame.query_selector(".text span") is not None


def test_a_thousand_topics_are_responsive(visit, tmp_path):
    """Seconds from the click to the page, with a margin for a slow machine; the page itself is bounded."""
    rng = np.random.default_rng(0)
    n_topics, n_words = 1000, 5000

    class Model:
        components_ = rng.gamma(0.05, size=(n_topics, n_words)).astype(np.float32) + 1e-4

        def transform(self, X):
            return rng.dirichlet(np.full(n_topics, 0.01), X.shape[0])

    X = sparse.random(2000, n_words, 0.01, "csr", random_state=0, data_rvs=lambda n: rng.integers(1, 5, n))
    made = report(Model(), X, [f"word{v}" for v in range(n_words)])
    path = made.save(tmp_path / "large.html")
    assert path.stat().st_size < 8e6
    page = visit(path)
    times = {}
    for name, action in (
        ("slider", lambda: page.fill("#relevance", "0.2")),
        ("search", lambda: (page.fill("#search", "word12"), page.wait_for_selector("#found >> text=of 1000"))),
        ("map", lambda: (page.fill("#search", ""), page.click("nav >> text=Map"), page.wait_for_selector("circle"))),
        ("similar", lambda: (page.click("nav >> text=Similar"), page.fill("#sets", "30"))),
    ):
        start = time.perf_counter()
        action()
        page.evaluate("new Promise((done) => requestAnimationFrame(() => done()))")
        times[name] = time.perf_counter() - start
    assert max(times.values()) < 3.0, times


def test_names_join_topics_and_are_saved(visit, path, tmp_path):
    page = visit(path)
    a, b, c = topics_of(page)
    for topic in (a, c):
        page.click(f'.row[data-topic="{topic}"]')
        page.click(".naming summary") if not page.query_selector(".naming[open]") else None
        page.fill("#name", 'fruit, "ripe"')
        page.press("#name", "Enter")
        page.wait_for_selector("#heading >> text=fruit")
    assert topics_of(page) == [a, b]
    assert f"topic {a}, {c}" in page.inner_text(f'.row[data-topic="{a}"]')
    for view in ("Map", "Similar", "Topics"):
        page.click(f"nav >> text={view}")
    with page.expect_download() as waiting:
        page.click("text=save names.csv")
    waiting.value.save_as(tmp_path / "names.csv")
    assert read_names(tmp_path / "names.csv", 3) == {a: 'fruit, "ripe"', c: 'fruit, "ripe"'}
    page.click("text=separate topics")
    assert topics_of(page) == [a, b, c]


def test_paper_and_browsers_without_scripts_have_all_topics(browser, visit, path):
    page = visit(path)
    assert not page.is_visible("#static")
    page.emulate_media(media="print")
    assert page.is_visible("#static")
    assert not page.is_visible("#app")
    printed = page.inner_text("#static")
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(path.as_uri())
    assert plain.inner_text("#static") == printed
    context.close()
    assert all(word in printed for word in WORDS)
    assert printed.count("of all tokens") == 3


def test_circles_of_equal_topics_do_not_cover_one_another(visit, tmp_path):
    X = sparse.csr_matrix(np.random.default_rng(0).poisson(1.0, (40, 6)))
    topics = np.ones((30, 6))
    topics[:2] = [[90, 1, 1, 1, 1, 1], [1, 90, 1, 1, 1, 1]]
    model = LatentDirichletAllocation(30, max_iter=1, random_state=0).fit(X)
    model.components_ = topics
    page = visit(report(model, X).save(tmp_path / "equal.html"))
    page.click("nav >> text=Map")
    page.wait_for_selector("svg.map circle")
    read = "all => all.map(c => ['cx', 'cy', 'r'].map(name => +c.getAttribute(name)))"
    x, y, r = np.array(page.eval_on_selector_all("svg.map circle", read)).T
    gaps = np.hypot(x[:, None] - x, y[:, None] - y) - r[:, None] - r
    assert gaps[np.triu_indices(30, 1)].min() > -0.11  # radii are rounded
    assert r.max() > 5


def test_the_map_has_labels_and_a_note(visit, path):
    page = visit(path)
    page.click("nav >> text=Map")
    assert len(page.query_selector_all("svg.map > text")) >= 1
    page.query_selector_all("svg.map circle")[1].hover()
    (note,) = page.query_selector_all(".note")
    assert len(note.query_selector_all("text")) >= 2
