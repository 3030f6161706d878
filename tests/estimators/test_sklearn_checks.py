"""scikit-learn's own checks, of several settings a class; an expected failure carries its reason."""

from functools import cache

import numpy as np
import pytest
from estimator_cases import CLASSES
from fitted import few_epochs
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks
from topic_cases import LEARNED

from sparsemix import (
    CollapsedLDA,
    GibbsLDA,
    GibbsNGGPMixture,
    SkipGramTopicModel,
    SparseBernoulliMixture,
    SparseDMR,
    SparseGaussianMixture,
    SparseHDP,
    SparseLDA,
    SparseMixedMixture,
    SparseMultinomialMixture,
    SparseSCVB0LDA,
    SparseVonMisesFisherMixture,
    StreamingNGGPMixture,
)
from sparsemix._estimator.input.checks import check_counts

AS_A_CLASSIFIER = "predict_proba has a column for each cluster found, and the check wants the four of a classifier"
NOT_FOR_COUNTS = "the rows are blobs around zero, and the likelihood is one of counts"
NOT_FOR_MEANS = "the rows are blobs with different means, and the likelihood has mean zero"
ROWS_OF_ZEROS = "some of the rows are zero, and have no direction"
ONE_ARRIVAL = "a row of weight w comes once with mass w: it is not w rows, each of which may open a cluster"
IN_ORDER = (
    "a sweep visits the copies of a document one after the other, and the start draws responsibilities for each; "
    "test_weight_of_two_is_two_documents_in_the_end asserts that both end at the same topics"
)
DRAWN = (
    "the start draws rows or noise, and batches are random: one row of weight 2 and two rows of weight 1 take other "
    "random numbers, hence other components; with a given start and one batch the fits are equal, which "
    "test_rows_of_weight_two_are_two_rows asserts"
)
DENSE, SPARSE = (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))

COLUMNS_ARE_PLACES = (
    "columns are places of words and not features: n_features_in_ is the size of the vocabulary, and documents of any "
    "width are taken"
)
LISTS_ARE_NUMBERS = "a list holds numbers of words, which begin with 0, of documents of any length; a matrix number + 1"
OF_SEQUENCES = {
    "check_transformer_general": LISTS_ARE_NUMBERS,
    "check_transformer_data_not_an_array": LISTS_ARE_NUMBERS,
    "check_fit2d_1feature": "documents of one place have no contexts, and the sentence says so",
    "check_n_features_in": COLUMNS_ARE_PLACES,
    "check_n_features_in_after_fitting": COLUMNS_ARE_PLACES,
    "check_dataframe_column_names_consistency": COLUMNS_ARE_PLACES,
}
UNWEIGHED = dict.fromkeys(
    [
        "check_sample_weights_pandas_series", "check_sample_weights_not_an_array", "check_sample_weights_list",
        "check_all_zero_sample_weights_error", "check_sample_weights_shape", "check_sample_weights_not_overwritten",
        DENSE, SPARSE,
    ],
    "the samplers count positions and refuse sample weights, with a sentence that says so",
)  # fmt: skip


def expected_failures(est):
    """Checks that the model contradicts, and why."""
    if isinstance(est, (StreamingNGGPMixture, GibbsNGGPMixture)):
        return expected_failures_of_clusters(est)
    if isinstance(est, SkipGramTopicModel):
        return OF_SEQUENCES | (dict.fromkeys((DENSE, SPARSE), DRAWN) if est.inference == "scvb0" else UNWEIGHED)
    if est.n_components == 1:  # nothing that is drawn matters
        return {}
    if isinstance(est, (SparseBernoulliMixture, SparseMultinomialMixture, SparseVonMisesFisherMixture)):
        if isinstance(est, SparseVonMisesFisherMixture):
            others = dict.fromkeys(("check_estimators_dtypes", "check_estimator_sparse_tag"), ROWS_OF_ZEROS)
        else:
            others = dict.fromkeys(("check_estimator_sparse_array", "check_estimator_sparse_matrix"), AS_A_CLASSIFIER)
        # Initialisations race on distinct rows.
        return others | ({DENSE: DRAWN, SPARSE: DRAWN} if est.init_params == "random_from_data" else {})
    reason = IN_ORDER if isinstance(est, (CollapsedLDA, GibbsLDA)) else DRAWN
    topics = isinstance(est, (SparseLDA, SparseSCVB0LDA, SparseDMR, SparseHDP, CollapsedLDA, GibbsLDA))
    return {DENSE: reason} | ({SPARSE: reason} if topics else {})


def expected_failures_of_clusters(est):
    sparse_checks = ["check_estimator_sparse_array", "check_estimator_sparse_matrix"]
    failing = dict.fromkeys(sparse_checks, AS_A_CLASSIFIER) if est.likelihood in ("auto", "multinomial") else {}
    if est.likelihood == "multinomial":
        names = ["check_clustering"]
        if isinstance(est, StreamingNGGPMixture):
            names.append("check_clusterer_compute_labels_predict")
        return failing | dict.fromkeys(names, NOT_FOR_COUNTS)
    means = {"check_clustering": NOT_FOR_MEANS} if est.likelihood == "zero_mean" else {}
    same = isinstance(est, StreamingNGGPMixture) and est.likelihood == "auto"
    same = same and est.max_components is None and est.prune_threshold is None
    weighted = {} if same else {DENSE: ONE_ARRIVAL}
    return failing | weighted | means


def checks_of(estimators):
    """``parametrize_with_checks``, which makes the text of an estimator once and not for each of its checks."""
    mark = parametrize_with_checks(estimators, expected_failed_checks=expected_failures)
    return pytest.mark.parametrize(*mark.args, ids=cache(mark.kwargs["ids"]))


# The quick tests check only the first setting of each class.
# "auto" lets held-out rows choose a start, and a row of weight 2 is held out as one row.
MIXTURES = [
    SparseGaussianMixture(),
    SparseGaussianMixture(3, n_nonzero=2, learning_method="batch", max_iter=20, init_params="kmeans"),
    SparseGaussianMixture(
        3, n_nonzero=1, covariance_type="diag", inference="em", learning_method="batch", max_iter=20,
        init_params="kmeans",
    ),
    SparseGaussianMixture(3, n_nonzero=2, covariance_type="spherical", learning_method="online", max_iter=5),
    SparseGaussianMixture(3, n_nonzero=2, covariance_type="tied", inference="em", max_iter=20, init_params="kmeans"),
    SparseGaussianMixture(3, n_nonzero=2, covariance_type=("low_rank", 2), max_iter=20, init_params="kmeans"),
    SparseGaussianMixture(3, n_nonzero=2, covariance_type="zero_mean", batch_size=8, max_iter=20),
    SparseGaussianMixture(
        3, n_nonzero=2, weight_concentration_prior_type="dirichlet_process", init_params="kmeans", max_iter=20
    ),
    SparseGaussianMixture(
        3, n_nonzero=None, inference="em", learning_method="online", reg_covar=1e-3, init_params="random_from_data",
        max_iter=5, n_jobs=2,
    ),
]  # fmt: skip
LDA = [
    SparseLDA(4),
    SparseLDA(4, n_nonzero=2, learning_method="batch"),
    SparseLDA(4, n_nonzero=1, learning_method="online", max_iter=2),
    SparseLDA(4, n_nonzero=None, learning_method="batch", init_params="random", tol=1e-2),
    SparseLDA(4, n_nonzero=2, init_params="bregman", n_restarts=2, batch_size=8),
    SparseLDA(4, n_nonzero=3, **LEARNED, init_params="random", n_jobs=2, warm_documents=False, tol=1e-2),
    SparseLDA(3, n_nonzero=1, doc_topic_prior=0.5, init_params="random", total_samples=100, max_iter=3),
    SparseLDA(1),
]
SCVB0 = [
    SparseSCVB0LDA(4, max_iter=4),
    SparseSCVB0LDA(
        4, sampler="dense", learning_method="memoized", init_params="em", max_iter=4
    ),
    SparseSCVB0LDA(4, sampler="dense", learning_method="online", local_step_size=(10.0, 0.9), max_iter=5),
    SparseSCVB0LDA(3, sampler="mhw", learning_method="memoized", init_params="random", max_iter=5),
    SparseSCVB0LDA(3, sampler="mhw", local_step_size=(10.0, 0.9), init_params="uniform", max_iter=5,
                   batch_size=5, mini_epoch=(10, 2), n_jobs=2),
    SparseSCVB0LDA(3, sampler="dense", learning_method="online", init_params="uniform", total_samples=100, max_iter=3),
    SparseSCVB0LDA(
        4, sampler="mhw", learning_method="memoized", batch_size=8, init_params="bregman", max_iter=3
    ),
    SparseSCVB0LDA(4, sampler="gibbs", learning_method="online", init_params="uniform", batch_size=8, max_iter=4),
    SparseSCVB0LDA(4, sampler="gibbs", learning_method="memoized", max_iter=4),
    SparseSCVB0LDA(1, sampler="dense", init_params="em", max_iter=3),
]  # fmt: skip
REGRESSION = [SparseDMR(4, max_iter=4)]
LEARNED_NUMBER = [SparseHDP(4, max_iter=4)]
COLLAPSED = [
    CollapsedLDA(4),
    CollapsedLDA(4, inference="cvb", topic_word_prior=0.1),
    CollapsedLDA(3, inference="cvb0", **LEARNED, max_iter=30),
    CollapsedLDA(3, inference="cvb", **LEARNED, max_iter=15),
    CollapsedLDA(2, inference="cvb_exact", max_iter=2),
    CollapsedLDA(1),
]
STREAMS = [
    StreamingNGGPMixture(),
    StreamingNGGPMixture(max_iter=5),
    StreamingNGGPMixture(concentration=1.0, discount=0.5, merge_criterion="bayes_factor", merge_every=5),
    StreamingNGGPMixture(discount=0.7, tilt=0.0, merge_criterion="similarity", prune_threshold=1.5, merge_every=5),
    StreamingNGGPMixture(
        discount=0.5, u_rule=("quadrature", "count"), merge_criterion="responsibility", merge_every=5
    ),
    StreamingNGGPMixture(n_nonzero=1, max_components=3, max_iter=5, merge_criterion="responsibility"),
    StreamingNGGPMixture("full"),
    StreamingNGGPMixture("full", max_iter=5, discount=0.5, u_rule="quadrature", max_components=4),
    StreamingNGGPMixture("diag", max_iter=5),
    StreamingNGGPMixture("spherical", discount=0.7, tilt=0.0, prune_threshold=1.0, merge_every=10),
    StreamingNGGPMixture("zero_mean", max_iter=3),
]
CHAINS = [
    GibbsNGGPMixture(max_iter=6),
    GibbsNGGPMixture(max_iter=10, discount=0.7, tilt=0.0, init_params="sequential"),
    GibbsNGGPMixture(max_iter=10, concentration_prior=(2.0, 0.5), max_components=3),
    GibbsNGGPMixture("full", max_iter=12, concentration_prior=(2.0, 0.5)),
    GibbsNGGPMixture("diag", max_iter=10),
    GibbsNGGPMixture("spherical", max_iter=10, discount=0.5, max_components=3),
    GibbsNGGPMixture("zero_mean", max_iter=10, init_params="sequential"),
]
SKIP_GRAMS = [
    SkipGramTopicModel(3, max_iter=3, window=2),
    SkipGramTopicModel(3, sampler="mhw", max_iter=3, n_jobs=2),
    SkipGramTopicModel(2, inference="gibbs", max_iter=3),
    SkipGramTopicModel(2, inference="mhw", max_iter=3),
    SkipGramTopicModel(1, total_samples=100, max_iter=2),
]
# Most of the checks fit real numbers, of which Gibbs sampling sees tenths as its tokens here.
WHOLE = [
    CollapsedLDA(3, inference="gibbs", max_iter=20),
    CollapsedLDA(3, inference="gibbs", max_iter=30, **LEARNED),
    GibbsLDA(3, max_iter=20),
    GibbsLDA(3, inference="uncollapsed", max_iter=12, **LEARNED),
]
DIRECTIONS = [
    SparseVonMisesFisherMixture(3, max_iter=20),
    SparseVonMisesFisherMixture(3, concentration_type="own", inference="em", n_nonzero=2, max_iter=20),
    SparseVonMisesFisherMixture(3, learning_method="online", init_params="random_from_data", max_iter=5),
]
WORDS = [
    SparseMultinomialMixture(3, max_iter=20),
    SparseMultinomialMixture(3, inference="em", learning_method="batch", max_iter=20),
]
FLAGS = [
    SparseBernoulliMixture(3, binarize=0.0, max_iter=20),
    SparseBernoulliMixture(3, binarize=0.5, inference="vb", learning_method="batch", n_nonzero=None, max_iter=20),
]
MIXED = [
    SparseMixedMixture(3, max_iter=20),
    SparseMixedMixture(3, inference="vb", learning_method="batch", n_nonzero=None, max_iter=20),
]
SETTINGS = [
    MIXTURES, DIRECTIONS, WORDS, FLAGS, MIXED, LDA, SCVB0, REGRESSION, LEARNED_NUMBER, COLLAPSED, STREAMS, CHAINS,
    SKIP_GRAMS,
]  # fmt: skip


def test_every_class_is_checked():
    assert {type(est) for est in [*(settings[0] for settings in SETTINGS), *WHOLE]} == set(CLASSES)


@few_epochs
@checks_of([settings[0] for settings in SETTINGS])
def test_first_setting(estimator, check):
    check(estimator)


# Checks whose outcome depends on the setting. test_number_types.py tries more types than check_estimators_dtypes.
OF_SETTINGS = DENSE, SPARSE, "check_methods_subset_invariance", "check_clustering"


@pytest.mark.slow
@pytest.mark.every_setting_with(*OF_SETTINGS)
@few_epochs
@checks_of([est for settings in SETTINGS for est in settings[1:]])
def test_other_settings(estimator, check):
    check(estimator)


@pytest.mark.slow
@checks_of(WHOLE)
def test_settings_of_whole_counts(estimator, check, monkeypatch):
    def whole_counts(*args, **kwargs):
        rows = check_counts(*args, **kwargs)
        if sparse.issparse(rows):
            rows = rows.copy()
            rows.data = np.floor(10 * rows.data)
            return rows
        return np.floor(10 * np.array(rows))

    for module in ("_collapsed.collapsed_lda", "_gibbs_lda"):
        monkeypatch.setattr(f"sparsemix.topics.{module}.check_counts", whole_counts)
    check(estimator)
