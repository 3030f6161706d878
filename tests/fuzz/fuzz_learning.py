"""Fits that continue from checkpoints, over blocks from anywhere, and from statistics that were added up elsewhere."""

import itertools
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from fitted import assert_same
from fuzz_data import draw_weights
from fuzz_estimators import (
    BY_BLOCKS,
    CLASSES,
    CLEAR,
    SkipGramTopicModel,
    attempt,
    draw_case,
    draw_held_out,
    everything,
    look,
    quiet,
    said_clearly,
)
from fuzz_functions import damaged
from killed import Killed, killed_after
from scipy import sparse
from sklearn.base import clone

from sparsemix import blocks

BY_SUMS = [cls for cls in CLASSES if hasattr(cls, "update_from_stats")]


def try_checkpoint(rng):
    """A fit that dies after some epoch and continues has the bits of one that did not; damaged files are refused."""
    est, draw, X, weight = draw_case(rng, BY_SUMS)
    over_blocks = type(est) in BY_BLOCKS and rng.random() < 0.3
    name = f"{type(est).__name__} checkpoint{' of blocks' * over_blocks}"
    with tempfile.TemporaryDirectory() as folder, quiet(), pytest.MonkeyPatch.context() as patch:
        held_out = None if over_blocks else draw_held_out(rng, est, draw, X)
        learn = fit_of_blocks(rng, X, weight) if over_blocks else fit_of_rows(X, weight, held_out)
        outcome = refusal(learn, est)
        if outcome is not None:
            again = refusal(learn, clone(est), checkpoint=folder)
            assert again is not None, f"with a checkpoint it is not refused: {outcome}"
            return f"{name} {type(outcome).__name__}"
        revive = killed_after(int(rng.integers(1, 4)), patch)
        twin = clone(est)
        try:
            outcome = refusal(learn, twin, checkpoint=folder)
            if outcome is not None:  # what has no checkpoints says so
                assert "checkpoint" in str(outcome), outcome
                return f"{name} {type(outcome).__name__}"
        except Killed:
            pass
        revive()
        spoilt = rng.random() < 0.3
        if spoilt:
            damage(rng, folder)
        twin = clone(est)
        outcome = refusal(learn, twin, checkpoint=folder)
        if outcome is not None:
            assert spoilt, outcome
            assert sorted(vars(twin)) == sorted(twin.get_params(deep=False)), "a failed fit left attributes"
            return f"{name} damaged {type(outcome).__name__}"
        if not spoilt:
            assert_same(everything(est, X), everything(twin, X))
        else:
            look(twin, X)
    return f"{name} good"


def fit_of_rows(X, weight, held_out):
    def fit(est, **how):
        how |= {} if held_out is None else {"validation_data": held_out}
        est.fit(X, **how) if weight is None else est.fit(X, sample_weight=weight, **how)

    return fit


def fit_of_blocks(rng, X, weight):
    parts, weights = some_blocks(rng, X, weight)

    def fit(est, **how):
        blocks.fit(est, parts, sample_weight=weights, **how)

    return fit


def refusal(learn, est, **how):
    """The clear error of a fit, or None."""
    try:
        learn(est, **how)
    except (*CLEAR, OSError, MemoryError) as error:
        return said_clearly(error) if not isinstance(error, MemoryError) else error
    return None


def damage(rng, folder):
    """One file of the newest checkpoint is not as it was written."""
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    if files:
        path = files[-1 - int(rng.integers(min(2, len(files))))]
        content = path.read_bytes()
        if rng.random() < 0.1:
            path.unlink()
        else:
            path.write_bytes(damaged(rng, content))


def some_blocks(rng, X, weight):
    """Rows cut anywhere, some blocks empty; the weights of each."""
    X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    n = X.shape[0]
    cuts = np.unique([0, n, *rng.integers(0, n + 1, size=rng.integers(0, 6))])
    if rng.random() < 0.2:
        cuts = np.sort(np.append(cuts, rng.choice(cuts)))  # a block without rows
    pieces = [X[a:b] for a, b in itertools.pairwise(cuts)]
    weights = None if weight is None else [weight[a:b] for a, b in itertools.pairwise(cuts)]
    return pieces, weights


def try_blocks(rng):
    """Blocks as arrays, archives, functions, dealt again: rows learned from and read as from one matrix."""
    est, _, X, weight = draw_case(rng, list(BY_BLOCKS))
    name = type(est).__name__
    with tempfile.TemporaryDirectory() as folder, quiet():
        pieces, weights = some_blocks(rng, X, weight)
        kind = ["list", "function", "archives", "matrix", "shuffled"][rng.integers(5)]
        steps, validation = [None, None, 1, 2, 3, 0, -1][rng.integers(7)], None
        if hasattr(est, "early_stopping") and rng.random() < 0.3:
            validation = pieces[:1]
        before, rows = dict(vars(est)), X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
        try:
            data = held_as(rng, kind, pieces, X, Path(folder))
            again = data if kind == "shuffled" else pickle.loads(pickle.dumps(data)) if kind != "function" else data
            assert len(again) == len(data)
            blocks.fit(
                est, again, sample_weight=weights if len(data) == len(pieces) else None, steps=steps,
                validation_data=validation,
            )  # fmt: skip
        except (*CLEAR, OSError, MemoryError) as error:
            if not isinstance(error, MemoryError):
                said_clearly(error)
            if hasattr(est, "_fitted"):  # what whole steps have learned stays, as after Ctrl-C
                look(est, rows)
            else:
                assert list(vars(est)) == list(before), "a failed fit over blocks left attributes"
            return f"{name} {kind} {type(error).__name__}"
        look(est, rows)
        check_readings(est, pieces, rows)
    return f"{name} {kind} good"


def held_as(rng, kind, pieces, X, folder):
    """The same blocks in one of the forms of ``sparsemix.blocks``."""
    if kind == "matrix":
        return blocks.from_arrays(X if hasattr(X, "format") else np.asarray(X), rows=[None, 1, 7, 0][rng.integers(4)])
    if kind == "function":
        return blocks.from_function(len(pieces), pieces.__getitem__)
    if kind == "archives":
        paths = []
        for i, piece in enumerate(pieces):
            paths.append(folder / f"{i}.npz")
            sparse.save_npz(paths[-1], piece) if sparse.issparse(piece) else np.savez(paths[-1], piece)
            if rng.random() < 0.05:
                paths[-1].write_bytes(damaged(rng, paths[-1].read_bytes()))
        return blocks.from_npz(paths)
    if kind == "shuffled":
        shuffled = blocks.shuffle(pieces, folder / "dealt", n_blocks=int(rng.integers(0, 5)), random_state=0)
        assert sum(part.shape[0] for part in shuffled) == sum(piece.shape[0] for piece in pieces)
        return shuffled
    return pieces


def check_readings(est, pieces, rows):
    """What is said of blocks is what is said of all of their rows."""
    try:
        whole = est.transform(rows)
    except CLEAR:
        return
    parts = [part for part in blocks.transform(est, pieces) if part.shape[0]]
    stack = sparse.vstack if sparse.issparse(whole) else np.concatenate
    parts = stack(parts)
    dense = [each.toarray() if sparse.issparse(each) else each for each in (whole, parts)]
    np.testing.assert_allclose(*dense, atol=1e-5)
    try:
        expected = est.score(rows)
    except CLEAR:
        return
    np.testing.assert_allclose(blocks.score(est, pieces), expected, rtol=1e-5, atol=1e-6)


def try_sums(rng):
    """Statistics of rows, summed and given to a model, its own or another's: a step, or nothing."""
    est, draw, X, weight = draw_case(rng, BY_SUMS)
    name = f"{type(est).__name__} sums"
    with quiet():
        outcome = attempt(est.fit, X, weight)
        if outcome is not None:
            return f"{name} {type(outcome).__name__}"
        if not hasattr(est, "expected_stats"):  # settings that do not add
            return f"{name} none"
        other = draw(rng, est.n_features_in_ if not isinstance(est, SkipGramTopicModel) else None)
        source = est
        if rng.random() < 0.2:  # of another model
            source = clone(est).set_params(n_components=int(rng.integers(1, 9)))
            if attempt(source.fit, X) is not None:
                source = est
        before, held = everything(est, X), dict(vars(est))
        rate = (None, 1.0, 0.5, 0.0, -1.0, 2.0, np.nan, "x")[rng.integers(4) if rng.random() < 0.8 else rng.integers(8)]
        try:
            n, first = np.shape(other)[0], (None, 0, 5, -1)[rng.integers(3 + (rng.random() < 0.1))]
            memory = None
            if rng.random() < 0.3:  # of these rows, or of as many others
                memory = (est if rng.random() < 0.2 else source).row_memory(n, first or 0)
                if rng.random() < 0.2 and memory is not None and np.shape(X)[0] == n:
                    source.expected_stats(X, memory=memory, first_row=first)
            stats = source.expected_stats(other, sample_weight=draw_weights(rng, n), memory=memory, first_row=first)
            if rng.random() < 0.5:
                stats = pickle.loads(pickle.dumps(stats))
            if rng.random() < 0.3:
                stats = stats + source.expected_stats(X)
            est.lower_bound(stats)
            est.update_from_stats(stats, rate)
        except (*CLEAR, MemoryError) as error:
            assert list(vars(est)) == list(held), "failed sums left attributes"
            assert_same(before, everything(est, X))
            return f"{name} {type(error).__name__}"
        look(est, X)
    return f"{name} good"
