"""Topic models of other packages as contestants; ``_topics_ours`` says what a contestant is.

Other parameters are the package's defaults; so are priors that the setting does not give.
"""

from itertools import count

import numpy as np
from _clock import TimeIsUpError
from _topics_ours import UNLIMITED, Estimator
from sklearn.decomposition import LatentDirichletAllocation

# Entries of a piece of a batch epoch, after which the clock may stop it, and the fewest for each word: a piece costs a
# sum over the table of topics and words.
PIECE, PIECE_PER_WORD = 50_000, 5


class TimedAllocation(LatentDirichletAllocation):
    """scikit-learn's model, which reports each epoch to ``clock`` and stops when time is up."""

    def _init_latent_vars(self, *args, **options):
        super()._init_latent_vars(*args, **options)
        self.passes = count(1)
        self.clock.epoch(0)

    def _em_step(self, X, *args, **options):
        super()._em_step(X, *args, **options)
        if self.clock.epoch(next(self.passes), lambda: self.components_):
            raise TimeIsUpError

    def _e_step(self, X, *args, **options):
        """The sums of a batch are those of its pieces."""
        if not hasattr(self, "clock"):
            return super()._e_step(X, *args, **options)
        n_pieces = min(X.shape[0], -(-X.nnz // max(PIECE, PIECE_PER_WORD * X.shape[1])))
        sums = 0.0
        for rows in np.array_split(np.arange(X.shape[0]), n_pieces):
            self.clock.check()
            sums += super()._e_step(X[rows[0] : rows[-1] + 1], *args, **options)[1]
        return None, sums


class ScikitLearn(Estimator):
    """LatentDirichletAllocation in batches."""

    def __init__(self, X, setting):
        self.X = X
        # batch learning, its default
        self.model = TimedAllocation(
            setting.n_components, doc_topic_prior=setting.doc_topic_prior, topic_word_prior=setting.topic_word_prior,
            max_iter=UNLIMITED, random_state=setting.seed,
        )  # fmt: skip

    def learn(self, clock):
        self.model.clock = clock
        clock.begin()
        try:
            self.model.fit(self.X)
        except TimeIsUpError:
            del self.model.clock


class Gensim:
    """LdaModel, the steps of its training with many ``passes``, chunk by chunk."""

    def __init__(self, X, setting, **parameters):
        self.X, self.setting, self.parameters = X, setting, parameters

    def learn(self, clock):
        from gensim.models import LdaModel

        n, setting = self.X.shape[0], self.setting
        names = {word: str(word) for word in range(self.X.shape[1])}
        clock.begin()
        alpha = "symmetric"
        if setting.doc_topic_prior is not None:
            alpha = np.full(setting.n_components, setting.doc_topic_prior, dtype=np.float32)  # else 1 / K, its default
        self.model = LdaModel(
            num_topics=setting.n_components, id2word=names, eta=setting.topic_word_prior, eval_every=None,
            alpha=alpha, random_state=setting.seed, **self.parameters,
        )  # fmt: skip
        clock.epoch(0)
        size, n_passes = min(n, self.model.chunksize), 0
        while True:
            for start in range(0, n, size):
                with clock.paused():
                    chunk = self.documents(self.X[start : start + size])
                self.step(chunk, n, size, n_passes)
                if clock.epoch(round(n_passes + (start + len(chunk)) / n, 6), self.topics):
                    return
            n_passes += 1

    def step(self, chunk, n, size, n_passes):
        """An update takes a chunk for new documents; the corpus has n, and its updates are those of the first epoch."""
        self.model.state.numdocs = n - len(chunk)
        self.model.update(chunk, chunksize=size, offset=self.model.offset + n_passes)
        if n_passes:
            self.model.num_updates = n

    def topics(self):
        return self.model.get_topics()

    def documents(self, X):
        return [
            list(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
            for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
        ]

    def proportions(self, documents):
        gamma, _ = self.model.inference(documents)
        return gamma / gamma.sum(axis=1, keepdims=True)


class Tomotopy:
    """LDAModel, collapsed Gibbs sampling; it learns the prior of documents, its default, unless one is given."""

    def __init__(self, X, setting):
        import tomotopy

        self.n_words, self.workers = X.shape[1], {"workers": 1, "parallel": tomotopy.ParallelScheme.NONE}
        priors = {"alpha": setting.doc_topic_prior, "eta": setting.topic_word_prior}
        priors = {name: prior for name, prior in priors.items() if prior is not None}
        self.model = tomotopy.LDAModel(k=setting.n_components, seed=1 + setting.seed, **priors)
        # a prior that is not given is learned every 10 iterations from the first on, its defaults; no burn-in helps
        if setting.doc_topic_prior is not None:
            self.model.optim_interval = 0
        self.names = np.array([str(word) for word in range(self.n_words)], dtype=object)
        for words in self.tokens(X):
            self.model.add_doc(words)

    def tokens(self, X):
        counts = X.data.astype(np.int64)
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            yield np.repeat(self.names[X.indices[a:b]], counts[a:b]).tolist()

    def learn(self, clock):
        clock.begin()
        self.model.train(0, **self.workers)
        clock.epoch(0)
        for passes in count(1):  # the chain is that of one call, which takes a few hundredths less time
            self.model.train(1, **self.workers)
            if clock.epoch(passes, self.topics):
                return

    def topics(self):
        words = np.array([int(name) for name in self.model.used_vocabs])
        out = np.zeros((self.model.k, self.n_words), dtype=np.float32)
        for k, row in enumerate(out):
            row[words] = self.model.get_topic_word_dist(k)
        return out

    def documents(self, X):
        return [self.model.make_doc(words) for words in self.tokens(X)]

    def proportions(self, documents):
        return np.array(self.model.infer(documents, **self.workers)[0])
