"""Mixtures of mixed columns against StepMix, which .ci/tools installs: its optimum is ours, and no higher."""

import numpy as np
import pytest

from sparsemix import SparseMixedMixture

pd = pytest.importorskip("pandas")
stepmix = pytest.importorskip("stepmix")
pytestmark = pytest.mark.filterwarnings("default")  # what it imports warns
# Its model: no prior, and the floor that it adds to variances.
MODEL = {"prior_rows": 1e-12, "reg_covar": 0.0, "n_nonzero": None, "learning_method": "batch", "tol": 1e-10}
LONG = {"max_iter": 5000, "abs_tol": 1e-12, "progress_bar": 0, "verbose": 0, "random_state": 0}


def rows(missing):
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=500)
    frame = pd.DataFrame({
        "a": rng.normal(2.0 * kind, 1.0), "b": rng.normal(-1.5 * kind, 2.0),
        "c": (kind + (rng.random(500) < 0.3)) % 3, "d": (rng.random(500) < 0.2 + 0.3 * kind).astype(int),
    }).astype(float)  # fmt: skip
    return frame.mask(rng.random(frame.shape) < missing)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_optimum_of_stepmix_is_ours(missing):
    frame = rows(missing)
    suffix = "_nan" if missing else ""
    described = {
        "numbers": {"model": f"gaussian_diag{suffix}", "n_columns": 2},
        "categories": {"model": f"categorical{suffix}", "n_columns": 2},
    }
    peer = stepmix.StepMix(3, measurement=described, n_init=3, **LONG).fit(frame)
    given = {"responsibilities": peer.predict_proba(frame)}
    columns = [("diag", ["a", "b"]), ("categorical", ["c", "d"])]
    ours = SparseMixedMixture(3, columns=columns, init_params=given, max_iter=3000, **MODEL).fit(frame)
    assert ours.score(frame) == pytest.approx(peer.score(frame), abs=1e-4)
    own = SparseMixedMixture(3, columns=columns, max_iter=3000, random_state=0, **MODEL).fit(frame)
    assert own.score(frame) > peer.score(frame) - 1e-4
    n_known = frame.notna().any(axis=1).sum()
    assert own.bic(frame) == pytest.approx(-2.0 * 500 * own.score(frame) + np.log(n_known) * (2 + 3 * (4 + 2 + 1)))
