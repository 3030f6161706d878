"""TokenSequences: a vectorizer that keeps the order of words."""

import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.validation import check_is_fitted

from sparsemix._compat import Interval, StrOptions, _fit_context, configured_sparse
from sparsemix._estimator.parameters import Parameters, check_parameters
from sparsemix._typing import Array, RowsLike
from sparsemix.skipgram._input import check_sequences

WORDS = r"(?u)\b\w\w+\b"


class TokenSequences(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Convert texts to sequences of word numbers, for models of word sequences.

    It replaces ``CountVectorizer`` in front of :class:`SkipGramTopicModel`, has its parameters, and chooses the same
    vocabulary. A text becomes a row of a sparse matrix: column p holds the number + 1 of the word at place p. So
    documents of different lengths are rows that can be indexed, split and shuffled, in pipelines and grid searches.

    Parameters
    ----------
    gaps : {"close", "keep"}, default="close"
        What to do with the places of words outside the vocabulary: stop words, rare and frequent words. "close" removes
        these places, so that a window of 5 covers the next 5 words of the vocabulary. "keep" leaves them empty, so that
        a window of 5 covers 5 words of the text, and fewer words of the vocabulary.
    lowercase : bool, default=True
        Convert texts to lower case first.
    strip_accents : {"ascii", "unicode"} or callable, default=None
        Remove accents.
    preprocessor, tokenizer : callable, default=None
        As in ``CountVectorizer``.
    token_pattern : str or None, default=r"(?u)\\b\\w\\w+\\b"
        Regular expression of a word.
    stop_words : {"english"}, list, default=None
        Words to exclude from the vocabulary.
    analyzer : "word" or callable, default="word"
        How a text is split into words; a callable returns them in their order.
    max_df, min_df : float in [0, 1] or int, default=1.0 and 1
        Exclude words that occur in more, or in fewer, documents than this fraction or number.
    max_features : int, default=None
        Keep only this number of words, the most frequent ones.
    vocabulary : mapping or iterable, default=None
        The vocabulary. None chooses it from the texts.

    Attributes
    ----------
    vocabulary_ : dict
        Number of each word.

    See Also
    --------
    SkipGramTopicModel : The topic model that learns from such sequences.

    Examples
    --------
    >>> from sparsemix import TokenSequences
    >>> sequences = TokenSequences(stop_words=["the"])
    >>> X = sequences.fit_transform(["the cat saw the dog", "dog saw cat"])
    >>> [str(word) for word in sequences.get_feature_names_out()]
    ['cat', 'dog', 'saw']
    >>> X.toarray()
    array([[1, 3, 2],
           [2, 3, 1]], dtype=int32)
    >>> sequences.set_params(gaps="keep").transform(["the cat saw the dog"]).toarray()
    array([[0, 1, 3, 0, 2]], dtype=int32)
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        "gaps": [StrOptions({"close", "keep"})],
        "lowercase": ["boolean"],
        "strip_accents": [StrOptions({"ascii", "unicode"}), None, callable],
        "preprocessor": [callable, None],
        "tokenizer": [callable, None],
        "token_pattern": [str, None],
        "stop_words": [StrOptions({"english"}), list, None],
        "analyzer": [StrOptions({"word"}), callable],
        "max_df": [Interval(numbers.Real, 0, 1, closed="both"), Interval(numbers.Integral, 1, None, closed="left")],
        "min_df": [Interval(numbers.Real, 0, 1, closed="both"), Interval(numbers.Integral, 1, None, closed="left")],
        "max_features": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "vocabulary": "no_validation",
    }

    # The constructor parameters as Python's own numbers.
    _params = property(Parameters)

    def __init__(
        self,
        *,
        gaps: str = "close",
        lowercase: bool = True,
        strip_accents: str | Callable[[str], str] | None = None,
        preprocessor: Callable[[str], str] | None = None,
        tokenizer: Callable[[str], list[str]] | None = None,
        token_pattern: str | None = WORDS,
        stop_words: str | list[str] | None = None,
        analyzer: str | Callable[[str], list[str]] = "word",
        max_df: float = 1.0,
        min_df: float = 1,
        max_features: int | None = None,
        vocabulary: Mapping[str, int] | Iterable[str] | None = None,
    ) -> None:
        self.gaps = gaps
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.preprocessor = preprocessor
        self.tokenizer = tokenizer
        self.token_pattern = token_pattern
        self.stop_words = stop_words
        self.analyzer = analyzer
        self.max_df = max_df
        self.min_df = min_df
        self.max_features = max_features
        self.vocabulary = vocabulary

    def _validate_params(self):
        check_parameters(self)

    def _counter(self, **changes):
        names = set(self.get_params(deep=False)) - {"gaps"}
        return CountVectorizer(**({name: getattr(self._params, name) for name in names} | changes))

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, raw_documents: Iterable[str], y: object = None) -> Self:  # noqa: ARG002
        """Learn the vocabulary.

        Parameters
        ----------
        raw_documents : iterable of str
            Texts.
        y : None
            Ignored.

        Returns
        -------
        self : TokenSequences
        """
        self.vocabulary_ = self._counter().fit(raw_documents).vocabulary_
        return self

    def transform(self, raw_documents: Iterable[str]) -> Any:
        """Convert texts to rows of word numbers.

        Parameters
        ----------
        raw_documents : iterable of str
            Texts.

        Returns
        -------
        X : CSR array or matrix of shape (n_documents, longest), int32
            Word number + 1 at the place of each word. The longest document determines the number of columns.
            scikit-learn's setting ``sparse_interface`` chooses between array and matrix.
        """
        if self._params.vocabulary is not None and not hasattr(self, "vocabulary_"):
            self.fit([])
        check_is_fitted(self)
        if isinstance(raw_documents, str):
            raise ValueError("Iterable over raw text documents expected, string object received.")
        analyze = self._counter(stop_words=None).build_analyzer()
        number = {word: v + 1 for word, v in self.vocabulary_.items()}
        return self._rows(
            np.fromiter((number.get(word, 0) for word in analyze(text)), dtype=np.int32) for text in raw_documents
        )

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, raw_documents: Iterable[str], y: object = None) -> Any:  # noqa: ARG002
        """Learn the vocabulary and convert the texts, in one reading.

        Parameters
        ----------
        raw_documents : iterable of str
            Texts, or a generator of texts.
        y : None
            Ignored.

        Returns
        -------
        X : CSR array or matrix of shape (n_documents, longest), int32
            As in ``transform``.
        """
        analyze = self._counter(stop_words=None).build_analyzer()
        self._counter().build_analyzer()  # warns of stop words that the tokenizer would split
        stop_words = frozenset(() if callable(self._params.analyzer) else self._counter().get_stop_words() or ())
        number, documents = {}, []

        def read(text):
            words = analyze(text)
            documents.append(np.fromiter((number.setdefault(word, len(number)) for word in words), dtype=np.int32))
            return [word for word in words if word not in stop_words]

        choice = {name: getattr(self._params, name) for name in ("min_df", "max_df", "max_features", "vocabulary")}
        self.vocabulary_ = CountVectorizer(analyzer=read, **choice).fit(raw_documents).vocabulary_
        kept = np.array([self.vocabulary_.get(word, -1) + 1 for word in number], dtype=np.int32)
        return self._rows(kept[words] for words in documents)

    def _rows(self, documents):
        """Rows of documents given as word numbers + 1, with 0 for words outside the vocabulary."""
        rows, places, indptr, longest = [], [], [0], 1
        keep_gaps = self._params.gaps == "keep"
        for words in documents:
            kept = np.flatnonzero(words)
            rows.append(words[kept])
            places.append(kept if keep_gaps else np.arange(len(kept)))
            indptr.append(indptr[-1] + len(kept))
            longest = max(longest, int(places[-1][-1]) + 1 if len(kept) else 1)
        if not rows:
            return configured_sparse(sparse.csr_array((0, longest), dtype=np.int32))
        data, indices = np.concatenate(rows), np.concatenate(places).astype(np.int32)
        return configured_sparse(sparse.csr_array((data, indices, np.array(indptr)), shape=(len(rows), longest)))

    def inverse_transform(self, X: RowsLike) -> list[Array]:
        """Words of each document in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, longest)
            As ``transform`` returns it.

        Returns
        -------
        documents : list of ndarray of str
            Words without gaps.

        Raises
        ------
        ValueError
            For a number that is not a word number, with its row and place.
        """
        check_is_fitted(self)
        names = self.get_feature_names_out()
        X, _ = check_sequences(self, X, len(names))
        parts = (X.data[first:last] for first, last in zip(X.indptr[:-1], X.indptr[1:], strict=True))
        return [names[part.astype(np.int64) - 1] for part in parts]

    def get_feature_names_out(self, input_features: object = None) -> Array:  # noqa: ARG002
        """Words in the order of their numbers: feature names of a model, not of the columns of X, which are places.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self, "vocabulary_")
        names = np.empty(len(self.vocabulary_), dtype=object)
        for word, number in self.vocabulary_.items():
            names[number] = word
        return names

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = self._params.vocabulary is None
        return tags
