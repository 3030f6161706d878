"""Documents of one cluster each: what the generators promise."""

import numpy as np
import pytest
from reference_nggp import make_pitman_yor_mixture
from scipy.stats import chisquare

from sparsemix import datasets

MAKERS = {
    "bars": lambda **options: datasets.make_bars_mixture(4, 60, **options),
    "pitman_yor": lambda **options: make_pitman_yor_mixture(60, 16, **options),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_documents_have_their_lengths_and_clusters(make):
    lengths = np.arange(60)
    X, labels, clusters = make(doc_length=lengths, random_state=0)
    assert X.format == "csr"
    assert X.dtype == np.float32
    assert X.shape == (60, 16)
    np.testing.assert_array_equal(np.asarray(X.sum(axis=1)).ravel(), lengths)
    assert labels.shape == (60,)
    assert labels.dtype == np.int64
    assert 0 <= labels.min() <= labels.max() < len(clusters)
    assert clusters.shape[1] == 16
    np.testing.assert_allclose(clusters.sum(axis=1), 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_words_have_the_probabilities_of_their_cluster(seed):
    """Chi-square of the words of long documents: n (observed - expected)^2 / expected, W - 1 degrees each."""
    for X, labels, clusters in (
        datasets.make_bars_mixture(3, 30, doc_length=20_000, random_state=seed),
        make_pitman_yor_mixture(30, 9, doc_length=20_000, cluster_word_prior=5.0, random_state=seed),
    ):
        expected = 20_000 * clusters[labels]
        chi_square = ((X.toarray() - expected) ** 2 / expected).sum()
        degrees = 30 * 8
        assert abs(chi_square - degrees) < 5 * np.sqrt(2 * degrees)


def test_bars_stand_on_the_baseline():
    _, labels, clusters = datasets.make_bars_mixture(4, 4000, baseline=0.25, doc_length=1, random_state=0)
    squares = clusters.reshape(8, 4, 4)
    for k in range(4):
        for bar in (squares[k, k], squares[4 + k, :, k]):
            np.testing.assert_allclose(bar, 1.25 / 8)
    assert np.isclose(squares, 0.25 / 8).sum() == 8 * 12
    assert chisquare(np.bincount(labels, minlength=8)).pvalue > 1e-3


def test_bars_without_a_baseline_have_no_other_pixels():
    X, labels, clusters = datasets.make_bars_mixture(3, 20, baseline=0.0, random_state=0)
    assert (X.toarray()[clusters[labels] == 0] == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize(("concentration", "discount"), [(2.0, 0.0), (1.0, 0.5), (-0.3, 0.6)])
def test_clusters_are_those_of_the_urn(concentration, discount):
    """Labels of three documents: 000, 001, 010, 011, 012."""
    counts = np.zeros(5)
    rng = np.random.RandomState(0)
    urn = {"concentration": concentration, "discount": discount, "doc_length": 1}
    codes = {(0, 0, 0): 0, (0, 0, 1): 1, (0, 1, 0): 2, (0, 1, 1): 3, (0, 1, 2): 4}
    for _ in range(2000):
        _, labels, clusters = make_pitman_yor_mixture(3, 2, **urn, random_state=rng)
        counts[codes[tuple(labels)]] += 1
        assert len(clusters) == labels.max() + 1
    opens = (concentration + discount) / (1 + concentration)
    again = (concentration + 2 * discount) / (2 + concentration)
    third = (concentration + discount) / (2 + concentration)
    expected = [(1 - opens) * (1 - third), (1 - opens) * third, *[opens * (1 - again) / 2] * 2, opens * again]
    assert chisquare(counts, 2000 * np.array(expected)).pvalue > 1e-3


def test_number_of_clusters_grows_as_power_or_logarithm():
    for discount, limits in ((0.5, (1.7, 2.4)), (0.0, (1.0, 1.5))):
        sizes = []
        for n_samples in (1000, 4000):
            options = {"concentration": 5.0, "discount": discount, "doc_length": 1, "random_state": 0}
            sizes.append(make_pitman_yor_mixture(n_samples, 2, **options)[1].max() + 1)
        assert limits[0] < sizes[1] / sizes[0] < limits[1]


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (datasets.make_bars_mixture, {"baseline": -0.1}, r"baseline must not be negative, got -0\.1"),
        (make_pitman_yor_mixture, {"cluster_word_prior": 0.0}, "cluster_word_prior must be positive"),
    ],
)
def test_parameters_out_of_range_are_named(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_patches_without_strong_directions_are_round():
    X, _, covariances = datasets.make_patch_mixture(50, n_features=4, n_components=2, rank=0, random_state=0)
    np.testing.assert_array_equal(covariances, np.broadcast_to(0.05 * np.eye(4), (2, 4, 4)))
    assert np.isfinite(X).all()
