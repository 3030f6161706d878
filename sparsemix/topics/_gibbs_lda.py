"""GibbsLDA: chains of Gibbs samplers for topics, and predictions averaged over their samples."""

import numbers
import time
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sparsemix._compat import FitObserver, Interval, StrOptions, _fit_context, with_callbacks
from sparsemix._engine.chains import attributes_of_chains, best_chain, completed, disagreement
from sparsemix._engine.monitor import Monitor
from sparsemix._engine.sweeps import Mean, Sweeps, burn_in_of, run
from sparsemix._estimator.absent import UNFITTED, Absent
from sparsemix._estimator.base import SparsemixEstimator, published
from sparsemix._estimator.input.checks import check_counts, warn_of_light_weights
from sparsemix._models.topics.sweep_models import GibbsModel, UncollapsedModel
from sparsemix._typing import ArrayLike, RowsLike, Seed, Weights
from sparsemix._warnings import warn_caller
from sparsemix.metrics._completion import hidden_tokens
from sparsemix.topics._assemble import (
    check_whole,
    doc_counts,
    make_collapsed_model,
    make_row_state,
    parts_of,
    proportions,
    weighted_documents,
)
from sparsemix.topics._fitted import FittedCollapsedTopics
from sparsemix.topics._parameters import OF_TOPICS
from sparsemix.topics._predict import TopicPredictMixin

SAMPLERS = {"collapsed": GibbsModel, "uncollapsed": UncollapsedModel}


class GibbsLDA(TopicPredictMixin, SparsemixEstimator):
    """Latent Dirichlet allocation by Gibbs sampling: several chains, and predictions averaged over their samples.

    Use it as a reference for faster methods, on corpora in memory. In the limit of many sweeps its samples are exact,
    and ``r_hat_`` shows whether several chains agree. :class:`CollapsedLDA` with ``inference="gibbs"`` is one
    collapsed chain that stores no samples.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K. :func:`sparsemix.topics.choose_n_topics` compares several.
    inference : {"collapsed", "uncollapsed"}, default="collapsed"
        "collapsed" [1]_ draws the topic of each token given the topics of all other tokens. "uncollapsed" [2]_ draws
        the topics' words given all tokens, then the proportions of each document, then the topics of its tokens. It
        needs several times as many sweeps.
    doc_topic_prior : float, "learned" or array-like of shape (n_components,), default=None
        Dirichlet prior alpha of each topic in a document. None means 0.1, or 5 / K for more than 50 topics. Larger
        values give documents more topics. "learned" begins with the default and learns a value for every topic after
        each sweep except the first ten.
    topic_word_prior : float, "learned", WordPrior or array-like of shape (n_components, n_features), default=None
        Dirichlet prior beta of each word in a topic. None means 0.01. Larger values give topics more words.
        "learned" begins with the default and learns one value for all words after each sweep except the first ten.
        :class:`~sparsemix.topics.WordPrior` guides topics by words. A sparse array is added to the default.
    init_params : "random" or array-like of shape (n_components, n_features), default="random"
        Initialisation of a chain: "random", uniform topics of tokens; or an array of topics, such as ``components_`` of
        another model, used in the first sweep.
    n_chains : int, default=1
        Number of chains, run one after the other, each with its own random numbers. ``r_hat_`` compares them, and a
        warning says if they disagree, or the halves of one chain with at least 50 draws.
    max_iter : int, default=200
        Sweeps of each chain over all documents.
    burn_in : int, default=None
        Sweeps before the first sample. None means half of ``max_iter``. It is too small if "log_joint" of ``history_``
        still rises there.
    thin : int, default=10
        Sweeps between two samples. Smaller values keep more samples, in more memory.
    max_doc_update_iter : int, default=100
        Maximal number of iterations per document in ``transform``.
    n_jobs : int, default=None
        Number of threads of ``transform`` and ``score``; results have the same bits for any number. ``fit`` uses one.
        -1 uses all cores.
    verbose : int, default=0
        Number of epochs between printed lines; 0 prints none.
    random_state : int, RandomState instance or None, default=None
        Seed of all draws. An integer makes results repeatable.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Dirichlet parameters of the topics: prior plus mean counts of the samples. Divide rows by their sums for word
        probabilities.
    topic_word_distribution_ : ndarray of shape (n_components, n_features)
        Probability of each word in each topic.
    doc_topic_distribution_ : ndarray of shape (n_samples, n_components)
        Topic proportions of the training documents, their posterior mean over the samples; that of the prior for
        documents of weight zero. Computed in each access.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        exp E[log phi], computed in each access.
    doc_topic_prior_ : ndarray of shape (n_components,)
        Prior of the documents, given or learned.
    topic_word_prior_ : float or ndarray of shape (n_components, n_features)
        Prior of the words, given or learned.
    topic_names_ : list of str
        Names of seeded topics; empty for other topics.
    topic_weights_ : ndarray of shape (n_components,)
        Share of all tokens in each topic.
    n_samples_ : int
        Number of samples that predictions average. With 0 they use the last sweep.
    chain_log_joints_ : list of ndarray
        "log_joint" of every sweep of each chain. All other attributes describe the chain with the highest values.
    r_hat_ : float
        Potential scale reduction of "log_joint" after ``burn_in`` over the halves of all chains [3]_: near 1 if they
        agree. NaN with fewer than four sweeps.
    n_iter_ : int
        Number of sweeps.
    history_ : list of dict
        For each sweep its number, the seconds so far, "log_joint" (log p(z, w), proportions and topics integrated out,
        for both samplers) and the same per token.
    n_features_in_ : int
        Size V of the vocabulary.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The words, if X has column names.

    See Also
    --------
    CollapsedLDA : Faster inference of the same model in memory.
    GibbsNGGPMixture : Gibbs sampling of documents with one topic each, whose number is learned.

    Notes
    -----
    Chains of topics seldom agree: topics have no order, and the posterior has many modes. So samples of different
    chains are not averaged. Samples of one chain are, because a chain of usual length does not exchange its topics.

    ``transform`` averages the proportions under the topics of each sample. ``score`` averages the probability of a
    hidden token over the samples ([4]_, Eq. 20); :func:`sparsemix.metrics.document_completion` of this estimator uses
    ``components_`` alone.

    Every sample stores a table of V K numbers. During a fit a token needs 4 bytes; "uncollapsed" draws a second table
    of topics in each sweep.

    References
    ----------
    .. [1] Griffiths, T. L. and Steyvers, M., "Finding scientific topics", PNAS 2004, Eq. 5.
    .. [2] Linderman, S., "Topic Models and Coordinate Ascent Variational Inference", lecture notes of STATS 305C,
       Stanford 2022, Eqs. 10 to 12.
    .. [3] Vehtari, A. et al., "Rank-Normalization, Folding, and Localization: An Improved R-hat for Assessing
       Convergence of MCMC", Bayesian Analysis 2021.
    .. [4] Teh, Y. W., Newman, D. and Welling, M., "A Collapsed Variational Bayesian Inference Algorithm for Latent
       Dirichlet Allocation", NIPS 2006.

    Examples
    --------
    >>> from sparsemix import GibbsLDA
    >>> from sparsemix.datasets import make_bars
    >>> X = make_bars(n_samples=200, random_state=0)[0]
    >>> lda = GibbsLDA(10, max_iter=60, random_state=0).fit(X)
    >>> lda.doc_topic_distribution_.shape, lda.n_samples_
    ((200, 10), 3)
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **{name: kinds for name, kinds in OF_TOPICS.items() if name != "warm_start"},
        "inference": [StrOptions(set(SAMPLERS))],
        "init_params": [StrOptions({"random"}), "array-like"],
        "n_chains": [Interval(numbers.Integral, 1, None, closed="left")],
        "max_iter": [Interval(numbers.Integral, 1, None, closed="left")],
        "burn_in": [Interval(numbers.Integral, 0, None, closed="left"), None],
        "thin": [Interval(numbers.Integral, 1, None, closed="left")],
    }
    chain_log_joints_, r_hat_, n_samples_ = Absent(UNFITTED), Absent(UNFITTED), Absent(UNFITTED)
    history_, n_iter_ = Absent(UNFITTED), Absent(UNFITTED)
    converged_ = Absent("a chain has no end; r_hat_ compares chains")

    def __init__(
        self,
        n_components: int = 10,
        *,
        inference: str = "collapsed",
        doc_topic_prior: ArrayLike | None = None,
        topic_word_prior: Any = None,
        init_params: Any = "random",
        n_chains: int = 1,
        max_iter: int = 200,
        burn_in: int | None = None,
        thin: int = 10,
        max_doc_update_iter: int = 100,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.inference = inference
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.init_params = init_params
        self.n_chains = n_chains
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.thin = thin
        self.max_doc_update_iter = max_doc_update_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: RowsLike, y: object = None, sample_weight: Weights = None) -> Self:  # noqa: ARG002
        """Sample the topics of all documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts, whole numbers. Documents without tokens have no effect.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document in the sums over documents.

        Returns
        -------
        self : GibbsLDA

        Raises
        ------
        ValueError
            For counts that are negative, NaN, infinite or not whole, with the row of the document; and if no document
            has a token. A previously fitted model stays unchanged.
        """
        params = self._params
        fits, started = [], time.perf_counter()
        with self._all_or_nothing(lambda: self._publish(fits)):
            X = check_counts(self, X, reset=True)
            check_whole(X, "use CollapsedLDA()")
            documents = weighted_documents(X, sample_weight, self._table_dtype)
            warn_of_light_weights(documents.sample_weight)
            observer = FitObserver(
                self, params.n_chains * params.max_iter, lambda monitor: self._attributes([monitor]), X
            )
            for seed in check_random_state(params.random_state).randint(2**31 - 1, size=params.n_chains):
                self._run_chain(fits, documents, int(seed), observer, started)
                if observer.stopped:
                    break
            self._publish(fits)
            found = disagreement(self.chain_log_joints_, self.r_hat_, fits[0].samples.burn_in)
            if found is not None:
                message = f"{found}; chains of many topics may stay near different modes, where init_params helps"
                warn_caller(message, ConvergenceWarning)
            observer.finish()
        return self

    def _run_chain(self, fits, documents, seed, observer, started):
        """Run one chain; append its monitor to ``fits``."""
        params = self._params
        model = make_collapsed_model(SAMPLERS[params.inference], params, documents, seed, self._table_dtype)
        state, stats = make_row_state(params, model, documents, np.random.default_rng(seed))
        monitor = Monitor(
            params.max_iter, 0.0, Sweeps(has_bound=False), params.verbose, type(self).__name__, observer, None, started
        )
        monitor.samples = TopicSamples(burn_in_of(params), params.thin, model, state, documents)
        fits.append(monitor)
        run(model, documents, state, monitor, stats, monitor.samples)

    def _attributes(self, monitors):
        """Fitted attributes of the chain with the highest mean log joint."""
        monitor = best_chain(monitors)
        return {
            "_fitted": FittedCollapsedTopics(monitor.model, monitor.stats),
            "_samples": list(monitor.samples.kept),
            "_doc_counts": parts_of(monitor.samples.doc_counts()),
            "n_samples_": monitor.samples.n_samples,
            **attributes_of_chains(monitors, monitor),
        }

    def _publish(self, fits):
        """Publish the current chains if one has completed a sweep; return whether one has."""
        if not completed(fits):
            return False
        vars(self).update(self._attributes(completed(fits)))
        return True

    @published
    def doc_topic_distribution_(self):
        """Posterior means of the proportions of the training documents, (n_samples, n_components)."""
        self._attribute("doc_topic_distribution_")
        if "_doc_counts" not in vars(self):
            raise AttributeError(
                "GibbsLDA has no doc_topic_distribution_: split_topic and join_models do not know the new proportions "
                "of the training documents; call transform(X), which infers them"
            )
        return proportions(self._doc_counts, self.doc_topic_prior_)

    @property
    def _averaged(self):
        """Fitted topics of all samples, or of the last sweep."""
        return self._samples or [self._fitted]

    def _hidden(self, X):
        """The ``hidden_tokens`` of documents, whose probabilities are means over the samples."""
        runs = [hidden_tokens(each.word_topic.T, X, each.model.doc_topic_prior, n_jobs=self._params.n_jobs)
                for each in self._averaged]  # fmt: skip
        for blocks in zip(*runs, strict=True):
            yield blocks[0][0], logsumexp([logs for _, logs in blocks], axis=0) - np.log(len(blocks))


class TopicSamples(Mean):
    """The mean of the samples of a chain, as ``Mean``; it also stores each sample, and sums the counts of documents.

    Parameters
    ----------
    burn_in, thin : int
    model : GibbsModel
    state : RowState
    documents : Documents

    Attributes
    ----------
    kept : list of FittedCollapsedTopics
    """

    def __init__(self, burn_in, thin, model, state, documents):
        super().__init__(burn_in, thin)
        self.kept = []
        self._now = model, state, documents
        self._doc_counts = None

    def __call__(self, epoch, stats):
        """Statistics to publish after an epoch that left ``stats``."""
        n_samples, out = self.n_samples, super().__call__(epoch, stats)
        if self.n_samples > n_samples:
            self.kept.append(FittedCollapsedTopics(self._now[0], stats.copy()))
            counts = doc_counts(*self._now)
            self._doc_counts = counts if self._doc_counts is None else self._doc_counts + counts
        return out

    def doc_counts(self):
        """Mean of ``doc_counts`` over the samples; before the first, those of the last sweep."""
        return doc_counts(*self._now) if self._doc_counts is None else self._doc_counts * (1.0 / self.n_samples)
