"""The estimator CollapsedLDA: validation, assembly of model and initialisation, publication of results."""

import numbers
import time
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sparsemix._compat import FitObserver, Interval, StrOptions, _fit_context, with_callbacks
from sparsemix._engine.monitor import Monitor
from sparsemix._engine.sweeps import Mean, Sweeps, burn_in_of, run
from sparsemix._estimator.absent import UNFITTED, Absent, check_continues
from sparsemix._estimator.base import SparsemixEstimator, published
from sparsemix._estimator.input.checks import check_counts, warn_of_light_weights
from sparsemix._typing import ArrayLike, RowsLike, Seed, Weights
from sparsemix._warnings import warn_caller
from sparsemix.topics._assemble import (
    MODELS,
    check_whole,
    doc_counts,
    make_collapsed_model,
    make_row_state,
    parts_of,
    proportions,
    weighted_documents,
)
from sparsemix.topics._evaluation import warn_if_worse_than_unigrams
from sparsemix.topics._fitted import FittedCollapsedTopics
from sparsemix.topics._parameters import OF_TOPICS
from sparsemix.topics._predict import TopicPredictMixin

# Default ``tol`` by kind of inference.
TOL = {"cvb0": 5e-3, "cvb": 1e-3, "cvb_exact": 1e-3, "gibbs": 0.0}
# Attributes that only some kinds of inference have.
OF_FIT = ("lower_bound_", "lower_bounds_", "n_samples_", "_row_state", "_doc_counts")


def no_bound(estimator):
    """Why the last fit has no bound."""
    if not hasattr(estimator, "_fitted"):
        return UNFITTED
    inference = estimator._params.inference
    if not inference.startswith("cvb") or inference == "cvb0":
        return f'inference="{inference}" computes no bound; use inference="cvb", or compare models by score(X)'
    return "the fit made no sweep over the documents; set max_iter to at least 1"


class CollapsedLDA(TopicPredictMixin, SparsemixEstimator):
    """Latent Dirichlet allocation by collapsed inference on documents in memory.

    Use it for small and medium corpora. The distributions of documents and topics are integrated out, and only the
    topics of the tokens are inferred. This is more accurate than mean-field inference where counts are small. Start
    with "cvb0". "gibbs" needs far less memory and more sweeps. "cvb" is the second-order method that "cvb0" simplifies:
    use it if you need its bound, with priors of about 0.1, because its correction is wrong for small priors.

    The responsibilities of a token follow from all counts except its own,

    ``(alpha_k + n_jk) (beta + n_kw) / (V beta + n_k)``,

    and all counts are updated before the next word. So one thread visits the documents in the order of their rows, and
    another order gives different topics, like another seed.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K. :func:`sparsemix.topics.choose_n_topics` compares several.
    inference : {"cvb0", "cvb", "cvb_exact", "gibbs"}, default="cvb0"
        "cvb0" [1]_ stores expected counts. "cvb" [2]_ also stores their variances for a second-order correction, and
        takes four times as long. "cvb_exact" is "cvb" with exact expectations, for priors of at least 5e-4: its bound
        never decreases if counts are whole, but a sweep takes a hundred times as long or more. "gibbs" [3]_ draws one
        topic for each token; counts must be whole numbers. It stores no responsibilities.
    doc_topic_prior : float, "learned" or array-like of shape (n_components,), default=None
        Dirichlet prior alpha of each topic in a document. None means 0.1, or 5 / K for more than 50 topics. Raise it to
        give documents more topics. "learned" begins with the default and learns a value for every topic after each
        sweep except the first ten: use it if some topics are in most documents.
    topic_word_prior : float, "learned", WordPrior or array-like of shape (n_components, n_features), default=None
        Dirichlet prior beta of each word in a topic. None means 0.01. Raise it to give topics more words. "learned"
        begins with the default and learns one value for all words after each sweep except the first ten.
        :class:`~sparsemix.topics.WordPrior` guides topics by words. A sparse array is added to the default.
    init_params : "random" or array-like of shape (n_components, n_features), default="random"
        Initialisation: "random", responsibilities from a flat Dirichlet distribution ("gibbs": uniform random topics);
        or an array of topics, such as ``components_`` of another model, used in the first sweep.
    max_iter : int, default=200
        Number of sweeps over all documents; except for "gibbs" the maximal number. A ConvergenceWarning says when it
        was too small; for "gibbs", "log_joint" of ``history_`` still rises then.
    tol : float, default=None
        Convergence criterion. "cvb" and "cvb_exact": a sweep improves the bound by less than this, in nats per token;
        None means 1e-3. "cvb0", which has no bound: a sweep changes the responsibilities of a token by less than this;
        None means 5e-3. The change is the sum of absolute changes over topics, from 0 to 2, averaged over tokens. All
        make at least twelve sweeps, because similar initial topics change slowly. "gibbs" always makes ``max_iter``
        sweeps.
    burn_in : int, default=None
        Sweeps of "gibbs" before the first sample. None means half of ``max_iter``. It is too small if "log_joint" of
        ``history_`` still rises there.
    thin : int, default=5
        Sweeps of "gibbs" between samples after the burn-in.
    max_doc_update_iter : int, default=100
        Maximal number of iterations per document in ``transform``.
    warm_start : bool, default=False
        Keep the responsibilities (or topics of tokens) after ``fit``; the next ``fit`` continues from them. With other
        documents or another method, it is initialised with the topics of the last fit.
    n_jobs : int, default=None
        Number of threads of ``transform`` and ``score``; results have the same bits for any number. ``fit`` uses one.
        -1 uses all cores.
    verbose : int, default=0
        Number of epochs between printed lines; 0 prints none.
    random_state : int, RandomState instance or None, default=None
        Seed of the initialisation, and of all draws of "gibbs". An integer makes results repeatable.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Dirichlet parameters of the topics: prior plus expected counts; for "gibbs" prior plus mean counts of the
        samples. Divide rows by their sums for word probabilities.
    topic_word_distribution_ : ndarray of shape (n_components, n_features)
        Probability of each word in each topic.
    doc_topic_distribution_ : ndarray of shape (n_samples, n_components)
        Only with ``warm_start``: topic proportions of the training documents, posterior means under the last sweep's
        responsibilities ([2]_, Eq. 19); those of the prior for documents of weight zero. Computed in each access.
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
    lower_bound_ : float
        Only for "cvb" and "cvb_exact": E[log p(z, w)] + H(q) after the last sweep, in nats. With learned priors it is
        that under the priors of that sweep. With "cvb" expectations are to second order, so it approximates a lower
        bound of the evidence, and may decrease between sweeps.
    lower_bounds_ : list of float
        Only for "cvb" and "cvb_exact": this bound after each sweep.
    n_samples_ : int
        Only for "gibbs": number of samples averaged in ``components_``. 0: they are those of the last sweep.
    converged_ : bool
        Whether the last sweep met ``tol``.
    n_iter_ : int
        Number of sweeps.
    history_ : list of dict
        For each sweep its number, the seconds so far, and "change" ("cvb0"), "lower_bound" ("cvb") or "log_joint"
        ("gibbs": log p(z, w)), also per token.
    n_features_in_ : int
        Size V of the vocabulary.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The words, if X has column names.

    See Also
    --------
    GibbsLDA : Gibbs sampling with several chains, and predictions averaged over samples.
    SparseLDA : For large corpora and many topics: sparse responsibilities, streams, threads.
    sparsemix.metrics : Scores and coherence of topics, for any topic model.

    Notes
    -----
    For M distinct pairs of a document and a word, "cvb0" and "cvb" store the responsibilities during the fit: M K
    float32 numbers, 4 M K bytes. That is 2 GB for 2.5 million pairs and 200 topics. No other array of this library
    grows with documents times topics. "gibbs" stores 4 bytes per token. Tables by word and topic have V K float32
    numbers each; "cvb" has a second one for variances. "cvb_exact" has float64 tables, and 80 more, which hold
    the generating functions of the counts, whose integrals are the expectations, with errors below 1e-9. For "gibbs"
    they are float64 with 2**24 tokens or more, or with weights that are not whole numbers.

    ``transform`` fixes the posterior means of the topics and iterates the same update for the document, without
    randomness and variances. ``score`` is the document completion that all topic models of this library use, under the
    normalised ``components_``. :class:`GibbsLDA` averages over samples ([2]_, Eq. 20).

    Copies of a word in a document share their responsibilities. A count below one is removed from the counts as a whole
    when its word is visited. A document of weight w adds w times its counts to the counts by word, and once to its own.
    A visit removes a copy of weight min(w, 1) from the counts by word; "gibbs" removes all copies, because all change
    their topic.

    References
    ----------
    .. [1] Asuncion, A., Welling, M., Smyth, P. and Teh, Y. W., "On Smoothing and Inference for Topic Models", UAI 2009,
       Section 3.4.
    .. [2] Teh, Y. W., Newman, D. and Welling, M., "A Collapsed Variational Bayesian Inference Algorithm for Latent
       Dirichlet Allocation", NIPS 2006, Eqs. 17 to 20.
    .. [3] Griffiths, T. L. and Steyvers, M., "Finding scientific topics", PNAS 2004, Eq. 5.

    Examples
    --------
    >>> from sparsemix import CollapsedLDA
    >>> from sparsemix.datasets import make_bars
    >>> X = make_bars(n_samples=500, random_state=0)[0]
    >>> lda = CollapsedLDA(10, random_state=0).fit(X)
    >>> lda.transform(X[:2]).shape
    (2, 10)
    >>> len(lda.topic_table(n_top_words=5))
    10
    """

    _unread = {"inference": dict.fromkeys(set(MODELS) - {"gibbs"}, ("burn_in", "thin"))}  # noqa: RUF012
    _parameter_constraints: dict = {  # noqa: RUF012
        **OF_TOPICS,
        "inference": [StrOptions(set(MODELS))],
        "init_params": [StrOptions({"random"}), "array-like"],
        "tol": [Interval(numbers.Real, 0.0, None, closed="left"), None],
        "burn_in": [Interval(numbers.Integral, 0, None, closed="left"), None],
        "thin": [Interval(numbers.Integral, 1, None, closed="left")],
    }
    lower_bound_, lower_bounds_ = Absent(no_bound), Absent(no_bound)
    converged_, history_, n_iter_ = Absent(UNFITTED), Absent(UNFITTED), Absent(UNFITTED)
    n_samples_ = Absent('only a fit with inference="gibbs" averages samples; set that')
    # Of responsibilities and tables; the oracles of the tests set float64.

    def __init__(
        self,
        n_components: int = 10,
        *,
        inference: str = "cvb0",
        doc_topic_prior: ArrayLike | None = None,
        topic_word_prior: Any = None,
        init_params: Any = "random",
        max_iter: int = 200,
        tol: float | None = None,
        burn_in: int | None = None,
        thin: int = 5,
        max_doc_update_iter: int = 100,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.inference = inference
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.init_params = init_params
        self.max_iter = max_iter
        self.tol = tol
        self.burn_in = burn_in
        self.thin = thin
        self.max_doc_update_iter = max_doc_update_iter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: RowsLike, y: object = None, sample_weight: Weights = None) -> Self:  # noqa: ARG002
        """Fit topics to all documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts; for "cvb0" and "cvb" any nonnegative numbers. Documents without tokens have no effect.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document in the sums over documents.

        Returns
        -------
        self : CollapsedLDA

        Raises
        ------
        ValueError
            For negative, NaN or infinite counts, and with "gibbs" for counts that are not whole, with the row of the
            document; and if no document has a token. An earlier fit is kept.
        """
        params = self._params
        fits, started = [], time.perf_counter()
        with self._all_or_nothing(lambda: self._publish(fits)):
            warm = params.warm_start and hasattr(self, "_fitted")
            X = check_counts(self, X, reset=not warm)
            if params.inference == "gibbs":
                check_whole(X)
            documents = weighted_documents(X, sample_weight, self._table_dtype)
            warn_of_light_weights(documents.sample_weight)
            seed = check_random_state(params.random_state).randint(2**31 - 1)
            observer = FitObserver(self, params.max_iter, self._attributes, X)
            model = make_collapsed_model(MODELS[params.inference], params, documents, seed, self._table_dtype)
            state, stats = self._begin(model, documents, np.random.default_rng(seed), warm)
            name, schedule = type(self).__name__, Sweeps(model.has_bound)
            tol = TOL[params.inference] if params.tol is None else params.tol
            monitor = Monitor(params.max_iter, tol, schedule, params.verbose, name, observer, None, started)
            monitor.mean = Mean(burn_in_of(params), params.thin) if params.inference == "gibbs" else None
            monitor.state, monitor.doc_counts = state, partial(doc_counts, model, state, documents)
            fits.append(monitor)
            run(model, documents, state, monitor, stats, monitor.mean)
            if params.max_iter == 0:
                monitor.step(stats, model)  # the initialisation is the result
            self._publish(fits)
            observer.finish()
        if params.inference != "gibbs" and tol > 0 and not self.converged_ and 0 < params.max_iter == self.n_iter_:
            warn_caller(
                f"the fit did not converge in max_iter={params.max_iter} sweeps; raise max_iter or tol",
                ConvergenceWarning,
            )
        warn_if_worse_than_unigrams(self, X, self.n_iter_, "lower n_components")
        return self

    def _begin(self, model, documents, rng, warm):
        """State of rows and statistics before the first sweep."""
        params = self._params
        if not warm:
            return make_row_state(params, model, documents, rng)
        old, state = self._fitted.model, vars(self).get("_row_state")
        check_continues(params, {"n_components": old.n_components})
        if model.learn_alpha:
            model.doc_topic_prior, model.learn_after = old.doc_topic_prior, 0
        if model.learn_beta:
            model.topic_word_prior, model.learn_after = old.topic_word_prior, 0
        if state is not None and not state.fits(documents, model):
            state = None
        state = state if state is None else state.own()
        return make_row_state(params, model, documents, rng, self._fitted.word_topic.copy(), state)

    def _attributes(self, monitor):
        """Fitted attributes after the last step of a monitor."""
        attributes = {
            "_fitted": FittedCollapsedTopics(monitor.model, monitor.stats),
            "n_iter_": monitor.n_epochs_done,
            "converged_": monitor.converged,
            "history_": list(monitor.history),
        }
        if monitor.lower_bounds:
            attributes |= {"lower_bounds_": monitor.lower_bounds, "lower_bound_": monitor.lower_bounds[-1]}
        if monitor.mean is not None:
            attributes["n_samples_"] = monitor.mean.n_samples
        if self._params.warm_start:
            attributes["_row_state"] = monitor.state
        return attributes

    def _publish(self, fits):
        """Publish the last completed sweep. Return whether there is one."""
        if not fits or fits[0].stats is None:
            return False
        attributes = self._attributes(fits[0])
        if self._params.warm_start:
            attributes["_doc_counts"] = parts_of(fits[0].doc_counts())
        for name in OF_FIT:
            vars(self).pop(name, None)
        vars(self).update(attributes)
        return True

    @published
    def doc_topic_distribution_(self):
        """Posterior means of the proportions of the training documents, (n_samples, n_components)."""
        self._attribute("doc_topic_distribution_")
        if "_doc_counts" not in vars(self):
            raise AttributeError(
                "CollapsedLDA has no doc_topic_distribution_: only a fit with warm_start=True stores what it inferred "
                "for its documents; set that, or call transform(X), which infers them again"
            )
        return proportions(self._doc_counts, self.doc_topic_prior_)
