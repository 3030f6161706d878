"""Words of a topic that are more or less frequent in a period or group than in the rest of the topic."""

import numpy as np

# Words of each topic that are compared, most probable first; topics of a document that may explain a word.
COMPARED, MOST_TOPICS = 50, 8
# A word has changed if its tokens differ from the number that the other bins imply by this many standard deviations
# and by this factor, and if the larger of both numbers is at least this. At most LISTED words are listed.
DEVIATION, FACTOR, LEAST, LISTED = 3.0, 1.5, 4.0, 5
# Entries of the counts that are assigned to topics at once.
CHUNK = 1 << 18


class Usage:
    """Expected tokens of each topic's main words, by bin. ``n_bins`` has a number for each stratification."""

    def __init__(self, components, n_bins):
        K, V = components.shape
        m = min(COMPARED, V)
        self.words = np.sort([np.argpartition(-row, m - 1)[:m] for row in components], axis=1)  # row by row: memory
        self.keys = (np.arange(K)[:, None] * V + self.words).ravel()  # sorted
        self.components, self.totals = components, components.sum(axis=1, dtype=np.float64)
        self.tables = [(np.zeros((n, K, m)), np.zeros((n, K))) for n in n_bins]

    def add(self, codes, doc_topic, counts):
        """Add documents. ``codes`` are their bins in each stratification, -1 for none."""
        K, V = self.components.shape
        top = np.argsort(-doc_topic, axis=1, kind="stable")[:, :MOST_TOPICS]
        rows = np.repeat(np.arange(len(doc_topic)), np.diff(counts.indptr))
        for start in range(0, len(rows), CHUNK):
            d, w = rows[start : start + CHUNK], counts.indices[start : start + CHUNK]
            topics = top[d]
            weights = doc_topic[d[:, None], topics] * self.components[topics, w[:, None]] / self.totals[topics]
            totals = weights.sum(axis=1, keepdims=True)
            weights *= counts.data[start : start + CHUNK, None] / np.where(totals > 0, totals, 1.0)
            keys = topics.astype(np.int64) * V + w[:, None]
            slots = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            known = self.keys[slots] == keys
            for bins, (table, tokens) in zip(codes, self.tables, strict=True):
                b = np.broadcast_to(bins[d][:, None], topics.shape)
                inside = b >= 0
                add_to(tokens, (b * K + topics)[inside], weights[inside])
                inside = inside & known
                add_to(table, (b * len(self.keys) + slots)[inside], weights[inside])

    def changes(self, i, k):
        """Words of topic k that are more, and less, frequent in each bin of stratification i than in the rest."""
        table, tokens = self.tables[i]
        return contrasts(table[:, k], tokens[:, k], self.words[k])

    def trend(self, i, k):
        """Words of topic k that are more, and less, frequent in the second half of its tokens, in the order of bins."""
        table, tokens = self.tables[i][0][:, k], self.tables[i][1][:, k]
        late = np.cumsum(tokens) - tokens / 2 > tokens.sum() / 2
        halves = np.array([table[~late].sum(axis=0), table[late].sum(axis=0)])
        return contrasts(halves, np.array([tokens[~late].sum(), tokens[late].sum()]), self.words[k])[1]


def add_to(table, places, values):
    """Add values at places of the flat table."""
    table += np.bincount(places, values, table.size).reshape(table.shape)


def contrasts(table, tokens, words):
    """Words that are more, and less, frequent in each bin than in the other bins together, the clearest first.

    ``table`` (n_bins, n_words) has the tokens of the words, ``tokens`` (n_bins,) those of all words.
    """
    others = np.maximum(tokens.sum() - tokens, 1e-9 * max(tokens.sum(), 1.0))[:, None]
    ratio = tokens[:, None] / others
    expected = np.where(ratio < 1e6, ratio * (table.sum(axis=0) - table), table)  # a single bin has no others
    deviation = (table - expected) / np.sqrt(np.maximum(expected * (1 + ratio), 1.0))
    high, low = np.maximum(table, expected), np.minimum(table, expected)
    clear = (np.abs(deviation) >= DEVIATION) & (high >= FACTOR * low) & (high >= LEAST)
    found = []
    for row, ok in zip(deviation, clear, strict=True):
        order = np.argsort(-row, kind="stable")
        more = [int(words[j]) for j in order if ok[j] and row[j] > 0][:LISTED]
        fewer = [int(words[j]) for j in order[::-1] if ok[j] and row[j] < 0][:LISTED]
        found.append((more, fewer))
    return found
