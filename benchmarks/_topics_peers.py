"""Topic models of other packages as contestants; ``_topics_ours`` says what a contestant is.

Where nothing else is said, parameters are the package's defaults; so are priors that the setting does not give.
"""

import os
import tempfile
from pathlib import Path

import numpy as np
from _topics_clock import TimeIsUpError
from _topics_ours import UNLIMITED
from sklearn.decomposition import LatentDirichletAllocation

# Entries of a piece of a batch pass, after which the clock is looked at, and how many there are for each word at least:
# a piece costs a sum over the table of topics and words.
PIECE, PIECE_PER_WORD = 50_000, 5


class TimedAllocation(LatentDirichletAllocation):
    """scikit-learn's model, telling ``clock`` of each step and stopping when it says so."""

    def _init_latent_vars(self, *args, **options):
        super()._init_latent_vars(*args, **options)
        self.passes = 0.0
        self.clock.epoch(0)

    def _em_step(self, X, total_samples, *args, **options):
        super()._em_step(X, total_samples, *args, **options)
        self.passes += X.shape[0] / total_samples
        if self.clock.epoch(round(self.passes, 6), lambda: self.components_):
            raise TimeIsUpError

    def _e_step(self, X, *args, **options):
        """The sums of a batch are those of its pieces."""
        if self.learning_method == "online" or not hasattr(self, "clock"):
            return super()._e_step(X, *args, **options)
        n_pieces = min(X.shape[0], -(-X.nnz // max(PIECE, PIECE_PER_WORD * X.shape[1])))
        sums = 0.0
        for rows in np.array_split(np.arange(X.shape[0]), n_pieces):
            self.clock.check()
            sums += super()._e_step(X[rows[0] : rows[-1] + 1], *args, **options)[1]
        return None, sums


class ScikitLearn:
    """LatentDirichletAllocation in batches or online."""

    def __init__(self, X, setting, learning_method):
        self.X = X
        self.model = TimedAllocation(
            setting.n_components, doc_topic_prior=setting.doc_topic_prior, topic_word_prior=setting.topic_word_prior,
            n_jobs=setting.n_jobs, learning_method=learning_method, max_iter=UNLIMITED, random_state=setting.seed,
        )  # fmt: skip

    def learn(self, clock):
        self.model.clock = clock
        clock.begin()
        try:
            self.model.fit(self.X)
        except TimeIsUpError:
            del self.model.clock

    def topics(self):
        return self.model.components_

    def documents(self, X):
        return X

    def proportions(self, documents):
        return self.model.transform(documents)


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
            alpha = np.full(setting.n_components, setting.doc_topic_prior, dtype=np.float32)
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
    """LDAModel, collapsed Gibbs sampling; the prior of documents is learned, as by default, unless one is given.

    Parameters
    ----------
    window : int
        The topics are the mean over about so many of the last samples, one every ``EVERY`` epochs; 1 is the last alone.
    """

    EVERY = 5

    def __init__(self, X, setting, window=1):
        import tomotopy

        self.n_jobs, self.window, self.n_words = setting.n_jobs, window, X.shape[1]
        scheme = tomotopy.ParallelScheme
        self.workers = {"workers": setting.n_jobs, "parallel": scheme.NONE if setting.n_jobs == 1 else scheme.DEFAULT}
        priors = {"alpha": setting.doc_topic_prior, "eta": setting.topic_word_prior}
        priors = {name: prior for name, prior in priors.items() if prior is not None}
        self.model = tomotopy.LDAModel(k=setting.n_components, seed=1 + setting.seed, **priors)
        if setting.doc_topic_prior is not None:
            self.model.optim_interval = 0
        self.names = np.array([str(word) for word in range(self.n_words)], dtype=object)
        for words in self.tokens(X):
            self.model.add_doc(words)
        self.mean, self.n_samples = None, 0

    def tokens(self, X):
        counts = X.data.astype(np.int64)
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            yield np.repeat(self.names[X.indices[a:b]], counts[a:b]).tolist()

    def learn(self, clock):
        clock.begin()
        self.model.train(0, **self.workers)
        clock.epoch(0)
        step = 1 if self.window == 1 else self.EVERY
        passes, over = 0, False
        while not over:
            self.model.train(step, **self.workers)
            passes += step
            if self.window > 1:
                with clock.paused():
                    self.add_sample()
            over = clock.epoch(passes, self.topics)

    def add_sample(self):
        self.n_samples += 1
        share = max(1 / self.n_samples, 1 / self.window)
        sample = self.sample()
        self.mean = sample if self.mean is None else (1 - share) * self.mean + share * sample

    def sample(self):
        words = np.array([int(name) for name in self.model.used_vocabs])
        out = np.zeros((self.model.k, self.n_words), dtype=np.float32)
        for k, row in enumerate(out):
            row[words] = self.model.get_topic_word_dist(k)
        return out

    def topics(self):
        return self.sample() if self.window == 1 else self.mean

    def documents(self, X):
        return [self.model.make_doc(words) for words in self.tokens(X)]

    def proportions(self, documents):
        return np.array(self.model.infer(documents, **self.workers)[0])


class BigArtm:
    """ARTM with smoothing of topics and proportions by the priors, which is EM for LDA; epochs over all documents."""

    def __init__(self, X, setting):
        self.folder = tempfile.TemporaryDirectory()
        os.chdir(self.folder.name)  # the library writes its logs where it runs
        import artm

        self.n_words = X.shape[1]
        write_bag_of_words(X, Path(self.folder.name), "corpus")
        self.batches = artm.BatchVectorizer(
            data_path=self.folder.name, data_format="bow_uci", collection_name="corpus", target_folder="batches"
        )
        self.model = artm.ARTM(
            num_topics=setting.n_components, dictionary=self.batches.dictionary, num_processors=setting.n_jobs,
            cache_theta=False, show_progress_bars=False, seed=1 + setting.seed,
            regularizers=[] if setting.doc_topic_prior is None else [
                artm.SmoothSparsePhiRegularizer(name="topics", tau=setting.topic_word_prior),
                artm.SmoothSparseThetaRegularizer(name="proportions", tau=setting.doc_topic_prior),
            ],
        )  # fmt: skip

    def learn(self, clock):
        clock.begin()
        clock.epoch(0)
        passes, over = 0, False
        while not over:
            self.model.fit_offline(self.batches, num_collection_passes=1)
            passes += 1
            with clock.paused():  # not in the fork that scores: the library has its own threads
                self.read_topics()
            over = clock.epoch(passes, self.topics)

    def read_topics(self):
        table = self.model.phi_
        words = [int(name[-1] if isinstance(name, tuple) else name) for name in table.index]
        self.phi = np.zeros((table.shape[1], self.n_words), dtype=np.float32)
        self.phi[:, words] = table.to_numpy().T

    def topics(self):
        return self.phi


def write_bag_of_words(X, folder, name):
    """Files in the format of the UCI collection, words by their numbers."""
    entries = X.tocoo()
    lines = zip((entries.row + 1).tolist(), (entries.col + 1).tolist(), entries.data.astype(int).tolist(), strict=True)
    with open(folder / f"docword.{name}.txt", "w", encoding="ascii") as file:
        file.write(f"{X.shape[0]}\n{X.shape[1]}\n{X.nnz}\n")
        file.writelines(f"{d} {w} {n}\n" for d, w, n in lines)
    (folder / f"vocab.{name}.txt").write_text("\n".join(map(str, range(X.shape[1]))) + "\n", encoding="ascii")
