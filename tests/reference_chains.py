"""Slow and obvious versions of random numbers from counters, alias tables and Metropolis-Hastings chains of topics.

They use the same random numbers as the compiled loops and add up in the same order: chains agree state by state.
"""

from dataclasses import dataclass, field

import numpy as np

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def child(key, part):
    return mix(key ^ mix((part + GOLDEN) & MASK))


def row_key(seed, row, visit):
    return child(child(mix(mix((seed + GOLDEN) & MASK)), row & MASK), visit & MASK)


def draw_bits(key, draw):
    return mix((key + GOLDEN * (draw + 1)) & MASK)


def bits(seed, row=0, visit=0, kind=0, sweep=0, draw=0):
    return draw_bits(child(row_key(seed, row, visit), (kind << 32) | sweep), draw)


def uniform(*key):
    return (bits(*key) >> 11) * 2.0**-53


# -- alias tables


def build_alias(weights):
    """(prob, alias) by Vose's two stacks, in the order of the compiled loop."""
    n, total = len(weights), 0.0
    for weight in weights:
        total += float(weight)
    excess = [float(weight) * (n / total) for weight in weights]
    small = [i for i in range(n) if excess[i] < 1.0]
    large = [i for i in range(n) if not excess[i] < 1.0]  # the last is on top
    prob, alias = np.ones(n), np.arange(n)
    while small and large:
        i, j = small.pop(), large[-1]
        prob[i], alias[i] = excess[i], j
        excess[j] -= 1.0 - excess[i]
        if excess[j] < 1.0:
            large.pop()
            small.append(j)
    return prob, alias


def draw_alias(prob, alias, u):
    """The column and the coin come from one uniform number."""
    x = u * len(prob)
    column = min(int(x), len(prob) - 1)
    return column if x - column < prob[column] else int(alias[column])


def implied(prob, alias):
    """Probabilities that a table draws with."""
    p = np.asarray(prob, dtype=np.float64).copy()
    np.add.at(p, alias, 1.0 - np.asarray(prob, dtype=np.float64))
    return p / len(prob)


# -- chains


@dataclass
class Topics:
    """Counts of words by topic: N_wk = scale G_wk + offset, with prior beta and inverse = 1 / (N_k + V beta)."""

    table: np.ndarray
    scale: float
    offset: float
    prior: float
    inverse: np.ndarray
    alpha: np.ndarray

    def factors(self, word):
        return (self.scale * self.table[word] + self.offset + self.prior) * self.inverse

    def counts(self):
        return self.scale * self.table + self.offset


class Proposals:
    """Frozen proposals of every word: density (V, K) in two parts."""

    def __init__(self, topics):
        weight = topics.alpha * topics.inverse
        self.own = weight * (topics.scale * topics.table)
        self.shared = weight * (topics.offset + topics.prior)
        self.rows = [np.flatnonzero(row > 0) for row in self.own]
        self.tables = [
            build_alias(own[row]) if len(row) else None for own, row in zip(self.own, self.rows, strict=True)
        ]
        self.shared_table = build_alias(self.shared)
        self.totals = [sum(own[row].tolist()) for own, row in zip(self.own, self.rows, strict=True)]
        self.shared_total = float(self.shared.sum())

    def density(self, word):
        return self.own[word] + self.shared

    def draw(self, word, y):
        if y < self.totals[word]:
            return int(self.rows[word][draw_alias(*self.tables[word], y / self.totals[word])])
        return draw_alias(*self.shared_table, (y - self.totals[word]) / self.shared_total)


@dataclass
class Settings:
    seed: int = 0
    visit: int = 0
    n_samples: int = 5
    n_sweeps: int = 2
    rho: np.ndarray | None = None
    sparsity: float = 0.0
    exclude: str = "none"
    share: float = 0.0
    check: bool = True
    draw: object = None  # (proposals, word, y) -> topic, for broken draws
    acceptance: object = None  # for broken ratios


def ratio(target_new, target_old, density_new, density_old):
    return target_new * density_old / (target_old * density_new)


@dataclass
class Counts:
    """Counts of a document, with topics in the order in which they arrived."""

    order: list = field(default_factory=list)
    value: dict = field(default_factory=dict)
    start: dict = field(default_factory=dict)
    scale: float = 1.0
    fade: float = 0.0
    length: float = 0.0

    def __getitem__(self, k):
        return self.scale * self.value.get(k, 0.0) + self.fade * self.start.get(k, 0.0)

    def open(self, k):
        if k not in self.value:
            self.order.append(k)
            self.value[k] = self.start[k] = 0.0

    def add(self, k, amount):
        self.open(k)
        self.value[k] += amount

    def take(self, k, amount):
        self.open(k)
        self.value[k] = max(self.value[k] - amount, 0.0)

    def drop_below(self, limit):
        for k in [k for k in self.order if self[k] < limit]:
            self.order.remove(k)
            del self.value[k], self.start[k]

    def dense(self, n_components):
        out = np.zeros(n_components)
        for k in self.order:
            out[k] = self[k]
        return out


def sample_type(counts, topics, proposals, word, key, z, settings, own):
    """S states of a type's chain, and how many proposals were from the document's part and accepted."""
    n_components = len(topics.alpha)
    factor = topics.factors(word)
    for k in own:
        left = max(topics.scale * topics.table[word, k] + topics.offset - own[k], 0.0)
        factor[k] = (left + topics.prior) * topics.inverse[k]
    doc_topic = counts.dense(n_components)
    target = doc_topic * factor + topics.alpha * factor
    density = doc_topic * factor + proposals.density(word)
    prefix, total = [], 0.0
    for k in counts.order:
        total += doc_topic[k] * factor[k]
        prefix.append(total)
    accept = settings.acceptance or ratio
    draw = settings.draw or Proposals.draw
    states, tally = [], np.zeros(3, dtype=np.int64)
    for d in range(settings.n_samples):
        u = (total + proposals.totals[word] + proposals.shared_total) * uniform(*key, 2 * d)
        sparse = u < total
        if sparse:
            proposed = next(k for k, p in zip(counts.order, prefix, strict=True) if u < p)
        else:
            proposed = draw(proposals, word, u - total)
        accepted = True
        if settings.check and z >= 0 and proposed != z:
            a = accept(target[proposed], target[z], density[proposed], density[z])
            accepted = uniform(*key, 2 * d + 1) < a
        z = proposed if accepted else z
        states.append(z)
        tally += 1, sparse, accepted
    return states, tally


def sample_document(types, tokens, number, start, topics, proposals, states, settings):
    """Sweeps over the types of a document.

    Returns the states of each type in the last sweep, counts, chains, the tally, and what each visit of a type left:
    counts (K,) and its states.
    """
    s, S = settings, settings.n_samples
    counts = Counts(length=float(np.sum(tokens, dtype=np.float64)))
    counts.scale, counts.fade = (1.0, 0.0) if s.rho is not None else (1.0 / S, 1.0)
    for k, value in start:
        counts.open(k)
        (counts.value if s.rho is not None else counts.start)[k] = float(value)
    if len(types) == 0:
        return [], Counts(), [], np.zeros(3, dtype=np.int64), []
    drawn, states, tally, history = [None] * len(types), list(states), np.zeros(3, dtype=np.int64), []
    seen, rho = 0.0, 1.0
    for sweep in range(s.n_sweeps):
        for i, (word, m) in enumerate(zip(types, tokens, strict=True)):
            key, m, before, own = (s.seed, number, s.visit, i, sweep), float(m), drawn[i], {}
            out = 0.0 if s.exclude == "none" else min(m, 1.0)
            if s.rho is None and before is not None:
                for k in before:
                    counts.take(k, out)
                    own[k] = own.get(k, 0.0) + out * counts.scale
            drawn[i], more = sample_type(
                counts, topics, proposals, word, key, states[i], s, own if s.exclude == "both" else {}
            )
            tally += more
            states[i] = drawn[i][-1]
            if s.rho is not None:
                rho = float(s.rho[min(int(seen), len(s.rho) - 1)])
                kept = 1.0 - rho if m == 1.0 else (1.0 - rho) ** m
                if kept <= 0.0:
                    counts.order, counts.value, counts.start, counts.scale = [], {}, {}, 1.0
                else:
                    counts.scale *= kept
                for k in drawn[i]:
                    counts.add(k, (1.0 - kept) * counts.length / (S * counts.scale))
            else:
                for k in before or ():
                    counts.take(k, m - out)
                for k in drawn[i]:
                    counts.add(k, m)
                if before is not None and min(counts[k] for k in before) < 1e-12 * counts.length:
                    counts.drop_below(1e-12 * counts.length)
            seen += m
            counts.fade = 1.0 - seen / counts.length if s.rho is None and seen < counts.length else 0.0
            history.append((counts.dense(len(topics.alpha)), drawn[i]))
        if s.rho is None and sweep == 0:
            counts.drop_below(1e-12 * counts.length)
        if s.rho is not None and sweep == s.n_sweeps - 2:
            counts.drop_below(s.sparsity * rho * counts.length)
    counts.drop_below(s.share * counts.length)
    return drawn, counts, states, tally, history
