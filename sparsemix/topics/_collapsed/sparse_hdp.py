"""The estimator SparseHDP, and the merges of topics during its fits."""

import numbers
from typing import Any

import numpy as np

from sparsemix._compat import Interval, StrOptions
from sparsemix._engine.loop import Hook
from sparsemix._estimator.absent import Absent
from sparsemix._estimator.base import published
from sparsemix._kernels.split import _split
from sparsemix._models.topics.hdp_model import HDPModel, gains_of_documents, has_states
from sparsemix._typing import Seed
from sparsemix.metrics import document_completion
from sparsemix.topics._collapsed import assemble_stochastic
from sparsemix.topics._collapsed.sparse_scvb0_lda import SparseSCVB0LDA
from sparsemix.topics._edit.edited import counts_by_topic
from sparsemix.topics._edit.reduce import Clusters
from sparsemix.topics._fitted import FittedCounts


class SparseHDP(SparseSCVB0LDA):
    """Topic model with a learned number of topics: a hierarchical Dirichlet process, truncated.

    Use it if you do not know the number of topics. The fit begins with ``n_components`` topics, and its result has
    those that the corpus supports. Documents have proportions from Dirichlet(c pi), and the shares pi of the topics
    have a Dirichlet process prior of concentration gamma ([1]_). Inference is that of :class:`SparseSCVB0LDA` with
    sampled topics, whose time follows the topics in use ([2]_). Between epochs, pairs of topics are merged whose merge
    raises a bound of the evidence, if this predicts unseen documents no worse.

    Parameters
    ----------
    n_components : int, default=400
        Largest number of topics. Take two to eight times as many as you expect.
    topic_word_prior : float or "learned", default=None
        Dirichlet prior beta of each word in a topic. None means 0.01.
    max_iter : int, default=None
        As in :class:`SparseSCVB0LDA`.
    early_stopping : bool or "auto", default="auto"
        As in :class:`SparseSCVB0LDA`.
    n_jobs : int, default=None
        Number of threads. -1 uses all cores. Results have the same bits for any number.
    verbose : int, default=0
        Number of epochs between printed lines; 0 prints none.
    random_state : int, RandomState instance or None, default=None
        Seed of the initialisation, the batches and the samples.

    Other Parameters
    ----------------
    burn_in : int, default=1
        Sweeps over a document's words in each visit before the one that adds to the topics' counts.
    init_params : {"random", "uniform", "em", "bregman"} or array-like of shape (n_components, n_features), \
            default="random"
        Initialisation, as in :class:`SparseSCVB0LDA`.
    max_doc_update_iter : int, default=100
        Maximal number of iterations per document in ``transform``.
    batch_size : int, default=None
        Documents per batch. None means 160 tokens per topic of ``n_components``, between 16 and 500 documents, and at
        least 64 batches per epoch.
    n_averaged_iter : int, default=None
        Number of final epochs whose topics are averaged; they make no merges. None means 9 of 20 epochs, at most 10.
    step_size : tuple of two or three floats, default=(1.0, 0.51)
        Offset and decay of the steps, as in :class:`SparseSCVB0LDA`.

    Attributes
    ----------
    n_topics_ : int
        Number of topics of the result.
    concentration_ : float
        gamma, learned from the expected tables of the topics.
    components_ : ndarray of shape (n_topics_, n_features)
        Expected counts plus ``topic_word_prior_``; divide rows by their sums for word probabilities.
    topic_word_distribution_ : ndarray of shape (n_topics_, n_features)
        Probability of each word in each topic.
    exp_dirichlet_component_ : ndarray of shape (n_topics_, n_features)
        exp E[log phi], computed in each access.
    doc_topic_prior_ : ndarray of shape (n_topics_,)
        c pi, learned.
    topic_word_prior_ : float
        Prior of the words, given or learned.
    topic_names_ : list of str
        Empty strings.
    topic_weights_ : ndarray of shape (n_topics_,)
        Share of all tokens in each topic.
    sampler_ : str
        "gibbs".
    batch_size_ : int or None
        Documents per batch of the last ``fit``.
    acceptance_rate_ : float
        NaN: exact sampling makes no proposals.
    n_iter_ : int
        Number of epochs.
    converged_ : bool
        Whether ``early_stopping`` ended the fit because the score had stopped improving.
    stop_reason_ : str
        One sentence, with ``early_stopping``: why the fit ended, and which epoch was kept.
    best_iter_ : int
        The epoch whose topics were kept, with ``early_stopping``.
    history_ : list of dict
        For each epoch its number and the seconds so far, and scores as in :class:`SparseSCVB0LDA`.
    n_samples_seen_ : int
        Number of documents of positive weight.
    n_steps_ : int
        Calls of ``update_from_stats`` since the last ``fit``.
    n_features_in_ : int
        Size V of the vocabulary.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The words, if X has column names.

    See Also
    --------
    SparseSCVB0LDA : A given number of topics; streams, fits over blocks and guided topics.
    choose_n_topics : Compares several numbers.

    Notes
    -----
    The bound is E[log p(w, z)] plus the entropy of z given the last sample; :func:`topic_hierarchy` has its part of
    words. Merges of disjoint pairs are made together, those of largest gain first. If they lower the score of the
    unseen documents, half of them are tried, and so on. If even the best merge lowers it, no more are proposed. Corpora
    of few batches, or of counts that are not whole, leave no documents out, and the bound decides alone.

    References
    ----------
    .. [1] Teh, Y. W., Jordan, M. I., Beal, M. J. and Blei, D. M., "Hierarchical Dirichlet Processes", JASA 2006.
    .. [2] Terenin, A., Magnusson, M. and Jonsson, L., "Sparse Parallel Training of Hierarchical Dirichlet Process Topic
       Models", EMNLP 2020.

    Examples
    --------
    >>> from sparsemix import SparseHDP
    >>> from sparsemix.datasets import make_sparse_lda
    >>> X = make_sparse_lda(n_samples=500, n_components=5, random_state=0)[0]
    >>> hdp = SparseHDP(20, random_state=0).fit(X)
    >>> hdp.transform(X[:2]).shape == (2, hdp.n_topics_)
    True
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **{
            name: SparseSCVB0LDA._parameter_constraints[name]
            for name in (
                "burn_in", "max_iter", "max_doc_update_iter", "batch_size", "n_averaged_iter", "step_size",
                "early_stopping", "n_jobs", "verbose", "random_state",
            )
        },
        "n_components": [Interval(numbers.Integral, 1, 2000, closed="both")],
        "topic_word_prior": [Interval(numbers.Real, 0, None, closed="neither"), StrOptions({"learned"}), None],
        "init_params": [StrOptions({"em", "random", "uniform", "bregman"}), "array-like"],
    }  # fmt: skip
    _fixed_params = {  # noqa: RUF012
        "tol": 0.0, "doc_topic_prior": "learned", "sampler": "gibbs", "n_samples": 2, "local_step_size": None,
        "learning_method": "online", "mini_epoch": None, "total_samples": None, "warm_start": False,
    }  # fmt: skip
    _state_classes = (*SparseSCVB0LDA._state_classes, HDPModel)
    _refuse_blocks = Absent("merges need the sampled topics of all documents in memory; use SparseSCVB0LDA")
    partial_fit = Absent("the number of topics is learned from documents in memory; use fit, or SparseSCVB0LDA")

    def __init__(
        self,
        n_components: int = 400,
        *,
        topic_word_prior: Any = None,
        burn_in: int = 1,
        init_params: Any = "random",
        max_iter: int | None = None,
        max_doc_update_iter: int = 100,
        batch_size: int | None = None,
        n_averaged_iter: int | None = None,
        step_size: tuple[float, ...] | tuple[str, float] = (1.0, 0.51),
        early_stopping: bool | str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.topic_word_prior = topic_word_prior
        self.burn_in = burn_in
        self.init_params = init_params
        self.max_iter = max_iter
        self.max_doc_update_iter = max_doc_update_iter
        self.batch_size = batch_size
        self.n_averaged_iter = n_averaged_iter
        self.step_size = step_size
        self.early_stopping = early_stopping
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @published
    def n_topics_(self):
        """Number of topics of the result."""
        return self._fitted_part("model").n_components

    @published
    def concentration_(self):
        """gamma."""
        return self._fitted_part("model").gamma

    def _make_model(self, n_words):
        return assemble_stochastic.make_model(self._params, n_words, self._table_dtype, HDPModel)

    def _hooks(self, begin):
        return [*super()._hooks(begin), MergeTopics(self._params.n_jobs)]


class MergeTopics(Hook):
    """Merges pairs of topics, and drops topics without tokens, in the second half of the epochs that are not averaged.

    Before that topics are not formed, and held-out documents accept merges of any of them.
    """

    def __init__(self, n_jobs):
        self.n_jobs = n_jobs

    def before(self, epoch, fit, stats):
        """See Hook."""
        model, memory = fit.model, fit.rows.memory
        last = fit.schedule.last_warm
        early = epoch <= last // 2 or not has_states(memory) or model.n_visited < model.n_first + len(fit.rows)
        if early or model.settled or epoch > last:
            return stats
        places = self._places(fit, stats)
        kept, numbers = np.unique(places, return_inverse=True)
        if len(kept) == len(places):
            return stats
        dropped = int(kept[0] < 0)
        stats = model.regroup(stats, numbers - dropped, len(kept) - dropped, memory)
        fit.monitor.step(stats, model)
        return stats

    def _places(self, fit, stats):
        """For each topic the topic that it becomes part of, or -1 if it has no token."""
        model, batches = fit.model, fit.schedule.unseen
        parameters = FittedCounts(model, stats).word_topic
        visited = visits(fit)
        gains, tokens = gains_of_documents(visited, parameters / parameters.sum(axis=0), model.doc_topic_prior)
        gains -= Clusters(counts_by_topic(stats), model.topic_word_prior).losses
        used = tokens > 0.0
        pairs = best_pairs(np.where(used & used[:, None], gains, -np.inf))
        places = np.where(used, np.arange(len(used)), -1)
        unseen = fit.rows.X[np.concatenate(batches)] if batches else None
        before = -np.inf if unseen is None else self._score(unseen, parameters, model.doc_topic_prior)
        n = len(pairs)
        while n > 0 and unseen is not None and self._score(unseen, *merged(parameters, model, pairs[:n])) < before:
            n //= 2
        for k, m in pairs[:n]:
            places[m] = k
        model.settled = n == 0
        return places

    def _score(self, documents, parameters, prior):
        return document_completion(
            parameters.T, documents, doc_topic_prior=prior, test_fraction=0.5, n_jobs=self.n_jobs
        )  # fmt: skip


def visits(fit):
    """Yield the documents of each batch with the sampled topics of their tokens."""
    model, rows = fit.model, fit.rows
    dtype = _split.state_dtype(model.n_components)
    for batch in fit.schedule._recurring():
        x = rows.buffer(batch)
        yield x, rows.memory.recall_states(rows.first_row + batch, x.sample_starts, model.tile, dtype)[1]


def best_pairs(gains):
    """Disjoint pairs of positive gain, those of largest gain first; ``gains`` changes."""
    gains[np.tril_indices(len(gains))] = -np.inf
    pairs, free = [], np.ones(len(gains), dtype=bool)
    chosen = np.argwhere(gains > 0.0)
    for k, m in chosen[np.argsort(-gains[gains > 0.0], kind="stable")]:
        if free[k] and free[m]:
            pairs.append((int(k), int(m)))
            free[[k, m]] = False
    return pairs


def merged(parameters, model, pairs):
    """Counts plus prior of the words, and the prior of documents, after some merges."""
    (first, second), prior = np.array(pairs).T, model.doc_topic_prior.copy()
    parameters = parameters.copy()
    parameters[:, first] += parameters[:, second] - parameters.dtype.type(model.topic_word_prior)
    prior[first] += prior[second]
    return np.delete(parameters, second, axis=1), np.delete(prior, second)
