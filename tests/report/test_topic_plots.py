"""Plots of topics say what the model says; the readings in words."""

from types import SimpleNamespace

import numpy as np
import pytest
from fitted import records
from scipy import stats
from scipy.spatial.distance import pdist
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer

from sparsemix import CollapsedLDA, SparseGaussianMixture, SparseLDA, SparseSCVB0LDA, plotting
from sparsemix.texts import shares_over_time, topic_map


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    themes = ["apple pear plum cherry", "river lake ocean brook", "guitar violin flute drum"]
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform([" ".join(rng.choice(themes[i % 3].split(), 12)) for i in range(60)])
    return SparseLDA(3, n_nonzero=2, max_iter=10, tol=0, random_state=0).fit(X), X, vectorizer


@pytest.mark.parametrize("estimator", [SparseLDA, SparseSCVB0LDA, CollapsedLDA])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_topic_word_distributions_are_distributions(fitted, estimator):
    _, X, _ = fitted
    model = estimator(3, max_iter=5, random_state=0).fit(X)
    assert model.topic_word_distribution_.shape == (3, 12)
    np.testing.assert_allclose(model.topic_word_distribution_.sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(
        model.topic_word_distribution_, model.components_ / model.components_.sum(axis=1, keepdims=True), rtol=1e-5
    )
    assert model.get_feature_names_out().tolist() == [f"{estimator.__name__.lower()}{k}" for k in range(3)]


def test_tables_take_a_vectorizer_and_say_when_words_have_no_names(fitted, capsys):
    model, _, vectorizer = fitted
    assert records(model.topic_table(vectorizer)) == records(model.topic_table(vectorizer.get_feature_names_out()))
    rows = records(model.topic_table(n_top_words=2))
    assert all(word.startswith("column ") for row in rows for word in row["words"])
    model.print_topics(vectorizer, n_topics=2, n_top_words=4)
    lines = capsys.readouterr().out.splitlines()
    rows = records(model.topic_table(vectorizer, 4))
    assert [line.split()[2:] for line in lines] == [row["words"] for row in rows[:2]]


def test_plots(fitted, tmp_path):
    pytest.importorskip("matplotlib")
    from sparsemix import plotting

    model, X, vectorizer = fitted
    words = plotting.plot_top_words(model, vectorizer, n_topics=2, n_top_words=4)
    row = records(model.topic_table(vectorizer, 4))[0]
    assert [label.get_text() for label in words.axes[0].get_yticklabels()] == row["words"]
    assert words.axes[0].get_title() == f"topic {row['topic']}"
    curves = plotting.plot_learning_curves(model)
    bounds = [record["lower_bound_per_token"] for record in model.history_]
    np.testing.assert_allclose(curves.axes[0].lines[0].get_ydata(), bounds)
    time = plotting.plot_topics_over_time(model, X, [2000 + i % 3 for i in range(60)], vectorizer)
    assert len(time.axes[0].lines) == 3
    # documents of the year 2000 + i are of theme i: each topic has one year
    assert sorted(int(np.argmax(line.get_ydata())) for line in time.axes[0].lines) == [0, 1, 2]
    places = plotting.plot_topic_map(model, vectorizer)
    assert len(places.axes[0].collections[0].get_offsets()) == 3
    for i, figure in enumerate((words, curves, time, places)):
        figure.savefig(tmp_path / f"{i}.png")
    for values in (60 * ["soon"], 60 * [None]):
        with pytest.raises(ValueError, match="dates has no date that can be read"):
            plotting.plot_topics_over_time(model, X, values)


def test_plots_refuse_what_they_cannot_draw(fitted):
    pytest.importorskip("matplotlib")
    from sparsemix.plotting import plot_eigenvectors, plot_top_words, plot_topic_map, plot_topics_over_time

    model, X, _ = fitted
    for n in (0, -1, 2.5, None):
        with pytest.raises(ValueError, match="give a whole number above zero"):
            plot_top_words(model, n_topics=n)
        with pytest.raises(ValueError, match="n_labels is"):
            plot_topic_map(model, n_labels=n)
        with pytest.raises(ValueError, match="n_topics is"):
            plot_topics_over_time(model, X, ["2020"] * 60, n_topics=n)
    rows = np.random.default_rng(0).normal(size=(30, 6))
    with pytest.raises(ValueError, match="no full covariances"):
        plot_eigenvectors(SparseGaussianMixture(2, covariance_type="diag", random_state=0).fit(rows), (2, 3))
    full = SparseGaussianMixture(2, random_state=0).fit(rows)
    for shape in [(2, 2), (0, -1), 6, "x"]:
        with pytest.raises(ValueError, match="patches of 6 values"):
            plot_eigenvectors(full, shape)
    assert len(plot_eigenvectors(full, (2, 3), n_eigenvectors=1000).axes) == 2 * 6


def test_plots_write_words_as_they_are(fitted):
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from sparsemix.plotting import plot_top_words, plot_topic_map

    model, _, _ = fitted
    words = ["$\\bad{", "$x$", "\ud800", "a\nb", "\x00", *"abcdefg"]
    figure = plot_top_words(model, words, n_top_words=12)
    FigureCanvasAgg(figure).draw()
    FigureCanvasAgg(plot_topic_map(model, words)).draw()
    labels = {tick.get_text() for axis in figure.axes for tick in axis.get_yticklabels()}
    assert {"\\$\\bad{", "\\$x\\$", "\\ud800", "a\\nb", "\\x00"} <= labels


def test_plots_of_scikit_learns_topics(fitted):
    pytest.importorskip("matplotlib")
    from sparsemix import plotting

    _, X, vectorizer = fitted
    model = LatentDirichletAllocation(3, max_iter=2, random_state=0).fit(X)
    assert len(plotting.plot_top_words(model, vectorizer).axes) == 3
    assert len(plotting.plot_topic_map(model, vectorizer).axes) == 1


def test_pyldavis_takes_our_topics(fitted):
    lda_model = pytest.importorskip("pyLDAvis.lda_model")
    model, X, vectorizer = fitted
    prepared = lda_model.prepare(model, X, vectorizer, n_jobs=1)
    assert len(prepared.topic_coordinates) == 3


@pytest.mark.parametrize("estimator", [SparseLDA, SparseSCVB0LDA, CollapsedLDA])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_components_cannot_be_written_to(fitted, estimator):
    """Writing would change what is shown and not what is learned."""
    _, X, _ = fitted
    model = estimator(3, max_iter=2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="read-only"):
        model.components_[0, 0] = 7.0
    before = model.components_.copy()
    model.partial_fit(X) if hasattr(model, "partial_fit") else model.fit(X)
    assert model.components_.shape == before.shape


def test_shares_over_time_are_those_of_the_documents(fitted):
    model, X, _ = fitted
    years = np.repeat([2001, 2003], [20, 40])
    found, shares = shares_over_time(model, X, years), model.transform(X)
    assert found.periods == ["2001", "2002", "2003"]
    np.testing.assert_allclose(found.shares[[0, 2]], [shares[:20].mean(axis=0), shares[20:].mean(axis=0)])
    assert not found.shares[1].any()
    tokens = np.asarray(X.sum(axis=1)).ravel()
    np.testing.assert_allclose(found.weights, tokens @ shares / tokens.sum())
    with pytest.warns(UserWarning, match="1 of 60 dates are not read") as warned:
        shares_over_time(model, X, [*["2001"] * 59, "soon"])
    assert warned[0].filename == __file__


def test_shares_over_time_have_standard_errors_and_intervals(fitted):
    model, X, _ = fitted
    years = np.repeat([2001, 2003, 2004], [20, 39, 1])
    found, shares = shares_over_time(model, X, years), model.transform(X)
    assert found.n_documents.tolist() == [20, 0, 39, 1]
    for period, rows in ((0, slice(0, 20)), (2, slice(20, 59))):
        for k in range(3):
            values = shares[rows, k].astype(np.float64)
            expected = stats.sem(values)
            np.testing.assert_allclose(found.standard_errors[period, k], expected, rtol=1e-6)
            low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), expected)
            np.testing.assert_allclose(found.low[period, k], max(low, 0.0), rtol=1e-6)
            np.testing.assert_allclose(found.high[period, k], min(high, 1.0), rtol=1e-6)
    for values in (found.standard_errors, found.low, found.high):
        assert np.isnan(values[[1, 3]]).all()


def test_intervals_of_random_periods_hold_the_mean():
    """Documents of random years: about 95 % of the bands hold the mean of all documents."""
    rng = np.random.default_rng(0)
    X = rng.poisson(2.0, (4000, 6))
    model = SparseLDA(3, max_iter=5, tol=0, random_state=0).fit(X)
    found, mean = shares_over_time(model, X, rng.integers(1900, 1950, 4000)), model.transform(X).mean(axis=0)
    assert 0.9 < np.mean((found.low <= mean) & (mean <= found.high)) < 0.99


def test_the_axis_over_time_begins_at_zero_and_shows_bands_and_gaps(fitted):
    pytest.importorskip("matplotlib")
    model, X, vectorizer = fitted
    years = np.repeat([2001, 2003, 2004], [20, 38, 2])
    found = shares_over_time(model, X, years)
    axis = plotting.plot_topics_over_time(model, X, years, vectorizer).axes[0]
    assert axis.get_ylim()[0] == 0.0
    assert np.nanmax(found.shares) <= axis.get_ylim()[1] <= 2.0
    assert "95 % intervals" in axis.get_ylabel()
    assert len(axis.lines) == len(axis.collections) == 3
    for k, line, band in zip(np.argsort(-found.weights), axis.lines, axis.collections, strict=True):
        np.testing.assert_array_equal(np.isnan(line.get_ydata()), [False, True, False, False])
        points = np.concatenate([path.vertices for path in band.get_paths()])
        for period in (0, 2, 3):
            heights = points[points[:, 0] == period, 1]
            ends = found.low[period, k], found.high[period, k]
            np.testing.assert_allclose([heights.min(), heights.max()], ends, atol=1e-12)


def test_warnings_of_plots_name_the_line_of_the_caller(fitted):
    pytest.importorskip("matplotlib")
    model, X, _ = fitted
    with pytest.warns(UserWarning, match="1 of 60 dates are not read") as warned:
        plotting.plot_topics_over_time(model, X, [*["2001"] * 59, "soon"])
    assert warned[0].filename == __file__


@pytest.mark.parametrize("n_topics", [1, 2, 5, 20])
def test_the_map_has_similar_topics_close(n_topics):
    topics = np.random.default_rng(0).dirichlet(np.full(50, 0.1), n_topics)
    places = topic_map(np.vstack([topics, topics[:1]]))
    assert np.abs(places).max() <= 1.0
    distances = np.linalg.norm(places - places[-1], axis=1)[:-1]
    assert distances.argmin() == 0
    with pytest.raises(ValueError, match="row 0 of topics is all zero"):
        topic_map(np.zeros((2, 3)))


EQUAL = np.vstack([np.eye(40)[:2] + 0.01, np.ones((28, 40))])


@pytest.mark.parametrize("topics", [EQUAL, np.eye(11), np.eye(30), np.ones((9, 4))], ids=["equal", "11", "30", "one"])
def test_no_two_topics_are_on_one_spot_of_the_map(topics):
    places = topic_map(topics)
    assert np.abs(places).max() <= 1.0
    assert pdist(places).min() > 0.9 / np.sqrt(len(places))
    np.testing.assert_array_equal(places, topic_map(topics))


def test_the_map_gives_large_topics_more_room():
    weights = np.append(10.0, np.ones(99))
    topics = np.random.default_rng(0).dirichlet(np.full(50, 0.1), 100)
    places = topic_map(SimpleNamespace(components_=topics, topic_weights_=weights))
    near = np.sort(np.linalg.norm(places[1:] - places[0], axis=1))[0]
    assert near > 1.3 * np.median([np.sort(np.linalg.norm(places - place, axis=1))[1] for place in places[1:]])


def test_the_map_of_equal_topics_has_circles_that_do_not_cover_one_another():
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    for topics in (EQUAL, rng.dirichlet(np.full(60, 0.05), 200)):
        weights = rng.dirichlet(np.full(len(topics), 0.5))
        model = SimpleNamespace(components_=topics, topic_weights_=weights)
        (circles,) = plotting.plot_topic_map(model).axes[0].collections
        places, radii = circles.get_offsets(), circles.get_widths() / 2
        np.testing.assert_allclose(circles.get_heights(), 2 * radii)
        first, second = np.triu_indices(len(radii), 1)
        assert (pdist(places) - radii[first] - radii[second]).min() > -1e-9
        assert radii.max() > 0.2 / np.sqrt(len(radii))
        np.testing.assert_array_equal(np.argsort(radii), np.argsort(weights))


@pytest.mark.parametrize("size", [(7.0, 7.0), (4.0, 3.0)])
@pytest.mark.parametrize("dpi", [70, 200])
def test_labels_of_the_map_lie_within_the_axes(dpi, size):
    plt = pytest.importorskip("matplotlib.pyplot")
    names = [f"a_rather_long_name_of_the_word_{v}" for v in range(40)]
    figure = plt.figure(figsize=size)
    axis = plotting.plot_topic_map(SimpleNamespace(components_=EQUAL), names, n_labels=30, figure=figure).axes[0]
    figure.dpi = dpi
    figure.canvas.draw()
    frame = axis.get_window_extent()
    assert len(axis.texts) == 30
    for text in axis.texts:
        box = text.get_window_extent()
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1
    plt.close("all")
