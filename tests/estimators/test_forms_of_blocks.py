"""Blocks of every form that ``fit`` reads: the same bits as blocks of their numbers, or one sentence with the block."""

import warnings

import forms
import numpy as np
import pytest
from estimator_cases import CASES, over
from fitted import assert_same, attributes, few_epochs
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags
from test_input_forms import OF_COLUMNS, numbers_of, some, takes_sparse
from test_wrong_input import refused

from sparsemix import SparseGaussianMixture, SparseLDA, SparseVonMisesFisherMixture, blocks
from sparsemix._estimator.input.forms import is_frame

pytestmark = few_epochs
CUT = 14
# The first setting of a class tries every so many-th form; test_input_forms.py tries more of them, without blocks.
EVERY = 4


def takes_blocks(case):
    """Whether ``blocks.fit`` takes the estimator under these settings."""
    try:
        case.estimator._recipe().refuse_blocks()
    except (AttributeError, ValueError):
        return False
    return getattr(case.estimator, "early_stopping", None) is None


BY_BLOCKS = [case for case in CASES if takes_blocks(case)]


def learned(case, *data, read=None):
    """What a short fit over blocks says of itself, and of the same or of other blocks."""
    est = case.make(max_iter=1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*feature names")  # those of Arrow are not known to every scikit-learn
        blocks.fit(est, list(data))
        read = list(data) if read is None else read
        parts = [part.toarray() if sparse.issparse(part) else part for part in blocks.transform(est, read)]
        out = attributes(est) | {"rows": np.concatenate(parts), "score": blocks.score(est, read)}
    for name in ("feature_names_in_", "columns_"):  # names of columns
        out.pop(name, None)
    return out


def halves(A):
    return A[:CUT], A[CUT:]


@over(BY_BLOCKS)
def test_forms_of_blocks_are_their_numbers(case):
    A = numbers_of(case)
    tables = [(lambda A: A.astype(np.float64), forms.DENSE), (lambda A: A.astype(np.float32), forms.SINGLE)]
    if takes_sparse(case):
        tables.append((lambda A: sparse.csr_array(A.astype(np.float64)), forms.SPARSE | forms.REPEATED))
    for canonical, table in tables:
        wanted = learned(case, *map(canonical, halves(A)))
        for name in some(case, table, quick=EVERY):
            try:
                assert_same(wanted, learned(case, *map(table[name], halves(A))))
            except Exception as error:
                raise AssertionError(f"{name}: {error}") from error


# Directions round the lengths of rows in the type of their block, so that blocks of different types differ in the last
# digits of single precision.
@over([case for case in BY_BLOCKS if not isinstance(case.estimator, SparseVonMisesFisherMixture)])
def test_blocks_of_different_forms_are_their_numbers(case):
    """Blocks get their common type, and all become sparse if one of them is."""
    first, second = halves(numbers_of(case))
    arrays = {name: make for name, make in forms.DENSE.items() if not name.startswith(("frame", "polars", "Arrow"))}
    read = [first.astype(float), second.astype(float)]
    wanted = learned(case, *read)
    for name in some(case, arrays, quick=EVERY):
        assert_same(wanted, learned(case, arrays[name](first), second.astype(np.float32), read=read))
        assert_same(wanted, learned(case, first.astype(np.float16), arrays[name](second), read=read))
    if takes_sparse(case):
        read = [sparse.csr_array(part) for part in read]
        wanted = learned(case, *read)
        table = {name: make for name, make in (forms.SPARSE | forms.REPEATED).items() if not name.startswith("frame")}
        for name in some(case, table, quick=EVERY):
            assert_same(wanted, learned(case, first, table[name](second), read=read))
            assert_same(wanted, learned(case, table[name](first), second.astype(np.float32), read=read))


@over(BY_BLOCKS)
def test_what_is_not_a_number_is_refused_with_its_block(case):
    A, table = numbers_of(case), dict(forms.WRONG)
    if takes_sparse(case):
        table |= forms.WRONG_SPARSE
    if get_tags(case.estimator).input_tags.allow_nan:
        table = {name: entry for name, entry in table.items() if not forms.is_missing(name, case.data.categories)}
    for name in some(case, table):
        form, message = table[name]
        message = OF_COLUMNS if get_tags(case.estimator).input_tags.string else message
        first = form(A)
        good = first if is_frame(first) else A.astype(float)
        with refused(name, f"^block 0: .*{message}"):
            blocks.fit(case.make(), [form(A), good])


@over(BY_BLOCKS)
def test_damaged_matrices_are_refused_with_their_block(case):
    A = numbers_of(case)
    message = forms.DAMAGE_IS_SAID if takes_sparse(case) else f"{forms.DAMAGE_IS_SAID}|Sparse data was passed"
    for name in some(case, forms.DAMAGED):
        with refused(name, f"^block 1: .*({message})"):
            blocks.fit(case.make(), [A, forms.damaged(name, A)])


# -- names of columns

PLACES = ["fit", "transform", "score", "shuffle"]


def use(place, data, folder):
    """A call that reads all blocks."""
    if place == "fit":
        return blocks.fit(SparseLDA(2, max_iter=1, random_state=0), data)
    if place == "shuffle":
        return blocks.shuffle(data, folder / "shuffled")
    est = SparseLDA(2, max_iter=1, random_state=0).fit(data[0])
    return list(blocks.transform(est, data)) if place == "transform" else blocks.score(est, data)


FRAMES = {"pandas": forms.PANDAS and forms.frame, "polars": forms.POLARS and forms.polars_frame,
          "Arrow": forms.ARROW and forms.arrow_table}  # fmt: skip


@pytest.mark.parametrize("kind", [kind for kind, make in FRAMES.items() if make])
@pytest.mark.parametrize("place", PLACES)
def test_columns_of_all_blocks_are_the_same(kind, place, tmp_path):
    frame = FRAMES[kind](np.random.default_rng(0).poisson(3.0, (30, 4)))
    choose = frame.__getitem__ if kind == "pandas" else frame.select
    swapped, fewer = choose(["x1", "x0", "x2", "x3"]), choose(["x0", "x1", "x2"])
    wanted = "names should match.*same order" if place in ("transform", "score") else "another order"
    with pytest.raises(ValueError, match=rf"(?s)^block 1: .*{wanted}"):
        use(place, [frame, swapped], tmp_path / "a")
    wanted = "now missing.*x3" if place in ("transform", "score") else "it lacks 'x3'"
    with pytest.raises(ValueError, match=rf"(?s)^block 2: .*{wanted}"):
        use(place, [frame, frame, fewer], tmp_path / "b")


def test_names_of_blocks_are_those_of_the_features():
    frame = pytest.importorskip("pandas") and forms.frame(np.random.default_rng(0).poisson(3.0, (30, 4)))
    est = blocks.fit(SparseGaussianMixture(2, max_iter=1, random_state=0), [frame[:0], frame[:20], frame[20:]])
    assert est.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]
    numbered = frame.set_axis(range(4), axis=1)  # as of an array
    blocks.fit(est, [numbered, frame.to_numpy()])  # labels that only number the columns are no names
    assert not hasattr(est, "feature_names_in_")
    with pytest.raises(ValueError, match=r"^block 1: .*another order than in the first block: column 0 is 3, not 2"):
        blocks.fit(clone(est), [numbered[[2, 0, 1, 3]], numbered[[3, 0, 1, 2]]])
    for first, second, message in [(frame, frame.to_numpy(), "have no names"), (frame.to_numpy(), frame, "have names")]:
        with pytest.raises(ValueError, match=f"^block 1: its columns {message}.*give all blocks in one form"):
            blocks.fit(clone(est), [first, second])


@over(BY_BLOCKS)
def test_names_of_columns_cause_no_warning(case):
    """A warning would be an error here."""
    pytest.importorskip("pandas")
    first, second = (forms.frame(part) for part in halves(numbers_of(case)))
    est = blocks.fit(case.make(max_iter=1, tol=0), [first, second])
    blocks.score(est, [first, second])
    list(blocks.transform(est, [first, second]))


class Changing(blocks.Blocks):
    """Blocks of which the second has other rows in every reading but its first."""

    def __init__(self, parts, later):
        self.parts, self.later, self.n_readings = parts, later, 0

    def __len__(self):
        return len(self.parts)

    def _read(self, i):
        self.n_readings += i == 1
        return self.parts[i] if i != 1 or self.n_readings == 1 else self.later


@over(BY_BLOCKS)
@pytest.mark.parametrize("change", ["longer", "shorter", "empty"])
def test_blocks_that_change_their_sizes_are_named(case, change):
    first, second = halves(numbers_of(case))
    later = {"longer": np.concatenate([second, second]), "shorter": second[1:], "empty": second[:0]}[change]
    with pytest.raises(ValueError, match=f"^block 1: it has {len(later)} rows, but had {len(second)} when .*give data"):
        blocks.fit(case.make(), Changing([first, second, first], later))
