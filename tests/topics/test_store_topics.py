"""Topics in AnnData objects: what a model computes, kept by files, and nothing of a call that fails."""

import numpy as np
import pytest
from fitted import few_epochs
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation

from sparsemix import SparseLDA, SparseSCVB0LDA, blocks
from sparsemix.topics import store_topics

anndata = pytest.importorskip("anndata")
pytestmark = [few_epochs, pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")]
COUNTS = sparse.csr_matrix(np.random.default_rng(0).poisson(0.7, (60, 12)).astype(np.float32))


@pytest.fixture
def adata():
    cells = anndata.AnnData(COUNTS.copy())
    cells.layers["log"] = COUNTS.log1p()
    return cells


MODELS = {
    "SparseLDA": SparseLDA(3, max_iter=3, tol=0.0, random_state=0),
    "arrays": SparseSCVB0LDA(
        3, max_iter=2, random_state=np.random.RandomState(0), topic_word_prior=np.full((3, 12), 0.1)
    ),
    "scikit-learn": LatentDirichletAllocation(3, max_iter=2, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_topics_are_stored_and_kept_by_a_file(adata, name, tmp_path):
    model = MODELS[name].fit(adata.X)
    assert store_topics(adata, model) is adata
    store_topics(adata, model, layer="log", key="log")
    adata.write_h5ad(tmp_path / "cells.h5ad")
    for cells in (adata, anndata.read_h5ad(tmp_path / "cells.h5ad")):
        np.testing.assert_array_equal(cells.obsm["X_topics"], model.transform(COUNTS))
        np.testing.assert_array_equal(cells.obsm["X_log"], model.transform(COUNTS.log1p()))
        weights = model.components_.astype(float)
        wanted = weights / weights.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(cells.varm["topics"], wanted.T, rtol=1e-5)
        about = cells.uns["topics"]
        assert about["estimator"] == type(model).__name__
        assert about["params"]["n_components"] == 3
        assert set(about["params"]) == set(model.get_params(deep=False))
        if hasattr(model, "step_size"):
            assert about["params"]["step_size"] == repr(model.step_size)
        assert (about["layer"], cells.uns["log"]["layer"]) == ("X", "log")


def test_shares_of_cells_on_disk(adata, tmp_path):
    model = SparseLDA(3, max_iter=2, random_state=0).fit(adata.X)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with pytest.raises(ValueError, match="adata is backed by a file; give doc_topic"):
        store_topics(backed, model)
    theta = np.concatenate(list(blocks.transform(model, blocks.from_h5ad(tmp_path / "cells.h5ad", rows=25))))
    store_topics(backed, model, theta)
    np.testing.assert_array_equal(backed.obsm["X_topics"], model.transform(COUNTS))


def test_a_call_that_fails_changes_nothing(adata):
    model = SparseLDA(3, max_iter=2, random_state=0).fit(COUNTS)
    calls = [
        (lambda: store_topics(COUNTS, model), TypeError, "adata is a csr_matrix; give an anndata"),
        (lambda: store_topics(adata[:9], model), ValueError, r"adata is a view .*; give adata\.copy"),
        (lambda: store_topics(adata[:, :5].copy(), model), ValueError, "has 5 genes, and model was fitted to 12"),
        (lambda: store_topics(adata, model, layer="raw"), KeyError, "adata has no layer 'raw'; it has log"),
        (lambda: store_topics(adata, model, np.full((60, 3), np.nan)), ValueError, "missing or negative values"),
        (lambda: store_topics(adata, model, np.ones((60, 2))), ValueError, r"doc_topic has shape \(60, 2\), expected"),
        (lambda: store_topics(adata, SparseLDA(3)), ValueError, "model is a SparseLDA without components_"),
    ]
    for call, error, message in calls:
        with pytest.raises(error, match=message):
            call()
    assert not adata.obsm.keys() | adata.varm.keys() | adata.uns.keys()
