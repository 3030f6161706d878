"""Topics whose words change over time: the function, and the object that it returns."""

from typing import Any

import numpy as np
from scipy import sparse

from sparsemix._estimator.input.checks import check_counts, check_number, of_positive_weight
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._estimator.tables import table_of
from sparsemix._typing import Array, RowsLike, Table, Weights
from sparsemix.metrics._completion import per_token
from sparsemix.topics._edit.edited import check_topic_model
from sparsemix.topics._time.changes import changed
from sparsemix.topics._time.drift import Drift, at_counts, by_topic, posterior, prior_of
from sparsemix.topics._time.slices import read_times, slices_of


@plain_arguments
def topics_over_time(
    model: Any,
    X: RowsLike,
    times: Any,
    *,
    n_slices: int | None = None,
    discount: float | None = None,
    max_iter: int = 3,
    sample_weight: Weights = None,
) -> "TopicsOverTime":
    """Learn how the words of each topic change over time.

    The topics of a slice of time have a Dirichlet prior: that of the model plus the counts of the slices before and
    after, discounted by ``d ** distance``. The discount d of a topic maximises the evidence of the counts of each slice
    under its prior. It is near one for a topic that does not change.

    Parameters
    ----------
    model : SparseSCVB0LDA or SparseLDA
        Fitted topic model, of these or similar documents; also of blocks or a stream. It does not change.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Counts of the documents, in any order and in memory. They are read slice by slice.
    times : array-like of shape (n_samples,)
        Numbers, dates, or texts of ISO 8601 such as "2024", "2024-01" or "2024-01-31".
    n_slices : int, default=None
        Largest number of slices, of about equally many documents. None makes one slice of each distinct time if there
        are at most 50, else 20. For calendar slices give years or months as times.
    discount : float in [0, 1], default=None
        Share that the counts of the next slice have in the prior: 0 learns each slice alone, and 1 pools all. None
        learns it for each topic.
    max_iter : int, default=3
        Visits of all documents after the first one. Counts are means over them.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each document.

    Returns
    -------
    drift : TopicsOverTime
        Topics of every slice.

    Raises
    ------
    TypeError, ValueError
        For other models; for times of another number, missing ones or ones without an order; for counts that ``fit``
        refuses.

    See Also
    --------
    sparsemix.plotting.plot_topic_over_time : Shares of a topic and of the words that change.

    References
    ----------
    Blei, D. and Lafferty, J. (2006). "Dynamic topic models". ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.topics import topics_over_time
    >>> X = make_bars(n_samples=200, random_state=0)[0]
    >>> drift = topics_over_time(SparseSCVB0LDA(10, random_state=0).fit(X), X, np.repeat([2001, 2002], 100))
    >>> drift.slices_.tolist(), drift.shares_.shape
    ([2001, 2002], (2, 10))
    """
    check_topic_model(model)
    if not hasattr(model, "expected_stats"):
        raise TypeError(f"model is a {type(model).__name__}; give a SparseSCVB0LDA or a SparseLDA")
    check_number("max_iter", max_iter)
    if discount is not None and not 0.0 <= discount <= 1.0:
        raise ValueError(f"discount is {discount}; give a number from 0 to 1, or None to learn it")
    X = check_counts(model, X, reset=False)
    times = read_times(times, X.shape[0])
    X, weight, kept = of_positive_weight(X, sample_weight)
    times = times if kept is None else times[kept]
    slices = slices_of(times, n_slices)
    codes = slices.find(times)
    drift = Drift(model, X, weight, [np.flatnonzero(codes == t) for t in range(len(slices.first))])
    for _ in range(max_iter):
        discounts = drift.learned_discount() if discount is None else np.full(model.n_components, discount)
        drift.visit(discounts)
    return TopicsOverTime(slices, drift, discounts)


class TopicsOverTime:
    """Topics of every slice of time, as :func:`topics_over_time` returns them.

    Slices are numbered from 0, in order of time.

    Parameters
    ----------
    slices, drift : object
        Slices of time and their counts.
    discount : ndarray of shape (n_components,)
        Discount of each topic.

    Attributes
    ----------
    slices_ : ndarray of shape (n_slices,)
        Time of each slice, or a text of its first and last time.
    n_documents_ : ndarray of shape (n_slices,)
        Documents of each slice.
    shares_ : ndarray of shape (n_slices, n_components)
        Share of each topic in the tokens of the slice.
    discount_ : ndarray of shape (n_components,)
        Share that the counts of the next slice have in a topic's prior.
    counts_ : list of csr_array of shape (n_features, n_components)
        Expected counts of words and topics in each slice.

    See Also
    --------
    topics_over_time : Makes it.

    References
    ----------
    Lin, J. (1991). "Divergence measures based on the Shannon entropy". IEEE Transactions on Information Theory 37(1).

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.topics import topics_over_time
    >>> X = make_bars(n_samples=200, random_state=0)[0]
    >>> drift = topics_over_time(SparseSCVB0LDA(10, random_state=0).fit(X), X, np.repeat([2001, 2002], 100))
    >>> drift.topic_word_distribution(0).shape
    (10, 25)
    """

    def __init__(self, slices: Any, drift: Any, discount: Array) -> None:
        self.model, self._slices, self._halves = drift.model, slices, drift.halves
        self.slices_, self.n_documents_ = slices.labels, np.array(drift.n_documents)
        self.counts_, self.discount_ = drift.counts, discount
        totals = np.array([by_topic(each) for each in drift.counts])
        self.shares_ = totals / np.maximum(totals.sum(axis=1, keepdims=True), np.finfo(float).tiny)

    @plain_arguments
    def estimator(self, t: int) -> Any:
        """The fitted model with the topics of a slice: for other functions of topic models.

        Parameters
        ----------
        t : int
            Number of the slice; others have a ValueError.

        Returns
        -------
        model : estimator
        """
        self._check(t, len(self.slices_), "t", "slices")
        return at_counts(self.model, posterior(self.counts_, t, self.discount_))

    def topic_word_distribution(self, t: int) -> Array:
        """Probability of each word in each topic of a slice.

        Parameters
        ----------
        t : int
            Number of the slice.

        Returns
        -------
        probabilities : ndarray of shape (n_components, n_features)
            Rows sum to one.
        """
        return self.estimator(t).topic_word_distribution_

    @plain_arguments
    def word_shares(self, topic: int, words: Any = None) -> Array:
        """Probability of words in a topic, by slice.

        Parameters
        ----------
        topic : int
            Number of the topic.
        words : array-like of int, default=None
            Columns of X. None takes all.

        Returns
        -------
        shares : ndarray of shape (n_slices, n_words)
        """
        self._check(topic, self.model.n_components, "topic", "topics")
        counts, beta = [each[:, [topic]] for each in self.counts_], prior_of(self.model)
        shares = np.hstack([posterior(counts, t, self.discount_[[topic]]) for t in range(len(counts))]).T
        shares = shares.astype(np.float64) + beta[:, topic]
        shares /= shares.sum(axis=1, keepdims=True)
        return shares if words is None else shares[:, np.asarray(words)]

    def words(self, topic: int, n_words: int = 10, feature_names: Any = None) -> list:
        """The most probable words of a topic in each slice.

        Parameters
        ----------
        topic : int
            Number of the topic.
        n_words : int, default=10
            Words per slice.
        feature_names : array-like of str or vectorizer, default=None
            As in ``topic_table`` of the model.

        Returns
        -------
        words : list of list
            One list for each slice.
        """
        check_number("n_words", n_words)
        names = self.model._words(feature_names)
        return [names[np.argsort(-row, kind="stable")[:n_words]].tolist() for row in self.word_shares(topic)]

    def changes(self, n_words: int = 5, feature_names: Any = None) -> Table:
        """Pairs of successive slices in which the words of a topic differ, the largest change first.

        The Jensen-Shannon distance of the counts of both slices under the fitted topics is divided by that of random
        divisions of their tokens, so that small slices do not come first by chance. Words repeat within documents, so
        the same ratio of two random halves of the documents of a slice exceeds one. A pair is listed if its ratio
        exceeds the mean of the halves of its topic by a factor that 95 % of all halves do not exceed.

        Parameters
        ----------
        n_words : int, default=5
            Words listed on each side.
        feature_names : array-like of str or vectorizer, default=None
            As in ``topic_table`` of the model.

        Returns
        -------
        changes : pandas.DataFrame, or list of dict without pandas
            With "topic", "before" and "after" (labels of the slices), "distance", "chance" (what it must exceed),
            "excess" (their difference), and the words of more ("rise") and of less probability ("fall").
        """
        check_number("n_words", n_words)
        return table_of(changed(self._halves, self.slices_, self.model._words(feature_names), n_words))

    def transform(self, X: RowsLike, times: Any) -> Array:
        """Topic proportions of documents under the topics of their slices.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts.
        times : array-like of shape (n_samples,)
            Times. A time belongs to the last slice that begins at it or before; earlier times to the first slice.

        Returns
        -------
        doc_topic : ndarray of shape (n_samples, n_components)
            Rows sum to one.
        """
        X, rows = self._rows(X, times)
        out = np.empty((X.shape[0], self.model.n_components))
        for t, each in rows:
            out[each] = self.estimator(t).transform(X[each])
        return out

    def score(self, X: RowsLike, times: Any) -> float:
        """Held-out log likelihood per token, by document completion under the topics of the slices.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts of held-out documents.
        times : array-like of shape (n_samples,)
            Times, as in ``transform``.

        Returns
        -------
        score : float
            Natural logarithm, mean over hidden tokens, as ``score`` of the model.
        """
        X, rows = self._rows(X, times)
        return per_token(block for t, each in rows for block in self.estimator(t)._hidden(X[each]))

    def _rows(self, X, times):
        """Checked counts, and the rows of each slice that has some."""
        X = check_counts(self.model, X, reset=False)
        codes = self._slices.find(read_times(times, X.shape[0]))
        return sparse.csr_array(X), [(t, np.flatnonzero(codes == t)) for t in np.unique(codes).tolist()]

    def _check(self, number, n, name, what):
        if number not in range(n):
            raise ValueError(f"{name} is {number}; the {what} have numbers from 0 to {n - 1}")
