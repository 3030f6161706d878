"""Model of SparseSCVB0LDA: documents under frozen counts by word and topic, sums, global steps."""

from copy import copy
from functools import partial

import numpy as np
from scipy import sparse

from sparsemix._models.topics.token_topics import draws_for_prior
from sparsemix._models.topics.topic_counts import OnePrior, TopicCounts
from sparsemix._models.topics.word_prior import next_topic_word_prior
from sparsemix._stats.suffstats import SufficientStatistics

# The word prior is learned if the background count is below this share of it.
NO_OFFSET = 0.01


class StochasticCollapsedModel:
    """Additive model of SCVB0 (Foulds et al. 2013), dense or sampled; its parameters are the statistics.

    The conditional of a token's topic is that of collapsed inference, (N_wk + beta) / (N_k + V beta) (N_jk + alpha_k).
    While documents are visited, counts by word are those of the last global step; a document's own N_j changes from
    word to word. The sampler defines how it changes, and what is added to the sums.

    Parameters
    ----------
    n_words : int
        V.
    doc_topic_prior : ndarray of shape (K,)
        alpha.
    topic_word_prior : float
        beta.
    sampler, first_sampler : DenseSampler or WalkerSampler
        Sampler of the visits, and that of the first ``n_first`` documents.
    n_first : float
        Number of documents that ``first_sampler`` visits.
    dtype : dtype
        Type of counts by word and of inference.
    seed : int
        Seed of the random numbers.
    learn_alpha, learn_beta : bool
        Learn alpha in each global step, and beta once per epoch, from the statistics.

    Notes
    -----
    alpha is learned by Minka's fixed point (2000, Section 3) in batches: alpha_k = draws_k / per_prior, with

        draws_k = sum_j alpha_k [digamma(alpha_k + N_jk) - digamma(alpha_k)],
        per_prior = sum_j [digamma(A + N_j) - digamma(A)], A = sum_k alpha_k.

    Both sums are statistics. The first is the expected number of tokens of a topic that are draws from the prior, not
    repetitions. Unlike E[log pi] it hardly changes with alpha, so that sums of different steps can be combined.

    Topics fit the documents that they were learned from better than others, so that these documents need fewer topics
    and A falls in every epoch. A therefore comes from documents that the topics have not seen, where there are some
    (``learn_prior_mass``). All documents determine the shares alpha_k / A.
    """

    unit = "token"
    objective = "lower_bound"
    change = None
    _counts = None

    def __init__(
        self, n_words, doc_topic_prior, topic_word_prior, sampler, first_sampler=None, n_first=0, dtype=np.float32,
        seed=0, learn_alpha=False, learn_beta=False,
    ):  # fmt: skip
        self.n_words = n_words
        self.n_components = self.n_nonzero = len(doc_topic_prior)
        self.doc_topic_prior = np.asarray(doc_topic_prior, dtype=np.float64)
        self.topic_word_prior = float(topic_word_prior)
        self.later_sampler, self.first_sampler, self.n_first = sampler, first_sampler, n_first
        self.dtype = np.dtype(dtype)
        self.seed = seed
        self.learn_alpha, self.learn_beta = learn_alpha, learn_beta
        self.first_priors = (self.doc_topic_prior, self.topic_word_prior)
        self.prior_mass = None  # A, if learned from documents that the topics have not seen
        self.unseen = False  # the documents of this visit are not in the counts
        self.n_forming = 0  # documents of a fit that are visited before alpha is learned
        self._tokens = {}  # functions that make the token topics of the tiles of a chunk, by first row
        self.stats = None
        self.random_documents = False
        self.batch_size = None  # of a fit
        self.step_rows = 0  # documents of its largest step
        self.tile = 1  # documents per entry of the memory
        self.n_visited = self.n_steps = 0
        self._choose_sampler()

    def _choose_sampler(self):
        """Choose the sampler until the next step; the sums of a batch must come from one sampler."""
        self.sampler = self.first_sampler if self.n_visited < self.n_first else self.later_sampler
        if self.sampler is not self.first_sampler is not None:
            self.first_sampler.forget()

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_counts"}

    # -- what visits read

    @property
    def counts(self):
        """Counts and priors of the last step, made once; again if a reader of the statistics folds their factor."""
        table, factor = self.stats.unfolded("word_topic")
        counts = self._counts
        if counts is None or counts.table is not table or counts.factor != factor:
            counts = self._counts = self._make_counts(table, factor)
        return counts

    def _make_counts(self, table, factor):
        stats = self.stats
        inverse = 1.0 / (stats["count"] + self.n_words * self.topic_word_prior)
        return TopicCounts(
            table, factor, float(stats["offset"]), stats.word_unit, inverse, self._prior_of_documents(),
            self.topic_word_prior, self.seed, self.n_steps, self.random_documents, self.unseen, self.dtype,
        )  # fmt: skip

    def _prior_of_documents(self):
        """What visits read of the prior of documents."""
        return OnePrior(self.doc_topic_prior)

    def begin_visits(self):
        """Let visits read the present counts and priors."""
        self._counts = None
        self.sampler.begin(self.counts)

    def draw_again(self):
        """Let the next visits draw other random numbers under the same counts."""
        self.n_steps += 1
        self._counts = None

    # -- statistics

    def empty_stats(self, rows=None, selection=None):
        """Statistics of no documents, with memory for the sums of the selected documents."""
        shape = self.n_words, self.n_components
        empty = partial(sparse.csr_array, shape, dtype=self.dtype)
        by_word = empty() if rows is None else self.sampler.sums(self.counts, rows, selection)
        return SufficientStatistics(
            {name: np.zeros(self.n_components) for name in ("count", "draws")},
            {name: np.zeros(()) for name in ("mass", "documents", "offset", "per_prior")} | {"proposals": np.zeros(2)},
            by_word={"word_topic": by_word},
        )

    def totals_of(self, n_documents, n_tokens):
        """Shared sums of this number of documents and tokens; statistics are scaled by tokens."""
        return {"mass": n_tokens, "documents": n_documents}

    def same_topics(self, n_documents, n_tokens):
        """Statistics of equal topics, stored as a background only; documents then begin with random counts."""
        stats = self.empty_stats()
        stats.replace("word_topic", np.zeros((self.n_words, self.n_components), dtype=self.dtype))
        for name, total in self.totals_of(n_documents, n_tokens).items():
            stats[name] += total
        stats["count"] += n_tokens / self.n_components
        stats["offset"] += n_tokens / self.n_components / self.n_words
        self.random_documents = True
        return stats

    def size(self, stats):
        """Number of tokens."""
        return float(stats["mass"])

    # -- local step and sums

    def blocking(self, rows):
        """Documents per tile and per chunk. Both samplers use the same tiles, by which the memory is indexed.

        A sampler that distributes documents among threads itself visits a whole chunk; the memory still uses tiles.
        """
        sizes = rows, self.n_components, self.batch_size, self.step_rows
        tile, chunk = self.sampler.blocking(*sizes)
        if self.n_first > 0:
            others = (sampler.blocking(*sizes) for sampler in (self.first_sampler, self.later_sampler))
            (_, least), (tile, _) = others
            tile = min(tile, least)
        self.tile, chunk = tile, -(-chunk // tile) * tile
        return chunk if self.sampler.visits_chunks else tile, chunk

    def prepare(self, x, workers):
        """Prepare the sampler for the words of a chunk, which is then visited under the same ``_counts``."""
        self._tokens = {}
        self.sampler.prepare(self.counts, x, workers)

    def empty_responsibilities(self, x, n_rows):
        """Memory for the results of the local steps of a chunk."""
        return self.sampler.empty_responsibilities(self._counts, x, n_rows)

    def scratch(self, n_rows):
        """Working memory of one thread for a tile."""
        return self.sampler.scratch(self._counts, n_rows)

    def local_step(self, x, resp, scratch, numbers=None, memory=None):
        """Visit a tile of documents."""
        tokens = self.sampler.visit(self._counts, x, resp, scratch, numbers, memory, self.tile)
        if self.learn_alpha and self.sampler is not self.first_sampler:
            self._tokens[int(numbers[0])] = tokens

    def accumulate(self, x, resp, sample_weight, stats, workers):
        """Add a chunk to the statistics by word."""
        stats.add_to(
            mass=x.n_tokens if sample_weight is None else sample_weight @ x.lengths(),
            documents=len(x) if sample_weight is None else sample_weight.sum(),
        )
        if self.learn_alpha:
            draws = self.draws_of(x, sample_weight)
            self.sampler.later(resp, lambda: stats.add_to(**draws()))
        self.n_visited += len(x)
        self.sampler.accumulate(self._counts, x, resp, sample_weight, stats, workers)

    def draws_of(self, x, weight):
        """A function that computes the statistics of alpha of a chunk.

        Densely visited documents at the beginning leave alpha unchanged.
        """
        weight, prior = np.ones(len(x)) if weight is None else weight, self.doc_topic_prior
        tokens, first_visits = self._tokens, self.sampler is self.first_sampler
        self._tokens = {}

        def compute():
            per_prior = weight @ draws_for_prior(prior, x.lengths())
            if first_visits:
                return {"per_prior": per_prior, "draws": per_prior * prior}
            draws, first = np.zeros(self.n_components), 0
            for number in sorted(tokens):
                of_tile = tokens[number]()
                last = first + len(of_tile.indptr) - 1
                draws += of_tile.draws(weight[first:last], prior)
                first = last
            return {"per_prior": per_prior, "draws": draws}

        return compute

    # -- global step

    def global_step(self, stats, split=None):  # noqa: ARG002
        """Set the statistics under which documents are visited."""
        self.stats = stats
        self.n_steps += 1
        if self.learn_alpha or self.learn_beta:
            self._learn_priors(stats)
        self._choose_sampler()
        self.begin_visits()

    def learn_prior_mass(self, stats):
        """Set A from the draws of documents that the topics have not seen."""
        if self.n_components > 1 and stats["per_prior"] > 0.0:
            self.prior_mass = self._prior_from(stats).sum()
            self.doc_topic_prior = self.doc_topic_prior * (self.prior_mass / self.doc_topic_prior.sum())
            self.begin_visits()

    def _prior_from(self, stats):
        """alpha of some documents, and of one pseudo-document that has the first value."""
        per_prior = float(stats["per_prior"])
        one = per_prior / float(stats["documents"])
        return (stats["draws"] + one * self.first_priors[0]) / (per_prior + one)

    def _learn_priors(self, stats):
        """Update alpha, and once per epoch beta."""
        documents = float(stats["documents"])
        formed = self.n_visited >= self.n_forming
        if self.learn_alpha and formed and self.n_components > 1 and float(stats["per_prior"]) > 0.0:
            self._learn_doc_topic_prior(stats)
        every = 1 if self.batch_size is None else max(1, round(documents / self.batch_size))
        if self.learn_beta and self.n_steps % every == 0:
            self._learn_topic_word_prior(stats)

    def _learn_doc_topic_prior(self, stats):
        self.doc_topic_prior = self._prior_from(stats)
        if self.prior_mass is not None:
            self.doc_topic_prior *= self.prior_mass / self.doc_topic_prior.sum()

    def _learn_topic_word_prior(self, stats):
        if float(stats["offset"]) < NO_OFFSET * self.topic_word_prior:
            self.topic_word_prior = next_topic_word_prior(self.topic_word_prior, self.first_priors[1], stats)

    def renewed(self, n_samples_seen):
        """A copy of the model for later documents, with its own samplers."""
        out = copy(self)
        out.n_visited, out.n_forming = n_samples_seen, 0
        out._tokens = {}
        out.later_sampler, out.first_sampler = copy(self.later_sampler), copy(self.first_sampler)  # drops memory
        out.later_sampler.forget()
        out._choose_sampler()
        return out

    def forget(self):
        """Drop tables of words, which cannot be reproduced from later counts."""
        self.later_sampler.forget()

    def lower_bound(self, stats):  # noqa: ARG002
        """NaN: there is no bound."""
        return np.nan

    def continued(self, old, stats, documents):
        """Initial statistics from an earlier model, scaled to these documents. Also copies its seed and step number."""
        self.seed, self.n_steps, self.random_documents = old.seed, old.n_steps, old.random_documents
        if self.learn_alpha:
            self.doc_topic_prior, self.prior_mass = old.doc_topic_prior, old.prior_mass
        if self.learn_beta:
            self.topic_word_prior = old.topic_word_prior
        tokens, stats = documents.word_totals().sum(), stats.copy()
        stats.scale(tokens / self.size(stats))
        stats["documents"] = documents.mass
        stats["proposals"] = 0.0
        return stats
