"""SparseDMR: topics whose prior in a document depends on covariates of the document."""

from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from sparsemix._compat import _fit_context, with_callbacks
from sparsemix._estimator.absent import NO_BOUND, UNFITTED, Absent
from sparsemix._estimator.additive import Additive
from sparsemix._estimator.base import published
from sparsemix._estimator.input.checks import check_counts
from sparsemix._estimator.learning import fit_rows
from sparsemix._models.topics.covariates.dirichlet_regression import rates
from sparsemix._typing import Folder, RowsLike, Seed, Weights
from sparsemix.metrics._completion import hidden_tokens, per_token
from sparsemix.topics._collapsed.published import NO_STOPPING, acceptance_rate_, batch_size_, sampler_
from sparsemix.topics._covariates.given import check_one_each, covariates_of, design_of, names_of
from sparsemix.topics._covariates.recipe import NO_STREAM, RegressionRecipe
from sparsemix.topics._parameters import FIXED_ONLINE, OF_ONLINE
from sparsemix.topics._predict import TopicPredictMixin


def no_names(estimator):
    """Reason for missing names of covariates."""
    return "covariates came without column names" if hasattr(estimator, "_fitted") else UNFITTED


class SparseDMR(TopicPredictMixin, Additive):
    """Dirichlet-multinomial regression: topics whose shares in a document depend on its covariates.

    Use it if you know something about each document, such as its year, author or party, and topics should use it:
    short documents get better topics, and the coefficients say which topics a covariate makes more frequent
    ([1]_). The prior of topic k in document d is alpha_dk = exp(intercept_k + coef_k' x_d). Topics and documents are
    inferred as in :class:`SparseSCVB0LDA` with ``sampler="gibbs"``, at most 2,000 topics.
    :func:`~sparsemix.topics.estimate_effect` gives intervals of effects on proportions, for any topic model.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K. :func:`sparsemix.topics.choose_n_topics` compares several.
    topic_word_prior : float, "learned", WordPrior or array-like of shape (n_components, n_features), default=None
        Dirichlet prior beta of each word in a topic. None means 0.01.
    burn_in : int, default=2
        Sweeps over a document's words in each visit before the one that adds to the topics' counts.
    init_params : {"random", "uniform", "em", "bregman"} or array-like of shape (n_components, n_features), \
            default="random"
        Initialisation, as in :class:`SparseSCVB0LDA`.
    max_iter : int, default=None
        Largest number of epochs. None chooses it from the mean number of tokens of a document.
    max_doc_update_iter : int, default=100
        Maximal number of iterations per document in ``transform``.
    batch_size : int, default=None
        Documents per batch. None means 160 tokens per topic, between 16 and 500 documents.
    n_averaged_iter : int, default=None
        Number of final epochs whose topics are averaged. None means 9 of 20 epochs and at most 10.
    n_jobs : int, default=None
        Number of threads. -1 uses all cores. Results have the same bits for any number.
    verbose : int, default=0
        Number of epochs between printed lines; 0 prints none.
    random_state : int, RandomState instance or None, default=None
        Seed of the initialisation, the batches and the samples. An integer makes results repeatable.

    Attributes
    ----------
    coef_ : ndarray of shape (n_components, n_covariates)
        Change of log alpha of a topic for one unit of a covariate.
    intercept_ : ndarray of shape (n_components,)
        log alpha of a document whose covariates are all zero.
    covariate_names_in_ : ndarray of shape (n_covariates,)
        Names of the covariates, if they came with column names.
    components_ : ndarray of shape (n_components, n_features)
        Expected counts plus ``topic_word_prior_``; divide rows by their sums for word probabilities.
    topic_word_distribution_ : ndarray of shape (n_components, n_features)
        Probability of each word in each topic.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        exp E[log phi], computed in each access.
    doc_topic_prior_ : ndarray of shape (n_components,)
        Mean of the priors of the training documents; ``transform`` and ``score`` use it without covariates.
    topic_word_prior_ : float or ndarray of shape (n_components, n_features)
        Prior of the words, given or learned.
    topic_names_ : list of str
        Names of seeded topics; empty for other topics.
    topic_weights_ : ndarray of shape (n_components,)
        Share of all tokens in each topic.
    sampler_ : str
        "gibbs".
    batch_size_ : int
        Documents per batch.
    acceptance_rate_ : float
        NaN: this sampler rejects nothing.
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
        Number of documents of positive weight.
    n_steps_ : int
        Zero.
    n_features_in_ : int
        Size V of the vocabulary.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The words, if X has column names.

    See Also
    --------
    SparseSCVB0LDA : The same inference with one prior for all documents.
    sparsemix.topics.estimate_effect : Effects of covariates on proportions, with intervals.

    Notes
    -----
    The coefficients are updated once per epoch: they are the mode of the Dirichlet-multinomial regression on the topics
    that the tokens of all documents have in their last visit (stochastic EM), by a truncated Newton method. Those of
    the averaged epochs are averaged. A ConvergenceWarning says if they still change then; fits of fewer than 5 epochs
    average too little to say so. All intercepts shift together to the prior mass of documents that the topics have not
    seen. Covariates of more than two values are standardised, and those of two values divided by their difference; the
    coefficients then have a standard normal prior. Documents need not have few distinct covariates: each sums the fixed
    parts of the conditionals of its words under its prior, so sampling stays exact.

    References
    ----------
    .. [1] Mimno, D. and McCallum, A., "Topic Models Conditioned on Arbitrary Features with Dirichlet-multinomial
       Regression", UAI 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.topics import SparseDMR
    >>> X, _, _ = make_bars(n_samples=500, random_state=0)
    >>> first = (X[:, :5].sum(axis=1) > 10).astype(float)  # documents with much of the first bar
    >>> dmr = SparseDMR(10, random_state=0).fit(X, covariates=first.reshape(-1, 1))
    >>> dmr.coef_.shape, dmr.prior_of([[0.0], [1.0]]).shape
    ((10, 1), (2, 10))
    """

    _parameter_constraints: dict = OF_ONLINE
    _fixed_params = FIXED_ONLINE
    partial_fit, expected_stats = Absent(NO_STREAM), Absent(NO_STREAM)
    covariate_names_in_ = Absent(no_names)
    update_from_stats, row_memory = Absent(NO_STREAM), Absent(NO_STREAM)
    lower_bound_, lower_bounds_ = Absent(NO_BOUND), Absent(NO_BOUND)
    best_iter_, stop_reason_ = Absent(NO_STOPPING), Absent(NO_STOPPING)
    sampler_, batch_size_, acceptance_rate_ = sampler_, batch_size_, acceptance_rate_

    def __init__(
        self,
        n_components: int = 10,
        *,
        topic_word_prior: Any = None,
        burn_in: int = 2,
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
        y: object = None,
        covariates: RowsLike | None = None,
        sample_weight: Weights = None,
        validation_data: RowsLike | None = None,
        checkpoint: Folder = None,
    ) -> Self:
        """Fit topics and coefficients to all documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts, or nonnegative weights such as tf-idf.
        y : None
            Ignored.
        covariates : array-like of shape (n_samples, n_covariates), default=None
            Numbers for each document in any unit, without a constant. Encode categories by
            ``OneHotEncoder(drop="first")``: coefficients are then differences from the first level, the reference.
            ``drop=["other"]`` chooses another one; without ``drop`` no level is the reference. None means no
            covariates.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document.
        validation_data : {array-like, sparse matrix} of shape (n_held_out, n_features), default=None
            Documents whose score, under the mean prior, ends the fit.
        checkpoint : path-like, default=None
            Folder for this fit only, as in :class:`SparseSCVB0LDA`.

        Returns
        -------
        self : SparseDMR

        Raises
        ------
        ValueError
            For negative, NaN or infinite counts, with the row of the document; for covariates that are not finite, or
            not one row for each document.
        """
        refuse_table(y, covariates)
        return fit_rows(self, self._recipe(covariates, validation_data), X, sample_weight, checkpoint)

    def prior_of(self, covariates: RowsLike) -> Any:
        """Dirichlet priors of documents with some covariates.

        Parameters
        ----------
        covariates : array-like of shape (n_samples, n_covariates)

        Returns
        -------
        doc_topic_prior : ndarray of shape (n_samples, n_components)
            alpha; divide rows by their sums for the expected proportions of topics.
        """
        check_is_fitted(self)
        return rates(self._design(covariates), self._fitted.model.coefficients)

    def transform(self, X: RowsLike, *, covariates: RowsLike | None = None, normalize: bool = True) -> Any:
        """Topic proportions of documents, by dense inference with fixed topics.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.
        covariates : array-like of shape (n_samples, n_covariates), default=None
            Covariates of the documents. None means the mean prior of the training documents.
        normalize : bool, default=True
            False returns the parameters of the documents' Dirichlet distributions: prior plus expected counts.

        Returns
        -------
        doc_topic : ndarray of shape (n_samples, n_components)
            Posterior means of the proportions, rows sum to one.

        Raises
        ------
        ValueError
            As ``fit``.
        """
        return self._transform(X, normalize, self._priors(X, covariates))

    def fit_transform(
        self, X: RowsLike, y: object = None, *, covariates: RowsLike | None = None, normalize: bool = True,
        **fit_params: Any,
    ) -> Any:  # fmt: skip
        """Fit, then transform the same documents with their covariates.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.
        y : None
            Ignored.
        covariates : array-like of shape (n_samples, n_covariates), default=None
            As in ``fit``.
        normalize : bool, default=True
            As in ``transform``.
        **fit_params : dict
            Further arguments of ``fit``.

        Returns
        -------
        doc_topic : ndarray of shape (n_samples, n_components)
            As ``transform``.
        """
        self.fit(X, y, covariates=covariates, **fit_params)
        return self.transform(X, covariates=covariates, normalize=normalize)

    def score(self, X: RowsLike, y: object = None, covariates: RowsLike | None = None) -> float:
        """Held-out log likelihood per token, by document completion, as that of other topic models.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts of held-out documents.
        y : None
            Ignored.
        covariates : array-like of shape (n_samples, n_covariates), default=None
            Covariates of the documents. None means the mean prior of the training documents.

        Returns
        -------
        score : float
            Natural logarithm, mean over hidden tokens.
        """
        refuse_table(y, covariates)
        check_is_fitted(self)
        priors = self._priors(X, covariates)
        X = check_counts(self, X, reset=False)
        return per_token(hidden_tokens(self, X, priors, n_jobs=self._params.n_jobs))

    @published
    def coef_(self):
        """Change of log alpha of a topic for one unit of a covariate, (n_components, n_covariates)."""
        return (self._fitted_part("model").coefficients[1:] / self._scale[:, None]).T

    @published
    def intercept_(self):
        """Log alpha of a document whose covariates are all zero, (n_components,)."""
        return self._fitted_part("model").coefficients[0] - self.coef_ @ self._center

    def _priors(self, X, covariates):
        """Priors of documents, one for each row of X; None without covariates."""
        if covariates is None:
            return None
        check_is_fitted(self)
        priors = self.prior_of(covariates)
        check_one_each(priors, X.shape[0] if hasattr(X, "shape") else len(X))
        return priors

    def _design(self, covariates):
        """Standardised covariates after a column of ones, (n, P + 1)."""
        values, names = covariates_of(covariates), names_of(covariates)
        fitted = [*getattr(self, "covariate_names_in_", ())]
        if names and fitted and names != fitted:
            raise ValueError(f"covariates has the columns {', '.join(names)}, but the fit had {', '.join(fitted)}")
        if values.shape[1] != len(self._center):
            raise ValueError(
                f"covariates has {values.shape[1]} columns, but the fit had {len(self._center)}; give the same ones"
            )
        return design_of(values, self._center, self._scale)

    def _recipe(self, covariates=None, validation=None):
        return RegressionRecipe(self._params, self._table_dtype, covariates, validation)


def refuse_table(y, covariates):
    """Raise if the second argument, y, is a table: it was meant to be the covariates."""
    if covariates is None and getattr(y, "ndim", 1) == 2:
        raise ValueError("y is a table, and y has no effect; give covariates by their name: covariates=...")
