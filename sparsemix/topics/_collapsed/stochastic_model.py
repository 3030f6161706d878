"""Collapsed inference as the engine sees it: documents under frozen counts by word and topic, sums, global steps."""

from copy import copy

import numpy as np
from scipy import sparse

from sparsemix._stats.suffstats import SufficientStatistics
from sparsemix.topics._collapsed.token_topics import draws_for_prior
from sparsemix.topics._word_prior import next_topic_word_prior

# Counts that all words share, as a share of the prior of the words below which that is learned.
NO_OFFSET = 0.01


class StochasticCollapsedModel:
    """An additive model whose statistics are all it knows: SCVB0 (Foulds et al. 2013), dense or sampled.

    A token's topic has the conditional (N_wk + beta) / (N_k + V beta) (N_jk + alpha_k) of collapsed inference. The
    counts by word are those of the last global step while documents are visited; each document's own N_j moves from
    word to word. How it moves, and what it leaves for the sums, is the sampler's.

    Parameters
    ----------
    n_words : int
        V.
    doc_topic_prior : ndarray of shape (K,)
        alpha.
    topic_word_prior : float
        beta.
    sampler, first_sampler : DenseSampler or WalkerSampler
        What visits documents; ``first_sampler`` does it for the first ``n_first`` of them.
    n_first : float
        Documents.
    dtype : dtype
        Of the counts by word and of all that documents are inferred with.
    seed : int
        Of the random numbers.
    learn_priors : bool
        Priors follow from the statistics: alpha in each global step, beta once a pass.

    Notes
    -----
    alpha is learned by Minka's fixed point (2000, Section 3) in minibatches: alpha_k = draws_k / per_prior, with

        draws_k = sum_j alpha_k [digamma(alpha_k + N_jk) - digamma(alpha_k)],
        per_prior = sum_j [digamma(A + N_j) - digamma(A)], A = sum_k alpha_k.

    Both sums are statistics as others are. The first counts how many tokens of a topic are draws from the prior and no
    repetitions; unlike E[log pi] it hardly moves with alpha, so that sums of different steps may be blended.
    """

    unit = "token"
    objective = "lower_bound"
    change = None

    def __init__(
        self, n_words, doc_topic_prior, topic_word_prior, sampler, first_sampler=None, n_first=0, dtype=np.float32,
        seed=0, learn_priors=False,
    ):  # fmt: skip
        self.n_words = n_words
        self.n_components = self.n_nonzero = len(doc_topic_prior)
        self.doc_topic_prior = np.asarray(doc_topic_prior, dtype=np.float64)
        self.topic_word_prior = float(topic_word_prior)
        self.later_sampler, self.first_sampler, self.n_first = sampler, first_sampler, n_first
        self.dtype = np.dtype(dtype)
        self.seed = seed
        self.learn_priors, self.first_priors = learn_priors, (self.doc_topic_prior, self.topic_word_prior)
        self._tokens = {}  # of the tiles of a chunk, by their first row
        self.stats = None
        self.random_documents = False
        self.batch_size = None  # of a fit, for those who ask
        self.step_rows = 0  # of its largest step
        self.tile = 1  # documents that are remembered together
        self.n_visited = self.n_steps = 0
        self._choose_sampler()

    def _choose_sampler(self):
        """The one that visits documents until the next step: the sums of a batch are of one kind."""
        self.sampler = self.first_sampler if self.n_visited < self.n_first else self.later_sampler

    @property
    def table(self):
        """Counts by word and topic up to ``factor`` and ``offset``, (V, K)."""
        return self.stats.unfolded("word_topic")[0]

    @property
    def factor(self):
        """What the counts have to be multiplied by."""
        return self.stats.unfolded("word_topic")[1]

    # -- statistics

    def empty_stats(self, rows=None, selection=None):
        """Statistics of no documents; with room for the sums of the chosen ones."""
        shape = self.n_words, self.n_components
        by_word = (
            sparse.csr_array(shape, dtype=self.dtype) if rows is None else self.sampler.sums(self, rows, selection)
        )
        return SufficientStatistics(
            {name: np.zeros(self.n_components) for name in ("count", "draws")},
            {name: np.zeros(()) for name in ("mass", "documents", "offset", "per_prior")} | {"proposals": np.zeros(2)},
            by_word={"word_topic": by_word},
        )

    def totals_of(self, n_documents, n_tokens):
        """Shared sums of so many documents and tokens; tokens are what statistics are scaled by."""
        return {"mass": n_tokens, "documents": n_documents}

    def same_topics(self, n_documents, n_tokens):
        """Statistics of topics that are all the same, of which nothing is stored: documents then begin at random."""
        stats = self.empty_stats()
        stats.replace("word_topic", np.zeros((self.n_words, self.n_components), dtype=self.dtype))
        for name, total in self.totals_of(n_documents, n_tokens).items():
            stats[name] += total
        stats["count"] += n_tokens / self.n_components
        stats["offset"] += n_tokens / self.n_components / self.n_words
        self.random_documents = True
        return stats

    def start_of(self, numbers, n_documents):
        """Proportions that documents begin with which nothing is remembered of, (n, K) or (1, 1)."""
        if not self.random_documents:
            return np.full((1, 1), 1.0 / self.n_components, dtype=self.dtype)
        rng = np.random.default_rng((self.seed, int(numbers[0])))
        shares = rng.random((n_documents, self.n_components), dtype=self.dtype)
        return shares / shares.sum(axis=1, keepdims=True)

    def size(self, stats):
        """Tokens."""
        return float(stats["mass"])

    # -- local step and sums

    def blocking(self, rows):
        """Documents of a tile and of a chunk; both samplers have the same tiles, which memory knows documents by.

        A sampler that shares out documents among threads by itself visits a chunk at once, for memory still in tiles.
        """
        tile, chunk = self.sampler.blocking(self, rows)
        if self.n_first > 0:
            others = (sampler.blocking(self, rows) for sampler in (self.first_sampler, self.later_sampler))
            (_, least), (tile, _) = others
            tile = min(tile, least)
        self.tile, chunk = tile, max(1, chunk // tile) * tile
        return chunk if self.sampler.visits_chunks else tile, chunk

    def prepare(self, x, workers):
        """Make what the sampler reads of the words of a chunk."""
        self._tokens = {}
        self.sampler.prepare(self, x, workers)

    def empty_responsibilities(self, x, n_rows):
        """Room for what the local steps of a chunk leave."""
        return self.sampler.empty_responsibilities(self, x, n_rows)

    def scratch(self, n_rows):
        """Room of one thread for a tile."""
        return self.sampler.scratch(self, n_rows)

    def local_step(self, x, resp, scratch, numbers=None, memory=None):
        """Visit a tile of documents."""
        tokens = self.sampler.visit(self, x, resp, scratch, numbers, memory)
        if self.learn_priors:
            self._tokens[int(numbers[0])] = tokens

    def accumulate(self, x, resp, sample_weight, stats, workers):
        """Add a chunk to the statistics, word by word."""
        stats.add_shared(
            mass=x.n_tokens if sample_weight is None else sample_weight @ x.lengths(),
            documents=len(x) if sample_weight is None else sample_weight.sum(),
        )
        self.n_visited += len(x)
        if self.learn_priors:
            self._sum_draws(x, np.ones(len(x)) if sample_weight is None else sample_weight, stats)
        self.sampler.accumulate(self, x, resp, sample_weight, stats, workers)

    def _sum_draws(self, x, weight, stats):
        """Add what the prior of documents is learned from; documents of the dense start tell nothing of it."""
        per_prior = weight @ draws_for_prior(self.doc_topic_prior, x.lengths())
        stats["per_prior"] += per_prior
        tiles, first = self._tokens, 0
        if self.sampler is self.first_sampler:
            stats["draws"] += per_prior * self.doc_topic_prior
            return
        for number in sorted(tiles):
            tokens = tiles[number]
            last = first + len(tokens.indptr) - 1
            stats["draws"] += tokens.draws(weight[first:last], self.doc_topic_prior)
            first = last
        self._tokens = {}

    # -- global step

    def global_step(self, stats, split=None):  # noqa: ARG002
        """Documents meet the counts of ``stats`` from now on."""
        self.stats = stats
        self.n_steps += 1
        self.offset = float(stats["offset"])
        if self.learn_priors:
            self._learn_priors(stats)
        self.inverse = 1.0 / (stats["count"] + self.n_words * self.topic_word_prior)
        self._choose_sampler()
        self.sampler.begin(self)

    def _learn_priors(self, stats):
        """The next priors: of documents, with one document that has the first one; of words, once a pass."""
        documents, per_prior = float(stats["documents"]), float(stats["per_prior"])
        if self.n_components > 1 and per_prior > 0.0:
            one = per_prior / documents
            self.doc_topic_prior = (stats["draws"] + one * self.first_priors[0]) / (per_prior + one)
        every = 1 if self.batch_size is None else max(1, round(documents / self.batch_size))
        if self.n_steps % every == 0 and self.offset < NO_OFFSET * self.topic_word_prior:
            self.topic_word_prior = next_topic_word_prior(self.topic_word_prior, self.first_priors[1], stats)

    def renewed(self, n_samples_seen):
        """A model for documents that come after so many: it knows the same and leaves this one as it is."""
        out = copy(self)
        out.n_visited = n_samples_seen
        out._tokens = {}
        out.later_sampler, out.first_sampler = copy(self.later_sampler), copy(self.first_sampler)  # without their rooms
        out.later_sampler.forget()
        out._choose_sampler()
        return out

    def forget(self):
        """Tables of words, which later counts would not give again."""
        self.later_sampler.forget()

    def lower_bound(self, stats):  # noqa: ARG002
        """There is none."""
        return np.nan

    def continued(self, old, stats, documents):
        """Statistics that go on from another model's, as of these documents; so do the random numbers."""
        self.seed, self.n_steps, self.random_documents = old.seed, old.n_steps, old.random_documents
        if self.learn_priors:
            self.doc_topic_prior, self.topic_word_prior = old.doc_topic_prior, old.topic_word_prior
        tokens, stats = documents.word_totals().sum(), stats.copy()
        stats.scale(tokens / self.size(stats))
        stats["documents"] = documents.mass
        stats["proposals"] = 0.0
        return stats
