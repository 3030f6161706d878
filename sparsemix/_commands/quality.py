"""Judgements of the topics of a run: their number, held-out score, likeness, and whether another seed finds them."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from sparsemix._commands.topics_options import DOCUMENTS_OF_A_TOPIC, IN_ORDER, MOST_TOPICS, ROOT_OF_A_TOPIC
from sparsemix.metrics import distinctive_words
from sparsemix.metrics._completion import completion_by_document

# With fewer tokens per topic, topics would be noise. Texts with fewer tokens than SHORT on average need more: two fits
# to titles of manual pages agree in 0.67 (mean Bhattacharyya coefficient) with 500 tokens per topic, in 0.8 with 1,500.
LEAST_TOKENS, LEAST_OF_SHORT, SHORT = 100, 1000, 10
# Two topics are alike if the sum over words of the root of their probabilities' product (Bhattacharyya's coefficient)
# exceeds this. In fits to documentation with enough words for each topic, the largest of any two topics was 0.6. The
# mean of a few topics is the corpus: they may resemble it.
ALIKE, LIKE_CORPUS, FEW = 0.8, 0.9, 5
# Words of each topic that are compared, most probable first.
COMPARED = 1000
# A word is a filler if at least this number of topics, and at least this share of all topics, list it; a run proposes
# to skip some.
FILLED, FILLED_SHARE, MOST_FILLERS = 5, 0.15, 10
# More tokens are not fitted a second time: a fit to so many takes some ten seconds.
MOST_TOKENS = 500_000
# Occurrences that word frequencies get for each word of the vocabulary, as some words are in test documents only.
UNSEEN = 1
AGAIN = "found again by another seed"


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


def roots(weights):
    """Unit vectors of the roots of word weights, of the most probable words of each row; CSR."""
    n, v = weights.shape
    m = min(COMPARED, v)
    words = np.argpartition(-weights, m - 1, axis=1)[:, :m]
    values = np.sqrt(np.take_along_axis(weights, words, axis=1).astype(np.float64))
    values /= np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-300)
    return sparse.csr_array((values.ravel(), words.ravel(), np.arange(n + 1) * m), shape=(n, v))


def likenesses(components, frequencies, order):
    """What each topic repeats: "the corpus", "topic k", or "".

    Of several similar topics, the first one in ``order`` is the one that later ones repeat. ``frequencies`` are those
    of the words in the corpus.
    """
    topics = roots(components)
    general = (topics @ roots(np.asarray(frequencies, dtype=np.float64)[None, :]).T).toarray().ravel() > LIKE_CORPUS
    found, kept = [""] * len(components), []
    for k in order:
        near = (topics[kept] @ topics[[k]].T).toarray().ravel() if kept else np.zeros(1)
        if general[k] and len(components) > FEW:
            found[k] = "the corpus"
        elif near.max() > ALIKE:
            found[k] = f"topic {kept[near.argmax()]}"
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
        facts.append(("warning", f"{n_alike} of {n_topics} topics repeat others or the corpus; give fewer topics"))
    if found := fillers([row["words"] for row in table])[:MOST_FILLERS]:
        some, skip = ", ".join(f"{word} ({n})" for word, n in found), ",".join(word for word, _ in found)
        facts.append(("words of many topics", f"{some}; to fit without them, add --force --skip {skip}"))
    return facts


@dataclass(frozen=True)
class Score:
    """Held-out log-likelihood per token, or per context word of word sequences.

    ``mean`` is None if no document can be scored, for the ``reason``. ``error`` is the standard error of the mean over
    ``n_documents`` test documents; None for a single document. ``alone`` is the score of the word frequencies of the
    training documents, and ``gain_error`` the standard error of the difference; None for word sequences.
    """

    mean: float | None
    error: float | None = None
    n_documents: int = 0
    reason: str = ""
    alone: float | None = None
    gain_error: float | None = None

    def __str__(self):
        if self.mean is None:
            return self.reason
        alone = "" if self.alone is None else f"; word frequencies alone: {self.alone:.4f}"
        if self.error is None:
            return f"{self.mean:.4f} (one test document: do not compare runs by it{alone})"
        return f"{self.mean:.4f} ± {self.error:.4f} (standard error over {self.n_documents:,} test documents{alone})"

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
        return {name: mean, **others, "test_documents": self.n_documents}


def held_out_score(model, X, frequencies=None):
    """The score of held-out documents, and the gain over the frequencies of words in other documents."""
    if not X.shape[0]:
        return Score(None, reason="none held out")
    try:
        in_order = type(model).__name__ in IN_ORDER
        sums, sizes = model._score_by_document(X) if in_order else completion_by_document(model, X)
    except ValueError as error:
        return Score(None, reason=f"not available ({error})")
    scored = sizes > 0
    if not scored.any():
        return Score(None, reason="not available (no test document has two distinct words, so none can be hidden)")
    score = Score(*mean_and_error(sums[scored], sizes[scored]), int(scored.sum()))
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
    """Comparison of topics with those of a second fit, whose only difference is the seed.

    Topics are paired one to one, so that the sum of their Bhattacharyya coefficients is largest. ``common`` has the
    number of the main words of each topic that its counterpart lists too, of ``n_listed``.
    """

    def __init__(self, model, other, n_top_words):
        likeness = (roots(model.components_) @ roots(other.components_).T).toarray()
        self.n_listed = min(n_top_words, model.components_.shape[1])
        ours, theirs = (distinctive_words(one, self.n_listed) for one in (model, other))
        pairs = zip(ours, theirs[linear_sum_assignment(-likeness)[1]], strict=True)
        self.common = np.array([len(np.intersect1d(*pair)) for pair in pairs])

    def of(self, k):
        """How many of the main words of topic k are found again, such as "7/10"."""
        return f"{self.common[k]}/{self.n_listed}"

    def __str__(self):
        n = int((2 * self.common >= self.n_listed).sum())
        advice = "" if n == len(self.common) else "; do not build on a topic that is not found again"
        return f"{n} of {len(self.common)} topics, with at least half of their {self.n_listed} main words{advice}"


class NotAgain:
    """The reason why there is no second fit, with the methods of ``Again``."""

    def __init__(self, reason):
        self.reason = f"not measured ({reason}); run again with --random-state 1 and another --output to compare"

    def of(self, k):  # noqa: ARG002
        """Nothing."""
        return ""

    def __str__(self):
        return self.reason
