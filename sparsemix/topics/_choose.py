"""Choice of the number of topics by held-out score and coherence."""

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch

from sparsemix._estimator.base import seeded
from sparsemix._estimator.input.forms import numbers_of
from sparsemix._estimator.input.integers import integers_of
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import RowsLike, Seed
from sparsemix.metrics import document_completion, topic_coherence, topic_diversity

# Share and maximal number of documents for the score.
SHARE, MOST = 0.1, 1000


@plain_arguments
def choose_n_topics(
    estimator: Any,
    X: RowsLike,
    candidates: Iterable[int],
    *,
    validation_data: RowsLike | None = None,
    n_top_words: int = 10,
    random_state: Seed = 0,
    verbose: int = 0,
) -> Any:
    """Fit a topic model with several numbers of topics, and compare held-out score, coherence and diversity.

    The score increases with the number of topics until the data are too small for more. Coherence and diversity
    decrease when topics become random or repeat each other. Take the largest number whose coherence has not
    decreased, or fewer: the score prefers more topics than most readers want.

    Parameters
    ----------
    estimator : estimator
        Topic model with ``n_components``, for example scikit-learn's; it is cloned.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Counts.
    candidates : sequence of int
        Numbers of topics to try.
    validation_data : {array-like, sparse matrix} of shape (n_held_out, n_features), default=None
        Documents for the score. None sets aside a tenth of X, at most 1,000 documents.
    n_top_words : int, default=10
        Words per topic, for coherence and diversity.
    random_state : int, RandomState instance or None, default=0
        Seed of the choice of held-out documents.
    verbose : int, default=0
        Print a line for each candidate.

    Returns
    -------
    choice : :class:`~sklearn.utils.Bunch`
        With these attributes:

        results : list of dict
            For each candidate "n_topics", "score" (held-out log-likelihood per token), "coherence" (mean NPMI),
            "diversity" and "seconds". ``pandas.DataFrame(choice.results)`` shows them.
        best_by_score : int
            The candidate with the largest score.
        best_by_coherence : int
            The candidate with the largest coherence.

    Raises
    ------
    ValueError
        Without candidates, with too few documents to set one aside, and for errors of ``fit``.

    See Also
    --------
    sparsemix.plotting.plot_choice : Plots the results.

    Examples
    --------
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.topics import choose_n_topics
    >>> X = make_bars(n_samples=500, random_state=0)[0]
    >>> choice = choose_n_topics(SparseSCVB0LDA(max_iter=5, random_state=0), X, [2, 5, 10], n_top_words=5)
    >>> [row["n_topics"] for row in choice.results]
    [2, 5, 10]
    """
    remedy = "give numbers of topics such as [20, 50, 100]"
    candidates = integers_of(list(candidates), "candidates", remedy, "place").tolist()
    if not candidates:
        raise ValueError(f"candidates is empty; {remedy}")
    X, held_out = (rows if hasattr(rows, "iloc") or rows is None else numbers_of(rows) for rows in (X, validation_data))
    learned = X
    if held_out is None:
        n_held_out = min(MOST, round(SHARE * X.shape[0]))
        if n_held_out == 0:
            raise ValueError(f"a tenth of the {X.shape[0]} documents is no document to score; give validation_data")
        order = seeded(random_state).permutation(X.shape[0])
        rows = X.iloc if hasattr(X, "iloc") else X
        learned, held_out = rows[np.sort(order[n_held_out:])], rows[np.sort(order[:n_held_out])]
    results = []
    for n_topics in candidates:
        start = time.perf_counter()
        model = clone(estimator).set_params(n_components=n_topics).fit(learned)
        row = {
            "n_topics": n_topics,
            "score": document_completion(model, held_out),
            "coherence": float(topic_coherence(model, learned, n_top_words=n_top_words).mean()),
            "diversity": topic_diversity(model, n_top_words),
            "seconds": time.perf_counter() - start,
        }
        results.append(row)
        if verbose:
            print("  ".join(f"{name} {value:.4g}" for name, value in row.items()), flush=True)
    best = {key: max(results, key=lambda row: row[key])["n_topics"] for key in ("score", "coherence")}
    return Bunch(results=results, best_by_score=best["score"], best_by_coherence=best["coherence"])
