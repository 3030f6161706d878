"""The number of topics: the default for a corpus, and the advice of a run. No other module advises a number."""

import numpy as np

from sparsemix._commands.topics_options import DOCUMENTS_OF_A_TOPIC, MOST_TOPICS, ROOT_OF_A_TOPIC

# With fewer tokens per topic, topics would be noise. Texts with fewer tokens than SHORT on average need more: two fits
# to titles of manual pages agree in 0.67 (mean Bhattacharyya coefficient) with 500 tokens per topic, in 0.8 with 1,500.
LEAST_TOKENS, LEAST_OF_SHORT, SHORT = 100, 1000, 10


def default_number(counts):
    """The default number of topics: at least two, and as many as the corpus has words and documents for."""
    root, n_documents = np.sqrt(counts.sum(dtype=np.float64)), counts.shape[0]
    most = root**2 // least_tokens(counts)
    return int(max(2, min(root // ROOT_OF_A_TOPIC, n_documents // DOCUMENTS_OF_A_TOPIC, most, MOST_TOPICS)))


def least_tokens(counts):
    """Tokens that a topic needs; more in short documents, where few words occur together."""
    return LEAST_OF_SHORT if counts.sum(dtype=np.float64) < SHORT * counts.shape[0] else LEAST_TOKENS


def most_topics(counts, n_learned, n_components):
    """The largest number of topics that the words of a corpus allow; None if it allows ``n_components``."""
    n_tokens, least = counts.sum(dtype=np.float64), least_tokens(counts)
    most = max(2, min(n_learned // 2, int(n_tokens / least)))
    too_many = n_components > most and (n_components > n_learned or n_tokens < least * n_components)
    return most if too_many else None


def too_many_topics(counts, n_learned, n_components):
    """A warning before the fit if topics have so few words that they are noise."""
    if (most := most_topics(counts, n_learned, n_components)) is not None:
        short = ", which are short" if least_tokens(counts) > LEAST_TOKENS else ""
        yield (
            f"{n_components} topics are too many for {n_learned:,} documents of "
            f"{counts.sum(dtype=np.float64):,.0f} words{short}: they change with --random-state; "
            f"give --n-components {most} or fewer"
        )


def fewer_topics(n_topics, n_alike, common, most, filled):
    """A warning after the fit, in one sentence with one number; "" if the topics differ.

    Parameters
    ----------
    n_topics : int
    n_alike : int
        Number of topics that repeat another one or the corpus.
    common : str
        What topics have in common, or "".
    most : int or None
        The number that the warning before the fit gave. It counts.
    filled : bool
        Whether the run lists words of many topics.
    """
    reasons = [f"{n_alike} of {n_topics} topics repeat others or the corpus"] if n_alike else []
    reasons += [f"topics overlap: {common}"] if common else []
    fewer = most or min(n_topics - n_alike, n_topics // 2 if common else n_topics)
    remedies = [f"try --n-components {fewer}"] if 1 < fewer < n_topics else []
    remedies += ["leave out the words of many topics"] if filled else []
    return "; ".join([" and ".join(reasons), " or ".join(remedies)]).removesuffix("; ") if reasons else ""
