"""The estimator SparseSCVB0LDA."""

import numbers
from typing import Any, Self

from sparsemix._compat import Interval, InvalidParameterError, StrOptions, _fit_context, with_callbacks
from sparsemix._estimator.absent import NO_BOUND, Absent
from sparsemix._estimator.additive import Additive
from sparsemix._estimator.input.checks import STEP_SIZE
from sparsemix._estimator.learning import fit_rows
from sparsemix._typing import ArrayLike, Folder, RowsLike, Seed, Weights
from sparsemix.topics import _streams
from sparsemix.topics._collapsed.published import NO_STOPPING, acceptance_rate_, batch_size_, sampler_
from sparsemix.topics._collapsed.recipe import CollapsedRecipe
from sparsemix.topics._parameters import MINI_EPOCH, MOST_VISITS, OF_STEPS
from sparsemix.topics._predict import TopicPredictMixin


class SparseSCVB0LDA(TopicPredictMixin, Additive):
    """Latent Dirichlet allocation by stochastic collapsed inference, dense or with sampled topics.

    Use it if held-out likelihood and coherence of the topics matter most, and for thousands of topics. Collapsed
    inference integrates out topics and proportions and stores only expected counts, which makes it more accurate than
    variational inference of their distributions ([1]_). Documents are visited in batches, and each batch updates the
    counts of the topics by one step. In a visit of a document, the topics of its words are inferred one word at a
    time: as one sampled topic per token, in time that hardly depends on the number of topics; as responsibilities for
    all topics; or as a few samples of Metropolis-Hastings chains with proposals from alias tables ([2]_).

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K. :func:`sparsemix.topics.choose_n_topics` compares several.
    max_iter : int, default=None
        Largest number of epochs. None chooses it from the mean number of tokens of a document: 20 for 60 tokens, 10 for
        240 or more, 60 for 7 or fewer; at most 20 if that would visit more than 50 million tokens. ``early_stopping``
        may double it.
    early_stopping : bool or "auto", default="auto"
        End the fit when the score of held-out documents has stopped improving, and keep the best topics
        (:doc:`/topics/choosing`). The documents are ``validation_data`` of ``fit``. "auto" holds out nothing else:
        without ``validation_data`` the number of epochs is ``max_iter``. True sets aside a random tenth of X, at most
        500 documents, if there is no ``validation_data``. False makes ``max_iter`` epochs, and records the scores of
        ``validation_data`` in ``history_``. Early stopping stores one more table of counts.
    n_jobs : int, default=None
        Number of threads. -1 uses all cores. Results have the same bits for any number.
    verbose : int, default=0
        Number of epochs between printed lines; 0 prints none.
    random_state : int, RandomState instance or None, default=None
        Seed of the initialisation, the batches and the samples. An integer makes results repeatable.

    Other Parameters
    ----------------
    doc_topic_prior : float, "learned" or array-like of shape (n_components,), default=None
        Dirichlet prior alpha of each topic in a document. "learned" learns a value for every topic, from 0.1, or 5 / K
        for more than 50 topics. Their sum comes from a few documents, a tenth at most, from which topics learn in the
        averaged epochs only. Fits over blocks, of fewer than ten batches, without averaged epochs, or by
        ``learning_method="memoized"`` leave none out, and learn a sum that is too small for new documents. The sum
        stays if counts are not whole, such as tf-idf, which does not show repetitions. None learns the prior if
        documents can be left out, and otherwise keeps 0.1 or 5 / K. Raise it to give documents more topics. The dense
        initialisation does not affect it. ``sampler="dense"`` overestimates the prior of rare topics by a factor of two
        or more, because every token is shared among all topics.
    topic_word_prior : float, "learned", WordPrior or array-like of shape (n_components, n_features), default=None
        Dirichlet prior beta of each word in a topic. None means 0.01. Raise it to give topics more words. "learned"
        begins with the default and learns one value for all words once per epoch.
        :class:`~sparsemix.topics.WordPrior` guides topics by words. A sparse array is added to the default.
    sampler : {"auto", "dense", "gibbs", "mhw"}, default="auto"
        How the topics of a document's words are inferred. "dense": responsibilities for all topics. "gibbs": one
        sampled topic per token for the document's counts, and the sampled responsibilities for the topics' counts. It
        gives the best topics of short documents, in time proportional to the number of topics in each document. Tokens
        of a word that repeats in a document are drawn together, which is approximate. "mhw": ``n_samples`` samples per
        word by Metropolis-Hastings-Walker chains. "gibbs" gives better topics in less time and memory: "mhw" takes 4
        bytes for each word and topic, the same again during the initialisation, and alias tables (4.3 GB in total at
        5,000 topics in one case). "auto" is "gibbs", or "dense" with ``local_step_size``.
    n_samples : int, default=2
        For "mhw": samples S per word and sweep for the document's counts. More samples make the counts of short
        documents too smooth.
    burn_in : int, default=1
        Sweeps over a document's words in each visit before the one that adds to the topics' counts.
    local_step_size : tuple of two or three floats, default=None
        Offset and decay of the published inference of a document, for "dense" and "mhw": its counts move by
        (t + offset) ** -decay after its token t = 1, 2, ... of a visit, or by steps of (scale, offset, decay) as in
        ``step_size``. (10.0, 0.9) is that of [1]_. "mhw" then adds
        its samples to the topics' counts and removes counts of a document below a share 1 / K of the last step ([2]_).
        None keeps exact counts and removes a token's own responsibility before its topic is inferred, which gives
        better topics of short documents.
    learning_method : {"online", "memoized"}, default="online"
        "online" makes steps of decreasing size on random batches. "memoized" stores the statistics of each batch and
        replaces them at the next visit. It needs no step sizes.
    init_params : {"random", "uniform", "em", "bregman"} or array-like of shape (n_components, n_features), \
            default="random"
        Initialisation: "random", the word frequencies of the corpus with noise, or for more than 2,000 topics three
        documents per topic, with packed counts; "uniform", equal topics and documents with random counts; "em", a few
        epochs of dense smoothed EM on a random subset; "bregman", documents chosen by Bregman k-means++; or an array of
        topics, such as ``components_`` of another model. Memoized learning needs "em" or better.
    max_doc_update_iter : int, default=100
        Maximal number of iterations per document in ``transform``.
    batch_size : int, default=None
        Documents per batch. None means, for "memoized", a 32nd of the corpus but at least 250; for "online", 160 tokens
        per topic, between 16 and 500 documents, and at least 64 batches per epoch. From 500 topics on, up to eight
        batches are visited together once they change the topics by at most a fifth, within 160 tokens per topic and a
        64th of an epoch.
    n_averaged_iter : int, default=None
        For "online": number of final epochs whose topics are averaged. Documents are initialised again before these
        epochs, and a batch counts as much as its tokens, so that long documents have their share of the counts.
        Averaging restores coherence that has decreased, and keeps the score. None means 9 of 20 epochs and at most 10,
        half of fewer than 5 epochs, or of the steps of one epoch, less if documents have fewer than 60 tokens, and 0
        with mini-epochs. With 0 a long document counts as little as others of its batch.
    mini_epoch : tuple of two ints, default=None
        For "online": with (size, visits), ``size`` documents are visited ``visits`` times in a row, each time from
        their last state, before their state is dropped. None keeps the state of all documents between epochs, which
        takes more memory.
    total_samples : float, default=None
        Size of the corpus from which ``partial_fit`` gets batches. None: every document is new and has equal weight. A
        number means that documents come again.
    step_size : tuple of two or three floats, default=(1.0, 0.51)
        Offset and decay of online steps and of ``partial_fit`` with ``total_samples``: step t = 1, 2, ... has size (t +
        offset) ** -decay. A smaller decay gives late batches more weight, a larger offset gives the first batches less.
        (scale, offset, decay) is min(1, scale * (t + offset) ** -decay), where t counts batches. It counts documents in
        [2]_, whose (100, 1000, 0.9) is (100 / b**0.9, 1000 / b, 0.9) here for batches of b documents.
        The default offset is smaller than that of mixtures, because the first batches replace counts of topics that are
        alike.
    warm_start : bool, default=False
        Initialise ``fit`` with the topics of the last fit.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Expected counts plus ``topic_word_prior_``; divide rows by their sums for word probabilities.
    topic_word_distribution_ : ndarray of shape (n_components, n_features)
        Probability of each word in each topic.
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
    sampler_ : str
        "dense", "gibbs" or "mhw": the sampler in use.
    batch_size_ : int or None
        Documents per batch of the last ``fit``; None without a fit.
    acceptance_rate_ : float
        Share of proposals accepted in the last epoch, or in the stream; NaN without proposals.
    n_iter_ : int
        Number of epochs.
    converged_ : bool
        Whether ``early_stopping`` ended the fit because the score had stopped improving.
    stop_reason_ : str
        One sentence, with ``early_stopping``: why the fit ended, and which epoch was kept.
    best_iter_ : int
        The epoch whose topics were kept, with ``early_stopping``.
    history_ : list of dict
        For each epoch its number and the seconds so far, and after an evaluation of held-out documents "score",
        "coherence" and "separation" (of topics from the word frequencies of the corpus, 0 to 1).
    n_samples_seen_ : int
        Number of documents of positive weight seen by ``fit`` and later calls of ``partial_fit``.
    n_steps_ : int
        Calls of ``partial_fit`` since the last ``fit``, or since the first call.
    n_features_in_ : int
        Size V of the vocabulary.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The words, if X has column names.

    See Also
    --------
    SparseLDA : Variational inference with sparse responsibilities, which has a bound.
    CollapsedLDA : Batch collapsed inference: CVB0, CVB, Gibbs sampling.

    Notes
    -----
    A learned ``topic_word_prior_`` is about twice too large in drawn corpora of 1,500 documents of 60 words, 800 words,
    10 topics and beta = 0.05.

    Counts by word are one float32 table of 4 V K bytes. "mhw" adds alias tables of 16 bytes for each count above a
    tenth of the prior, for the words in use. Memoized learning stores the sums of every batch sparsely. Both learning
    methods store, for every document, the topics with more than a thousandth of its tokens, or 2 bytes per token
    ("gibbs"). Responsibilities in memory take another 16 MB. A batch of "dense" takes 4 K bytes for each of its words;
    so does a batch of "gibbs" up to 2,000 topics and during the dense initialisation.

    The threshold 1 / K below which [2]_ removes counts of a document is fixed. Only "mhw" with ``local_step_size``
    needs it, because such counts decay and never become zero. Without steps, and in "gibbs", a document's counts are
    sums of the topics that its tokens have now: topics without a token have none, and no threshold is needed.

    References
    ----------
    .. [1] Foulds, J., Boyles, L., DuBois, C., Smyth, P. and Welling, M., "Stochastic Collapsed Variational Bayesian
       Inference for Latent Dirichlet Allocation", KDD 2013, Section 4.
    .. [2] Islam, R. and Foulds, J., "Scalable Collapsed Inference for High-Dimensional Topic Models", NAACL 2019,
       Sections 3 and 4, Algorithm 1.

    Examples
    --------
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> X = make_bars(n_samples=500, random_state=0)[0]
    >>> lda = SparseSCVB0LDA(10, random_state=0).fit(X)
    >>> lda.transform(X[:2]).shape
    (2, 10)
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **OF_STEPS,
        "sampler": [StrOptions({"auto", "dense", "gibbs", "mhw"})],
        "n_samples": [Interval(numbers.Integral, 1, MOST_VISITS, closed="both")],
        "burn_in": [Interval(numbers.Integral, 0, MOST_VISITS, closed="both")],
        "local_step_size": [*STEP_SIZE, None],
        "learning_method": [StrOptions({"online", "memoized"})],
        "init_params": [StrOptions({"em", "random", "uniform", "bregman"}), "array-like"],
        "n_averaged_iter": [Interval(numbers.Integral, 0, None, closed="left"), None],
        "mini_epoch": [MINI_EPOCH, None],
        "max_iter": [Interval(numbers.Integral, 0, None, closed="left"), None],
        "early_stopping": ["boolean", StrOptions({"auto"})],
    }
    lower_bound_, lower_bounds_ = Absent(NO_BOUND), Absent(NO_BOUND)
    best_iter_, stop_reason_ = Absent(NO_STOPPING), Absent(NO_STOPPING)
    sampler_, batch_size_, acceptance_rate_ = sampler_, batch_size_, acceptance_rate_
    partial_fit, expected_stats = _streams.partial_fit, _streams.expected_stats

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: ArrayLike | None = None,
        topic_word_prior: Any = None,
        sampler: str = "auto",
        n_samples: int = 2,
        burn_in: int | None = 1,
        local_step_size: tuple[float, ...] | None = None,
        learning_method: str = "online",
        init_params: Any = "random",
        max_iter: int | None = None,
        max_doc_update_iter: int = 100,
        batch_size: int | None = None,
        n_averaged_iter: int | None = None,
        mini_epoch: tuple[int, int] | None = None,
        total_samples: float | None = None,
        step_size: tuple[float, ...] | tuple[str, float] = (1.0, 0.51),
        early_stopping: bool | str = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.sampler = sampler
        self.n_samples = n_samples
        self.burn_in = burn_in
        self.local_step_size = local_step_size
        self.learning_method = learning_method
        self.init_params = init_params
        self.max_iter = max_iter
        self.max_doc_update_iter = max_doc_update_iter
        self.batch_size = batch_size
        self.n_averaged_iter = n_averaged_iter
        self.mini_epoch = mini_epoch
        self.total_samples = total_samples
        self.step_size = step_size
        self.early_stopping = early_stopping
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _validate_params(self):
        if isinstance(self._params.learning_method, str) and self._params.learning_method == "batch":
            raise InvalidParameterError(
                "The 'learning_method' parameter of SparseSCVB0LDA must be 'online', or 'memoized', which learns from "
                "sums over all documents, as SparseLDA(learning_method='batch') does. Got 'batch' instead."
            )
        super()._validate_params()

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
        """Fit topics to all documents, or to all except those set aside for evaluation.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts, or nonnegative weights such as tf-idf; CSR is not copied. Documents without tokens have no
            effect.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document: a document of weight 2 counts as two documents (not as one of twice the length).
        validation_data : {array-like, sparse matrix} of shape (n_held_out, n_features), default=None
            Documents for scores in ``history_`` and for ``early_stopping``. They are never learned from. None with
            ``early_stopping=True`` sets aside a random tenth of X, at most 500 documents; otherwise all documents of X
            are learned from.
        checkpoint : path-like, default=None
            Folder for this fit only. The state is written to it after every epoch. After a crash, the same call
            resumes the fit with the same bits. Other rows or parameters are refused, except ``max_iter``, ``tol``,
            ``n_jobs`` and ``verbose``. A finished fit is loaded.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            For negative, NaN or infinite counts, with the row of the document; if no document has a token, or no
            held-out document can be scored. An earlier fit is kept.
        """
        return fit_rows(self, self._recipe(validation_data), X, sample_weight, checkpoint)

    def _recipe(self, validation=None):
        return CollapsedRecipe(self._params, self._table_dtype, validation)
