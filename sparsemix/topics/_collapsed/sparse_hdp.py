"""The estimator SparseHDP."""

import numbers
from typing import Any, Self

from sparsemix._compat import Interval, StrOptions, _fit_context, with_callbacks
from sparsemix._estimator.absent import NO_BOUND, Absent
from sparsemix._estimator.additive import Additive
from sparsemix._estimator.base import published
from sparsemix._estimator.learning import fit_rows
from sparsemix._estimator.progress import make_monitor
from sparsemix._typing import Folder, RowsLike, Seed, Weights
from sparsemix.topics._collapsed.hdp_recipe import NO_STREAM, HDPRecipe
from sparsemix.topics._collapsed.published import NO_STOPPING, acceptance_rate_, batch_size_, sampler_
from sparsemix.topics._parameters import FIXED_ONLINE, OF_ONLINE
from sparsemix.topics._predict import TopicPredictMixin


class SparseHDP(TopicPredictMixin, Additive):
    """Topic model with a learned number of topics: a hierarchical Dirichlet process, truncated.

    Use it if you do not know the number of topics. Short fits with more and more topics show how many predict documents
    that are held out best. The fit begins with more than these, and its result has those that the corpus supports. A
    ConvergenceWarning says if the result has ``n_components`` topics, or if the documents do not tell the number.
    Documents have proportions from Dirichlet(c pi), and the shares pi of the topics
    have a Dirichlet process prior of concentration gamma ([1]_). Inference is that of :class:`SparseSCVB0LDA` with
    sampled topics, whose time follows the topics in use ([2]_). After the last epoch, pairs of topics are merged whose
    merge raises a bound of the evidence, if this predicts the documents held out no worse.

    Parameters
    ----------
    n_components : int, default=400
        Largest number of topics. Values that are much larger than the result change neither it nor the time of the fit.
    topic_word_prior : float or "learned", default=None
        Dirichlet prior beta of each word in a topic. None means 0.01.
    max_iter : int, default=None
        Epochs of the fit, as in :class:`SparseSCVB0LDA`. Short fits before it do not depend on this.
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
        Initialisation, as in :class:`SparseSCVB0LDA`. No short fits are made before a fit that begins with an array.
    max_doc_update_iter : int, default=100
        Maximal number of iterations per document in ``transform``.
    batch_size : int, default=None
        Documents per batch. None means 160 tokens per topic at the beginning of the fit, between 16 and 500 documents,
        and at least 64 batches per epoch.
    n_averaged_iter : int, default=None
        Number of final epochs whose topics are averaged. None means 9 of 20 epochs, at most 10.

    Attributes
    ----------
    n_topics_ : int
        Number of topics of the result.
    concentration_ : float
        gamma, learned from the expected tables of the topics.
    components_ : ndarray of shape (`n_topics_`, n_features)
        Expected counts of the documents that were not set aside, plus ``topic_word_prior_``; divide rows by their sums
        for word probabilities.
    topic_word_distribution_ : ndarray of shape (`n_topics_`, n_features)
        Probability of each word in each topic.
    exp_dirichlet_component_ : ndarray of shape (`n_topics_`, n_features)
        exp E[log phi], computed in each access.
    doc_topic_prior_ : ndarray of shape (`n_topics_`,)
        c pi, learned.
    topic_word_prior_ : float
        Prior of the words, given or learned.
    topic_names_ : list of str
        Empty strings.
    topic_weights_ : ndarray of shape (`n_topics_`,)
        Share of the tokens of these documents in each topic.
    sampler_ : str
        "gibbs".
    batch_size_ : int or None
        Documents per batch of the last ``fit``.
    acceptance_rate_ : float
        NaN: exact sampling makes no proposals.
    n_iter_ : int
        Number of epochs.
    converged_ : bool
        Whether scores of ``validation_data`` ended the fit.
    stop_reason_ : str
        One sentence, with ``validation_data``: why the fit ended, and which epoch was kept.
    best_iter_ : int
        The epoch whose topics were kept, with ``validation_data``.
    history_ : list of dict
        For each epoch its number and the seconds so far, and scores of ``validation_data``.
    n_samples_seen_ : int
        Number of documents of positive weight, without those set aside.
    n_steps_ : int
        Zero.
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
    words. Its part of documents comes from 1,000 documents, scaled. Merges of disjoint pairs are made together, those
    of largest gain first. If they lower the scores of the documents held out by more than a standard error of the
    differences, fewer are tried, by bisection. This repeats until no merge is accepted. The bound alone merges too
    many. An interrupted fit makes no merges.

    Short fits of half the usual epochs begin with 16, 32, 64, ... topics and end with merges. The first whose scores
    are not better by a standard error than the best before it is the last. The fit begins with 1.5 times the topics
    that the best one has after merges. With ``n_components`` of 16 or fewer it begins with these.

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
    >>> hdp = SparseHDP(random_state=0).fit(X)
    >>> hdp.transform(X[:2]).shape == (2, hdp.n_topics_)
    True
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **OF_ONLINE,
        "topic_word_prior": [Interval(numbers.Real, 0, None, closed="neither"), StrOptions({"learned"}), None],
    }
    _fixed_params = FIXED_ONLINE
    partial_fit, expected_stats = Absent(NO_STREAM), Absent(NO_STREAM)
    update_from_stats, row_memory = Absent(NO_STREAM), Absent(NO_STREAM)
    lower_bound_, lower_bounds_ = Absent(NO_BOUND), Absent(NO_BOUND)
    best_iter_, stop_reason_ = Absent(NO_STOPPING), Absent(NO_STOPPING)
    sampler_, batch_size_, acceptance_rate_ = sampler_, batch_size_, acceptance_rate_

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
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: RowsLike,
        y: object = None,  # noqa: ARG002
        sample_weight: Weights = None,
        validation_data: RowsLike | None = None,
        checkpoint: Folder = None,
    ) -> Self:
        """Fit topics, and merge those that are one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts, or nonnegative weights such as tf-idf.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document.
        validation_data : {array-like, sparse matrix} of shape (n_held_out, n_features), default=None
            Documents that end the fit and decide the number of topics. None sets aside documents of X with about 10,000
            tokens, a tenth of X at most; but 50 documents if X has fewer than 500, a quarter of X at most.
        checkpoint : path-like, default=None
            Folder for this fit only, as in :class:`SparseSCVB0LDA`.

        Returns
        -------
        self : SparseHDP

        Raises
        ------
        ValueError
            For negative, NaN or infinite counts, with the row of the document; if no document has a token.
        """
        monitor = make_monitor(self)
        return fit_rows(self, self._recipe(validation_data, monitor), X, sample_weight, checkpoint, monitor)

    @published
    def n_topics_(self):
        """Number of topics of the result."""
        return self._fitted_part("model").n_components

    @published
    def concentration_(self):
        """gamma."""
        return self._fitted_part("model").gamma

    def _recipe(self, validation=None, monitor=None):
        return HDPRecipe(self._params, self._table_dtype, validation, monitor)
