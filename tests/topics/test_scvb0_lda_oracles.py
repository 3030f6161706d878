"""SparseSCVB0LDA against a plain twin of whole fits, and what its steps, samples and memories keep."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from reference_chains import child, mix
from scipy import sparse

from sparsemix import SparseSCVB0LDA
from sparsemix._engine.loop import collect
from sparsemix._engine.schedules import blend
from sparsemix._models.topics import dense_sampler, walker_sampler
from sparsemix._models.topics.dense_sampler import DenseSampler
from sparsemix._models.topics.gibbs_sampler import GibbsSampler
from sparsemix._models.topics.stochastic_model import StochasticCollapsedModel
from sparsemix._models.topics.walker_sampler import WalkerSampler
from sparsemix._rows.documents import DocumentMemory, Documents
from sparsemix._rows.threads import Workers
from sparsemix._stats import suffstats
from sparsemix._stats.word_rows import WordRows
from sparsemix.datasets import make_bars, make_sparse_lda
from sparsemix.metrics import align_topics
from sparsemix.topics._collapsed import assemble_stochastic
from sparsemix.topics._collapsed.recipe import CollapsedRecipe

K, V, N = 4, 25, 60
X = sparse.csr_array(
    make_sparse_lda(N, n_features=V, n_components=K, doc_length=20, random_state=0)[0], dtype=np.float64
)
TOKENS = X.sum()
GIVEN = np.random.default_rng(1).gamma(1.0, size=(K, V)) + 0.1
STEP = (10.0, 0.9)
STEPS = pytest.mark.parametrize("local_step_size", [STEP, None], ids=["steps", "sums"])
SAMPLERS_AND_STEPS = pytest.mark.parametrize(  # "gibbs" takes no steps
    ("sampler", "local_step_size"), [("dense", STEP), ("dense", None), ("gibbs", None), ("mhw", STEP), ("mhw", None)]
)
pytestmark = pytest.mark.usefixtures("no_dense_batches", "plain_samples")
ALPHA, BETA = np.array([0.3, 0.1, 0.2, 0.15]), 0.05
BY_TOPIC = BETA + np.random.default_rng(4).gamma(0.3, 3.0, size=(K, V))


@dataclass(frozen=True)
class NotedRecipe(CollapsedRecipe):
    """Its plans have the memory of an estimator, which notes them."""

    estimator: object = None

    def plan(self, *arguments):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(assemble_stochastic, "make_memory", self.estimator.new_memory)
            made = super().plan(*arguments)
        self.estimator.note(made.schedule)
        return made


class ExactLDA(SparseSCVB0LDA):
    """Tables in double precision; what the schedule does is noted.

    ``visits_`` are the rows of every batch, ``sums_`` statistics after every step, ``schedule_`` the schedule.
    """

    _table_dtype = np.float64

    def _recipe(self, validation=None):
        return NotedRecipe(self._params, self._table_dtype, validation, self)

    def new_memory(self):
        return DocumentMemory(assemble_stochastic.REMEMBERED_SHARE)

    def note(self, schedule):
        self.schedule_, self.visits_, self.sums_ = schedule, [], []
        batches, absorb = schedule.batches, schedule.absorb

        def noted_batches():
            for selection in batches():
                self.visits_.append(selection)
                yield selection

        def noted_absorb(stats, new):
            stats = absorb(stats, new)
            self.sums_.append(plain(stats))
            return stats

        schedule.batches, schedule.absorb = noted_batches, noted_absorb


def plain(stats):
    """Copies of all sums, with the background in the table."""
    stats = stats.copy()
    table = stats["word_topic"]
    table = table if isinstance(table, np.ndarray) else table.toarray()
    return {name: stats[name].copy() for name in ("count", "mass", "documents", "offset")} | {
        "word_topic": table + float(stats["offset"])
    }


def lda(cls=ExactLDA, **params):
    defaults = {
        "doc_topic_prior": ALPHA, "topic_word_prior": BETA, "sampler": "dense", "init_params": GIVEN, "max_iter": 4,
        "learning_method": "memoized", "batch_size": 17, "n_averaged_iter": 0, "random_state": 0,
    }  # fmt: skip
    return cls(K, **(defaults | params))


@pytest.fixture
def all_kept(monkeypatch):
    """No small count is left out of the topics or the memory."""
    monkeypatch.setattr(assemble_stochastic, "SMALLEST_COUNT", 0.0)
    monkeypatch.setattr(assemble_stochastic, "REMEMBERED_SHARE", 0.0)
    monkeypatch.setattr(walker_sampler, "SHARE", 0.0)
    monkeypatch.setattr(walker_sampler, "NEGLIGIBLE", 0.0)
    monkeypatch.setattr(walker_sampler, "CHUNK_SAMPLES", 1 << 30)


# -- a twin of whole fits


class Twin:
    """Collapsed inference of documents, one token's formula after the other, with tables in full."""

    def __init__(self, est, rows, weight=None, smallest=0.0, share=0.0):
        self.est, self.rows, self.smallest, self.share = est, rows, smallest, share
        prior = np.broadcast_to(np.asarray(est.topic_word_prior).T, (V, K))
        self.beta, self.prior = prior.min(), prior - prior.min()
        self.weight = np.ones(rows.shape[0]) if weight is None else weight
        self.tokens = self.weight @ rows.sum(axis=1)
        start = np.asarray(est.init_params, dtype=float).T
        self.table = start * (self.tokens / start.sum())
        self.memory, self.memo, self.step = {}, {}, 0

    def sweep(self, d, resp, now, remembered, first, seen, known):
        """One sweep over a document; gamma in ``resp`` and N_j are replaced type by type."""
        est, totals = self.est, self.table.sum(axis=0)
        entries = range(self.rows.indptr[d], self.rows.indptr[d + 1])
        length = self.rows.data[entries.start : entries.stop].sum()
        for i, e in enumerate(entries):
            w, c = self.rows.indices[e], self.rows.data[e]
            own = np.zeros(K) if first or est.local_step_size is not None else min(c, 1.0) * resp[i]
            from_topics = own if known and self.weight.min() >= 1.0 else 0.0
            phi = np.maximum(self.table[w] + self.prior[w] - from_topics, 0.0) + self.beta
            phi /= np.maximum(totals + self.prior.sum(axis=0) - from_topics, 0.0) + V * self.beta
            gamma = phi * (np.maximum(now - own, 0.0) + ALPHA)
            gamma /= gamma.sum()
            if est.local_step_size is not None:  # as many steps as there are tokens, all with the same gamma
                rho = min(1.0, (est.local_step_size[0] + 1 + int(seen)) ** -est.local_step_size[1])
                for _ in range(int(c)):
                    now = (1.0 - rho) * now + rho * length * gamma
            else:
                now = now + c * gamma - (c / length * remembered if first else c * resp[i])
            resp[i] = gamma
            seen += c
        return now, seen

    def visit(self, selection):
        """Sums (V, K) of a batch."""
        out = np.zeros((V, K))
        for d in selection:
            entries = slice(self.rows.indptr[d], self.rows.indptr[d + 1])
            counts = self.rows.data[entries]
            known = d in self.memory
            now = remembered = self.memory.get(d, np.full(K, counts.sum() / K))
            resp, seen = np.zeros((len(counts), K)), 0.0
            for sweep in range(self.est.burn_in + 1):
                now, seen = self.sweep(d, resp, now, remembered, sweep == 0, seen, known)
            out[self.rows.indices[entries]] += self.weight[d] * counts[:, None] * resp
            self.memory[d] = np.where(now > self.share * now.sum(), now, 0.0)
        return out

    def online(self, selection):
        """S <- (1 - rho) S + rho C / n_b s."""
        self.step += 1
        new = self.visit(selection)
        rho = min(1.0, (self.est.step_size[0] + self.step) ** -self.est.step_size[1])
        self.table = (1.0 - rho) * self.table + rho * self.tokens / new.sum() * new

    def memoized(self, selection):
        """S <- S + s - memo; a batch that was never visited is a share of the start."""
        if self.step == 0:
            self.initial = self.table = np.where(self.table < self.smallest, 0.0, self.table)
        self.step += 1
        key = (self.step - 1) % (len(self.est.visits_) // self.est.max_iter)
        new = without_small(self.visit(selection), self.smallest, key)
        old = self.memo.get(tuple(selection))
        if old is None:
            old = self.initial * (self.weight[selection] @ self.rows[selection].sum(axis=1) / self.tokens)
        self.table, self.memo[tuple(selection)] = self.table + new - old, new

    def run(self):
        for selection in self.est.visits_:
            getattr(self, self.est.learning_method)(selection)
        return (self.table + self.prior).T + self.beta


def without_small(table, smallest, key, words=None):
    """Entries below ``smallest``, or that share of a word with less than a token, are drawn: one each time that so much
    of them has come together, from a random place."""
    out = table.copy()
    for word, row in zip(range(len(table)) if words is None else words, out, strict=True):
        total = row.sum()
        limit = min(smallest * min(total, 1.0), row.max())
        small = row < limit
        place = limit * (child(mix(key), int(word)) >> 11) * 2.0**-53
        passed = np.floor((place + np.cumsum(row[small])) / limit) if small.any() else np.zeros(0)
        row[small] = limit * np.diff(passed, prepend=0.0)
        row *= total / row.sum() if total > 0 else 1.0
    return out


@pytest.mark.usefixtures("all_kept")
@pytest.mark.parametrize(("burn_in", "prior"), [(0, BETA), (1, BETA), (3, BETA), (1, BY_TOPIC)])
@STEPS
@pytest.mark.parametrize("learning_method", ["online", "memoized"])
def test_fit_is_the_twins(learning_method, local_step_size, burn_in, prior):
    params = {"local_step_size": local_step_size, "burn_in": burn_in, "topic_word_prior": prior}
    est = lda(learning_method=learning_method, **params).fit(X)
    assert len(est.visits_) == 16
    np.testing.assert_allclose(est.components_, Twin(est, X).run(), rtol=1e-9)


@pytest.mark.usefixtures("all_kept")
@STEPS
@pytest.mark.parametrize("learning_method", ["online", "memoized"])
def test_weighted_fit_is_the_twins(learning_method, local_step_size):
    weight = np.random.default_rng(2).uniform(0.5, 3.0, N)
    est = lda(learning_method=learning_method, local_step_size=local_step_size).fit(X, sample_weight=weight)
    np.testing.assert_allclose(est.components_, Twin(est, X, weight).run(), rtol=1e-9)
    assert float(est.sums_[-1]["mass"]) == pytest.approx(weight @ X.sum(axis=1), rel=1e-12)
    assert float(est.sums_[-1]["documents"]) == pytest.approx(weight.sum(), rel=0.2)


@STEPS
@pytest.mark.parametrize("learning_method", ["online", "memoized"])
def test_small_counts_leave_topics_and_memory_as_the_twins_do(learning_method, local_step_size):
    est = lda(learning_method=learning_method, local_step_size=local_step_size, batch_size=6, max_iter=6).fit(X)
    twin = Twin(est, X, smallest=assemble_stochastic.SMALLEST_COUNT, share=assemble_stochastic.REMEMBERED_SHARE)
    components = twin.run()
    assert any((kept == 0).any() for kept in twin.memory.values())
    np.testing.assert_allclose(est.components_, components, rtol=1e-9)


@pytest.mark.usefixtures("all_kept")
@STEPS
@pytest.mark.parametrize("learning_method", ["online", "memoized"])
def test_float32_follows_float64(learning_method, local_step_size):
    params = {"learning_method": learning_method, "local_step_size": local_step_size, "max_iter": 2}
    single, double = (lda(cls, **params).fit(X) for cls in (SparseSCVB0LDA, ExactLDA))
    assert single.components_.dtype == np.float32
    np.testing.assert_allclose(single.components_, double.components_, rtol=1e-3, atol=1e-3)


@pytest.mark.usefixtures("all_kept")
@STEPS
def test_memoized_learning_with_one_batch_is_batch_learning(local_step_size):
    est = lda(local_step_size=local_step_size, batch_size=N, max_iter=3).fit(X)
    twin = Twin(est, X)
    for _ in range(3):  # all documents, then all sums again
        twin.table = twin.visit(np.arange(N))
    np.testing.assert_allclose(est.components_, twin.table.T + BETA, rtol=1e-9)


# -- what steps keep


@pytest.mark.slow
@SAMPLERS_AND_STEPS
@pytest.mark.parametrize("init_params", [GIVEN, "uniform"], ids=["given", "uniform"])
@pytest.mark.parametrize("learning_method", ["online", "memoized"])
def test_counts_of_topics_are_all_tokens(learning_method, init_params, local_step_size, sampler):
    """After each step N_k are the sums over words, with the background, and their total is C."""
    est = lda(learning_method=learning_method, init_params=init_params, sampler=sampler)
    est.set_params(local_step_size=local_step_size, batch_size=3, max_iter=8).fit(X)
    assert len(est.sums_) == 160
    # tiny counts of a given start are not kept by memoized learning, whose first epoch ends with them gone
    whole = est.sums_[19:] if learning_method == "memoized" else est.sums_
    for sums in est.sums_:
        np.testing.assert_allclose(sums["word_topic"].sum(axis=0), sums["count"], rtol=1e-8)
        assert (sums["word_topic"] >= 0).all()
        assert float(sums["mass"]) == pytest.approx(TOKENS, rel=1e-8)
    for sums in whole:
        assert sums["count"].sum() == pytest.approx(TOKENS, rel=1e-8)
    if learning_method == "memoized":  # every word has its tokens
        np.testing.assert_allclose(whole[-1]["word_topic"].sum(axis=1), X.sum(axis=0), rtol=1e-8)
        assert float(whole[-1]["offset"]) == 0.0


class NotedMemory(DocumentMemory):
    """Writes down every visit: row numbers, whether something was found, and what is left."""

    def __init__(self, share=0.0):
        super().__init__(share)
        self.recalled, self.kept = [], []

    def _find(self, numbers):
        found = super()._find(numbers)
        self.recalled.append((list(numbers), found is not None))
        return found

    def _keep(self, numbers, lengths, topics, values, states):
        super()._keep(numbers, lengths, topics, values, states)
        if lengths is not None:
            self.kept.append((numbers, np.concatenate([[0], np.cumsum(lengths)]), np.array(topics), np.array(values)))

    def forget(self):
        super().forget()
        self.recalled.append("forgotten")


class NotedLDA(ExactLDA):
    """``memory_`` is what documents were remembered in."""

    def new_memory(self):
        self.memory_ = NotedMemory()
        return self.memory_


@pytest.mark.usefixtures("all_kept")
@pytest.mark.parametrize(  # mhw's steps that start from nothing only approach the number of tokens
    ("sampler", "local_step_size"), [("dense", STEP), ("dense", None), ("mhw", None)]
)
@pytest.mark.parametrize("init_params", [GIVEN, "uniform"], ids=["given", "uniform"])
def test_counts_of_a_document_are_its_tokens(init_params, local_step_size, sampler):
    est = lda(NotedLDA, init_params=init_params, local_step_size=local_step_size, sampler=sampler, max_iter=5).fit(X)
    assert len(est.memory_.kept) >= 20
    for numbers, indptr, _, values in est.memory_.kept:
        np.testing.assert_allclose(np.add.reduceat(values, indptr[:-1]), X[numbers].sum(axis=1), rtol=1e-8)


@pytest.mark.usefixtures("all_kept")
def test_step_of_size_zero_leaves_the_topics_and_of_size_one_replaces_them():
    start = lda(max_iter=0).fit(X).components_
    still = lda(learning_method="online", step_size=(1e30, 1.0)).fit(X)
    np.testing.assert_allclose(still.components_, start, rtol=1e-12)
    whole = lda(learning_method="online", step_size=(0.0, 0.6), batch_size=N, max_iter=1)
    first, other = whole.fit(X).components_, lda(max_iter=1, batch_size=N).fit(X).components_
    np.testing.assert_allclose(first, other, rtol=1e-12)  # memoized learning has forgotten the start, too
    np.testing.assert_allclose(first.sum(axis=0) - K * BETA, X.sum(axis=0), rtol=1e-12)
    assert np.abs(first - start).max() > 1.0


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-9), (np.float32, 1e-4)])
@pytest.mark.parametrize("background", [False, True])
def test_lazy_factors_are_an_eager_update(background, dtype, rtol, monkeypatch):
    """Two hundred minibatches, with the factor folded in now and then, and a step of size one among them."""
    rng, folds = np.random.default_rng(3), []
    model = StochasticCollapsedModel(V, ALPHA, BETA, DenseSampler(1), dtype=dtype)
    fold = suffstats.SufficientStatistics._fold_words
    monkeypatch.setattr(
        suffstats.SufficientStatistics, "_fold_words", lambda s: (folds.append(s._word_factor), fold(s))
    )
    stats = model.same_topics(N, TOKENS)
    eager = np.full((V, K), TOKENS / V / K)
    if not background:
        eager = rng.gamma(0.3, size=(V, K))
        eager *= TOKENS / eager.sum()
        stats.replace("word_topic", eager.astype(dtype))
        stats["count"], stats["offset"] = eager.sum(axis=0), 0.0
    for step in range(200):
        words = np.sort(rng.choice(V, size=5, replace=False))
        rows = rng.gamma(0.5, size=(5, K)) * (rng.random((5, K)) < 0.7) + 1e-3
        new = model.empty_stats()
        table = WordRows(words, rows.astype(dtype), V)
        new.replace("word_topic", table if step % 2 else table.tocsr())
        new["count"], new["mass"] = rows.sum(axis=0), rows.sum()
        rho = 1.0 if step == 90 else rng.uniform(0.2, 0.6)
        blend(stats, new, rho, TOKENS, TOKENS)
        eager = (1.0 - rho) * eager
        eager[words] += rho * TOKENS / rows.sum() * rows
        model.global_step(stats)
        counts = model.counts
        np.testing.assert_allclose(counts.factor * counts.table + counts.offset, eager, rtol=rtol, atol=rtol * 1e-3)
        np.testing.assert_allclose(1.0 / counts.inverse - V * BETA, eager.sum(axis=0), rtol=1e-9)
        if step > 90:
            assert model.counts.offset == 0.0
    assert min(abs(np.log10(factor)) for factor in folds if factor != 1.0) > 8  # seldom
    assert sum(factor != 1.0 for factor in folds) >= 2


def test_interim_readers_see_the_same_topics():
    """Reading the statistics folds their factor into the table; the model still knows the same."""
    est = lda(learning_method="online").fit(X)
    model = est._fitted.model
    before = model.counts.factor * model.counts.table
    assert model.counts.factor != 1.0
    stats = est.expected_stats(X)["count"].copy()
    est._fitted.stats["word_topic"]
    assert model.counts.factor == 1.0
    np.testing.assert_allclose(model.counts.table, before, rtol=1e-12)
    np.testing.assert_allclose(est.expected_stats(X)["count"], stats, rtol=1e-12)


# -- memoized learning


@pytest.mark.parametrize("sampler", ["dense", "gibbs", "mhw"])
def test_statistics_are_the_sum_of_the_memo(sampler):
    """This holds after every batch from the end of the first epoch on."""

    class Memo(ExactLDA):
        def note(self, schedule):
            super().note(schedule)
            absorb, self.memos_ = schedule.absorb, []

            def noted(stats, new):
                stats = absorb(stats, new)
                self.memos_.append([plain(part) for part in schedule._memo if part is not None])
                return stats

            schedule.absorb = noted

    est = lda(Memo, sampler=sampler, batch_size=7).fit(X)
    assert len(est.memos_) == 36
    for sums, memo in list(zip(est.sums_, est.memos_, strict=True))[8:]:
        assert len(memo) == 9
        for name in ("word_topic", "count", "mass", "documents"):
            total = sum(part[name] for part in memo)
            np.testing.assert_allclose(sums[name], total, rtol=1e-9, atol=1e-9, err_msg=name)
    changes = [
        np.abs(a["word_topic"] - b["word_topic"]).max() for a, b in zip(est.memos_[-1], est.memos_[8], strict=True)
    ]
    assert min(changes) > 0.01  # the batches have learned since


@pytest.mark.parametrize("smallest", [0.0, 0.01, 0.3, 10.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_packed_statistics_keep_every_words_sum_and_largest_count(dtype, smallest):
    rng = np.random.default_rng(4)
    words = np.sort(rng.choice(V, size=18, replace=False))
    rows = (rng.gamma(0.2, size=(18, K)) * 10.0 ** rng.integers(-4, 2, size=(18, 1))).astype(dtype)
    rows[3], rows[5, 1:] = 0.0, 0.0
    model = StochasticCollapsedModel(V, ALPHA, BETA, DenseSampler(1), dtype=dtype)
    stats = model.empty_stats()
    stats.replace("word_topic", WordRows(words, rows.copy(), V))
    stats["count"], stats["mass"] = rows.sum(axis=0), rows.sum()
    out = stats.packed(smallest, key=7)
    table = out["word_topic"]
    assert sparse.issparse(table)
    rtol = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(table.toarray()[words], without_small(rows.astype(float), smallest, 7, words), rtol=rtol)
    np.testing.assert_allclose(table.sum(axis=1)[words], rows.sum(axis=1), rtol=rtol)
    np.testing.assert_allclose(out["count"], table.sum(axis=0), rtol=rtol)
    for word, row in zip(words, rows, strict=True):
        kept = table[[word]].toarray().ravel()
        assert (kept[row == row.max()] > 0).all() == row.any()
        assert (table.data > 0).all()
    assert smallest < 10.0 or table.nnz < 0.5 * np.count_nonzero(rows)


def test_small_sums_of_packed_statistics_have_their_expectation():
    rows = np.array([[0.98, 0.003, 0.004, 0.013], [0.0, 0.005, 0.0, 2.0]])
    tables = [WordRows([2, 5], rows, 6).compressed(0.02, key).toarray()[[2, 5]] for key in range(4000)]
    np.testing.assert_allclose(np.mean(tables, axis=0), rows, atol=4e-4)  # 2.5 standard errors and more
    assert np.mean([np.count_nonzero(table[0]) for table in tables]) == pytest.approx(2.0, abs=0.01)


# -- samples

SAMPLES = [16, 64, 256, 1024]


class StartedLDA(ExactLDA):
    """Documents begin with given counts, as if they had been visited before."""

    def new_memory(self):
        memory = DocumentMemory(0.0)
        rng = np.random.default_rng(5)
        shares = rng.dirichlet(np.full(K, 0.5), size=N)
        memory.remember(np.arange(N), shares * X.sum(axis=1)[:, None])
        return memory


@pytest.mark.usefixtures("all_kept")
@STEPS
def test_many_samples_approach_the_responsibilities(local_step_size, monkeypatch):
    """An epoch with fresh tables, no sparsification: the error falls like one over the root of the samples."""
    monkeypatch.setattr(assemble_stochastic, "TABLE_AGE", 1)
    monkeypatch.setattr(assemble_stochastic, "SPARSITY", 0.0)
    params = {"local_step_size": local_step_size, "batch_size": N, "max_iter": 1}
    exact = lda(StartedLDA, **params).fit(X).components_
    errors = []
    for n_samples in SAMPLES:
        fits = [
            lda(StartedLDA, sampler="mhw", n_samples=n_samples, **(params | {"random_state": seed})).fit(X)
            for seed in range(3)
        ]
        errors.append(np.sqrt(np.mean([(est.components_ - exact) ** 2 for est in fits])))
        least = 1.0 if local_step_size else 0.9  # tables propose topics with the token that sums exclude
        assert all(est.acceptance_rate_ >= least for est in fits)
    slope = np.polyfit(np.log(SAMPLES), np.log(errors), 1)[0]
    assert -0.6 < slope < -0.4, errors
    assert errors[-1] < 0.03 * exact.mean()


@pytest.mark.usefixtures("all_kept")
def test_many_samples_of_old_tables_approach_the_responsibilities_too(monkeypatch):
    """Tables of other topics propose; what is rejected makes up for it."""
    monkeypatch.setattr(walker_sampler, "EARLY_STEPS", 0)
    monkeypatch.setattr(walker_sampler, "LEAST_ACCEPTANCE", 0.0)
    documents, found = Documents(X, None, np.float64), {}
    for name, sampler in {
        "dense": DenseSampler(3),
        "mhw": WalkerSampler(4096, 0, 3, None, 0.0, 100),
    }.items():
        model = StochasticCollapsedModel(V, 10 * ALPHA, BETA, sampler, dtype=np.float64)
        rng = np.random.default_rng(6)
        with Workers(1) as workers:
            for _ in range(2):
                stats = model.empty_stats()
                table = rng.gamma(0.5, size=(V, K))
                table *= TOKENS / table.sum()
                stats.replace("word_topic", table)
                stats["count"] = table.sum(axis=0)
                model.global_step(stats)
                documents.memory = DocumentMemory(0.0)
                documents.memory.remember(np.arange(N), rng.dirichlet(np.ones(K), size=N) * X.sum(axis=1)[:, None])
                sums = collect(model, documents, slice(0, N), workers)
        table, (draws, accepted) = sums["word_topic"].toarray(), sums["proposals"]
        found[name] = table, accepted / draws if draws else None
    assert 0.3 < found["mhw"][1] < 0.9
    assert np.sqrt(np.mean((found["mhw"][0] - found["dense"][0]) ** 2)) < 0.02 * TOKENS / V / K


@pytest.mark.parametrize(("table_age", "all_accepted"), [(1, True), (40, False)])
def test_tables_live_as_long_as_they_may(table_age, all_accepted, monkeypatch):
    made = []
    clear = walker_sampler._mhw.WordTables.clear
    monkeypatch.setattr(
        walker_sampler._mhw.WordTables, "clear", lambda self, *args: (made.append(1), clear(self, *args))
    )
    monkeypatch.setattr(assemble_stochastic, "TABLE_AGE", table_age)
    est = lda(sampler="mhw", batch_size=3, max_iter=3).fit(X)
    if all_accepted:
        assert len(made) == 60
        assert est.acceptance_rate_ > 0.99
    else:
        assert len(made) == 12  # in each of the first steps, and when an epoch begins
        assert 0.8 < est.acceptance_rate_ < 1.0


@pytest.mark.usefixtures("all_kept")
def test_sparsification_leaves_no_small_counts(monkeypatch):
    """Before the last sweep all counts are at least tau rho C_j; it reduces them only by the share that it adds."""
    n_samples, tau = 4, 0.1

    def smallest(sparsity):
        monkeypatch.setattr(assemble_stochastic, "SPARSITY", sparsity * K)
        est = lda(
            NotedLDA, sampler="mhw", n_samples=n_samples, local_step_size=(10.0, 0.9), burn_in=2,
            learning_method="online", max_iter=2,
        ).fit(X)  # fmt: skip
        lowest = []
        for numbers, indptr, _, values in est.memory_.kept:
            for d, (first, last) in zip(numbers, pairwise(indptr), strict=True):
                counts = X.data[X.indptr[d] : X.indptr[d + 1]]
                length = counts.sum()
                before = np.concatenate([[0.0], np.cumsum(counts)[:-1]])
                rho = (11.0 + 2 * length + before) ** -0.9
                last_rho = (11.0 + length + before[-1]) ** -0.9
                bound = tau * last_rho * length * np.prod((1.0 - rho) ** counts)
                lowest.append(values[first:last].min() / bound)
        return min(lowest)

    assert smallest(tau) >= 1.0 - 1e-9
    assert smallest(0.0) < 0.7


@pytest.mark.parametrize("sampler", ["gibbs", "mhw"])
def test_samples_are_of_the_seed(sampler):
    """With a given start and one batch nothing else is random."""
    params = {"batch_size": N, "max_iter": 2}
    same, again, other = (lda(sampler=sampler, **params, random_state=seed).fit(X).components_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(same, again)
    assert np.abs(same - other).max() > 0.5
    dense, other = (lda(**params, random_state=seed).fit(X).components_ for seed in (0, 1))
    np.testing.assert_array_equal(dense, other)


@pytest.mark.parametrize("sampler", ["gibbs", "mhw"])
def test_each_visit_draws_other_samples(sampler):
    """The same document under the same topics, at another step or as another row of the stream."""
    est = lda(sampler=sampler, max_iter=1, batch_size=N).fit(X)
    model, rows = est._fitted.model, Documents(X, None, np.float64)
    seen = []
    with Workers(1) as workers:
        for rows.first_row, n_steps in ((0, 1), (0, 1), (N, 1), (0, 2)):
            again = model.renewed(rows.first_row)
            again.n_steps = n_steps
            seen.append(collect(again, rows, slice(0, N), workers)["word_topic"].toarray())
    np.testing.assert_array_equal(seen[0], seen[1])
    for one in seen[2:]:
        assert np.abs(one - seen[0]).max() > 0.5


# -- the order of visits


@pytest.mark.parametrize("sampler", ["dense", "gibbs", "mhw"])
@pytest.mark.parametrize(("size", "passes"), [(20, 3), (17, 2), (60, 4)])
def test_mini_epochs_visit_documents_in_a_row_and_forget_them(size, passes, sampler):
    est = lda(NotedLDA, learning_method="online", sampler=sampler, mini_epoch=(size, passes))
    est.set_params(batch_size=6, max_iter=2).fit(X)
    epochs, now = [], []
    for event in est.memory_.recalled:
        if event == "forgotten":
            epochs.append(now)
            now = []
        else:
            now.append(event)
    assert now == []
    n_parts = -(-N // size)
    assert len(epochs) == 2 * n_parts
    for epoch in epochs:
        rows = [tuple(numbers) for numbers, _ in epoch]
        tiles = set(rows)
        assert sum(map(len, tiles)) <= size
        n_tiles = len(tiles)
        for visit in range(passes):  # all of them, and then all of them again
            part = epoch[visit * n_tiles : (visit + 1) * n_tiles]
            assert {tuple(numbers) for numbers, _ in part} == tiles
            assert all(found == (visit > 0) for _, found in part)
    for epoch in (epochs[:n_parts], epochs[n_parts:]):
        documents = sorted(n for epoch in epoch for numbers, _ in epoch[: len(epoch) // passes] for n in numbers)
        assert documents == list(range(N))
    assert epochs[0] != epochs[n_parts]  # every epoch has its own parts
    assert max(len(selection) for selection in est.visits_) <= 6
    assert len(est.memory_._tiles) == 0


@pytest.mark.parametrize("learning_method", ["online", "memoized"])
def test_without_mini_epochs_documents_are_remembered_from_epoch_to_epoch(learning_method):
    est = lda(NotedLDA, learning_method=learning_method).fit(X)
    assert "forgotten" not in est.memory_.recalled
    n = len(est.memory_.recalled) // 4
    assert [found for _, found in est.memory_.recalled] == [False] * n + [True] * 3 * n
    orders = [[numbers for numbers, _ in est.memory_.recalled[epoch * n : (epoch + 1) * n]] for epoch in range(4)]
    assert all(sorted(order) == sorted(orders[0]) for order in orders)
    assert (orders[0] == orders[1] == orders[2]) == (learning_method == "memoized")  # online in a new order


def noted_visits(monkeypatch):
    """Kind of sampler and number of documents of each tile."""
    visits = []
    for cls in (DenseSampler, GibbsSampler, WalkerSampler):

        def visit(self, counts, x, *args, original=cls.visit):
            visits.append((self.name, len(x)))
            return original(self, counts, x, *args)

        monkeypatch.setattr(cls, "visit", visit)
    return visits


@pytest.mark.parametrize("sampler", ["gibbs", "mhw"])
def test_first_documents_are_visited_densely(sampler, monkeypatch):
    visits = noted_visits(monkeypatch)
    monkeypatch.setattr(assemble_stochastic, "START_BATCHES", (5, 5))
    est = lda(learning_method="online", init_params="random", sampler=sampler, batch_size=15, max_iter=3).fit(X)
    assert est.sampler_ == sampler
    kinds = np.repeat([kind for kind, _ in visits], [n for _, n in visits])
    assert len(kinds) == 3 * N
    assert list(kinds) == ["dense"] * 75 + [sampler] * (3 * N - 75)
    assert np.isfinite(est.components_).all()
    assert est._fitted.stats["count"].sum() == pytest.approx(TOKENS, rel=1e-6)


def test_samplers_change_between_batches_only(monkeypatch):
    """A batch of several chunks is visited by one of them to its end."""
    for owner, name in ((walker_sampler, "CHUNK_SAMPLES"), (dense_sampler, "CHUNK_NUMBERS")):
        monkeypatch.setattr(owner, name, 400)
    monkeypatch.setattr(assemble_stochastic, "START_BATCHES", (1, 1))
    monkeypatch.setattr(assemble_stochastic, "START_WORK", 0.0)
    visits = noted_visits(monkeypatch)
    est = lda(learning_method="online", init_params="random", sampler="mhw", batch_size=30, max_iter=2).fit(X)
    kinds = np.repeat([kind for kind, _ in visits], [n for _, n in visits])
    assert list(kinds) == ["dense"] * 30 + ["mhw"] * 90
    assert len(visits) > 20
    assert est._fitted.stats["count"].sum() == pytest.approx(TOKENS, rel=1e-6)


# -- starts


@pytest.mark.slow
@SAMPLERS_AND_STEPS
@pytest.mark.parametrize("learning_method", ["online", "memoized"])
def test_uniform_topics_part_by_random_documents(learning_method, local_step_size, sampler):
    params = {"learning_method": learning_method, "local_step_size": local_step_size, "sampler": sampler}
    params |= {"init_params": "uniform", "doc_topic_prior": 0.1, "batch_size": 10}
    start = lda(**params, max_iter=0).fit(X)
    np.testing.assert_allclose(start.components_, TOKENS / K / V + BETA, rtol=1e-12)
    np.testing.assert_allclose(start.topic_weights_, 1 / K, rtol=1e-12)
    est, again = (lda(**params).fit(X) for _ in range(2))
    np.testing.assert_array_equal(est.components_, again.components_)
    other = lda(**params).set_params(random_state=1).fit(X)
    assert np.abs(other.components_ - est.components_).max() > 1.0
    topics = est.components_ / est.components_.sum(axis=1, keepdims=True)
    for k in range(K):
        for other in range(k):
            assert 0.5 * np.abs(topics[k] - topics[other]).sum() > 0.05


def test_documents_of_a_uniform_start_begin_at_random():
    est = lda(init_params="uniform", max_iter=0).fit(X)
    shares = np.vstack([est._fitted.model.counts.start_of(np.arange(a, a + 20), 20) for a in (0, 20, 40)])
    assert shares.shape == (N, K)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    assert len(np.unique(shares)) == N * K
    even = lda(max_iter=0).fit(X)._fitted.model.counts.start_of(np.arange(3), 3)
    np.testing.assert_array_equal(even, 1 / K)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sampler", "learning_method", "init_params"),
    [
        ("dense", "memoized", "em"),
        ("dense", "memoized", "uniform"),
        ("dense", "online", "uniform"),
        ("gibbs", "memoized", "em"),
        ("gibbs", "online", "uniform"),
        ("mhw", "memoized", "uniform"),
        ("mhw", "online", "uniform"),
    ],
)
def test_bars_are_recovered(sampler, learning_method, init_params):
    """From one of a few starts, which may merge two topics and divide another."""
    rows, bars, _ = make_bars(5, n_samples=600, doc_length=50, doc_topic_prior=0.1, random_state=0)
    for seed in range(6):
        est = SparseSCVB0LDA(
            10, doc_topic_prior=0.1, topic_word_prior=0.01, sampler=sampler, n_samples=20, init_params=init_params,
            learning_method=learning_method, batch_size=50, max_iter=30, n_averaged_iter=0, random_state=seed,
        ).fit(rows)  # fmt: skip
        order, distances = align_topics(est, bars)
        if distances.max() < 0.05:
            break
    assert distances.max() < 0.05
    assert sorted(order) == list(range(10))


def test_pruned_tables_of_words_change_no_conditional(monkeypatch):
    """The default path of "mhw": even draws from tables that lack small counts, which acceptance makes up for."""
    monkeypatch.setattr(assemble_stochastic, "EVEN_SAMPLES", 16)
    n, n_components, beta = 20_000, 10, 1.0
    counts = np.where(np.arange(n_components) < 5, 0.0, 0.09 * beta)  # below a tenth of the prior: in no table
    given = np.stack([counts, n / n_components - counts], axis=1)
    documents = sparse.csr_array((np.ones(n), (np.arange(n), np.zeros(n, dtype=int))), shape=(n, 2))
    est = SparseSCVB0LDA(
        n_components, sampler="mhw", topic_word_prior=beta, init_params=given, max_iter=0,
        random_state=0,
    ).fit(documents)  # fmt: skip
    found = np.asarray(est.expected_stats(documents)["word_topic"].toarray())[0] / n
    np.testing.assert_allclose(found, (counts + beta) / (counts + beta).sum(), rtol=0.02)
