"""Function words of texts, such as "the" and "of", from the texts alone: for languages without a list of stop words."""

from collections import Counter
from itertools import chain, islice

from sparsemix.texts._reading.words.tokens import SAMPLE, rows_by_language

# Function words are frequent, short and evenly spread: they occur twice in a stretch of text hardly more often than by
# chance, while a content word that occurs once in it is likely to occur again. The constants were chosen on ten corpora
# in eight languages. On eight others in seven languages, 94 to 100 % of the tokens of the words found are in a list of
# the language, and the words found have 46 to 87 % of the tokens of the list. The subject of all texts can be among
# them: "gud" (God), "allah" and "orang" (people) in translations of the Quran, where 90 % and 79 % are in a list.
STRETCH = 300
# A function word has at least this share of the tokens, and is among this share of the distinct words.
LEAST_SHARE, TOP_SHARE = 1 / 1000, 1 / 50
# It has at most this share of the mean length of distinct words, which keeps the subject of all texts, such as
# "government" in speeches.
MOST_LENGTH = 0.7
# Pairs of it in one stretch are fewer than this many times those expected by chance, less a margin: a rare word, whose
# number of pairs says little, is kept.
MOST_REPEATED, MARGIN = 2.5, 50


def learn_function_words(texts, languages, split, language, known):
    """The function words of the texts that are read as a language; ``split`` finds the words of a text."""
    return function_words(map(split, texts.whole(rows_by_language(languages, known, SAMPLE)[language])))


def function_words(texts):
    """The function words of texts, which are lists of words, most frequent first."""
    stream, counts, pairs, n = chain.from_iterable(texts), Counter(), Counter(), 0
    while len(stretch := list(islice(stream, STRETCH))) == STRETCH:
        n += 1
        for word, count in Counter(stretch).items():
            counts[word] += count
            pairs[word] += count * (count - 1)
    longest = MOST_LENGTH * sum(map(len, counts)) / max(1, len(counts))
    return [
        word for word, count in counts.most_common(int(TOP_SHARE * len(counts)))
        if count >= LEAST_SHARE * n * STRETCH and len(word) <= longest
        and pairs[word] + MARGIN < MOST_REPEATED * count**2 * (STRETCH - 1) / (n * STRETCH)
    ]  # fmt: skip
