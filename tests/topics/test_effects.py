"""Effects of covariates: the chain next to enumeration, regressions next to closed forms, intervals next to truth."""

import io
import pickle
from datetime import date, datetime
from itertools import product
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from fitted import records
from scipy import sparse
from scipy.special import gammaln, psi
from scipy.stats import t as student

from sparsemix import SparseSCVB0LDA
from sparsemix._rows.threads import Workers
from sparsemix.topics import TopicEffects, check_formula, estimate_effect
from sparsemix.topics._covariates.chain import Chain, Tokens, exposures, tables
from sparsemix.topics._covariates.effects import Regression

pytest.importorskip("formulaic")
from sparsemix.topics._covariates.formula import Design, read_formula


def corpus(seed, n=300, length=60, n_topics=4, n_words=60):
    """Documents whose priors depend on a side and a year: model with the true topics, counts, table, true effects."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.1), n_topics)
    table = {"side": rng.integers(2, size=n), "year": rng.random(n)}
    rows = np.column_stack([np.ones(n), table["side"], table["year"]])
    alpha = np.exp(rows @ rng.normal([[-1.5], [0], [0]], 0.7, (3, n_topics)))
    X = np.array([rng.multinomial(length, rng.dirichlet(a) @ topics) for a in alpha])
    truth = np.linalg.lstsq(rows, alpha / alpha.sum(axis=1, keepdims=True), rcond=None)[0]
    return SimpleNamespace(components_=topics, doc_topic_prior_=np.full(n_topics, 0.3)), X, table, truth


@pytest.fixture(scope="module")
def estimated():
    model, X, table, _ = corpus(0, 200)
    return model, X, table, estimate_effect(model, X, table, "side + year", n_draws=5)


def by_joblib(effects):
    file = io.BytesIO()
    joblib.dump(effects, file)
    file.seek(0)
    return joblib.load(file)


def exact_posterior(counts, words, covariates, points, precision):
    """Means of coefficients, their squares and the proportions of topic 0, summed over topics of tokens and a grid."""
    lam = np.array(list(product(points, points)))  # (G, K)
    log_weight, shares = -0.5 * precision * (lam**2).sum(axis=1), []
    for row, x in zip(counts, covariates[:, 0], strict=True):
        alpha, tokens = np.exp(x * lam), np.repeat(np.arange(len(row)), row)
        likelihood, share = np.zeros(len(lam)), np.zeros(len(lam))
        for z in product(range(2), repeat=len(tokens)):
            n = np.bincount(z, minlength=2)
            total = alpha.sum(axis=1)
            log_prior = gammaln(total) - gammaln(total + len(tokens))
            log_prior += (gammaln(alpha + n) - gammaln(alpha)).sum(axis=1)
            part = np.exp(log_prior) * np.prod(words[list(z), tokens])
            likelihood += part
            share += part * (alpha[:, 0] + n[0]) / (total + len(tokens))
        log_weight += np.log(likelihood)
        shares.append(share / likelihood)
    weight = np.exp(log_weight - log_weight.max())
    return np.average(np.column_stack([lam, lam**2, *shares]), axis=0, weights=weight)


def test_the_chain_has_the_posterior_of_enumeration():
    """Few documents with few words, where the normal approximation of coefficients is not the posterior."""
    counts, words = np.array([[3, 1], [0, 3], [2, 0], [1, 1], [2, 2]]), np.array([[0.8, 0.2], [0.3, 0.7]])
    covariates = np.array([[1.0], [-0.5], [0.7], [-1.2], [-1.0]])
    exact = exact_posterior(counts, words, covariates, np.linspace(-5, 5, 101), 1.5)
    with Workers(1) as workers:
        chain = Chain(sparse.csr_array(counts), words, np.ones(2), covariates, 0, workers)
        chain.precision[:], seen = 1.5, []
        for _ in range(2600):
            chain.step()
            lam = chain.coefficients[0]
            seen.append([*lam, *lam**2, *chain.proportions(0)[:, 0]])
    batches = np.reshape(seen[100:], (25, -1, len(exact))).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    assert (error < 0.1).all()
    assert (np.abs(batches.mean(axis=0) - exact) < 4 * error).all()


def test_tables_have_the_mean_of_antoniak():
    rng = np.random.default_rng(0)
    counts, alpha = np.array([[0, 1, 5], [40, 3, 0]]), np.array([[0.5, 0.01, 2.0], [0.3, 9.0, 1.0]])
    drawn = np.array([tables(counts, alpha, rng) for _ in range(4000)])
    assert (drawn[:, counts == 0] == 0).all()
    assert (drawn[:, 0, 1] == 1).all()
    np.testing.assert_allclose(drawn.mean(axis=0), alpha * (psi(alpha + counts) - psi(alpha)), atol=0.1, rtol=0.02)


def test_exposures_have_the_mean_of_logarithms_of_beta_variables():
    prior, sizes = np.array([1e-4, 0.3, 4.0, 50.0]), np.array([3, 40, 1, 20])
    drawn = exposures(np.repeat(prior, 4000), np.repeat(sizes, 4000), np.random.default_rng(0)).reshape(4, -1)
    expected = psi(prior + sizes) - psi(prior)
    assert (np.abs(drawn.mean(axis=1) - expected) < 4 * drawn.std(axis=1) / np.sqrt(4000)).all()


def test_one_topic_in_all_documents_is_no_error():
    """The priors of the other topic become tiny; dates, levels and truth values are covariates."""
    pandas, rng = pytest.importorskip("pandas"), np.random.default_rng(0)
    topics = rng.dirichlet(np.ones(10), 2)
    table = {"day": pandas.date_range("2020-01-01", periods=60), "yes": rng.random(60) > 0.5, "side": ["u", "v"] * 30}
    model = SimpleNamespace(components_=topics, doc_topic_prior_=0.5)
    effects = estimate_effect(model, rng.multinomial(20, topics[0], 60), table, "s(day, df=3) + yes * side", n_draws=2)
    assert effects.terms[1:] == [*(f"s(day, df=3)[{i}]" for i in range(3)), "yes", "side[T.v]", "yes:side[T.v]"]
    assert np.isfinite(effects.covariances).all()
    assert effects._expected({"day": table["day"][:2]}).mean[:, 0].min() > 0.7


def topics_of_tokens(counts, alpha, words, n_sweeps, rng):
    """Numbers of tokens by topic (n, K) after sweeps that draw proportions, then the topics of all tokens."""
    found = np.zeros_like(alpha)
    for _ in range(n_sweeps):
        theta = rng.standard_gamma(alpha + found)
        found = np.zeros_like(alpha)
        for v, row in enumerate(words.T):
            p = theta * row
            found += rng.multinomial(counts[:, v], p / p.sum(axis=1, keepdims=True))
    return found


def test_topics_of_tokens_are_those_of_sampling_with_proportions():
    """Copies of two documents, whose words are repeated; collapsed sampling has the same moments."""
    rng, n = np.random.default_rng(0), 6000
    counts, alpha = np.array([[4, 0, 2], [1, 3, 0]]), np.array([[0.4, 0.1, 1.5], [0.05, 2.0, 0.3]])
    words = np.array([[0.5, 0.1, 0.4], [0.0, 0.3, 0.7], [0.4, 0.5, 0.1]])
    counts, alpha = np.repeat(counts, n, axis=0), np.repeat(alpha, n, axis=0)
    tokens, table = Tokens(sparse.csr_array(counts), 3), np.ascontiguousarray(words.T)
    for step in range(30):
        tokens.draw(alpha, table, np.arange(2 * n), 1, step)
    found = []
    for drawn in (tokens.of_topics(), topics_of_tokens(counts, alpha, words, 30, rng)):
        assert (drawn.sum(axis=1) == counts.sum(axis=1)).all()
        found.append(np.concatenate([drawn, drawn**2], axis=1).reshape(2, n, -1))
    error = np.sqrt(sum(values.var(axis=1) for values in found) / n)
    assert (np.abs(found[0].mean(axis=1) - found[1].mean(axis=1)) < 4 * error + 1e-12).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_regressions_and_pooled_intervals_are_the_closed_forms(weighted):
    rng = np.random.default_rng(0)
    n, theta = 50, rng.dirichlet(np.ones(3), (4, 50))
    design = Design("side * x", {"side": rng.choice(list("ab"), n), "x": 2000 + rng.random(n)})
    weights = rng.uniform(0.5, 3, n) if weighted else np.ones(n)
    regression, rows = Regression(design, weights if weighted else None), design.standard(design.rows)
    bread = np.linalg.inv(rows.T @ (rows * weights[:, None]))
    leverage = weights * np.einsum("np,pq,nq->n", rows, bread, rows)
    b, v = [], []
    for drawn in theta:
        parts = drawn[:30], drawn[30:]
        regression.add(SimpleNamespace(spans=[(0, 30), (30, n)], proportions=parts.__getitem__))
        b.append(bread @ rows.T @ (drawn * weights[:, None]))
        e = weights[:, None] * (drawn - rows @ b[-1]) / (1 - leverage)[:, None]
        v.append([bread @ (rows.T * e[:, k] ** 2) @ rows @ bread for k in range(3)])
    np.testing.assert_allclose(regression.coefficients, b, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(regression.covariances, v, rtol=1e-4, atol=1e-8 * np.max(v))
    effects = TopicEffects(design, np.array(regression.coefficients), np.array(regression.covariances), 0.8)
    row, c = records(effects.contrast({"side": ["b"]}, {"side": ["a"]}))[1], np.zeros(4)
    c[1], c[3] = np.array([1, np.median(design.values["x"])]) / design.unit[[1, 3]]
    values = np.array(b)[:, :, 1] @ c
    within, between = np.mean([c @ each[1] @ c for each in v]), 1.25 * values.var(ddof=1)
    share, free = between / (within + between), n - 4
    degrees = 1 / (share**2 / 3 + (free + 3) / (free + 1) / free / (1 - share))
    reach = student.ppf(0.9, degrees) * np.sqrt(within + between)
    np.testing.assert_allclose([row["estimate"], row["high"]], [values.mean(), values.mean() + reach], rtol=1e-4)
    inverse = np.linalg.pinv(design.rows * np.sqrt(weights)[:, None]) * np.sqrt(weights)
    np.testing.assert_allclose(effects.estimates, inverse @ theta.mean(axis=0), rtol=1e-4, atol=1e-6)
    spread = np.mean([np.sqrt(np.diag(inverse @ np.diag((d - design.rows @ (inverse @ d)) ** 2) @ inverse.T))
                      for d in theta[:, :, 0]], axis=0)  # fmt: skip
    assert ([row["std"] for row in records(effects.table(0))] > 0.9 * spread).all()


def test_intervals_contain_the_truth_and_draws_without_covariates_do_not():
    """Short documents: proportions drawn under a prior without covariates have smaller effects."""
    inside, large = [], []
    for seed in range(12):
        model, X, table, truth = corpus(seed, 300, 10)
        design = Design("side + year", table)
        pooled = estimate_effect(model, X, table, "side + year", n_draws=10, random_state=seed)._of_terms()
        inside.append((pooled.low <= truth) & (truth <= pooled.high))
        regression = Regression(design)
        with Workers(1) as workers:
            prior, constant = model.doc_topic_prior_, np.ones((300, 1))
            chain = Chain(sparse.csr_array(X), model.components_, prior, constant, seed, workers)
            for step in range(60):
                chain.step()
                if step % 4 == 3 and step > 20:
                    regression.add(chain)
        shrunk = np.mean(regression.coefficients, axis=0) / design.unit[:, None]
        large.append([(shrunk * truth)[1:].sum(), (pooled.mean * truth)[1:].sum(), (truth[1:] ** 2).sum()])
    shrunk, ours, whole = np.sum(large, axis=0)
    assert 0.82 < np.mean(inside) < 0.97
    assert shrunk < 0.85 * whole
    assert 0.92 * whole < ours < 1.08 * whole


def test_results_depend_on_the_seed_only(estimated, monkeypatch):
    model, X, table, effects = estimated
    monkeypatch.setattr("sparsemix.topics._covariates.chain.BLOCK", 1 << 14)
    one, two = (estimate_effect(model, sparse.csr_matrix(X), table, "side + year", n_draws=3, n_jobs=n) for n in (1, 4))
    assert one.coefficients.tobytes() == two.coefficients.tobytes()
    assert one.covariances.tobytes() == two.covariances.tobytes()
    other = estimate_effect(model, X, table, "side + year", n_draws=3, random_state=1)
    assert np.abs(other.estimates - one.estimates).max() > 0
    assert repr(effects) == "<TopicEffects of 4 topics on Intercept, side, year>"


def test_tables_of_any_kind_give_the_same(estimated):
    pandas, polars, _ = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    model, X, table, effects = estimated
    frames = [pandas.DataFrame(table, index=range(200, 0, -1)), polars.DataFrame({**table, "other": [None] * 200})]
    frames += [frames[1].to_arrow(), {"side": frames[0]["side"], "year": pandas.Series(table["year"])}]
    for frame in frames:
        again = estimate_effect(model, X, frame, "side + year", n_draws=5)
        assert records(again.table()) == records(effects.table())
    assert [row["term"] for row in records(effects.table(2))] == effects.terms == ["Intercept", "side", "year"]
    assert len(effects.table()) == 12


def test_documents_without_words_or_weight_are_left_out(estimated):
    model, X, table, _ = estimated
    weights = np.ones(200)
    weights[:20] = 0
    kept = {name: values[20:] for name, values in table.items()}
    expected = estimate_effect(model, X[20:], kept, "side + year", n_draws=3)
    empty = X.copy()
    empty[:20] = 0
    for given, weight in ((X, weights), (empty, None)):
        found = estimate_effect(model, given, table, "side + year", n_draws=3, sample_weight=weight)
        np.testing.assert_allclose(found.estimates, expected.estimates, rtol=1e-8)


def test_splines_predict_the_curve_that_they_fit():
    """A chain of long documents has the proportions; a spline follows their curve, and new rows have its knots."""
    rng = np.random.default_rng(0)
    year = np.repeat(np.arange(1990, 2020), 10)
    share = 0.5 + 0.3 * np.sin((year - 1990) / 5)
    theta = np.array([rng.dirichlet([30 * p, 30 * (1 - p)]) for p in share])
    words = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    X = np.array([rng.multinomial(150, t @ words) for t in theta])
    model = SimpleNamespace(components_=words, doc_topic_prior_=np.array([2.0, 2.0]))
    effects = estimate_effect(model, X, {"year": year}, "s(year)", n_draws=5)
    expected = effects._expected({"year": np.arange(1990, 2020)})
    curve = 0.5 + 0.3 * np.sin(np.arange(30) / 5)
    assert len(effects.terms) == 11
    assert np.abs(expected.mean[:, 0] - curve).max() < 0.08
    assert np.mean((expected.low[:, 0] < curve) & (curve < expected.high[:, 0])) > 0.7
    few = Design("s(x)", {"x": np.tile([1, 2, 4], 5)})
    assert few.rows.shape[1] == 3  # a curve through three values
    assert np.linalg.matrix_rank(few.rows) == 3


WRONG = [
    ({"formula": "side +"}, "cannot be read"),
    ({"formula": "side ~ year"}, "right-hand side only"),
    ({"formula": "1"}, "no covariate"),
    ({"formula": "party"}, r"no column 'party', .* it has \['side', 'year'\]"),
    ({"formula": "year + I(2 * year)"}, "'I\\(2 \\* year\\)' .* is constant or a combination"),
    ({"formula": "s(year, df=500)"}, "df is 500; it must be from 1 to 199"),
    ({"formula": "s(side)", "table": {"side": ["x", "y"] * 100}}, "could not convert"),
    ({"table": {"side": ["x"] * 200, "year": range(200)}}, "column 'side' of table has one value"),
    ({"table": {"side": range(200), "year": [1.0, 2.0, np.nan, *range(197)]}}, "'year' of table has no value in row 2"),
    ({"table": {"side": ["a", None] * 100, "year": range(200)}}, "column 'side' of table has no value in row 1"),
    ({"table": {"side": ["rare", *["b", "c"] * 99, "b"], "year": range(200)}}, r"row 0 .* 'side\[T.rare\]' alone"),
    ({"formula": "s(year, knots=3)"}, r"from table: s\(\) has no argument 'knots'; give df only"),
    ({"formula": "s(year, df=2.5)"}, "df is 2.5; it must be from 1"),
    ({"formula": "log(side"}, "cannot be read"),
    ({"formula": "log(side year)"}, "cannot be read"),
    ({"formula": "log(side) + year", "table": {"side": range(5, -195, -1), "year": [1, 2] * 100}}, "-inf in row 5 "),
    ({"formula": "log(year)", "table": {"year": [*range(1, 199), -1, 2]}}, r"'log\(year\)' .* is nan in row 198 "),
    ({"formula": "s(log(year))", "table": {"year": [*range(1, 199), -1, 2]}}, r"s\(\) got nan; give finite"),
    ({"table": {"side": [1, 2] * 100, "year": [1]}}, "columns that are no columns of one length"),
    ({"table": {"side": range(10), "year": range(10)}}, "table has 10 rows but X has 200"),
    ({"table": [1, 2]}, "table is a list"),
    ({"n_draws": 1}, "at least 2"),
    ({"level": 1.0}, "level is 1.0"),
    ({"model": SimpleNamespace(components_=np.ones((4, 60)))}, "without doc_topic_prior_"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_errors_name_the_argument_and_the_remedy(estimated, change, message):
    model, X, table, _ = estimated
    arguments = {"model": model, "X": X, "table": table, "formula": "side + year", **change}
    with pytest.raises(ValueError, match=message):
        estimate_effect(**arguments)


def test_errors_of_counts_and_of_new_tables(estimated):
    model, X, table, effects = estimated
    with pytest.raises(ValueError, match="in row 0, column"):
        estimate_effect(model, X + 0.5, table, "side + year")
    with pytest.raises(ValueError, match="'month', which the formula does not read"):
        effects.predict({"month": [1]})
    with pytest.raises(ValueError, match="topic is 4; give an index from 0 to 3"):
        effects.table(4)
    sides = {"side": np.where(table["side"], "left", "right"), "year": table["year"]}
    effects = estimate_effect(model, X, sides, "side + s(year, df=3)", n_draws=2)
    with pytest.raises(ValueError, match="table has 'middle', a level that the documents of the estimate lack"):
        effects.predict({"side": ["middle"]})
    with pytest.raises(ValueError, match="splines are known from"):
        effects.predict({"year": [7.0]})
    with pytest.raises(ValueError, match="column 'year' of table has 'late'; give numbers or dates as before"):
        effects.predict({"year": ["late"]})
    effects = estimate_effect(model, X, table, "log(year)", n_draws=2)
    with pytest.raises(ValueError, match=r"the column 'log\(year\)' of the formula is -inf in row 1 of table"):
        effects.predict({"year": [1, 0]})


@pytest.mark.parametrize("copy", [lambda effects: pickle.loads(pickle.dumps(effects)), by_joblib])
def test_effects_that_are_stored_predict_the_same(estimated, copy):
    model, X, table, _ = estimated
    table = {"side": np.where(table["side"], "left", "right"), "year": table["year"], "size": X[:, 0] + X[:, 1]}
    effects = estimate_effect(model, X, table, "side + s(year, df=3) + poly(size, 2)", n_draws=2)
    again, new = copy(effects), {"side": ["left", "right"], "year": [0.3, 0.6]}
    assert records(again.table()) == records(effects.table())
    np.testing.assert_array_equal(again._expected(new).low, effects._expected(new).low)


def days_of(kind):
    """The first days of 200 months in a form of dates."""
    pandas = pytest.importorskip("pandas")
    days = np.datetime64("2005-01") + np.arange(200)
    dates = days.astype("datetime64[D]").tolist()
    texts = [str(day) for day in dates]
    if kind == "polars":
        return pytest.importorskip("polars").Series(dates)
    if kind == "arrow":
        return pytest.importorskip("pyarrow").array(dates)
    if kind == "date32[pyarrow]":
        pytest.importorskip("pyarrow")
        return pandas.Series(dates, dtype=kind)
    return {
        "month": days, "ns": days.astype("datetime64[ns]"), "date": dates, "text": texts,
        "datetime": [datetime(day.year, day.month, day.day) for day in dates],
        "moment": [f"{text}T00:00Z" for text in texts],
        "zone": pandas.Series(pandas.to_datetime(texts)).dt.tz_localize("Asia/Tokyo"),
        "period": pandas.period_range("2005-01", periods=200, freq="M"), "timestamp": pandas.to_datetime(texts),
    }[kind]  # fmt: skip


KINDS = ["month", "ns", "date", "text", "datetime", "moment"]
KINDS += ["zone", "period", "timestamp", "polars", "arrow", "date32[pyarrow]"]


@pytest.mark.parametrize("kind", KINDS)
def test_dates_of_any_kind_are_years(kind):
    months = [date(2005 + i // 12, i % 12 + 1, 1) for i in range(200)]
    lengths = [date(day.year + 1, 1, 1) - date(day.year, 1, 1) for day in months]
    starts = [day - date(day.year, 1, 1) for day in months]
    years = [day.year + start / length for day, start, length in zip(months, starts, lengths, strict=True)]
    design = Design("d", {"d": days_of(kind)})
    np.testing.assert_allclose(design.rows[:, 1], years, rtol=1e-14)
    middle = np.datetime64("2011-07-02T12:00")
    for value in ([2011.5], middle, middle.item(), [middle.item()], [str(middle)]):
        assert design.matrix({"d": value})[0, 1] == 2011.5
    curve = Design("s(d)", {"d": days_of(kind)})
    np.testing.assert_array_equal(curve.rows, Design("s(d)", {"d": design.rows[:, 1]}).rows)
    assert curve.points("d", 3)[0][0] == 2005


def test_durations_are_days_and_other_texts_are_categories():
    hours = np.arange(48).astype("timedelta64[h]")
    np.testing.assert_allclose(Design("x", {"x": hours}).rows[:, 1], np.arange(48) / 24)
    design = Design("x", {"x": ["2001-01-01", "2002-01-01", "unknown"] * 4})
    assert design.columns[1:] == ["x[T.2002-01-01]", "x[T.unknown]"]
    np.testing.assert_array_equal(design.matrix({"x": ["2002-01-01"]}), [[1, 1, 0]])
    assert Design("x", {"x": ["2001-13", "2001-12"] * 4}).columns[1:] == ["x[T.2001-13]"]


def test_functions_of_formulaic_keep_their_state():
    """Values of two rows alone are those of the same rows among all."""
    rng = np.random.default_rng(0)
    table = {"year": rng.random(50), "size": rng.random(50), "my side": rng.choice(list("ab"), 50)}
    two = {name: values[3:5] for name, values in table.items()}
    terms = ["scale(year)", "center(year)", "poly(year, 2)", "bs(year, df=4)", "np.log(year)", "`my side`:year"]
    terms += ["C(`my side`, contr.sum)", "cr(year, df=3, constraints='center')", "cs(year, df=4) - 1"]
    for term in terms:
        formula = f"{term} + size"
        names = {"size"} | ({"year"} if "year" in term else set()) | ({"my side"} if "my side" in term else set())
        assert read_formula(formula)[1] == names
        design = Design(formula, table)
        new = {name: two[name] for name in names}
        np.testing.assert_allclose(design.matrix(new), design.rows[3:5], rtol=1e-12, atol=1e-12)
    year = table["year"]
    scaled = Design("scale(year)", table).rows[:, 1]
    np.testing.assert_allclose(scaled, (year - year.mean()) / year.std(ddof=1))
    assert read_formula("scale(scale) * I(year ** 2) + {2 * scale}")[1] == {"scale", "year"}


def test_numbers_in_categories_have_levels_and_no_curve(estimated):
    model, X = estimated[:2]
    codes = np.arange(X.shape[0]) % 3 + 2015
    effects = estimate_effect(model, X, {"code": codes}, "C(code)", n_draws=2)
    values, is_curve = effects.design.points("code", 25)
    assert not is_curve
    assert sorted(values) == [2015, 2016, 2017]
    assert [label for label, _ in effects.comparisons()] == ["code: 2016 less 2015", "code: 2017 less 2015"]


def test_texts_of_pandas_are_categories(estimated):
    pandas = pytest.importorskip("pandas")
    model, X = estimated[:2]
    sides = np.array(["left", "right"])[np.arange(X.shape[0]) % 2]
    expected = estimate_effect(model, X, {"side": sides}, "side", n_draws=2).estimates
    frame = pandas.DataFrame({"side": pandas.array(sides, dtype="string")})
    effects = estimate_effect(model, X, frame, "side", n_draws=2)
    np.testing.assert_array_equal(effects.estimates, expected)
    assert effects._expected(frame[:2]).mean.shape == (2, expected.shape[1])


def test_levels_without_a_used_document_are_left_out(estimated):
    """A category has a level without rows, and one whose documents have no words."""
    pandas = pytest.importorskip("pandas")
    model, X, table, _ = estimated
    X, sides = X.copy(), np.where(table["side"], "left", "right")
    X[:2], sides[:2] = 0, "none"
    column = pandas.Categorical(sides, categories=["left", "none", "right", "unused"])
    effects = estimate_effect(model, X, {"side": column}, "side", n_draws=2)
    assert effects.terms == ["Intercept", "side[T.right]"]
    new = pandas.Categorical(["right"], categories=["left", "right"])
    np.testing.assert_array_equal(effects._expected({"side": new}).mean, effects._expected({"side": ["right"]}).mean)


def test_fitted_models_of_the_package_are_taken(estimated):
    _, X, table, _ = estimated
    model = SparseSCVB0LDA(4, random_state=0).fit(X)
    assert estimate_effect(model, X, table, "side", n_draws=2).estimates.shape == (2, 4)


def test_plots_have_a_line_for_numbers_and_points_for_levels(estimated):
    pytest.importorskip("matplotlib")
    from sparsemix.plotting import plot_effect

    model, X, table, _ = estimated
    sides = {"side": np.where(table["side"], "left", "right"), "year": table["year"]}
    effects = estimate_effect(model, X, sides, "side * year", n_draws=2)
    kinds = {"day": np.datetime64("2020-01-01") + np.arange(200), "yes": sides["year"] > 0.5}
    others = estimate_effect(model, X, kinds, "s(day, df=3) + yes", n_draws=2)
    assert plot_effect(others, 0, "day").lines[0].get_xdata()[-1] == 2020 + 199 / 366
    assert [tick.get_text() for tick in plot_effect(others, 0, "yes").get_xticklabels()] == ["False", "True"]
    line = plot_effect(effects, 1, "year", at={"side": "left"}).lines[0]
    year = line.get_xdata()
    assert year.min() == table["year"].min()
    assert year.max() == table["year"].max()
    expected = effects._expected({"side": "left", "year": year}).mean[:, 1]
    np.testing.assert_array_equal(line.get_ydata(), expected)
    assert line.axes.get_legend() is None
    legend = plot_effect(effects, 1, "year", at={"side": "right"}, ax=line.axes).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["side: left", "side: right"]
    ax = plot_effect(effects, 1, "side")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["left", "right"]
    with pytest.raises(ValueError, match="covariate is 'month'; give one of"):
        plot_effect(effects, 1, "month")
    with pytest.raises(ValueError, match=r"topic is 1\.5; give an index from 0 to 3"):
        plot_effect(effects, 1.5, "year")


def test_a_formula_is_checked_before_the_fit():
    table = {"side": ["left", "right"] * 10, "year": np.arange(20), "same": np.arange(20) * 2}
    assert check_formula("side + s(year)", table) == check_formula("side + s(year)") == ["side", "year"]
    for formula, values, message in (
        ("side +", None, "cannot be read"),
        ("side + age", table, "table has no column 'age', which the formula names"),
        ("year + same", table, "the column 'same' of the formula is constant or a combination"),
        ("year", table | {"year": np.append(np.nan, np.arange(19))}, "column 'year' of table has no value in row 0"),
    ):
        with pytest.raises(ValueError, match=message):
            check_formula(formula, values)
    side = ["left"] * 19 + ["right"]
    with pytest.raises(ValueError, match="row 39 of table decides the coefficient"):
        check_formula("side", table | {"side": side}, np.arange(20, 40))
