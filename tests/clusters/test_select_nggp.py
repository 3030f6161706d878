"""select_nggp_hyperparameters: the best point of a grid on a prefix of a stream."""

import numpy as np
import pytest
from cluster_cases import APART, LIKELIHOODS, TEXTS, WEIGHTS, rows_of, stream, streaming
from fitted import assert_never_fitted
from sklearn.utils._param_validation import InvalidParameterError

from sparsemix.clusters import select_nggp_hyperparameters

ORDER = np.random.default_rng(0).permutation(120)


def test_the_good_one_is_chosen_and_the_estimator_left_alone():
    est = streaming(max_iter=7)
    before = est.get_params(deep=False)
    grid = {"word_prior": [50.0, 0.1], "discount": [0.0, 0.2]}
    choice = select_nggp_hyperparameters(est, APART[ORDER], grid)
    assert choice.best_by_score["word_prior"] == 0.1
    assert_never_fitted(est)
    assert est.get_params(deep=False) == before
    assert [result["params"]["word_prior"] for result in choice.results] == [50.0, 0.1, 50.0, 0.1]
    scores = [result["score"] for result in choice.results]
    assert min(scores[1::2]) > max(scores[::2]) + 1
    assert choice.best_by_score == choice.results[int(np.argmax(scores))]["params"]


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_the_rows_after_a_stream(weighted, likelihood):
    rows, weight = rows_of(likelihood), WEIGHTS if weighted else None
    choice = select_nggp_hyperparameters(
        streaming(likelihood), rows, {"concentration": [1.0, 20.0]}, train_size=0.6, sample_weight=weight
    )
    for result in choice.results:
        est = stream(streaming(likelihood, **result["params"]), rows[:90], 10, None if weight is None else weight[:90])
        held_out = None if weight is None else weight[90:]
        assert result["score"] == pytest.approx(est.score(rows[90:], sample_weight=held_out), rel=1e-12)
        assert result["n_clusters"] == est.n_clusters_


def test_of_equals_the_first_is_chosen():
    choice = select_nggp_hyperparameters(streaming(), TEXTS, {"verbose": [0, 3, 1]})
    assert len({result["score"] for result in choice.results}) == 1
    assert choice.best_by_score == {"verbose": 0}
    lists = [{"discount": [0.3], "tilt": [0.0, 1.0]}, {"discount": [0.0]}]
    assert len(select_nggp_hyperparameters(streaming(), TEXTS, lists).results) == 3


def test_rows_of_weight_zero_are_not_there():
    weight = np.ones(150)
    weight[::3] = 0.0
    grid = {"concentration": [1.0, 20.0]}
    weighed = select_nggp_hyperparameters(streaming(), TEXTS, grid, sample_weight=weight)
    removed = select_nggp_hyperparameters(streaming(), TEXTS[weight > 0], grid)
    assert weighed == removed


@pytest.mark.parametrize("train_size", [0.0, 1.0, -1.0, np.nan])
def test_a_share_outside_its_range_is_refused(train_size):
    with pytest.raises(ValueError, match=r"train_size is .*; it must be between 0 and 1"):
        select_nggp_hyperparameters(streaming(), TEXTS, {}, train_size=train_size)


def test_wrong_input_is_named():
    grid = {"concentration": [1.0]}
    with pytest.raises(ValueError, match=r"train_size=0\.1 leaves one part of the 2 rows of X empty; give more rows"):
        select_nggp_hyperparameters(streaming(), TEXTS[:2], grid, train_size=0.1)
    spoilt = TEXTS.toarray()
    spoilt[41, 3] = -1.0
    with pytest.raises(ValueError, match="row 41 of X has a count that is not a finite number"):
        select_nggp_hyperparameters(streaming(), spoilt, grid)
    with pytest.raises(ValueError, match=r"sample_weight has shape \(3,\), expected \(150,\)"):
        select_nggp_hyperparameters(streaming(), TEXTS, grid, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="n_clusters"):
        select_nggp_hyperparameters(streaming(), TEXTS, {"n_clusters": [3]})
    with pytest.raises(InvalidParameterError, match="'concentration' parameter of StreamingNGGPMixture"):
        select_nggp_hyperparameters(streaming(), TEXTS, {"concentration": [-1.0]})
    with pytest.raises(ValueError, match="there is no cluster yet, only rows without words"):
        select_nggp_hyperparameters(streaming(), np.vstack([np.zeros((8, 3)), np.ones((2, 3))]), grid)
