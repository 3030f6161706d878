"""SparseSCVB0LDA: what stochastic collapsed inference is learned with; fits and streams are AdditiveTopics'."""

import numbers

from sparsemix._compat import Interval, InvalidParameterError, StrOptions
from sparsemix._engine.documents import FirstDocuments
from sparsemix._engine.schedules import LearningRates
from sparsemix._estimator.absent import NO_BOUND, Absent
from sparsemix._stats.packed_counts import PackedCounts
from sparsemix._stats.suffstats import SufficientStatistics
from sparsemix._stats.word_rows import WordRows
from sparsemix.topics._collapsed import assemble_stochastic
from sparsemix.topics._collapsed.dense_sampler import DenseSampler
from sparsemix.topics._collapsed.gibbs_sampler import GibbsSampler
from sparsemix.topics._collapsed.stochastic_model import StochasticCollapsedModel
from sparsemix.topics._collapsed.walker_sampler import WalkerSampler
from sparsemix.topics._evaluation import EvaluatedTopics
from sparsemix.topics._fitted import FittedCounts
from sparsemix.topics._parameters import MOST_VISITS, OF_STEPS


# The docstring is half of this file: it is the manual of the class.
class SparseSCVB0LDA(EvaluatedTopics):
    """Latent Dirichlet allocation by stochastic collapsed inference, dense or with sampled topics.

    Use it where likelihood and coherence of the topics count most, and for thousands of topics. Collapsed inference
    integrates topics and proportions out and keeps expected counts alone, which makes it more accurate than
    variational inference of their distributions ([1]_). Documents are visited in minibatches, and each minibatch moves
    the topics' counts by a step. While a document is visited, its words' topics are chosen one after the other: as one
    sampled topic for each token, at a cost that hardly follows the number of topics; as responsibilities for all
    topics; or as a few samples of Metropolis-Hastings chains whose proposals come from alias tables ([2]_).

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K.
    max_iter : int, default=20
        Passes over the documents.
    early_stopping : bool, default=False
        End when the sum of held-out score and coherence has stopped to gain, and keep the topics of the best pass,
        which takes one more table of the counts. Long documents then have some ten passes, short ones up to twenty.
    n_jobs : int, default=None
        Threads. Results are the same bits for any number.
    verbose : int, default=0
        Print a line every so many passes.
    random_state : int, RandomState instance or None, default=None
        For the start, the batches and the samples.

    Other Parameters
    ----------------
    doc_topic_prior : float or array-like of shape (n_components,), default=None
        Dirichlet prior alpha of each topic in a document. None means 0.1, and 5 / K for more than 50 topics.
    topic_word_prior : float, default=None
        Dirichlet prior beta of each word in a topic. None means 0.01.
    optimize_priors : bool, default=False
        Learn both priors from the statistics: alpha for every topic in each step, and one number for the words once a
        pass. Documents of the dense start say nothing of alpha. With ``sampler="dense"`` rare topics get too large an
        alpha, twice what their documents have and more, since every token is shared out among all topics.
    sampler : {"auto", "dense", "gibbs", "mhw"}, default="auto"
        What a document's counts are summed from. "dense": responsibilities for all topics. "gibbs": a sampled topic for
        each token, while the topics' counts still get the responsibilities that it was sampled from; the best topics
        of short documents, at a cost that follows the number of topics that a document has. The tokens of a word that
        repeats in a document are drawn together, which is approximate.
        "mhw": ``n_samples`` samples of each word by Metropolis-Hastings-Walker chains, and
        ``n_even_samples`` for the topics' counts, as published; "gibbs" has better topics in less time, and less
        memory: "mhw" has 4 bytes for each word and topic, as much again while it starts, and tables of words (4.3 GB in
        all have been seen at 5,000 topics). "auto" is
        "gibbs" ("dense" where ``exclude_own`` is "both").
    n_samples : int, default=2
        Samples S of a word in a sweep that the document's counts are summed from, for "mhw": about as many as a word
        has tokens in a document. More of them make the counts of short documents too smooth.
    n_even_samples : int, default=16
        Topics of a word that the topics' counts get, for "mhw": each stands for an equal part of the word's
        responsibilities, so that these counts are nearly the expected ones. 0 gives them the ``n_samples`` samples as
        well, as in [2]_.
    burn_in : int, default=1
        Sweeps over a document's words before the one that adds to the topics, at every visit.
    exclude_own : {"document", "none", "both"}, default="document"
        What a token's own responsibility is left out of when its topic is chosen anew: the document's counts, nothing
        (as in SCVB0, where counts follow the words in steps), or also the topics' counts (as in CVB0).
    sparsity : float, default=None
        Counts of a document that are smaller than this share of what its last token added become zero after the
        burn-in, for "mhw" without exclusion. None means 1 / K.
    learning_method : {"online", "memoized"}, default="online"
        "online" takes steps of decreasing size on random minibatches; "memoized" remembers what each batch
        contributed and replaces it at the next visit.
    init_params : {"random", "uniform", "em", "bregman"} or array-like of shape (n_components, n_features), \
            default="random"
        Start: the corpus' word frequencies with noise, or three documents for each of more than 2,000 topics, whose
        counts are then packed; topics that are all the same, where documents begin with random counts; a few passes of
        dense smoothed EM over a random subset; documents chosen by Bregman k-means++; or topics, such as
        ``components_`` of another model. Memoized learning needs "em" or better.
    init_size : int, default=None
        Documents of the subset for "em". None means what a few passes can afford: all documents of small corpora.
    n_init_iter : int, default=None
        Passes of "em". None means 5, or 6 where the subset is not the whole corpus: topics form in the first ones,
        and many more would fit a subset too closely.
    n_start_samples : int, default=None
        The first so many documents are visited densely, in steps and without exclusion: topics that are still alike
        come apart soonest so. None means, when online learning starts at "random" or "uniform", those of 150
        minibatches, fewer for more than some hundred topics but not fewer than 10, and none where topics begin as
        documents; else 0.
    max_table_age : int, default=None
        Steps for which alias tables are used before they are made anew, for "mhw"; they are made anew earlier in the
        first ten steps, and when more than a fifth of the proposals is rejected. None means 10.
    max_doc_update_iter : int, default=100
        Most iterations of one document in ``transform``.
    batch_size : int, default=None
        Documents of a batch. None means for "memoized" a 32nd of the corpus and at least 250; for "online" 160 tokens
        a topic, within 16 and 500 documents, and at least 64 minibatches a pass; from 500 topics on up to eight of them
        are visited together, within 160 tokens a topic and a 64th of a pass, once they move the topics by no more than
        a fifth. Smaller ones learn sooner and give more coherent topics, until their noise hides rare topics.
    n_averaged_iter : int, default=None
        For "online": in so many last passes documents begin anew at every visit, and all minibatches count the same,
        so that the topics are averages over these passes: coherence that has fallen comes back, and the score stays.
        None means 9 of 20 passes, but none with fewer than 5, with ``early_stopping``, or with mini-epochs.
    mini_epoch_size : int, default=None
        For "online": documents that are visited ``mini_epoch_passes`` times in a row, each time going on from the last,
        before they are forgotten. None means that all documents are remembered from pass to pass.
    mini_epoch_passes : int, default=5
        Visits of a document in a mini-epoch, in one pass.
    total_samples : float, default=None
        Size of the corpus that ``partial_fit`` sees minibatches of; None: every document is new and counts the same.
    stream_init_size : int, default=None
        Entries (a word of a document each) that ``partial_fit`` keeps of the beginning of a stream without
        ``total_samples``, 8 bytes each, to begin the topics anew from all of them whenever they have grown by half, and
        once more when there are so many; not with topics given as ``init_params``. None means 2 ** 22 (34 MB). 0 begins
        topics from the first block, for good.
    learning_decay : float, default=0.6
        Exponent of the online step size (learning_offset + t) ** -learning_decay, t = 1, 2, ...
    learning_offset : float, default=1.0
        Offset of the online step size; larger makes early minibatches count less.
    local_decay : float, default=0.9
        Exponent of the steps (local_offset + t) ** -local_decay by which a document's counts follow its tokens t = 1,
        2, ... of a visit, without exclusion.
    local_offset : float, default=10.0
        Offset of those steps.
    evaluate_every : int, default=0
        Passes after which the score of held-out documents and the coherence of the topics are added to ``history_``,
        and printed when ``verbose``; 0 or less: never. The documents are ``fit``'s ``validation_data``, or set aside.
    n_iter_no_change : int, default=3
        Evaluations in a row without a gain that end the fit.
    evaluation_tol : float, default=5e-3
        What counts as a gain: the sum is so much larger than at the last gain or the last evaluation.
    warm_start : bool, default=False
        Start ``fit`` from the last fitted topics.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Expected counts plus ``topic_word_prior_``; divide rows by their sums for word probabilities.
    topic_word_distribution_ : ndarray of shape (n_components, n_features)
        Probability of each word in each topic.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        exp E[log phi], made anew at each call.
    doc_topic_prior_ : ndarray of shape (n_components,)
        Prior of the documents, given or learned.
    topic_word_prior_ : float
        Prior of the words, given or learned.
    topic_weights_ : ndarray of shape (n_components,)
        Share of all tokens in each topic.
    sampler_ : str
        "dense", "gibbs" or "mhw": what "auto" chose.
    batch_size_ : int or None
        Documents of a batch of the last ``fit``; None where there was none.
    acceptance_rate_ : float
        Share of proposals accepted in the last pass, or in the stream; NaN without any.
    n_iter_ : int
        Passes over the documents.
    converged_ : bool
        Whether ``early_stopping`` ended the fit because the score had stopped to gain.
    best_iter_ : int
        The pass whose topics were kept, with ``early_stopping``.
    history_ : list of dict
        For each pass its number and the seconds so far; "score" and "coherence" where it was evaluated.
    n_samples_seen_ : int
        Documents of positive weight seen by ``fit`` and since by ``partial_fit``.
    n_steps_ : int
        Calls of ``partial_fit`` since the start or the last ``fit``.
    n_features_in_ : int
        Size V of the vocabulary.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The words, when the counts came with names.

    See Also
    --------
    SparseLDA : Variational inference with sparse responsibilities, which has a bound.
    CollapsedLDA : Batch collapsed inference: CVB0, CVB, Gibbs sampling.

    Notes
    -----
    Counts by word are one float32 table of 4 V K bytes. "mhw" adds alias tables of 16 bytes for each count of the
    words in use that is above a tenth of the prior. Memoized learning keeps the sums of every batch sparse, and both
    methods the topics of every document that hold more than a thousandth of it, or 2 bytes a token ("gibbs"). Some
    16 MB more are for the responsibilities at hand. A minibatch of "dense" has 4 K bytes for each of its words, and so
    have those of "gibbs" up to 2,000 topics and in the start.

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
        "optimize_priors": ["boolean"],
        "sampler": [StrOptions({"auto", "dense", "gibbs", "mhw"})],
        "n_samples": [Interval(numbers.Integral, 1, MOST_VISITS, closed="both")],
        "n_even_samples": [Interval(numbers.Integral, 0, MOST_VISITS, closed="both")],
        "burn_in": [Interval(numbers.Integral, 0, MOST_VISITS, closed="both")],
        "exclude_own": [StrOptions({"none", "document", "both"})],
        "sparsity": [Interval(numbers.Real, 0.0, 1.0, closed="both"), None],
        "learning_method": [StrOptions({"online", "memoized"})],
        "init_params": [StrOptions({"em", "random", "uniform", "bregman"}), "array-like"],
        "n_start_samples": [Interval(numbers.Integral, 0, None, closed="left"), None],
        "max_table_age": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "n_averaged_iter": [Interval(numbers.Integral, 0, None, closed="left"), None],
        "mini_epoch_size": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "mini_epoch_passes": [Interval(numbers.Integral, 1, None, closed="left")],
        "local_decay": [Interval(numbers.Real, 0.0, 1.0, closed="right")],
        "local_offset": [Interval(numbers.Real, 0.0, None, closed="left")],
        "evaluate_every": [numbers.Integral],
        "early_stopping": ["boolean"],
        "n_iter_no_change": [Interval(numbers.Integral, 1, None, closed="left")],
        "evaluation_tol": [Interval(numbers.Real, 0.0, None, closed="left")],
    }
    _fitted_class = FittedCounts
    lower_bound_, lower_bounds_ = Absent(NO_BOUND), Absent(NO_BOUND)
    best_iter_ = Absent("only a fit with early_stopping=True chooses the best pass; set that")
    _state_classes = (
        FittedCounts, FirstDocuments, StochasticCollapsedModel, SufficientStatistics, WordRows, PackedCounts,
        DenseSampler, GibbsSampler, WalkerSampler, LearningRates,
    )  # fmt: skip
    _rows_statistic = "documents"  # mass is of tokens

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior=None,
        topic_word_prior=None,
        optimize_priors=False,
        sampler="auto",
        n_samples=2,
        n_even_samples=16,
        burn_in=1,
        exclude_own="document",
        sparsity=None,
        learning_method="online",
        init_params="random",
        init_size=None,
        n_init_iter=None,
        n_start_samples=None,
        max_table_age=None,
        max_iter=20,
        max_doc_update_iter=100,
        batch_size=None,
        n_averaged_iter=None,
        mini_epoch_size=None,
        mini_epoch_passes=5,
        total_samples=None,
        stream_init_size=None,
        learning_decay=0.6,
        learning_offset=1.0,
        local_decay=0.9,
        local_offset=10.0,
        evaluate_every=0,
        early_stopping=False,
        n_iter_no_change=3,
        evaluation_tol=5e-3,
        warm_start=False,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.optimize_priors = optimize_priors
        self.sampler = sampler
        self.n_samples = n_samples
        self.n_even_samples = n_even_samples
        self.burn_in = burn_in
        self.exclude_own = exclude_own
        self.sparsity = sparsity
        self.learning_method = learning_method
        self.init_params = init_params
        self.init_size = init_size
        self.n_init_iter = n_init_iter
        self.n_start_samples = n_start_samples
        self.max_table_age = max_table_age
        self.max_iter = max_iter
        self.max_doc_update_iter = max_doc_update_iter
        self.batch_size = batch_size
        self.n_averaged_iter = n_averaged_iter
        self.mini_epoch_size = mini_epoch_size
        self.mini_epoch_passes = mini_epoch_passes
        self.total_samples = total_samples
        self.stream_init_size = stream_init_size
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.local_decay = local_decay
        self.local_offset = local_offset
        self.evaluate_every = evaluate_every
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.evaluation_tol = evaluation_tol
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

    @property
    def sampler_(self):
        """What "auto" chose."""
        return self._fitted_part("model").later_sampler.name

    @property
    def batch_size_(self):
        """What the last fit took."""
        return self._fitted_part("model").batch_size

    @property
    def acceptance_rate_(self):
        """Share of proposals accepted in the last pass or block; NaN without any."""
        proposed, accepted = self._fitted_part("stats")["proposals"]
        return float(accepted / proposed) if proposed else float("nan")

    # -- what it learns with

    def _make_model(self, n_words):
        return assemble_stochastic.make_model(self._params, n_words, self._table_dtype)

    def _make_start(self, model, documents, rng, workers):
        return assemble_stochastic.make_start(self._params, model, documents, rng, workers)

    def _make_memory(self):
        return assemble_stochastic.make_memory()

    def _make_schedule(self, documents, rng, initial):
        return assemble_stochastic.make_schedule(self._params, documents, rng, initial)

    def _documents_of_step(self, documents):
        return assemble_stochastic.batch_size(self._params, documents, documents.word_totals().sum())

    def _begin_stream(self, documents, rng, workers):
        params = self._params
        begin = super()._begin_stream(documents, rng, workers)
        if params.total_samples is None and params.learning_method == "online":
            assemble_stochastic.prepare_first_passes(params, begin, rng, self._stream_first_passes)
        return begin

    def _start_stream(self, rows, workers):
        super()._start_stream(rows, workers)
        if self._params.total_samples is None and self._params.n_start_samples is None:
            self._fitted.model.n_first = 0  # the start is made, and its documents are counted by what follows it

    def _begin_fit(self, documents, rng, workers, warm):
        begin = super()._begin_fit(documents, rng, workers, warm)
        begin.model.batch_size = assemble_stochastic.batch_size(self._params, documents, begin.model.size(begin.stats))
        assemble_stochastic.join_minibatches(self._params, begin)
        return begin

    def _resume(self, rows, resumed):
        begin = super()._resume(rows, resumed)
        assemble_stochastic.move_last_passes(self._params, begin.schedule)
        return begin

    def _view(self, model, documents, n_seen):
        return model.renewed(n_seen), documents
