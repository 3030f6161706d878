"""Rows in every form give the same result and stay as they are; unusual rows and sizes give a valid fit."""

from itertools import cycle, islice

import flag_cases
import numpy as np
import pytest
import row_cases
import sequence_cases
import topic_cases
from estimator_cases import CASES, of_kind, over, with_methods, with_parameters
from fitted import assert_same, assert_same_bits, few_epochs, said
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from topic_cases import state_of

from sparsemix._models.skipgram.stochastic_model import StochasticSkipGramModel

pytestmark = few_epochs


def everything(case, rows):
    """What fits, with and without weights, streams and readings give for rows in some form."""
    est = case.make().fit(rows)
    out = said(est, rows)
    if case.can("partial_fit"):
        streamed = said(case.make().partial_fit(rows), rows)
        out |= {f"{name} of a stream": value for name, value in streamed.items()}
    if case.rows_alone:
        return out
    weighed = said(case.make().fit(rows, sample_weight=np.arange(case.data.rows.shape[0])), rows)
    return out | {f"{name} with weights": value for name, value in weighed.items()}


# Of those that read counts, one of each way to read and to start.
# They need whole counts.
SAMPLERS = "gibbs", "collapsed", "uncollapsed"
READ = """lda, lda priors, lda online, scvb0 mhw, scvb0 dense, scvb0 gibbs, scvb0 mini-epochs, cvb0, cvb, gibbs,
    stream multinomial, epochs multinomial, chain multinomial""".replace("\n   ", "").split(", ")
READING = [case for case in CASES if case.data.kind != "counts" or case.name in READ]
FORMS = {"counts": topic_cases.FORMS, "flags": flag_cases.FORMS, "words": sequence_cases.FORMS}


def features_in_single_precision(values):
    """Values by name, with features as they are for rows of float32."""
    names = ("transform", "predict_sparse_proba")
    return {name: value.astype(np.float32) if name.startswith(names) and value.dtype == np.float64 else value
            for name, value in values.items()}  # fmt: skip


@over(READING)
def test_form_of_the_rows_changes_neither_result_nor_data(case, tmp_path):
    forms = FORMS[case.data.kind] if case.data.sparse else row_cases.forms(case.data.rows, tmp_path)
    wanted = everything(case, case.data.rows)
    for name, rows in forms.items():
        before = state_of(rows) if case.data.sparse else np.array(rows)
        single = case.data.kind in ("counts", "flags") and getattr(rows, "dtype", None) == np.float32
        assert_same(features_in_single_precision(wanted) if single else wanted, everything(case, rows))
        after = state_of(rows) if case.data.sparse else np.array(rows)
        for a, b in zip(before, after, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)


@over(of_kind("counts"))
def test_booleans_are_counts_of_one(case):
    binary = case.data.rows.toarray() > 0
    want = case.make().fit(binary.astype(float))
    assert_same_bits(want, case.make().fit(binary), binary.astype(float))
    assert_same_bits(want, case.make().fit(sparse.csr_array(binary)), binary.astype(float))


def shrunk(case, rows):
    """An estimator whose parameters fit the shape of some rows: mixtures need as many rows as components."""
    params = {}
    if case.has("init_params", "weight_concentration_prior"):
        params = {"n_components": min(case.estimator.n_components, rows.shape[0])}
        params |= {"mean_prior": None} if case.has("mean_prior") else {}
    elif case.has("mean_prior"):
        params = {"mean_prior": None, "covariance_prior": None}
    elif case.has("topic_word_prior") and not isinstance(case.estimator.init_params, str):
        params = {"init_params": "random"}
    return case.make(**params)


@pytest.mark.filterwarnings("ignore:the covariance of component:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:.* clusters were opened for .* rows")  # two or three rows, and a low threshold
@pytest.mark.filterwarnings("ignore:all rows of X have nearly the same direction")
@over(CASES)
def test_unusual_rows_and_sizes(case):
    """One row, one feature, fewer rows than components, constant columns: the shapes of ``Data.sizes``."""
    for rows in case.data.sizes.values():
        est = shrunk(case, rows)
        if case.has("reg_covar") and est.inference == "em":  # nothing else keeps a variance from zero
            est.set_params(reg_covar=1e-3 * max(1.0, float(np.var(rows))))
        case.assert_valid(est.fit(rows), rows)
        if hasattr(est, "counts_") and not getattr(est, "prune_threshold", None):
            np.testing.assert_allclose(est.counts_.sum(), rows.shape[0], rtol=1e-9)  # no row is lost


@over([case for case in with_methods("partial_fit") if case.data.sparse])
@pytest.mark.parametrize("total_samples", [None, 100])
def test_unusual_blocks_of_a_stream(case, total_samples):
    for rows in case.data.sizes.values():
        est = shrunk(case, rows)
        if case.has("total_samples"):
            est.set_params(total_samples=total_samples)
        est.partial_fit(rows)
        for n in range(min(3, rows.shape[0])):
            est.partial_fit(rows[[n]])
        resp = (est.predict_proba if case.can("predict_proba") else est.transform)(rows)
        assert np.isfinite(resp).all()
        np.testing.assert_allclose(resp.sum(axis=1), 1.0, rtol=1e-9 if resp.dtype == np.float64 else 1e-5)
        names = {"components_", "means_", "word_proportions_", "probabilities_"} & set(dir(est))
        assert all(np.isfinite(getattr(est, name)).all() for name in names)


def starts(case):
    """The starts that have a name."""
    (options,) = (c for c in type(case.estimator)._parameter_constraints["init_params"] if hasattr(c, "options"))
    return sorted(options.options)


@over([case for case in with_parameters("init_params") if case.data.sparse])
def test_unusual_counts_from_every_start_with_few_and_many_components(case):
    ks = [{"n_components": k, case.prior: None} for k in (1, 3, 40)] if case.has("n_components") else [{}]
    sizes = cycle(case.data.sizes.values())  # each start and number meets two of them, in turn
    for init_params in starts(case):
        for params in ks:
            for rows in islice(sizes, 2):
                if case.has("weight_concentration_prior"):  # a mixture: as many rows as components
                    few = min(params["n_components"], rows.shape[0])
                    est = case.make(init_params=init_params, n_components=few)
                else:
                    est = case.make(init_params=init_params, **params)
                case.assert_valid(est.fit(rows), rows)


@over(CASES)
def test_one_component_is_all(case):
    rows = case.data.rows
    params = {"n_components" if case.has("n_components") else "max_components": 1}
    params |= {case.prior: 0.3, "init_params": "random"} if case.can("topic_table") else {}
    params |= {"candidates": "all"} if case.has("candidates") else {}
    params |= {"merge_criterion": None, "prune_threshold": None} if case.has("prune_threshold") else {}
    est = case.make(**params).fit(rows)
    case.assert_valid(est, rows)
    for name in ("transform", "predict_proba"):
        if hasattr(est, name):
            shares = getattr(est, name)(rows)
            shares = shares.toarray() if sparse.issparse(shares) else shares
            np.testing.assert_allclose(shares, 1.0, rtol=1e-12)
    if hasattr(est, "predict"):
        np.testing.assert_array_equal(est.predict(rows), 0)
    if hasattr(est, "topic_weights_"):
        np.testing.assert_array_equal(est.topic_weights_, [1.0])
        if getattr(est._params, "learning_method", None) != "online":
            prior = np.broadcast_to(est.topic_word_prior_, est.components_.shape)[0]
            totals, found = case.data.word_totals(rows) + prior, est.components_[0]
            if case.model is StochasticSkipGramModel:  # the last minibatches say more than the first
                totals, found = totals.sum(), found.sum()
            np.testing.assert_allclose(found, totals, rtol=1e-5)
    else:
        np.testing.assert_allclose(est.weights_ / est.weights_.sum(), [1.0])


@over(with_parameters("n_nonzero", "n_components"))
def test_more_responsibilities_than_components_are_all_of_them(case):
    rows = case.data.rows
    params = {"candidates": "all"} if case.has("candidates") else {}
    k = case.estimator.n_components
    wanted = case.make(n_nonzero=k, **params).fit(rows)
    for n_nonzero in (k + 1, 100, None):
        est = case.make(n_nonzero=n_nonzero, **params).fit(rows)
        assert_same_bits(wanted, est, rows)


@pytest.mark.filterwarnings("ignore:X has the sum")
@over([case for case in of_kind("counts") if getattr(case.estimator, "inference", "") not in SAMPLERS])
def test_huge_small_and_real_valued_counts(case):
    rows = case.data.rows
    for other in (rows * 1e-3, rows * 0.3, rows * 1e7, TfidfTransformer().fit_transform(rows)):
        est = case.make().fit(other)
        case.assert_valid(est, other)
        assert np.isfinite(est.score(other))


@over(of_kind("counts", "words"))
def test_mostly_empty_documents(case):
    """Batches without any token say nothing and change nothing."""
    rows = np.zeros((40, case.data.rows.shape[1]))
    rows[17] = case.data.rows.toarray()[0]
    params = {"batch_size": 7} if case.has("batch_size") else {}
    for form in (rows, sparse.csr_array(rows)):
        case.assert_valid(case.make(**params).fit(form), rows)


@over([case for case in with_methods("partial_fit") if case.data.kind in ("counts", "words")])
def test_block_of_empty_documents_changes_nothing(case):
    """Also if their words are stored zeros."""
    rows = case.data.rows
    stored = sparse.csr_array((np.zeros(3, np.float32), np.arange(3), np.arange(4)), shape=(3, rows.shape[1]))
    for total_samples in (None, 1000) if case.has("total_samples") else (None,):
        params = {"total_samples": total_samples} if case.has("total_samples") else {}
        est = case.make(**params).partial_fit(rows)
        before = said(est, rows)
        for empty in (sparse.csr_array((3, rows.shape[1]), dtype=np.float32), stored):
            est.partial_fit(empty)
            if hasattr(est, "sampler_"):  # whose mass are tokens; where it is documents, three of them are not nothing
                est.update_from_stats(est.expected_stats(empty))
                est.update_from_stats(est.expected_stats(empty), learning_rate=1.0)
        assert_same(before, said(est, rows), but=("n_samples_seen_", "n_steps_"))
