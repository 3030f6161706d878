"""SparseMixedMixture against closed forms, brute force and the mixtures of one kind; what it reads from tables."""

import itertools
import pickle

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sparsemix import SparseBernoulliMixture, SparseGaussianMixture, SparseMixedMixture, blocks

pd = pytest.importorskip("pandas")

KINDS = [
    ("diag", ["a", "b"]), ("full", ["c", "d"]), ("categorical", ["e"]), ("bernoulli", ["f"]), ("poisson", ["g"]),
    ("multinomial", ["h", "i", "j"]),
]  # fmt: skip
# Maximum likelihood: hardly any prior, and no rounding.
ML = {"prior_rows": 1e-9, "reg_covar": 0.0, "tol": 1e-9, "max_iter": 2000}


def table(n=300, seed=0, missing=0.0):
    """Rows of three clusters in columns of all kinds, and their clusters."""
    rng = np.random.default_rng(seed)
    k = rng.integers(3, size=n)
    c = rng.normal(size=n)
    frame = pd.DataFrame({
        "a": rng.normal(2.0 * k, 0.5), "b": rng.normal(100.0, 20.0, n), "c": c,
        "d": c * (k - 1) + 0.3 * rng.normal(size=n),
        "e": np.array(["red", "green", "blue"])[(k + (rng.random(n) < 0.2)) % 3], "f": rng.random(n) < 0.1 + 0.4 * k,
        "g": rng.poisson(1.0 + 4.0 * k), "h": rng.poisson(3.0, n), "i": rng.poisson(1.0 + k), "j": rng.poisson(4.0 - k),
    })  # fmt: skip
    frame["e"], frame["f"], frame["g"] = frame["e"].astype(object), frame["f"].astype(object), frame["g"].astype(float)
    for name in "abefg" if missing else "":
        frame.loc[rng.random(n) < missing, name] = None if name in "ef" else np.nan
    return frame, k


def test_score_of_one_component_is_the_product_of_separate_families():
    frame, _ = table()
    mixture = SparseMixedMixture(1, columns=KINDS, **ML).fit(frame)
    wanted = 0.0
    for name in "ab":
        wanted += stats.norm.logpdf(frame[name], frame[name].mean(), frame[name].std(ddof=0))
    cd = frame[["c", "d"]].to_numpy()
    wanted += stats.multivariate_normal.logpdf(cd, cd.mean(axis=0), np.cov(cd.T, ddof=0))
    for name in "ef":
        wanted += np.log(frame[name].map(frame[name].value_counts(normalize=True)).to_numpy(dtype=float))
    wanted += stats.poisson.logpmf(frame["g"], frame["g"].mean())
    shares = frame[["h", "i", "j"]].to_numpy(dtype=float)
    wanted += shares @ np.log(shares.sum(axis=0) / shares.sum())  # without the multinomial coefficient
    np.testing.assert_allclose(mixture.score_samples(frame), wanted, rtol=1e-6)
    # at one component the bound is the log likelihood of all rows
    assert mixture.lower_bound_ == pytest.approx(wanted.sum(), rel=1e-6)


@pytest.mark.parametrize("inference", ["em", "vb"])
@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_bound_never_falls_and_clusters_are_found(inference, learning_method, missing):
    frame, k = table(600, 1, missing)
    mixture = SparseMixedMixture(
        3, columns=KINDS, inference=inference, learning_method=learning_method, batch_size=150, tol=1e-7,
        n_nonzero=None, random_state=0,
    ).fit(frame)  # fmt: skip
    assert np.diff(mixture.lower_bounds_).min() > -1e-7 * abs(mixture.lower_bound_)
    labels = mixture.predict(frame)
    best = max(np.mean(np.array(order)[labels] == k) for order in itertools.permutations(range(3)))
    assert best > (0.95 if missing == 0.0 else 0.9)


def test_missing_values_drop_out_of_densities_and_sums():
    """The density of a row is that of its observed columns; a column's parameters are those of its observed values."""
    frame, _ = table(missing=0.4)
    mixture = SparseMixedMixture(1, columns=KINDS, **ML).fit(frame)
    a, e = frame["a"].dropna(), frame["e"].dropna()
    alone = SparseMixedMixture(1, columns=[("diag", ["a"])], **ML).fit(a.to_frame())
    bare = frame.iloc[:1].copy()
    for name in "abcdefghij":
        bare[name] = None if name in "ef" else np.nan
    assert mixture.score_samples(bare)[0] == pytest.approx(0.0, abs=1e-12)
    bare["a"] = 1.25
    assert mixture.score_samples(bare)[0] == pytest.approx(alone.score_samples(pd.DataFrame({"a": [1.25]}))[0])
    bare["a"], bare["e"] = np.nan, "red"
    assert mixture.score_samples(bare)[0] == pytest.approx(np.log((e == "red").mean()))


def test_responsibilities_and_steps_equal_brute_force():
    """Two epochs of EM from given responsibilities, by hand."""
    frame, _ = table(40, 2, 0.2)
    rng = np.random.default_rng(0)
    resp = rng.dirichlet([1.0, 1.0], size=40)
    columns = [("diag", ["a"]), ("categorical", ["e"]), ("poisson", ["g"]), ("drop", list("bcdfhij"))]
    mixture = SparseMixedMixture(
        2, columns=columns, init_params={"responsibilities": resp}, n_nonzero=None, learning_method="batch",
        **(ML | {"max_iter": 2, "tol": 0.0}),
    ).fit(frame)  # fmt: skip
    a, e, g = (frame[name].to_numpy() for name in "aeg")
    e = pd.Series(e)
    seen_a, seen_g, seen_e = ~np.isnan(a), ~np.isnan(g), e.notna().to_numpy()
    for _ in range(3):
        weights = resp.mean(axis=0)
        logs = np.tile(np.log(weights), (40, 1))
        for k in range(2):
            r = resp[:, k]
            mean = np.average(a[seen_a], weights=r[seen_a])
            deviation = np.sqrt(np.average((a[seen_a] - mean) ** 2, weights=r[seen_a]))
            logs[seen_a, k] += stats.norm.logpdf(a[seen_a], mean, deviation)
            logs[seen_g, k] += stats.poisson.logpmf(g[seen_g], np.average(g[seen_g], weights=r[seen_g]))
            share = pd.Series(r[seen_e]).groupby(e[seen_e].to_numpy()).sum() / r[seen_e].sum()
            logs[seen_e, k] += np.log(e[seen_e].map(share).to_numpy())
        resp = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    np.testing.assert_allclose(mixture.predict_proba(frame), resp, atol=2e-6)
    np.testing.assert_allclose(mixture.score_samples(frame), logsumexp(logs, axis=1), rtol=1e-5, atol=1e-5)


def test_numbers_alone_equal_the_gaussian_mixture():
    X = np.random.default_rng(3).normal(size=(400, 3)) + 2.5 * np.eye(3)[np.arange(400) % 3]
    resp = np.random.default_rng(4).dirichlet(np.ones(3), size=400)
    shared = {"n_nonzero": None, "inference": "em", "learning_method": "batch", "max_iter": 60, "tol": 0.0}
    shared["init_params"] = {"responsibilities": resp}
    mixed = SparseMixedMixture(3, columns=[("diag", [0, 1, 2])], prior_rows=1e-12, reg_covar=0.0, **shared).fit(X)
    gauss = SparseGaussianMixture(3, covariance_type="diag", reg_covar=0.0, **shared).fit(X)
    np.testing.assert_allclose(mixed.score_samples(X), gauss.score_samples(X), atol=1e-5)
    mixed = SparseMixedMixture(3, columns=[("full", [0, 1, 2])], prior_rows=1e-12, reg_covar=0.0, **shared).fit(X)
    gauss = SparseGaussianMixture(3, covariance_type="full", reg_covar=0.0, **shared).fit(X)
    np.testing.assert_allclose(mixed.score_samples(X), gauss.score_samples(X), atol=1e-4)
    assert mixed.bic(X) == pytest.approx(gauss.bic(X), rel=1e-6)


def test_flags_alone_equal_the_bernoulli_mixture():
    X = (np.random.default_rng(5).random((300, 6)) < np.repeat([[0.2], [0.8]], 150, axis=0)).astype(float)
    resp = np.random.default_rng(6).dirichlet(np.ones(2), size=300)
    shared = {"n_nonzero": None, "learning_method": "batch", "max_iter": 50, "tol": 0.0}
    shared["init_params"] = {"responsibilities": resp}
    mixed = SparseMixedMixture(2, columns=[("bernoulli", list(range(6)))], prior_rows=1e-9, **shared).fit(X)
    flags = SparseBernoulliMixture(2, beta_prior=1e-9, **shared).fit(X)
    np.testing.assert_allclose(mixed.predict_proba(X), flags.predict_proba(X), atol=1e-5)
    assert mixed.bic(X) == pytest.approx(flags.bic(X), rel=1e-6)


def test_evidence_of_numbers_is_the_integral_over_mean_and_precision():
    """VB with one component: the bound is the log evidence of the rows, here by quadrature."""
    X = np.array([[1.0], [2.5], [4.0], [3.5]])
    mixture = SparseMixedMixture(1, columns=[("diag", [0])], inference="vb", reg_covar=0.0, prior_rows=1.0).fit(X)
    kind, prior = mixture._fitted.model.family.kinds[0], mixture._fitted.model.family.priors[0]
    z, kappa = (X[:, 0] - kind.shift[0, 0]) / kind.scale[0, 0], 1e-4
    mean0, rate = prior["mean"][0, 0], prior["scale"][0, 0] / 2.0

    def joint(mean, log_precision):
        precision = np.exp(log_precision)
        out = stats.gamma.logpdf(precision, 1.5, scale=1.0 / rate) + log_precision
        out += stats.norm.logpdf(mean, mean0, (kappa * precision) ** -0.5)
        return np.exp(out + stats.norm.logpdf(z, mean, precision**-0.5).sum() + 10.0)

    value = integrate.dblquad(joint, -8.0, 8.0, -30.0, 30.0, epsabs=1e-14, epsrel=1e-8)[0]
    wanted = np.log(value) - 10.0 - len(X) * np.log(kind.scale[0, 0])
    assert mixture.lower_bound_ == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("kind", ["diag", "full"])
def test_expected_log_densities_are_means_over_the_posterior(kind):
    """VB: the table of weights against draws of means and precisions from the posterior of three rows."""
    X = np.array([[1.0, 0.3], [2.5, -1.0], [4.0, 0.5]])
    mixture = SparseMixedMixture(1, columns=[(kind, [0, 1])], inference="vb", reg_covar=0.0).fit(X)
    family, stats_ = mixture._fitted.model.family, mixture._fitted.stats
    kappa, rows, mean, scale = family.kinds[0].posterior(family.priors[0], stats_["first"])
    rng, d = np.random.default_rng(0), mean.shape[2]
    wanted, z = 0.0, (X - family.kinds[0].shift.reshape(1, -1)) / family.kinds[0].scale.reshape(1, -1)
    for g in range(mean.shape[1]):
        precisions = stats.wishart.rvs(rows[0, g] + d + 1.0, np.linalg.inv(scale[0, g]), size=40_000, random_state=rng)
        precisions = precisions.reshape(-1, d, d)
        roots = np.linalg.cholesky(np.linalg.inv(precisions) / kappa[0, g])
        means = mean[0, g] + np.einsum("nde,ne->nd", roots, rng.standard_normal((len(roots), d)))
        apart = z[:, None, g * d : (g + 1) * d] - means
        squares = np.einsum("xnd,nde,xne->xn", apart, precisions, apart)
        logs = 0.5 * (np.linalg.slogdet(precisions)[1] - d * np.log(2.0 * np.pi) - squares)
        wanted = wanted + logs.mean(axis=1) - np.log(family.kinds[0].scale[g]).sum()
    rows_read = mixture._recipe().exact_rows(mixture._fitted, X)
    table = mixture._fitted.expected.table(np.zeros(1), np.float64)
    found = table.weights(rows_read.read(slice(0, 3)), np.empty((3, 1)))[:, 0]
    np.testing.assert_allclose(found, wanted, atol=0.03)


def test_evidence_of_counts_and_categories_is_a_chain_of_predictions():
    frame = pd.DataFrame({"g": [0, 3, 1, 7, 2], "e": list("xyxxz")})
    kinds = [("poisson", ["g"]), ("categorical", ["e"])]
    mixture = SparseMixedMixture(1, columns=kinds, inference="vb", prior_rows=3.0).fit(frame)
    gamma, dirichlet = mean_prior(frame["g"]), np.array([3 + 1 / 3, 1 + 1 / 3, 1 + 1 / 3]) / 6.0 * 3.0
    wanted, (shape, rate), codes = 0.0, gamma, frame["e"].map({"x": 0, "y": 1, "z": 2})
    for count, code in zip(frame["g"], codes, strict=True):
        wanted += stats.nbinom.logpmf(count, shape, rate / (rate + 1.0)) + np.log(dirichlet[code] / dirichlet.sum())
        shape, rate = shape + count, rate + 1.0
        dirichlet[code] += 1.0
    assert mixture.lower_bound_ == pytest.approx(wanted, rel=1e-9)


def mean_prior(counts, rows=3.0):
    """Shape and rate of the Gamma prior."""
    return rows * counts.mean(), rows


# -- what it reads


def printed(X, capsys, **params):
    mixture = SparseMixedMixture(1, **params).fit(X)
    return mixture, capsys.readouterr().out


def test_kinds_of_a_data_frame(capsys):
    rng = np.random.default_rng(0)
    n = 200
    frame = pd.DataFrame({
        "income": rng.lognormal(10, 1, n), "age": rng.integers(18, 90, n), "children": rng.poisson(1.1, n),
        "region": rng.choice(["north", "south", "east"], n), "owner": (rng.random(n) < 0.5).astype(object),
        "flag": rng.integers(0, 2, n),
        "size": pd.Categorical(rng.choice(["S", "M"], n), categories=["S", "M", "L"], ordered=True),
        "nullable": pd.array(rng.integers(0, 100, n), dtype="Int64"),
    })  # fmt: skip
    frame.loc[3, "nullable"], frame.loc[4, "region"], frame.loc[5, "owner"] = pd.NA, None, None
    mixture, line = printed(frame, capsys)
    assert line == (
        "SparseMixedMixture: columns taken for numbers: income, age, nullable; categories: region (3), owner (2), "
        "flag (2), size (3); counts: children\n"
    )
    assert mixture.columns_ == [
        ("diag", ["income", "age", "nullable"]), ("poisson", ["children"]),
        ("categorical", ["region", "owner", "flag", "size"]),
    ]  # fmt: skip
    again, line = printed(frame, capsys, columns=mixture.columns_)
    assert line == ""
    assert again.score(frame) == mixture.score(frame)


def test_useless_columns_are_named_with_the_remedy():
    frame = pd.DataFrame({
        "id": np.arange(50) + 1000, "when": pd.date_range("2024-01-01", periods=50),
        "name": [f"n{i}" for i in range(50)], "same": 1.0, "empty": np.full(50, np.nan),
        "x": np.random.default_rng(0).normal(size=50),
    })  # fmt: skip
    wanted = (
        r"'id' \(different whole numbers: identifiers, ranks or years\); 'when' \(dates; make them numbers, such as "
        r"days\); 'name' \(names, texts or identifiers: less than 5 rows for a value\); 'same' \(constant\); 'empty' "
        r"\(without a value\); leave them out by columns=\[\('drop', \['id', 'when', 'name', 'same', 'empty'\]\)\]"
    )
    with pytest.raises(ValueError, match=wanted):
        SparseMixedMixture(2).fit(frame)
    dropped = ("drop", ["id", "when", "name", "same", "empty"])
    mixture = SparseMixedMixture(2, columns=[dropped]).fit(frame)
    assert mixture.columns_ == [("diag", ["x"]), dropped]
    assert SparseMixedMixture(2, columns=mixture.columns_).fit(frame).columns_ == mixture.columns_


RNG, N = np.random.default_rng(0), 1000
REFUSED = {
    "nr": (RNG.permutation(100_000)[:N], "different whole numbers"),
    "customerId": (np.append(RNG.permutation(100_000)[: N - 1], 5), "different whole numbers"),
    "in random order": (RNG.permutation(N) + 5, "different whole numbers"),
    "id": (RNG.integers(0, 300, N), "different whole numbers"),
    "day": (RNG.choice([f"2020-0{i}-1{i}" for i in range(1, 8)], N), "dates"),
    "ymd": (RNG.choice([20200101, 20210531, 19990704], N), "dates"),
    "ages": (RNG.integers(18, 80, N).astype(str), "numbers as texts"),
    "prices": (np.array([f"{price},3" for price in RNG.integers(10, 60, N)]), "numbers as texts"),
    "user": (np.array([f"u{i}" for i in RNG.integers(0, 400, N)]), "names, texts or identifiers"),
}
READ = {
    "millimetres": (RNG.normal(200, 14, N).round(), "diag"),  # the variance is the mean by chance
    "children": (RNG.poisson(1.1, N), "poisson"),
    "paid": (RNG.permutation(100_000)[:N], "diag"),
    "one or two": (RNG.choice([1, 2], N), "categorical"),
    "years": (RNG.integers(1950, 2020, N), "diag"),
}
CODES = {
    99: (RNG.integers(1, 8, N), 0.3), -999: (RNG.integers(0, 100, N), 0.1), -9: (RNG.integers(0, 6, N), 0.1),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_columns_that_name_rows_are_refused(name):
    values, reason = REFUSED[name]
    with pytest.raises(ValueError, match=rf"'{name}' \({reason}"):
        SparseMixedMixture().fit(pd.DataFrame({name: values, "x": RNG.normal(size=N)}))


@pytest.mark.parametrize("name", READ)
def test_kinds_need_more_than_one_sign(name, capsys):
    values, kind = READ[name]
    mixture = SparseMixedMixture(columns=[("full", ["x"])]).fit(pd.DataFrame({name: values, "x": RNG.normal(size=N)}))
    assert mixture.columns_[0] == (kind, [name]) or mixture.columns_[1] == (kind, [name])
    capsys.readouterr()


@pytest.mark.parametrize("code", CODES)
def test_codes_of_missing_values_have_a_warning(code):
    values, share = CODES[code]
    values = np.where(RNG.random(N) < share, code, values)
    with pytest.warns(UserWarning, match=rf"holds {code} in column 'c', far from .* replace codes of missing") as found:
        SparseMixedMixture(2, max_iter=0).fit(pd.DataFrame({"c": values, "x": RNG.normal(size=N)}))
    assert found[0].filename == __file__


def test_a_value_of_many_rows_is_no_code():
    highway = np.where(RNG.random(N) < 0.26, 24, RNG.integers(1, 9, N))
    SparseMixedMixture(2, max_iter=0).fit(pd.DataFrame({"rad": highway, "x": RNG.normal(size=N)}))


def test_spreads_of_a_summary_are_those_of_values():
    """The variance of the prior does not enter them."""
    noise = np.random.default_rng(0).normal(size=300)
    frame = pd.DataFrame({"x": np.repeat([0.0, 50.0, 90.0], 100) + np.repeat([0, 1, 1], 100) * noise})
    rows = SparseMixedMixture(3, random_state=0).fit(frame).summary().frame().sort_values("typical")
    assert rows["spread"].iloc[0] == pytest.approx(0.0, abs=1e-6)
    assert rows["spread"].iloc[1] == pytest.approx(frame["x"][100:200].std(ddof=0), rel=1e-6)


def test_unknown_categories(capsys):
    frame = pd.DataFrame({"e": list("aabbab") * 5, "x": np.arange(30.0) ** 1.5})
    mixture = SparseMixedMixture(2, random_state=0).fit(frame)
    new = pd.DataFrame({"e": ["a", "c"], "x": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"column 'e' of X has the unknown category 'c' in row 1"):
        mixture.predict(new)
    mixture.set_params(handle_unknown="ignore")
    lacking = new.assign(e=["a", None])
    np.testing.assert_array_equal(mixture.score_samples(new), mixture.score_samples(lacking))
    capsys.readouterr()


@pytest.mark.parametrize(
    ("columns", "change", "message"),
    [
        ([("poisson", ["g"])], {"g": 1.5}, r"column 'g' of X contains 1.5 in row 0, but takes a whole number"),
        ([("poisson", ["g"])], {"g": -1.0}, r"column 'g' of X contains -1 in row 0"),
        ([("diag", ["a"])], {"a": np.inf}, r"column 'a' of X contains infinity in row 0"),
        ([("diag", ["e"])], {}, r"row 0 of X holds the text '\w+' in column 'e', which should be numbers"),
        ([("full", ["c", "d"])], {"c": np.nan}, r"row 0 of X lacks a value in column 'c'.*the column the kind 'diag'"),
        ([("bernoulli", ["e"])], {}, r"column 'e' of X has 3 values; for 'bernoulli' give one or two"),
        ([("normal", ["a"])], {}, r"columns has the kind 'normal'; give one of diag, full"),
        ([("diag", ["z"])], {}, r"columns names 'z', which is no column of X"),
        ([("diag", ["a", "a"])], {}, r"columns names the column 'a' twice"),
        ([("diag", [["a"]])], {}, r"columns names \['a'\], which is no column of X"),
        (["diag"], {}, r"columns holds 'diag'; give pairs of a kind and its columns"),
        ([("diag",)], {}, r"columns holds \('diag',\); give pairs"),
    ],
)
def test_errors_name_the_column_and_the_row(columns, change, message):
    frame, _ = table(50)
    for name, value in change.items():
        frame.loc[0, name] = value
    with pytest.raises(ValueError, match=message):
        SparseMixedMixture(2, columns=columns).fit(frame)


def test_forms_of_tables_give_the_same_bits(capsys):
    frame, _ = table(100, 0, 0.1)
    mixture = SparseMixedMixture(2, columns=KINDS, random_state=0).fit(frame)
    wanted = mixture.score_samples(frame)
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    clean = frame.assign(f=frame["f"].astype("boolean"))
    typed = clean.astype({"e": "category"})
    for other in (pl.from_pandas(clean), pa.Table.from_pandas(clean), clean.convert_dtypes(), typed):
        again = SparseMixedMixture(2, columns=KINDS, random_state=0).fit(other)
        np.testing.assert_array_equal(again.score_samples(other), wanted)
        np.testing.assert_array_equal(mixture.score_samples(other), wanted)
    numbers = [(kind, [list(frame.columns).index(name) for name in names]) for kind, names in KINDS]
    array = frame.to_numpy(dtype=object)
    again = SparseMixedMixture(2, columns=numbers, random_state=0).fit(array)
    np.testing.assert_array_equal(again.score_samples(array), wanted)
    capsys.readouterr()


def test_one_typing_error_has_a_warning_and_does_not_set_the_scale():
    frame, k = table(600, 1)
    frame.loc[7, "a"] = 1e9
    mixture = SparseMixedMixture(4, columns=KINDS, random_state=0)
    with pytest.warns(UserWarning, match=r"row 7 of X holds 1e\+09 in column 'a'.*replace codes of missing values"):
        mixture.fit(frame)
    labels = np.delete(mixture.predict(frame), 7)
    k = np.delete(k, 7)
    assert len(np.unique(labels)) == 3
    labels = np.unique(labels, return_inverse=True)[1]
    best = max(np.mean(np.array(order)[labels] == k) for order in itertools.permutations(range(3)))
    assert best > 0.9


def test_summary_describes_each_kind():
    frame, _ = table(600, 1)
    mixture = SparseMixedMixture(3, columns=KINDS, random_state=0).fit(frame)
    rows = mixture.summary().frame().set_index(["cluster", "column"])
    resp = mixture.predict_proba(frame)
    for k in range(3):
        shares = resp[:, k] / resp[:, k].sum()
        assert rows.loc[(k, "a"), "typical"] == pytest.approx(shares @ frame["a"], abs=0.05)
        assert rows.loc[(k, "g"), "typical"] == pytest.approx(shares @ frame["g"], abs=0.2)
        deviation = np.sqrt(shares @ (frame["g"] - shares @ frame["g"]) ** 2)
        assert rows.loc[(k, "g"), "spread"] == pytest.approx(deviation, abs=0.1)
        assert rows.loc[(k, "e"), "typical"] == ["red", "green", "blue"][np.argmax(
            [shares @ (frame["e"] == level) for level in ("red", "green", "blue")]
        )]  # fmt: skip
        counts = shares @ frame[["h", "i", "j"]]
        assert rows.loc[(k, "i"), "typical"] == pytest.approx(counts["i"] / counts.sum(), abs=0.05)
    assert "all rows:" in str(mixture.summary())


def test_icl_is_bic_of_the_labels_of_predict():
    frame, _ = table(300, 1)
    mixture = SparseMixedMixture(3, columns=KINDS, random_state=0).fit(frame)
    largest = np.log(mixture.predict_proba(frame).max(axis=1)).sum()
    assert mixture.icl(frame) == pytest.approx(mixture.bic(frame) - 2.0 * largest)


def test_number_of_clusters_by_search_and_criteria():
    frame, _ = table(600, 1)
    mixtures = [SparseMixedMixture(k, columns=KINDS, random_state=0).fit(frame) for k in range(1, 6)]
    assert np.argmin([mixture.bic(frame) for mixture in mixtures]) == 2
    assert np.argmin([mixture.icl(frame) for mixture in mixtures]) == 2
    search = GridSearchCV(SparseMixedMixture(columns=KINDS, random_state=0), {"n_components": [1, 2, 3]}, cv=3)
    assert search.fit(frame).best_params_ == {"n_components": 3}


def test_blocks_of_data_frames_and_of_parquet_give_the_same_bits(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    frame, k = table(600, 1, 0.1)
    frame["f"] = frame["f"].astype("boolean")
    halves = [frame[:350], frame[350:]]
    for i, half in enumerate(halves):
        parquet.write_table(pa.Table.from_pandas(half), tmp_path / f"{i}.parquet")
    fits = [
        blocks.fit(SparseMixedMixture(3, columns=KINDS, random_state=0), data)
        for data in (halves, blocks.from_parquet(tmp_path))
    ]
    np.testing.assert_array_equal(fits[0].score_samples(frame), fits[1].score_samples(frame))
    labels = fits[0].predict(frame)
    assert max(np.mean(np.array(order)[labels] == k) for order in itertools.permutations(range(3))) > 0.9


def test_a_stream_of_data_frames():
    frame, k = table(1200, 1, 0.1)
    mixture = SparseMixedMixture(3, columns=KINDS, random_state=0)
    for start in range(0, 1200, 300):
        mixture.partial_fit(frame[start : start + 300])
    labels = mixture.predict(frame)
    assert max(np.mean(np.array(order)[labels] == k) for order in itertools.permutations(range(3))) > 0.9
    with pytest.raises(ValueError, match="unknown category 'violet' in row 2"):
        mixture.partial_fit(frame[:5].assign(e=["red", "blue", "violet", "red", "red"]))


def test_categories_of_any_type_are_kept_in_files():
    """Intervals, dates and whole floats are levels by their texts or as whole numbers."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "band": pd.cut(rng.uniform(0, 100, 60), [0, 30, 50, 100]), "half": rng.choice([1.0, 2.5, np.nan], 60),
        "day": rng.choice(pd.date_range("2024-01-01", periods=3), 60), "x": rng.normal(size=60),
    })  # fmt: skip
    columns = [("categorical", ["band", "half", "day"])]
    mixture = SparseMixedMixture(2, columns=columns, random_state=0).fit(frame)
    again = pickle.loads(pickle.dumps(mixture))
    np.testing.assert_array_equal(again.score_samples(frame), mixture.score_samples(frame))
    assert "(0, 30]" in str(again.summary())
    assert "2024-01-0" in str(again.summary())


def test_bic_does_not_depend_on_the_codes_of_categories():
    codes = np.random.default_rng(0).integers(2, size=(200, 3))
    mixtures = [SparseMixedMixture(2, columns=[("categorical", [0, 1, 2])], random_state=0) for _ in range(2)]
    first, second = (each.fit(X).bic(X) for each, X in zip(mixtures, (codes, 98 * codes + 1), strict=True))
    assert first == second


@pytest.mark.parametrize("kind", [tuple, list])
def test_a_checkpoint_continues_a_fit_with_given_columns(tmp_path, kind):
    frame, _ = table(200, 1)
    mixture = SparseMixedMixture(3, columns=[kind(each) for each in KINDS], tol=0.0, max_iter=2, random_state=0)
    mixture.fit(frame, checkpoint=tmp_path)
    whole = clone(mixture).set_params(max_iter=4).fit(frame)
    continued = clone(mixture).set_params(max_iter=4).fit(frame, checkpoint=tmp_path)
    np.testing.assert_array_equal(continued.score_samples(frame), whole.score_samples(frame))
    with pytest.raises(ValueError, match="of another fit"):
        SparseMixedMixture(3, columns=[*KINDS[:-1], ("drop", list("hij"))], tol=0.0, max_iter=4, random_state=0).fit(
            frame, checkpoint=tmp_path
        )
