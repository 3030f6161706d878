"""Model of SparseLDA: local step, sums by word, global step, bound."""

from dataclasses import dataclass
from itertools import count
from threading import Lock

import numpy as np
from scipy import sparse
from scipy.special import gammaln, psi

from sparsemix._kernels.documents import _docstep, _special, _words
from sparsemix._models.topics.sums import SMALLEST_COUNT, Scratch, sum_by_word
from sparsemix._models.topics.word_prior import WORDS, log_evidence_of_words, maximize_topic_word_prior
from sparsemix._stats.dirichlet import log_normalizer, maximize_prior
from sparsemix._stats.suffstats import SufficientStatistics

# A topic with fewer tokens leaves a document. On NIPS papers and arXiv abstracts, a hundredth of a token has no
# measurable effect; 1e-9, where the mass is below round-off, takes 1.5 times as long.
ACTIVE = 1e-2
# A new topic enters a warm document if it would get this share of some word.
ENTER = 1e-2
# Supports are selected in the first iterations of a document, and then in every tenth ([HS16] Section 5).
SELECT_FIRST = 5
SELECT_EVERY = 10
# Iterations on the words' lists before the active topics are gathered; most topics have left by then.
LIST_ITER = 3
# Iterations of a restart proposal ([HS16] Section 5).
RESTART_ITER = 2

# Least number of tiles per chunk: 16 papers per tile, if a chunk has 512.
TILES = 32
# Largest number of topics for whole rows; with more, packed rows make epochs faster and take less memory.
MOST_WHOLE = 400
# Logarithm of the largest factor between topics, per byte of a number: e^60 in float32, e^120 in float64.
EXP_RANGE = 15.0
# Tables, which are made when documents need them, and their lock.
TABLES = frozenset({"_table", "_lists", "_versions", "_making"})

_versions = count(1)


@dataclass(frozen=True)
class TopicResponsibilities:
    """Results of the local steps of a chunk, for its sums.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Entries of each document.
    topics : ndarray of shape (nnz, L), int32, or None when dense
    values : ndarray of shape (nnz, L)
        Count times responsibility, zero if a word has fewer than L topics; dense: (nnz, 1), count / Z.
    p : ndarray of shape (n, K) or None
        exp E[log pi] up to a factor, when dense.
    bound, energy : ndarray of shape (n,), float64
        L_d up to terms that depend only on its length; the part of L_d without the Dirichlet terms.
    expected_log : ndarray of shape (n, K), float64, or None
        E[log pi_d] minus that of a document without tokens, if alpha is learned.
    tally : ndarray of shape (n, 3), int64
        Iterations, proposed restarts and accepted restarts.
    """

    indptr: np.ndarray
    topics: np.ndarray
    values: np.ndarray
    p: np.ndarray
    bound: np.ndarray
    energy: np.ndarray
    expected_log: np.ndarray
    tally: np.ndarray

    def rows(self, start, stop):
        """View of the documents of a tile."""
        first, last = self.indptr[start], self.indptr[stop]
        return TopicResponsibilities(
            self.indptr[start : stop + 1] - first,
            None if self.topics is None else self.topics[first:last],
            self.values[first:last],
            None if self.p is None else self.p[start:stop],
            self.bound[start:stop],
            self.energy[start:stop],
            None if self.expected_log is None else self.expected_log[start:stop],
            self.tally[start:stop],
        )


class TopicModel:
    """Additive model of variational LDA: its parameters are priors + statistics.

    Parameters
    ----------
    n_words : int
        V.
    n_components : int
        K.
    n_nonzero : int
        L; K is dense.
    doc_topic_prior : ndarray of shape (K,)
        alpha.
    topic_word_prior : float
        Dirichlet parameter of every word.
    dtype : dtype
        Type of tables, counts and statistics by word.
    max_doc_iter, doc_tol : int, float
        Maximal iterations of a document, and the change of N_dk that ends them.
    n_restarts : int
        Restart proposals per document.
    learn_alpha, learn_beta : bool
        Learn the prior of documents, or that of words, from the statistics in each global step.
    posterior_means : bool
        Use E[pi], E[phi] instead of exp E[log pi], exp E[log phi]: the smoothed EM of the initialisation. It has no
        bound.
    """

    unit = "token"
    objective = "lower_bound"
    change = None
    active, enter, smallest_count = ACTIVE, ENTER, SMALLEST_COUNT

    def __init__(
        self, n_words, n_components, n_nonzero, doc_topic_prior, topic_word_prior, dtype=np.float32, max_doc_iter=100,
        doc_tol=0.5, n_restarts=0, learn_alpha=False, learn_beta=False, posterior_means=False,
    ):  # fmt: skip
        self.n_words = n_words
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.doc_topic_prior = np.asarray(doc_topic_prior, dtype=np.float64)
        self.topic_word_prior = float(topic_word_prior)
        self.dtype = np.dtype(dtype)
        self.max_doc_iter = max_doc_iter
        self.doc_tol = doc_tol
        self.n_restarts = n_restarts
        self.learn_alpha, self.learn_beta = learn_alpha, learn_beta
        self.posterior_means = posterior_means
        self.stats = None
        self._reset_tables()

    def _reset_tables(self):
        self._table = self._lists = self._versions = self._version = None
        self._making = Lock()  # guards rows of the table, which several threads of a fitted model may need

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name not in TABLES}

    def __setstate__(self, state):
        self._reset_tables()
        vars(self).update(state)
        if self._version is not None:  # versions restart at one in another process, where rows may have this number
            self._version = next(_versions)

    @property
    def dense(self):
        """Whether words keep all topics."""
        return self.n_nonzero >= self.n_components

    # -- statistics

    def empty_stats(self, rows=None, selection=None):  # noqa: ARG002
        """Statistics of no documents."""
        shape = self.n_words, self.n_components
        by_word = np.zeros(shape, dtype=self.dtype) if self.dense else sparse.csr_array(shape, dtype=self.dtype)
        zeros = np.zeros(self.n_components)
        shared = {name: np.zeros(()) for name in ("mass", "entropy", "tokens", "alloc", "visited")}
        return SufficientStatistics(
            {"count": zeros, "log_pi": zeros.copy()},
            shared | {"restarts": np.zeros(2)},
            by_word={"word_topic": by_word},
        )

    def continued(self, old, stats, documents):
        """Initial statistics from an earlier model, scaled to these documents; learned priors are copied."""
        if self.learn_alpha:
            self.doc_topic_prior = old.doc_topic_prior
        if self.learn_beta:
            self.topic_word_prior = old.topic_word_prior
        stats = stats.copy()
        if sparse.issparse(stats["word_topic"]):
            stats.replace("word_topic", stats["word_topic"].toarray())
        stats.scale(documents.mass / float(stats["mass"]))
        for name in ("visited", "entropy", "alloc", "log_pi"):  # initial statistics are not from visits
            stats[name] = 0.0  # also if it is NaN
        return stats

    def totals_of(self, n_documents, n_tokens):
        """Shared sums of this number of documents and tokens."""
        return {"mass": n_documents, "tokens": n_tokens}

    def size(self, stats):
        """Number of tokens, the unit of bounds."""
        return float(stats["tokens"])

    # -- local step

    def blocking(self, rows):
        """Documents per tile and per chunk; a chunk has tiles for many threads, even with long documents."""
        tile, chunk = rows.blocking(self.n_components, self.n_nonzero)
        return min(tile, -(-chunk // TILES)), chunk

    def prepare(self, x, workers):
        """Compute the rows of exp E[log phi] that a chunk needs and that the last global step has changed."""
        with self._making:
            self._make_rows(x, workers)

    def _make_rows(self, x, workers):
        if self._versions is None:
            self._make_table()
        packed = isinstance(self._table, _special.PackedTable)
        if packed and self._table.version != self._version:
            self._table.forget()
            self._table.version = self._version
            self._versions[...] = 0
        present = np.zeros(self.n_words, dtype=bool)
        present[x.indices] = True
        words = np.flatnonzero(present & (self._versions != self._version)).astype(np.int32)
        counts, factor = self.stats.unfolded("word_topic")
        counts = counts.astype(self.dtype, copy=False)
        if packed:
            self._table.make(counts, factor, self.topic_word_prior, self._inverse, words, workers.split)
        else:
            counts = counts.toarray() if sparse.issparse(counts) else counts
            workers.split(
                lambda first, last: _special.exp_log_word(
                    counts, factor, self.topic_word_prior, self.posterior_means, self._inverse, words, first, last,
                    self._table, self._lists,
                ),
                len(words),
            )  # fmt: skip
        self._versions[words] = self._version

    def _make_table(self):
        """Memory for exp E[log phi]: whole rows, or packed rows for many topics of which a word has few."""
        shape = self.n_words, self.n_components
        if not self.dense and not self.posterior_means and self.n_components > MOST_WHOLE:
            self._table = _special.PackedTable(*shape, self.n_nonzero, self.dtype)
            self._lists = self._table.lists
        else:
            self._table = np.empty(shape, dtype=self.dtype)
            self._lists = None if self.dense else np.empty((self.n_words, self.n_nonzero), dtype=np.int32)
        self._versions = np.zeros(self.n_words, dtype=np.int64)

    def empty_responsibilities(self, x, n_rows):
        """Memory for the results of the local steps of a chunk."""
        n_entries = len(x.indices)
        shape = n_entries, 1 if self.dense else self.n_nonzero
        return TopicResponsibilities(
            x.indptr,
            None if self.dense else np.empty(shape, dtype=np.int32),
            np.empty(shape, dtype=self.dtype),
            np.empty((n_rows, self.n_components), dtype=self.dtype) if self.dense else None,
            np.empty(n_rows),
            np.empty(n_rows),
            np.zeros((n_rows, self.n_components)) if self.learn_alpha else None,
            np.empty((n_rows, 3), dtype=np.int64),
        )

    def scratch(self, n_rows):
        """Working memory of one thread for a tile."""
        return Scratch(n_rows, self.n_components, self.dtype)

    def local_step(self, x, resp, scratch, numbers=None, memory=None):
        """Infer a tile of documents ([HS16] Algorithm 2), from their remembered topics or from none."""
        doc_topic = scratch.doc_topic[: len(x)]
        warm = memory is not None and memory.recall(numbers, doc_topic)
        alpha = self.doc_topic_prior.astype(self.dtype)
        settings = _docstep.Settings(
            self.max_doc_iter, self.doc_tol, LIST_ITER, SELECT_FIRST, SELECT_EVERY, self.n_restarts, RESTART_ITER,
            self.active, self.posterior_means, self.enter,
        )  # fmt: skip
        _docstep.local_step(
            x.entries(), self._table, self._lists, alpha, settings, warm,
            resp.topics, resp.values, resp.p, doc_topic, resp.bound, resp.energy, resp.tally, scratch.workspace,
        )  # fmt: skip
        if memory is not None:
            memory.remember(numbers, doc_topic)
        if resp.expected_log is not None:
            _special.expected_log(doc_topic, alpha, resp.expected_log)

    # -- sums

    def accumulate(self, x, resp, sample_weight, stats, workers):
        """Add a chunk to the statistics by word."""
        weight = np.ones(len(x)) if sample_weight is None else sample_weight
        if sample_weight is not None:
            resp.values[...] *= np.repeat(weight, np.diff(x.indptr))[:, None]
        if self.dense:
            word_topic, log_phi = self._sum_dense(x, resp, workers)
        else:
            word_topic, log_phi = sum_by_word(
                x, resp, self.n_words, self.n_components, workers, self._table, self.smallest_count
            )
        stats.add(self._stats_of(x, resp, weight, word_topic, log_phi))

    def _sum_dense(self, x, resp, workers):
        starts, entries = x.by_word.starts, x.by_word.entries
        out = np.zeros((self.n_words, self.n_components), dtype=self.dtype)
        documents, scale = x.documents(), resp.values[:, 0]
        workers.split(
            lambda first, last: _words.sum_dense(
                starts, entries, documents, scale, resp.p, self._table, first, last, out
            ),
            self.n_words,
        )
        log_phi = 0.0
        seen = np.flatnonzero(np.diff(starts))
        for first in range(0, len(seen), WORDS):
            words = seen[first : first + WORDS]
            log_phi += float(np.sum(out[words] * np.log(self._table[words]), dtype=np.float64))
        return out, log_phi

    def _stats_of(self, x, resp, weight, word_topic, log_phi):
        """Statistics of a chunk from its sums by word."""
        alpha, lengths = self.doc_topic_prior, x.lengths()
        stats = self.empty_stats()
        if sparse.issparse(word_topic):
            stats["count"] += np.bincount(word_topic.indices, word_topic.data, minlength=self.n_components)
        else:
            stats["count"] += word_topic.sum(axis=0, dtype=np.float64)
        stats.replace("word_topic", word_topic)
        stats["mass"] += weight.sum()
        stats["visited"] += weight.sum()
        stats["tokens"] += weight @ lengths
        stats["entropy"] += weight @ resp.energy - log_phi
        # E_q[-log q(pi_d)] in parts: alloc + alpha log_pi is valid for any later alpha
        stats["alloc"] += weight @ (resp.bound - resp.energy + gammaln(alpha).sum() - gammaln(alpha.sum() + lengths))
        if self.learn_alpha:
            log_pi = weight @ resp.expected_log + weight.sum() * psi(alpha) - weight @ psi(alpha.sum() + lengths)
            stats["log_pi"] += log_pi
            stats["alloc"] -= alpha @ log_pi
        stats["restarts"] += resp.tally[:, 1:].sum(axis=0)
        return stats

    # -- global step and bound

    def global_step(self, stats, split=None):  # noqa: ARG002
        """Set topics = prior + statistics; rows of their table are computed when documents need them."""
        self.stats = stats
        self._version = next(_versions)
        complete = float(stats["visited"]) > 0.999 * float(stats["mass"])
        if self.learn_alpha and complete:
            self.doc_topic_prior = maximize_prior(self.doc_topic_prior, stats["log_pi"], float(stats["mass"]))
        if self.learn_beta and complete:
            self.topic_word_prior = maximize_topic_word_prior(self.topic_word_prior, stats)
        totals = stats["count"] + self.n_words * self.topic_word_prior
        self._inverse = inverse_totals(totals, self.posterior_means, self.dtype)

    def lower_bound(self, stats):
        """Evidence lower bound of all documents ([HS16] Eqs. 41 to 48), natural logarithm."""
        if self.posterior_means:
            return np.nan
        documents = float(stats["mass"]) * log_normalizer(self.doc_topic_prior)
        documents += float(self.doc_topic_prior @ stats["log_pi"]) if self.learn_alpha else 0.0
        topics = log_evidence_of_words(stats, self.topic_word_prior)
        return documents + float(stats["alloc"]) + float(stats["entropy"]) + topics

    def forget(self):
        """Nothing to drop: the table follows from the last global step."""


def inverse_totals(totals, posterior_means, dtype):
    """exp -digamma(totals), or 1 / totals, relative to the smallest, with an upper limit for empty topics."""
    log_inverse = -np.log(totals) if posterior_means else -psi(totals)
    return np.exp(np.minimum(log_inverse - log_inverse.min(), EXP_RANGE * np.dtype(dtype).itemsize)).astype(dtype)
