"""Hierarchy of topics by merges of least loss of evidence, and models with fewer topics."""

from typing import Any

import numpy as np
from scipy.special import gammaln
from sklearn.utils import Bunch

from sparsemix._estimator.parameters import plain_arguments
from sparsemix._models.topics.sums import SMALLEST_COUNT
from sparsemix.topics._edit.edited import check_topic_model, counts_by_topic, regrouped


@plain_arguments
def topic_hierarchy(model: Any) -> Any:
    """Merge the topics of a fitted model in pairs, those of least loss first, until one is left.

    The loss of a merge is the logarithm of a Bayes factor, in nats: how much more probable the words of both topics are
    under two distributions of words than under one, log B(N_i + beta) + log B(N_j + beta) - log B(beta) - log B(N_i +
    N_j + beta) for their counts N, the prior beta (its median, if it differs between words) and the normaliser B of the
    Dirichlet distribution. This is the
    agglomerative clustering of [1]_ for multinomials, without a prior of the partition.

    Parameters
    ----------
    model : SparseSCVB0LDA, SparseLDA, CollapsedLDA or GibbsLDA
        Fitted. Expected counts below 0.01 count as none.

    Returns
    -------
    hierarchy : :class:`~sklearn.utils.Bunch`
        With these attributes:

        linkage : ndarray of shape (n_components - 1, 4)
            Merges in order, for :func:`scipy.cluster.hierarchy.dendrogram`: the numbers of both nodes, the height and
            the number of topics. Merge i makes node n_components + i. The height is the largest loss so far, or 0.
        losses : ndarray of shape (n_components - 1,)
            Loss of each merge. It is negative if one topic explains the words better than two.

    Raises
    ------
    TypeError, NotFittedError
        For anything but a fitted topic model of documents.

    See Also
    --------
    reduce_topics : The model after some of these merges.

    References
    ----------
    .. [1] Heller, K. A. and Ghahramani, Z., "Bayesian Hierarchical Clustering", ICML 2005.

    Examples
    --------
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.topics import topic_hierarchy
    >>> X = make_bars(n_samples=500, random_state=0)[0]
    >>> lda = SparseSCVB0LDA(10, max_iter=10, random_state=0).fit(X)
    >>> topic_hierarchy(lda).linkage.shape
    (9, 4)
    """
    check_topic_model(model)
    clusters = Clusters(counts_by_topic(model._fitted.stats), np.median(model.topic_word_prior_))
    merges = [clusters.merge() for _ in range(len(clusters.rows) - 1)]
    linkage = np.array(merges, dtype=np.float64).reshape(-1, 4)
    losses = linkage[:, 2].copy()
    linkage[:, 2] = np.maximum.accumulate(np.maximum(losses, 0.0))
    return Bunch(linkage=linkage, losses=losses)


@plain_arguments
def reduce_topics(model: Any, n_components: int) -> Any:
    """Merge the topics of a fitted model until a number is left, without another fit.

    A topic that a prior fixes keeps its words, so that those of topics merged with it are lost.

    Parameters
    ----------
    model : SparseSCVB0LDA, SparseLDA, CollapsedLDA or GibbsLDA
        Fitted; it does not change.
    n_components : int
        Number of topics to keep.

    Returns
    -------
    reduced : :class:`~sklearn.utils.Bunch`
        With these attributes, and those of ``topic_hierarchy``:

        model : estimator
            As ``merge_topics`` returns it.
        topics : ndarray of shape (n_components_before,)
            Number of the topic of ``model`` that contains each old topic.

    Raises
    ------
    ValueError
        If ``n_components`` is not from 1 to the number of topics.
    TypeError, NotFittedError
        For anything but a fitted topic model of documents.

    See Also
    --------
    topic_hierarchy : The order of the merges.
    merge_topics : Merges that you choose.

    Examples
    --------
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.topics import reduce_topics
    >>> X = make_bars(n_samples=500, random_state=0)[0]
    >>> lda = SparseSCVB0LDA(10, max_iter=10, random_state=0).fit(X)
    >>> reduce_topics(lda, 4).model.transform(X[:2]).shape
    (2, 4)
    """
    check_topic_model(model)
    n_before = model._fitted.model.n_components
    if not isinstance(n_components, int) or not 1 <= n_components <= n_before:
        raise ValueError(f"n_components is {n_components!r}; give a whole number from 1 to {n_before}, which model has")
    hierarchy = topic_hierarchy(model)
    node = np.arange(n_before)
    for i, pair in enumerate(hierarchy.linkage[: n_before - n_components, :2]):
        node[np.isin(node, pair)] = n_before + i
    _, first, places = np.unique(node, return_index=True, return_inverse=True)
    topics = first.argsort().argsort()[places]  # in the order of their smallest numbers
    return Bunch(model=regrouped(model, topics, n_components), topics=topics, **hierarchy)


class Clusters:
    """Counts of clusters of topics, and the losses of all merges of two.

    Parameters
    ----------
    counts : csr_array of shape (K, V)
    prior : float
        beta.
    """

    def __init__(self, counts, prior):
        counts.data[counts.data < SMALLEST_COUNT] = 0.0
        counts.eliminate_zeros()
        n, self.n_words = counts.shape
        self.prior = prior
        self.totals = counts.sum(axis=1)
        self.nodes, self.sizes, self.n_nodes = np.arange(n), np.ones(n), n
        # words, counts and log evidence of each count; a merged cluster takes the place of its first one
        every = counts.indices, counts.data, self._evidence(counts.data, prior)
        self.rows = list(zip(*(np.split(of, counts.indptr[1:-1]) for of in every), strict=True))
        self.losses, starts = np.full((n, n), np.inf), counts.indptr
        for i in range(1, n):
            losses = self._losses(i, np.arange(i), starts[: i + 1], *(of[: starts[i]] for of in every))
            self.losses[i, :i] = self.losses[:i, i] = losses

    def _evidence(self, counts, prior):
        """log Gamma(prior + counts) - log Gamma(prior)."""
        return gammaln(counts + prior) - gammaln(prior)

    def _dense(self, i):
        """Counts of a cluster and their log evidence by word."""
        out = np.zeros((2, self.n_words))
        out[:, self.rows[i][0]] = self.rows[i][1:]
        return out

    def _losses(self, i, others, starts, words, counts, evidence):
        """Losses of merging cluster i with others, whose rows lie one after the other.

        Words that only one of both has cancel.
        """
        ours, known = self._dense(i)
        both = np.flatnonzero(ours[words] > 0.0)
        words = words[both]
        gain = self._evidence(ours[words] + counts[both], self.prior)
        gain -= known[words]
        gain -= evidence[both]
        owner = np.repeat(np.arange(len(others)), np.diff(np.searchsorted(both, starts)))
        totals, prior = self.totals[others], self.n_words * self.prior
        sums = self._evidence(self.totals[i] + totals, prior)
        sums -= self._evidence(self.totals[i], prior) + self._evidence(totals, prior)
        return sums - np.bincount(owner, gain, len(others))

    def merge(self):
        """Merge the pair of least loss; a row of a linkage matrix."""
        i, j = sorted(divmod(int(self.losses.argmin()), len(self.losses)))
        row = (*sorted(self.nodes[[i, j]]), self.losses[i, j], self.sizes[i] + self.sizes[j])
        self.join(i, j)
        return row

    def join(self, i, j):
        """Add cluster j to cluster i, and compute its losses."""
        counts = self._dense(i)[0] + self._dense(j)[0]
        words = np.flatnonzero(counts)
        self.rows[i] = words, counts[words], self._evidence(counts[words], self.prior)
        self.totals[i] += self.totals[j]
        self.sizes[i], self.sizes[j], self.nodes[i] = self.sizes[i] + self.sizes[j], 0.0, self.n_nodes
        self.n_nodes += 1
        self.losses[j] = self.losses[:, j] = np.inf
        others = np.setdiff1d(np.flatnonzero(self.sizes), [i])
        if len(others):
            starts = np.append(0, np.cumsum([len(self.rows[k][0]) for k in others]))
            every = (np.concatenate(of) for of in zip(*(self.rows[k] for k in others), strict=True))
            self.losses[i, others] = self.losses[others, i] = self._losses(i, others, starts, *every)
