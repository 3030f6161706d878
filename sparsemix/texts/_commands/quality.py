"""Judgements of the topics of a run: their number, held-out score, likeness, and whether another seed finds them."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from sparsemix.metrics import completion_by_document, distinctive_words
from sparsemix.texts._commands.options import DOCUMENTS_OF_A_TOPIC, IN_ORDER, MOST_TOPICS, ROOT_OF_A_TOPIC
from sparsemix.topics import match_topics

# With fewer tokens per topic, topics would be noise. Texts with fewer tokens than SHORT on average need more: two fits
# to titles of manual pages agree in 0.67 (mean Bhattacharyya coefficient) with 500 tokens per topic, in 0.8 with 1,500.
LEAST_TOKENS, LEAST_OF_SHORT, SHORT = 100, 1000, 10
# A topic repeats another if they share half of this number of main words, as readers see and as runs are compared. In
# fits to eight corpora, mostly documentation, such pairs have one subject; pairs that share three often have two. Few
# words are shared by chance, so main words are at most a quarter of the vocabulary.
MAIN_WORDS, OF_VOCABULARY = 10, 4
# A topic is the corpus if their Bhattacharyya coefficient exceeds this. The mean of a few topics is the corpus: they
# may resemble it.
LIKE_CORPUS, FEW = 0.9, 5
# A word is a filler if at least this number of topics, and at least this share of all topics, list it; a run proposes
# to skip some.
FILLED, FILLED_SHARE, MOST_FILLERS = 5, 0.15, 10
# Seeds that are fitted by default before the fit that starts from their consensus; one if there are more tokens, as a
# fit to so many takes some ten seconds. On five corpora of 60,000 to 850,000 words, a second consensus of two, three
# and four seeds finds 50 to 72 %, 52 to 76 % and 52 to 80 % of the topics again, and a second fit 38 to 64 %.
RUNS, MOST_TOKENS = 3, 1_000_000
AGAIN = "found by runs of other seeds"
# Occurrences that word frequencies get for each word of the vocabulary, as some words are in test documents only.
UNSEEN = 1


def least_tokens(counts):
    """Tokens that a topic needs; more in short documents, where few words occur together."""
    return LEAST_OF_SHORT if counts.sum(dtype=np.float64) < SHORT * counts.shape[0] else LEAST_TOKENS


def default_number(counts):
    """The default number of topics: at least two, and as many as the corpus has words and documents for."""
    root, n_documents = np.sqrt(counts.sum(dtype=np.float64)), counts.shape[0]
    most = root**2 // least_tokens(counts)
    return int(max(2, min(root // ROOT_OF_A_TOPIC, n_documents // DOCUMENTS_OF_A_TOPIC, most, MOST_TOPICS)))


def too_many_topics(counts, n_learned, n_components):
    """A warning before the fit if topics have so few words that they are noise; "" if not."""
    n_tokens, least = counts.sum(dtype=np.float64), least_tokens(counts)
    most = max(2, min(n_learned // 2, int(n_tokens / least)))
    if n_components <= most or (n_components <= n_learned and n_tokens >= least * n_components):
        return ""
    short = ", which are short" if least > LEAST_TOKENS else ""
    return (
        f"{n_components} topics are too many for {n_learned:,} documents of {n_tokens:,.0f} words{short}: they change "
        f"with --random-state; give --n-components {most} or fewer"
    )


def likenesses(components, frequencies, order):
    """What each topic repeats: "the corpus", "topic k", or "".

    Of several similar topics, the first one in ``order`` is the one that later ones repeat. ``frequencies`` are those
    of the words in the corpus.
    """
    n_topics, n_words = components.shape
    n_main = max(1, min(MAIN_WORDS, n_words // OF_VOCABULARY))
    main, rows = distinctive_words(components, n_main), np.arange(n_topics + 1) * n_main
    lists = sparse.csr_array((np.ones(main.size), main.ravel(), rows), shape=components.shape)
    corpus = np.asarray(frequencies, dtype=np.float64)[None, :]
    general = match_topics(corpus, [row[None, :] for row in components]).likeness.ravel() > LIKE_CORPUS
    found, kept = [""] * len(components), []
    for k in order:
        shared = (lists[kept] @ lists[[k]].T).toarray().ravel() if kept else np.zeros(1)
        if general[k] and len(components) > FEW:
            found[k] = "the corpus"
        elif 2 * shared.max() >= n_main:
            found[k] = f"topic {kept[shared.argmax()]}"
        else:
            kept.append(k)
    return found


def fillers(listed):
    """Words that many topics list, with their numbers of topics, most frequent first."""
    counts = Counter(word for words in listed for word in words)
    return [(word, n) for word, n in counts.most_common() if n >= max(FILLED, FILLED_SHARE * len(listed))]


def facts_of_topics(table, repeated):
    """Facts on topics that repeat others, and on words of many topics, with the remedies."""
    facts, n_topics, n_alike = [], len(table), len(list(filter(None, repeated)))
    if n_alike:
        facts.append(("distinct topics", f"{n_topics - n_alike} of {n_topics}"))
        facts.append(
            ("warning", f"{n_alike} of {n_topics} topics repeat others or the corpus; give fewer by --n-components")
        )
    if found := fillers([row["words"] for row in table])[:MOST_FILLERS]:
        some, skip = ", ".join(f"{word} ({n})" for word, n in found), ",".join(word for word, _ in found)
        facts.append(("words of many topics", f"{some}; to fit without them, add --force --skip {skip}"))
    return facts


@dataclass(frozen=True)
class Score:
    """Held-out log-likelihood per token, or per context word of word sequences.

    ``mean`` is None if no document can be scored, for the ``reason``. ``error`` is the standard error of the mean over
    ``n_documents`` test documents, or other units; None for a single one. ``alone`` is the score of the word
    frequencies of the training documents, and ``gain_error`` the standard error of the difference; None for word
    sequences.
    """

    mean: float | None
    error: float | None = None
    n_documents: int = 0
    reason: str = ""
    alone: float | None = None
    gain_error: float | None = None
    unit: str = "document"

    def __str__(self):
        if self.mean is None:
            return self.reason
        alone = "" if self.alone is None else f"; word frequencies alone: {self.alone:.4f}"
        if self.error is None:
            return f"{self.mean:.4f} (one test {self.unit}: do not compare runs by it{alone})"
        return f"{self.mean:.4f} ± {self.error:.4f} (standard error over {self.n_documents:,} test {self.unit}s{alone})"

    @property
    def warning(self):
        """The warning of topics that predict no better than word frequencies; "" if they do."""
        if self.gain_error is None or self.mean > self.alone + self.gain_error:
            return ""
        told = f"({self.mean:.4f}) than word frequencies do ({self.alone:.4f}); give fewer topics by --n-components"
        return f"topics predict hidden words of test documents no better {told}, or more text"

    def record(self, unit):
        """Entries of run.json."""
        name = f"test_log_likelihood_per_{unit.replace(' ', '_')}"
        mean = self.reason if self.mean is None else self.mean
        others = {f"{name}_standard_error": self.error, f"{name}_of_word_frequencies": self.alone}
        return {name: mean, **others, f"test_{self.unit}s": self.n_documents}


def held_out_score(model, X, frequencies=None, unit="document"):
    """The score of held-out documents, and the gain over the frequencies of words in other documents."""
    if not X.shape[0]:
        return Score(None, reason="none held out")
    try:
        in_order = type(model).__name__ in IN_ORDER
        sums, sizes = model.score_by_document(X) if in_order else completion_by_document(model, X)
    except ValueError as error:
        return Score(None, reason=f"not available ({error})")
    scored = sizes > 0
    if not scored.any():
        return Score(None, reason="not available (no test document has two distinct words, so none can be hidden)")
    score = Score(*mean_and_error(sums[scored], sizes[scored]), int(scored.sum()), unit=unit)
    if in_order or frequencies is None:
        return score
    alone = completion_by_document(frequencies[None, :] + UNSEEN, X)[0]
    gain, gain_error = mean_and_error((sums - alone)[scored], sizes[scored])
    return replace(score, alone=score.mean - gain, gain_error=gain_error)


def mean_and_error(sums, sizes):
    """Mean over all units of some documents, and its standard error over documents; None for one document.

    The error is that of a ratio of sums (Cochran 1977, "Sampling Techniques", section 6.4).
    """
    mean, n = sums.sum() / sizes.sum(), len(sums)
    if n < 2:
        return float(mean), None
    residuals = sums - mean * sizes
    return float(mean), float(np.sqrt(n / (n - 1) * (residuals**2).sum()) / sizes.sum())


def scored_unit(model):
    """Unit of the held-out log-likelihood."""
    return "context word" if type(model).__name__ in IN_ORDER else "token"


class Again:
    """How many runs of other seeds find each topic.

    A run finds a topic if its counterpart lists at least half of the topic's main words. Counterparts are matched one
    to one, so that the sum of their Bhattacharyya coefficients is largest. ``stability`` (K,) is the mean of these.
    """

    def __init__(self, model, runs, n_top_words):
        self.n_runs, self.n_listed = len(runs), min(n_top_words, model.components_.shape[1])
        listed, matched = distinctive_words(model, self.n_listed), match_topics(model, runs)
        self.found, self.stability = np.zeros(len(listed), dtype=int), matched.likeness.mean(axis=0)
        for run, places in zip(runs, matched.topics, strict=True):
            theirs = distinctive_words(run, self.n_listed)[places]
            common = [len(np.intersect1d(*pair)) for pair in zip(listed, theirs, strict=True)]
            self.found += 2 * np.array(common) >= self.n_listed

    def found_by(self, k):
        """The number of runs that find topic k, and that of all runs."""
        return [int(self.found[k]), self.n_runs]

    def support(self, k):
        """The share of runs that find topic k."""
        return self.found[k] / self.n_runs

    def of(self, k):
        """In how many of the runs topic k is found, such as "2/3"."""
        return f"{self.found[k]}/{self.n_runs}"

    def stability_of(self, k):
        """Mean likeness of topic k to its counterparts, from 0 to 1."""
        return round(float(self.stability[k]), 3)

    def __str__(self):
        n, n_topics = int((2 * self.found > self.n_runs).sum()), len(self.found)
        advice = "" if n == n_topics else "; do not build on a topic that few runs find"
        words = f"with half of their {self.n_listed} main words"
        return f"{n} of {n_topics} topics by most of {self.n_runs} runs, {words}{advice}"


class NotAgain:
    """The reason why there are no further runs, with the methods of ``Again``."""

    def __init__(self, reason):
        self.reason = f"not measured ({reason}); --runs {RUNS} compares {RUNS} seeds"

    def found_by(self, k):
        """Nothing."""

    def support(self, k):  # noqa: ARG002
        """The only run finds all topics."""
        return 1.0

    def stability_of(self, k):
        """Nothing."""

    def of(self, k):  # noqa: ARG002
        """Nothing."""
        return ""

    def __str__(self):
        return self.reason
