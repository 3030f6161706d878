"""Predictions of fitted topic models for documents, and properties of their topics."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import psi
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sparsemix._engine.inference import infer_doc_topic
from sparsemix._estimator.absent import Absent
from sparsemix._estimator.base import published
from sparsemix._estimator.features import feature_dtype
from sparsemix._estimator.input.checks import check_counts
from sparsemix._estimator.input.forms import COUNTS
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._estimator.tables import table_of
from sparsemix._rows.blocks import spans
from sparsemix._rows.documents import canonical
from sparsemix._rows.threads import Workers
from sparsemix._typing import RowsLike, Table
from sparsemix.metrics import distinctive_words, top_words
from sparsemix.metrics._completion import hidden_tokens, per_token

# Documents per block of ``transform``.
DOCUMENTS = 1 << 13
# Which words list a topic.
ORDERS = {"distinctive": distinctive_words, "probable": top_words}


class TopicPredictMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Topic proportions, scores, and topics as words; ``_fitted`` holds model and statistics."""

    _takes = COUNTS
    # Type of the inference tables; test oracles set float64.
    _table_dtype = np.float32
    # Attributes of scikit-learn's LatentDirichletAllocation.
    bound_ = Absent(
        "scikit-learn's is the perplexity of the training documents; lower_bound_ of SparseLDA and of "
        'CollapsedLDA(inference="cvb") is their bound in nats, and perplexity(X) of held-out documents compares all '
        "models"
    )
    n_batch_iter_ = Absent("n_iter_ counts epochs, and n_steps_ calls of partial_fit")
    random_state_ = Absent("give random_state a numpy.random.RandomState, which a fit draws its seed from, and keep it")

    def _check_loaded(self):
        super()._check_loaded()
        if "_fitted" in vars(self):
            check_fits(self)

    # -- documents

    def fit_transform(self, X: RowsLike, y: object = None, *, normalize: bool = True, **fit_params: Any) -> Any:
        """Fit, then transform the same documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.
        y : None
            Ignored.
        normalize : bool, default=True
            As in ``transform``.
        **fit_params : dict
            Further arguments of ``fit``.

        Returns
        -------
        doc_topic : ndarray of shape (n_samples, n_components)
            As ``transform``.
        """
        return self.fit(X, y, **fit_params).transform(X, normalize=normalize)

    def transform(self, X: RowsLike, *, normalize: bool = True) -> Any:
        """Topic proportions of documents, by dense inference with fixed topics.

        A row of the result depends only on its document: not on other rows, their order, or random numbers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.
        normalize : bool, default=True
            False returns the parameters of the documents' Dirichlet distributions: prior plus expected counts.

        Returns
        -------
        doc_topic : ndarray of shape (n_samples, n_components)
            Posterior means of the proportions, rows sum to one; those of the prior for a document without tokens.
            float32 for counts of float32, else float64.

        Raises
        ------
        ValueError
            For negative, NaN or infinite counts, with the row of the document.
        """
        return self._transform(X, normalize)

    def _transform(self, X, normalize, priors=None):
        """See ``transform``; ``priors`` (n, K) are those of each document, in place of the common one."""
        check_is_fitted(self)
        X = check_counts(self, X, reset=False)
        theta = np.empty((X.shape[0], self._n_features_out), dtype=feature_dtype(X))
        averaged = self._averaged
        with Workers(self._params.n_jobs) as workers:
            for start, stop in spans(X.shape[0], DOCUMENTS):
                block = canonical(X[start:stop])
                of_block = None if priors is None else priors[start:stop]
                theta[start:stop] = sum(
                    self._infer(each, block, normalize, workers, of_block) for each in averaged
                ) / len(averaged)
        return theta

    @property
    def _averaged(self):
        """Fitted topics over which predictions are averaged."""
        return [self._fitted]

    def _infer(self, fitted, block, normalize, workers, priors=None):
        """Parameters, or means, of the Dirichlet distributions of a block of documents under some topics, (n, K)."""
        inferred = infer_doc_topic(
            block, fitted.table, fitted.model.doc_topic_prior if priors is None else priors,
            max_iter=self._params.max_doc_update_iter, tol=TRANSFORM_TOL, linear=fitted.linear, workers=workers,
        )  # fmt: skip
        if normalize:
            inferred /= inferred.sum(axis=1, keepdims=True)
        return inferred

    def score(self, X: RowsLike, y: object = None) -> float:  # noqa: ARG002
        """Held-out log likelihood per token, by document completion.

        A fifth of the distinct words of each document is hidden. Proportions are inferred from the visible words, and
        the hidden tokens are scored. Scores are comparable between all topic models and numbers of topics, so
        ``GridSearchCV`` can use this method.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts of held-out documents. Documents with one distinct word are skipped.
        y : None
            Ignored.

        Returns
        -------
        score : float
            Natural logarithm, mean over hidden tokens.

        See Also
        --------
        sparsemix.metrics.document_completion : The same score for any topic model, with options.
        """
        check_is_fitted(self)
        return per_token(self._hidden(check_counts(self, X, reset=False)))

    def _hidden(self, X):
        """The ``hidden_tokens`` of documents under the fitted topics."""
        return hidden_tokens(self, X, n_jobs=self._params.n_jobs)

    def perplexity(self, X: RowsLike) -> float:
        """exp(-score(X)): the number of equally likely words with the same uncertainty; lower is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts of held-out documents.

        Returns
        -------
        perplexity : float
        """
        return float(np.exp(-self.score(X)))

    # -- topics

    @published
    def components_(self):
        """Posterior Dirichlet parameters of the topics, (n_components, n_features); a read-only view."""
        return self._fitted_part("word_topic").T

    @published
    def doc_topic_prior_(self):
        """Dirichlet prior of the documents, (n_components,); given or learned."""
        return self._fitted_part("model").doc_topic_prior

    @published
    def topic_word_prior_(self):
        """Dirichlet prior of the topics' words, given or learned: a number, or (n_components, n_features)."""
        prior, base = self._fitted_part("stats").prior, self._fitted_part("model").topic_word_prior
        return base if prior is None else prior.toarray().T.astype(np.float64) + base

    @published
    def topic_names_(self):
        """Names of the topics in ``topic_word_prior``, (n_components,) list; empty for topics without seeds."""
        prior = self._fitted_part("stats").prior
        return [""] * self._fitted_part("model").n_components if prior is None else list(prior.names)

    @published
    def topic_weights_(self):
        """Share of all tokens in each topic, (n_components,)."""
        counts = np.maximum(self._fitted_part("stats").learned_count, 0.0)
        total = counts.sum()
        return counts / total if total > 0 else np.full(len(counts), 1.0 / len(counts))  # no topic has a token

    @published
    def topic_word_distribution_(self):
        """Probability of each word in each topic, (n_components, n_features); rows sum to one. Returns a copy."""
        return self.components_ / self._fitted_part("totals")[:, None]

    @published
    def exp_dirichlet_component_(self):
        """exp E[log phi], (n_components, n_features), as in scikit-learn; computed in each access."""
        return np.exp(psi(self.components_) - psi(self._fitted_part("totals"))[:, None])

    @plain_arguments
    def topic_table(
        self, feature_names: Any = None, n_top_words: int = 10, order: str = "distinctive"
    ) -> Table:
        """Topics as rows of a table, largest first.

        Parameters
        ----------
        feature_names : array-like of shape (n_features,) or vectorizer, default=None
            The words, or the vectorizer that counted them (any object with ``get_feature_names_out``). None takes the
            feature names of the training data; without these, words are named "column 17".
        n_top_words : int, default=10
            Words per topic.
        order : {"distinctive", "probable"}, default="distinctive"
            "distinctive" lists the words by which a topic differs most from all topics together
            (:func:`sparsemix.metrics.distinctive_words`), "probable" its most probable words.

        Returns
        -------
        table : pandas.DataFrame, or list of dict without pandas
            With "topic" (its index), "token_share" (its share of all tokens) and "words" (list), and "name" if
            ``topic_names_`` has any.
        """
        return table_of(self._topic_rows(feature_names, n_top_words, order))

    def _topic_rows(self, feature_names, n_top_words, order):
        """Rows of ``topic_table`` as dicts."""
        check_is_fitted(self)
        if not isinstance(order, str) or order not in ORDERS:
            raise ValueError(f'order must be "distinctive" or "probable", got {order!r}')
        feature_names = self._words(feature_names)
        words = ORDERS[order](self, min(n_top_words, self.n_features_in_))
        weights, names = self.topic_weights_, getattr(self, "topic_names_", ())
        return [
            {"topic": int(k), **({"name": names[k]} if any(names) else {}), "token_share": float(weights[k]),
             "words": list(feature_names[words[k]])}
            for k in np.argsort(-weights, kind="stable")
        ]  # fmt: skip

    @plain_arguments
    def print_topics(
        self, feature_names: Any = None, n_topics: int = 20, n_top_words: int = 10, order: str = "distinctive"
    ) -> None:
        """Print the largest topics, one per line: index, share of all tokens, name if any, most distinctive words.

        Parameters
        ----------
        feature_names : array-like of shape (n_features,) or vectorizer, default=None
            As in ``topic_table``.
        n_topics : int, default=20
            Number of topics.
        n_top_words : int, default=10
            Words per topic.
        order : {"distinctive", "probable"}, default="distinctive"
            As in ``topic_table``.
        """
        for row in self._topic_rows(feature_names, n_top_words, order)[:n_topics]:
            name = f"{row['name']}: " if row.get("name") else ""
            print(f"{row['topic']:5d} {row['token_share']:7.2%}  {name}{' '.join(map(str, row['words']))}")

    def _words(self, feature_names):
        """Names of the columns: given, from a vectorizer, from the training data, or numbers."""
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", None)
        if hasattr(feature_names, "get_feature_names_out"):
            feature_names = feature_names.get_feature_names_out()
        if isinstance(feature_names, Mapping):  # a dictionary of gensim, by numbers
            feature_names = [feature_names.get(column) for column in range(self.n_features_in_)]
        if feature_names is None:
            feature_names = [f"column {v}" for v in range(self.n_features_in_)]
        feature_names = np.asarray(feature_names, dtype=object)
        if feature_names.shape != (self.n_features_in_,):
            raise ValueError(
                f"feature_names has shape {feature_names.shape}, expected ({self.n_features_in_},): one name for each "
                "column of the data"
            )
        return feature_names

    def _fitted_part(self, name):
        if "_fitted" not in vars(self):  # AttributeError makes hasattr() False before a fit
            calls = "fit or partial_fit" if hasattr(self, "partial_fit") else "fit"
            raise AttributeError(f"this {type(self).__name__} is not fitted yet; call {calls} first")
        return getattr(self._fitted, name)

    @property
    def _n_features_out(self):
        return self._fitted.model.n_components

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


# In tokens. The proportions of papers and abstracts then have a mean error of 2e-3 in total variation.
TRANSFORM_TOL = 2e-2


def check_fits(estimator):
    """Raise if the parts of a loaded state have different shapes: compiled loops do not check them."""
    for fitted in (estimator._fitted, *vars(estimator).get("_samples", ())):
        check_parts(estimator, fitted.model, fitted.stats)


def check_parts(estimator, model, stats):
    """Raise if model, statistics and vocabulary have different shapes."""
    n_words = estimator.n_features_in_
    shape, (table, _) = (n_words, model.n_components), stats.unfolded("word_topic")
    names = getattr(estimator, "feature_names_in_", None)
    fits = (
        table.shape == shape
        and model.n_words == n_words
        and stats["count"].shape == model.doc_topic_prior.shape == shape[1:]
        and (names is None or len(names) == n_words)
        and all(hasattr(value, "dtype") for _, value in stats._arrays())
        and (stats.prior is None or stats.prior.table.shape == shape)
    )
    if not fits:
        raise ValueError(
            f"the saved {type(estimator).__name__} has counts of shape {table.shape}, a model of {model.n_words} words "
            f"and {model.n_components} topics, and a vocabulary of {n_words}; the file is damaged: save the model again"
        )
