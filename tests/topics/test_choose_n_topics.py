"""The right number of topics is found where there is one."""

import numpy as np
import pytest
from sklearn.decomposition import LatentDirichletAllocation

from sparsemix import SparseSCVB0LDA
from sparsemix.datasets import make_bars
from sparsemix.metrics import document_completion
from sparsemix.topics import choose_n_topics

X = make_bars(n_samples=600, random_state=0)[0]


def test_five_themes_are_five_topics(capsys):
    """Documents of one theme each, of eight words that no other has."""
    rng = np.random.default_rng(0)
    themes = np.array([np.bincount(rng.integers(8, size=30) + 8 * (i % 5), minlength=40) for i in range(400)])
    choice = choose_n_topics(SparseSCVB0LDA(random_state=0), themes, [1, 2, 5], n_top_words=5, verbose=1)
    assert (choice.best_by_score, choice.best_by_coherence) == (5, 5)
    assert [row["n_topics"] for row in choice.results] == [1, 2, 5]
    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.slow
def test_given_documents_score_and_dense_and_other_models_do(tmp_path):
    pytest.importorskip("matplotlib")
    from sparsemix.plotting import plot_choice

    held_out = X[:100]
    model = LatentDirichletAllocation(max_iter=2, random_state=0)
    choice = choose_n_topics(model, X[100:], [3], n_top_words=5, validation_data=held_out)
    twin = LatentDirichletAllocation(3, max_iter=2, random_state=0).fit(X[100:])
    assert choice.results[0]["score"] == document_completion(twin, held_out)
    lists = choose_n_topics(model, np.asarray(X.todense() if hasattr(X, "todense") else X).tolist(), [3], n_top_words=5)
    assert np.isfinite(lists.results[0]["coherence"])
    plot_choice(choice).savefig(tmp_path / "choice.png")


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="candidates is empty"):
        choose_n_topics(SparseSCVB0LDA(), X, [])
    with pytest.raises(ValueError, match="give validation_data"):
        choose_n_topics(SparseSCVB0LDA(), X[:3], [2])
