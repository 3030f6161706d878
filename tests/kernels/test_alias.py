"""Random numbers from counters, and alias tables."""

from itertools import pairwise

import numpy as np
import pytest
import reference_chains as twin
from scipy.stats import chi2

from sparsemix._kernels.random import _alias, _random

DTYPES = [np.float32, np.float64]
COORDINATES = ["rows", "visits", "types", "sweeps", "draws"]
N = 1 << 16


def chi_square(observed, expected):
    """Whether counts are what they are expected to be; it fails for one of ten thousand seeds."""
    possible = expected > 0
    if observed[~possible].any():
        return False
    statistic = ((observed - expected)[possible] ** 2 / expected[possible]).sum()
    return statistic < chi2(max(possible.sum() - 1, 1)).ppf(1 - 1e-4)


def uniform_bytes(x, shift):
    counts = np.bincount(((x >> np.uint64(shift)) & np.uint64(255)).astype(np.intp), minlength=256)
    return chi_square(counts, np.full(256, len(x) / 256))


def independent_neighbours(x, shift):
    """Four bits of each number against the same bits of the next."""
    four = ((x >> np.uint64(shift)) & np.uint64(15)).astype(np.intp)
    counts = np.bincount(16 * four[:-1] + four[1:], minlength=256)
    return chi_square(counts, np.full(256, (len(x) - 1) / 256))


# -- random numbers


def test_bits_equal_the_twin():
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 1 << 31, size=(50, 5))
    bits = _random.bits(12345, *keys.T)
    assert [int(b) for b in bits] == [twin.bits(12345, *(int(part) for part in key)) for key in keys]


def test_same_key_same_bits_and_every_part_matters():
    key = {"rows": 3, "visits": 1, "types": 4, "sweeps": 1, "draws": 5}
    one = _random.bits(9, **key)
    assert one == _random.bits(9, **key)
    others = [_random.bits(9, **{**key, name: key[name] + 1}) for name in COORDINATES]
    others += [_random.bits(10, **key), _random.bits(9, rows=1, visits=3, types=4, sweeps=1, draws=5)]
    assert len({int(one), *(int(other) for other in others)}) == 8


@pytest.mark.parametrize("shift", [0, 27, 56])
@pytest.mark.parametrize("name", COORDINATES)
def test_neighbouring_keys_are_uniform_and_independent(name, shift):
    x = _random.bits(1, **{name: np.arange(N)})
    assert uniform_bytes(x, shift)
    assert independent_neighbours(x, shift)


def test_seeds_are_far_apart():
    bits = np.array([int(_random.bits(seed)) for seed in range(4096)], dtype=np.uint64)
    flipped = [int(a ^ b).bit_count() for a, b in pairwise(bits)]
    assert abs(np.mean(flipped) - 32) < 5 * 4 / np.sqrt(len(flipped))


@pytest.mark.parametrize("dtype", DTYPES)
def test_uniform_numbers(dtype):
    ends = _random.uniform(np.array([0, (1 << 64) - 1], dtype=np.uint64), dtype)
    assert ends.dtype == dtype
    assert ends[0] == 0.0
    assert 1.0 - 2 * np.finfo(dtype).eps < ends[1] < 1.0
    u = _random.uniform(_random.bits(2, rows=np.arange(N)), dtype).astype(np.float64)
    assert chi_square(np.histogram(u, bins=100, range=(0, 1))[0], np.full(100, N / 100))


def test_integers_below():
    x = _random.below(_random.bits(3, draws=np.arange(N)), 7)
    assert chi_square(np.bincount(x, minlength=7), np.full(7, N / 7))
    assert list(_random.below(np.array([0, (1 << 64) - 1], dtype=np.uint64), 7)) == [0, 6]


# -- alias tables


def weights_of(kind, dtype):
    rng = np.random.default_rng(5)
    return {
        "one entry": np.array([3.0]),
        "equal": np.full(7, 0.3),
        "one of many": np.eye(9)[4],
        "zeros between": np.where(np.arange(40) % 3 == 0, rng.gamma(0.5, size=40), 0.0),
        "spread": np.exp(6 * rng.normal(size=50)),
        "large": rng.gamma(0.1, size=5000),
        "tiny": 1e-30 * rng.random(20),
    }[kind].astype(dtype)


KINDS = ["one entry", "equal", "one of many", "zeros between", "spread", "large", "tiny"]


def built(weights):
    prob, alias = np.full(len(weights), np.nan, dtype=weights.dtype), np.full(len(weights), -1, dtype=np.int32)
    weights.flags.writeable = False
    _alias.build(weights, prob, alias)
    return prob, alias


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_implied_probabilities_equal_the_input(kind, dtype):
    weights = weights_of(kind, dtype)
    p = twin.implied(*built(weights))
    exact = weights.astype(np.float64)
    np.testing.assert_allclose(p, exact / exact.sum(), rtol=0, atol=1e-12 if dtype == np.float64 else 1e-6)
    assert (p[weights == 0] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_build_equals_the_twin(kind):
    weights = weights_of(kind, np.float64)
    for ours, theirs in zip(built(weights), twin.build_alias(weights), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def draws(prob, alias, u):
    out = np.empty(len(u), dtype=np.int32)
    _alias.draw(prob, alias, u, out)
    return out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_draws_have_the_given_frequencies(kind, dtype):
    weights = weights_of(kind, dtype)
    prob, alias = built(weights)
    u = _random.uniform(_random.bits(7, draws=np.arange(200_000)))
    p = weights.astype(np.float64) / weights.sum(dtype=np.float64)
    top = np.argsort(p)[-60:]
    seen = np.bincount(draws(prob, alias, u), minlength=len(p))
    assert chi_square(np.append(seen[top], len(u) - seen[top].sum()), len(u) * np.append(p[top], 1 - p[top].sum()))


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 1025, 10_007])
def test_the_ends_of_the_unit_interval_stay_within_the_table(n):
    prob, alias = built(np.random.default_rng(n).random(n))
    u = np.concatenate([[0.0, np.nextafter(1.0, 0.0)], np.arange(n) / n])
    out = draws(prob, alias, u)
    assert (out >= 0).all()
    assert (out < n).all()


@pytest.mark.parametrize("weights", [[1.0, -1e-9], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], []])
def test_invalid_weights_are_refused(weights):
    weights = np.array(weights)
    with pytest.raises(ValueError, match="positive and finite"):
        _alias.build(weights, np.empty(len(weights)), np.empty(len(weights), dtype=np.int32))


def test_arrays_of_other_lengths():
    with pytest.raises(ValueError, match="prob and alias must be"):
        _alias.build(np.ones(3), np.empty(2), np.empty(3, dtype=np.int32))
    with pytest.raises(ValueError, match="of one length"):
        _alias.draw(np.ones(3), np.zeros(2, dtype=np.int32), np.zeros(1), np.empty(1, dtype=np.int32))
