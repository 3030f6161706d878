"""Weights of chosen pairs, candidates of rows and the best of them: the compiled loops against plain Python."""

from itertools import count, pairwise

import numpy as np
import pytest
import reference
from reference_chains import draw_bits, row_key
from sparsemix._kernels.vectors._simd import aligned_empty
from table_cases import random_table, twin_and_error

from sparsemix._kernels.gaussians import _pairs, _quadratic

DTYPES = [np.float32, np.float64]
SHAPES = {
    "triangular": (_pairs.TRIANGULAR, _quadratic.TRIANGULAR),
    "diagonal": (_pairs.DIAGONAL, _quadratic.DIAGONAL),
    "spherical": (_pairs.SPHERICAL, _quadratic.SPHERICAL),
}
# Triangles are padded to blocks of 16 outputs, of which some machines take two at once; vectors hold 2 to 16 numbers.
FEATURES = [1, 3, 7, 8, 9, 15, 16, 17, 32, 33, 48, 49, 64, 100]
# Pairs of a component are taken 2, 4 or 8 at once: none, one, some, and several times as many.
COUNTS = [0, 1, 2, 3, 0, 7, 8, 9, 17, 31]


def padded(n_features):
    return -(-n_features // _pairs.BLOCK) * _pairs.BLOCK


def aligned(array):
    out = aligned_empty(array.size, array.dtype).reshape(array.shape)
    out[...] = array
    return out


def padded_offsets(offsets):
    n_components, n_features = offsets.shape
    out = np.zeros((n_components, padded(n_features)), dtype=offsets.dtype)
    out[:, :n_features] = offsets
    return aligned(out)


class Pairs:
    """Rows, a table, and pairs of both, component by component; a row may come several times."""

    def __init__(self, shape, n_features, dtype, counts=COUNTS, n_rows=23, seed=0):
        rng = np.random.default_rng(seed)
        self.shape = shape
        self.x = rng.normal(size=(n_rows, n_features)).astype(dtype)
        self.table = random_table(rng, shape, n_features, len(counts), dtype)
        self.starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        self.rows = rng.integers(n_rows, size=self.starts[-1]).astype(np.intc)
        self.components = np.repeat(np.arange(len(counts)), counts)

    def arguments(self, x=None):
        """Those of ``log_density``, without the last one."""
        factors, _, offsets, constants = self.table
        if self.shape == "triangular":
            factors, offsets = _pairs.by_columns(factors, offsets.shape[1]), padded_offsets(offsets)
        x = self.x if x is None else x
        return [SHAPES[self.shape][0], x, factors, offsets, constants, self.starts, self.rows]

    def log_density(self, x=None):
        out = np.full(len(self.rows), np.nan, dtype=self.x.dtype)
        _pairs.log_density(*self.arguments(x), out)
        return out


# -- log densities


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_features", FEATURES)
def test_log_densities_equal_the_formula_and_those_of_all_pairs(n_features, shape, dtype):
    case = Pairs(shape, n_features, dtype, seed=n_features)
    factors, matrices, offsets, constants = case.table
    expected, error = twin_and_error(shape, case.x, matrices, offsets, constants)
    found = case.log_density()
    assert found.dtype == dtype
    pairs = case.rows, case.components
    assert (np.abs(found - expected[pairs]) <= error[pairs]).all()
    of_all = np.empty_like(expected, dtype=dtype)
    _quadratic.log_density(SHAPES[shape][1], case.x, factors, offsets, constants, of_all)
    assert (np.abs(found - of_all[pairs]) <= error[pairs]).all()


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_features", [1, 3, 16, 33])
def test_pair_does_not_depend_on_neighbouring_pairs(n_features, shape, dtype):
    case = Pairs(shape, n_features, dtype)
    together = case.log_density()
    order = np.concatenate([np.random.default_rng(1).permutation(np.arange(a, b))
                            for a, b in pairwise(case.starts)])  # fmt: skip
    starts, rows = case.starts, case.rows
    case.rows = rows[order]
    np.testing.assert_array_equal(case.log_density(), together[order])
    for chosen in (np.arange(len(rows)) % 3 == 1, np.arange(len(rows)) == 40, case.components > 6):
        case.rows = rows[chosen]
        case.starts = np.searchsorted(np.flatnonzero(chosen), starts).astype(np.intp)
        np.testing.assert_array_equal(case.log_density(), together[chosen])
    case.starts, case.rows = starts, rows
    spoilt = case.x.copy()
    spoilt[::2] = np.nan
    np.testing.assert_array_equal(case.log_density(spoilt)[rows % 2 == 1], together[rows % 2 == 1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_infinite_constants_stay_and_nothing_read_is_written(shape, dtype):
    case = Pairs(shape, 5, dtype)
    case.table[3][5] = -np.inf
    arguments = case.arguments()
    expected = case.log_density()
    assert (expected[case.components == 5] == -np.inf).all()
    assert np.isfinite(expected[case.components != 5]).all()
    for array in arguments[1:]:
        array.flags.writeable = False
    out = np.empty_like(expected)
    _pairs.log_density(*arguments, out)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_pairs_no_components_no_rows(shape):
    assert Pairs(shape, 4, np.float64, counts=[0, 0]).log_density().shape == (0,)
    assert Pairs(shape, 4, np.float64, counts=[]).log_density().shape == (0,)
    assert Pairs(shape, 4, np.float64, counts=[0], n_rows=0).log_density().shape == (0,)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("wrong", ["factors", "components", "features", "starts", "first", "last", "out"])
def test_log_densities_of_wrong_shapes_raise(shape, wrong):
    case = Pairs(shape, 4, np.float64)
    kind, x, factors, offsets, constants, starts, rows = case.arguments()
    out = np.empty(len(rows))
    message = {"out": "out must be", "starts": "starts must", "first": "starts must", "last": "starts must"}
    if wrong == "factors":
        factors = factors[:-1]
    elif wrong == "components":
        offsets = offsets[:-1]
    elif wrong == "features":
        offsets = aligned(np.ascontiguousarray(offsets[:, :-1]))
    elif wrong == "starts":
        starts = starts[:-1]
    elif wrong == "first":
        starts = starts + 1
    elif wrong == "last":
        rows, out = rows[:-1], out[:-1]
    else:
        out = out[:-1]
    with pytest.raises(ValueError, match=message.get(wrong, "factors must hold")):
        _pairs.log_density(kind, x, factors, offsets, constants, starts, rows, out)


def test_triangles_off_a_cache_line_raise():
    kind, x, factors, offsets, *others = Pairs("triangular", 4, np.float64).arguments()
    out, skewed = np.empty(len(others[-1])), aligned_empty(factors.size + 1, factors.dtype)[1:]
    skewed[...] = factors
    with pytest.raises(ValueError, match="cache line"):
        _pairs.log_density(kind, x, skewed, offsets, *others, out)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_features", FEATURES)
def test_columns_hold_the_triangles_and_zeros(n_features, dtype):
    rng = np.random.default_rng(n_features)
    triangles = rng.normal(size=(3, n_features * (n_features + 1) // 2)).astype(dtype)
    expected = []
    for triangle in triangles:
        matrix = np.zeros((padded(n_features), n_features))
        matrix[np.tril_indices(n_features)] = triangle
        for j in range(n_features):  # from the block of its diagonal on
            expected.extend(matrix[j // _pairs.BLOCK * _pairs.BLOCK :, j])
    triangles.flags.writeable = False
    found = _pairs.by_columns(triangles.reshape(-1), n_features)
    assert found.dtype == dtype
    assert found.ctypes.data % 64 == 0
    np.testing.assert_array_equal(found, np.array(expected, dtype=dtype))


@pytest.mark.parametrize(("size", "n_features"), [(5, 3), (7, 3), (4, 0), (4, -1)])
def test_columns_of_parts_of_triangles_raise(size, n_features):
    with pytest.raises(ValueError, match="whole triangles"):
        _pairs.by_columns(np.zeros(size), n_features)


# -- candidates


def random_lists(rng, n_rows, size, n_components):
    """Distinct components, increasing; some rows have fewer, one has none."""
    lists = np.full((n_rows, size), -1, dtype=np.intc)
    for row in range(n_rows):
        n = 0 if row == 1 else rng.integers(1, size + 1)
        lists[row, :n] = np.sort(rng.choice(n_components, n, replace=False))
    return lists


def random_neighbours(rng, n_components, n_neighbours):
    """Random neighbours of each component, which include itself."""
    out = np.empty((n_components, n_neighbours), dtype=np.intc)
    for k in range(n_components):
        others = rng.permutation(np.delete(np.arange(n_components), k))[: n_neighbours - 1]
        out[k] = rng.permutation([k, *others])
    return out


def draws(key, n_components):
    """Random components of a row, one after the other."""
    return ((draw_bits(key, draw) >> 32) * n_components >> 32 for draw in count())


def twin_expand(lists, neighbours, numbers, n_random, least, seed, visit):
    """Candidates of each row as a list of lists."""
    out = []
    for own, number in zip(lists.tolist(), numbers.tolist(), strict=True):
        own = [k for k in own if k >= 0]
        found = dict.fromkeys(own)
        for k in own:
            found |= dict.fromkeys(neighbours[k].tolist())
        drawn = draws(row_key(seed, number, visit), len(neighbours))
        found |= dict.fromkeys(next(drawn) for _ in range(n_random))
        k = next(drawn)
        while len(found) < least:
            k = (k + 1) % len(neighbours)
            found.setdefault(k)
        out.append(list(found))
    return out


def expand(lists, neighbours, numbers, n_random, least, seed=7, visit=3):
    n = len(lists)
    indptr = np.full(n + 1, -1, dtype=np.int64)
    out = np.full(n * max(lists.shape[1] * (neighbours.shape[1] + 1) + n_random, least), -1, dtype=np.intc)
    total = _pairs.expand(lists, neighbours, numbers, n_random, least, seed, visit, indptr, out)
    assert indptr[0] == 0
    assert indptr[-1] == total
    return [out[a:b].tolist() for a, b in pairwise(indptr)]


class Search:
    """Lists and neighbours of rows with odd numbers."""

    def __init__(self, n_components, size, n_neighbours, n_rows=40, seed=0):
        rng = np.random.default_rng(seed)
        self.lists = random_lists(rng, n_rows, size, n_components)
        self.neighbours = random_neighbours(rng, n_components, n_neighbours)
        self.numbers = rng.permutation(10 * n_rows)[:n_rows].astype(np.int64) + (1 << 33)


@pytest.mark.parametrize(("n_random", "least"), [(0, 1), (2, 1), (2, 5), (0, 9), (64, 3)])
@pytest.mark.parametrize(("n_components", "size", "n_neighbours"), [(1, 1, 1), (9, 3, 2), (50, 4, 8), (300, 2, 5)])
def test_candidates_are_list_neighbours_and_random_ones(n_components, size, n_neighbours, n_random, least):
    search, least = Search(n_components, size, n_neighbours), min(least, n_components)
    found = expand(search.lists, search.neighbours, search.numbers, n_random, least)
    assert found == twin_expand(search.lists, search.neighbours, search.numbers, n_random, least, 7, 3)
    for own, row in zip(search.lists, found, strict=True):
        own = own[own >= 0].tolist()
        assert row[: len(own)] == own
        assert len(set(row)) == len(row) >= least


@pytest.mark.slow
def test_random_candidates_are_keyed_by_seed_number_and_visit():
    search = Search(10_000, 2, 3, n_rows=30)
    first = expand(search.lists, search.neighbours, search.numbers, 3, 1)
    order = np.random.default_rng(1).permutation(30)
    moved = expand(search.lists[order], search.neighbours, search.numbers[order], 3, 1)
    assert moved == [first[row] for row in order]
    other_numbers = expand(search.lists, search.neighbours, search.numbers + 1000, 3, 1)
    other_seed = expand(search.lists, search.neighbours, search.numbers, 3, 1, seed=8)
    other_visit = expand(search.lists, search.neighbours, search.numbers, 3, 1, visit=4)
    for other in (other_numbers, other_seed, other_visit):  # three of 10,000 hardly agree by chance
        assert all(a != b for a, b in zip(first, other, strict=True))


def test_every_component_is_drawn_equally_often():
    lists, neighbours = np.full((4000, 1), -1, dtype=np.intc), np.arange(20, dtype=np.intc)[:, None]
    drawn = expand(lists, neighbours, np.arange(4000), 1, 1)
    counts = np.bincount([k for row in drawn for k in row], minlength=20)
    # chi-square with 19 degrees of freedom: above 45 once in a thousand seeds, and this one is fixed
    assert ((counts - 200) ** 2 / 200).sum() < 45


def test_least_may_be_all_components():
    search = Search(30, 3, 4)
    for row in expand(search.lists, search.neighbours, search.numbers, 2, 30):
        assert sorted(row) == list(range(30))


def test_candidates_of_no_rows():
    search = Search(30, 3, 4)
    assert expand(search.lists[:0], search.neighbours, search.numbers[:0], 2, 1) == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [("numbers", "numbers must"), ("indptr", "numbers must"), ("least", "least"), ("out", "out is")],
)
def test_wrong_candidates_raise(wrong, message):
    search = Search(9, 2, 3, n_rows=5)
    numbers = search.numbers[:-1] if wrong == "numbers" else search.numbers
    indptr = np.empty(5 if wrong == "indptr" else 6, dtype=np.int64)
    least = 10 if wrong == "least" else 9
    out = np.empty(5 * (9 if wrong == "out" else 10) + (wrong == "least"), dtype=np.intc)
    with pytest.raises(ValueError, match=message):
        _pairs.expand(search.lists, search.neighbours, numbers, 2, least, 0, 0, indptr, out)


def test_candidates_read_read_only_arrays():
    search = Search(9, 2, 3)
    expected = expand(search.lists, search.neighbours, search.numbers, 2, 1)
    for array in vars(search).values():
        array.flags.writeable = False
    assert expand(search.lists, search.neighbours, search.numbers, 2, 1) == expected


# -- pairs by component, and the best of them


class Candidates:
    """Some components of each row and a weight for each pair, row by row; weights are few, so that there are ties."""

    def __init__(self, counts, n_components, dtype=np.float64, n_weights=4, seed=0):
        rng = np.random.default_rng(seed)
        self.n_components = n_components
        self.indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.candidates = np.concatenate(
            [np.empty(0), *(rng.choice(n_components, n, replace=False) for n in counts)]
        ).astype(np.intc)
        self.weights = (rng.integers(n_weights, size=len(self.candidates)) * 0.75 - 1.0).astype(dtype)

    def row(self, n):
        part = slice(self.indptr[n], self.indptr[n + 1])
        return self.candidates[part], self.weights[part]

    def group(self):
        starts = np.full(self.n_components + 1, -1, dtype=np.intp)
        rows, places = np.full((2, len(self.candidates)), -1, dtype=np.intc)
        _pairs.group(self.indptr, self.candidates, starts, rows, places)
        return starts, rows, places

    def choose(self, size, n_nonzero):
        """Lists, indices, values, log_z and what is returned."""
        _, _, places = self.group()
        by_component = np.empty_like(self.weights)
        by_component[places] = self.weights
        n = len(self.indptr) - 1
        lists, log_z = np.full((n, size), -2, dtype=np.intc), np.full(n, np.nan)
        indices = None if n_nonzero is None else np.full((n, n_nonzero), -2, dtype=np.intc)
        values = np.full((n, n_nonzero or 0), np.nan)
        bad = _pairs.choose(self.indptr, self.candidates, places, by_component, lists, indices, values, log_z)
        return lists, indices, values, log_z, bad


def test_groups_are_the_pairs_in_row_order():
    case = Candidates([5, 0, 1, 9, 9, 2], 9)
    case.n_components = 11  # two have no pairs
    starts, rows, places = case.group()
    np.testing.assert_array_equal(np.sort(places), np.arange(26))
    np.testing.assert_array_equal(rows[places], np.repeat(np.arange(6), [5, 0, 1, 9, 9, 2]))
    assert starts[0] == 0
    np.testing.assert_array_equal(np.diff(starts), np.bincount(case.candidates, minlength=11))
    for k in range(11):
        mine = rows[starts[k] : starts[k + 1]]
        assert (np.diff(mine) > 0).all()
        np.testing.assert_array_equal(case.candidates[np.isin(places, np.arange(starts[k], starts[k + 1]))], k)


def assert_best(case, size, n_nonzero):
    """The twin sorts: the largest weights, the lower component among equals."""
    lists, indices, values, log_z, bad = case.choose(size, n_nonzero)
    assert bad == -1
    for n in range(len(lists)):
        components, weights = case.row(n)
        ranked = [components[e] for e in sorted(range(len(components)), key=lambda e: (-weights[e], components[e]))]
        kept = sorted(ranked[:size])
        np.testing.assert_array_equal(lists[n], kept + [-1] * (size - len(kept)))
        if n_nonzero is None:
            continue
        dense = np.full((1, case.n_components), -np.inf)
        dense[0, components] = weights
        expected = reference.top_l(dense, n_nonzero)
        support = sorted(ranked[:n_nonzero])
        np.testing.assert_array_equal(indices[n], support)
        chosen = dense[0, support]
        np.testing.assert_allclose(values[n], reference.softmax(chosen[None])[0], rtol=0, atol=1e-14)
        np.testing.assert_allclose(log_z[n], expected[2][0], rtol=0, atol=1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_weights", [1, 3, 1000])
@pytest.mark.parametrize(("size", "n_nonzero"), [(1, 1), (4, 1), (4, 4), (7, 3), (20, 5), (20, 20)])
def test_best_candidates_equal_sorting(size, n_nonzero, n_weights, dtype):
    counts = np.random.default_rng(3).integers(n_nonzero, 30, size=60)
    assert_best(Candidates(counts, 40, dtype, n_weights), size, n_nonzero)


def test_lists_without_responsibilities():
    assert_best(Candidates([3, 0, 1, 12, 4], 15), 4, None)


def test_minus_infinity_comes_last_and_gets_nothing():
    case = Candidates([6] * 50, 12, n_weights=1000)
    case.weights[np.random.default_rng(5).uniform(size=300) < 0.6] = -np.inf
    case.weights[::6] = 1.0  # one is finite
    assert_best(case, 5, 3)
    _, indices, values, _, _ = case.choose(5, 3)
    assert (values == 0).any()
    assert (np.diff(indices, axis=1) > 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("spoil", ["nan", "inf", "all -inf", "short"])
def test_first_bad_row_is_returned_and_those_before_it_are_done(spoil, dtype):
    counts = [5] * 8
    counts[6] = 2 if spoil == "short" else 5
    case = Candidates(counts, 12, dtype)
    good = case.choose(4, 2)
    assert good[-1] == -1
    for position in range(counts[6]):
        case = Candidates(counts, 12, dtype)
        _, weights = case.row(6)
        if spoil == "all -inf":
            weights[...] = -np.inf
        elif spoil != "short":
            weights[position] = float(spoil)
        bad = case.choose(4, 3 if spoil == "short" else 2)
        assert bad[-1] == 6
        np.testing.assert_array_equal(bad[0][:6], good[0][:6])


@pytest.mark.parametrize("wrong", ["candidates", "rows", "places"])
def test_wrong_groups_raise(wrong):
    case = Candidates([3, 4], 9)
    sizes = {"candidates": 7, "rows": 7, "places": 7} | {wrong: 6}
    with pytest.raises(ValueError, match="candidates, rows and places"):
        _pairs.group(
            case.indptr, case.candidates[: sizes["candidates"]], np.empty(10, dtype=np.intp),
            np.empty(sizes["rows"], dtype=np.intc), np.empty(sizes["places"], dtype=np.intc),
        )  # fmt: skip


@pytest.mark.parametrize("wrong", ["lists", "indices", "values", "columns", "log_z", "places", "weights", "short"])
def test_wrong_shapes_of_the_best_raise(wrong):
    case = Candidates([5, 5], 9)
    places = case.group()[2]
    rows = {"lists": 2, "indices": 2, "values": 2, "log_z": 2, "places": 10, "weights": 10}
    rows = {name: size - (name == wrong) for name, size in rows.items()}
    message = "lists must be as long" if wrong == "short" else "must be"
    with pytest.raises(ValueError, match=message):
        _pairs.choose(
            case.indptr, case.candidates, places[: rows["places"]], case.weights[: rows["weights"]],
            np.empty((rows["lists"], 1 if wrong == "short" else 4), dtype=np.intc),
            np.empty((rows["indices"], 2), dtype=np.intc), np.empty((rows["values"], 2 + (wrong == "columns"))),
            np.empty(rows["log_z"]),
        )  # fmt: skip


def test_groups_and_the_best_of_read_only_arrays():
    case = Candidates([5, 5, 3], 9)
    expected = case.choose(3, 2)
    for array in (case.indptr, case.candidates, case.weights):
        array.flags.writeable = False
    for found, right in zip(case.choose(3, 2), expected, strict=True):
        np.testing.assert_array_equal(found, right)
