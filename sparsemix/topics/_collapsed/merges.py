"""Merges of the topics of a fit, by a bound of the evidence and by documents held out."""

import numpy as np

from sparsemix._engine.loop import respond
from sparsemix._kernels.split import _split
from sparsemix._models.topics.hdp_model import LEAST_TABLES, gains_of_documents, most_probable_gamma
from sparsemix._rows.documents import tiles
from sparsemix._stats.altered import altered
from sparsemix.metrics._completion import completion_by_document
from sparsemix.topics._collapsed.unseen_documents import sampling
from sparsemix.topics._edit.edited import combined, counts_by_topic, one_hot
from sparsemix.topics._edit.reduce import Clusters
from sparsemix.topics._fitted import FittedCounts

# Documents from which the gains of merges are estimated, and the number of their tokens that ends the sample; scores of
# held-out documents in a round of merges, and the share of their tokens that is hidden.
SAMPLED, MOST_TOKENS, MOST_SCORES, HIDDEN = 1000, 200_000, 5, 0.5
# Expected counts of words below this count as none in the bound, whose counts are whole.
LEAST_COUNT = 0.5
# Scores differ if the sum of their differences is more than this number of its standard errors.
SURE = 1.0


def merged_topics(monitor, rows, held_out, workers, n_jobs):
    """Fitted topics after all merges that raise the bound and do not lower the scores of documents held out."""
    fitted = FittedCounts(monitor.model, monitor.stats)
    sample, scale = sampled(fitted.model, rows, monitor.schedule, workers)
    tables = fitted.stats["draws"]
    used = (tables > LEAST_TABLES) | (tables == tables.max())
    used[np.concatenate([states for _, states in sample])] = True
    places, n_topics = np.where(used, np.cumsum(used) - 1, -1), int(used.sum())
    fitted = of_sums(fitted, places, n_topics) if n_topics < len(used) else fitted
    counts = counts_by_topic(fitted.stats)
    counts.data[counts.data < LEAST_COUNT] = 0.0
    clusters, best = Clusters(counts, fitted.model.topic_word_prior), scores(fitted, held_out, n_jobs)
    while True:
        sample = [(x, places.astype(states.dtype)[states]) for x, states in sample]
        pairs = best_pairs(gains(fitted, sample, scale, clusters))
        n_pairs, places, fitted, best = largest_merge(fitted, pairs, best, held_out, n_jobs)
        if n_pairs == 0:
            return fitted
        alive = np.flatnonzero(clusters.sizes)
        for k, m in pairs[:n_pairs]:
            clusters.join(alive[k], alive[m])


def largest_merge(fitted, pairs, best, held_out, n_jobs):
    """The largest number of pairs, in their order, whose merge scores no less than ``best``.

    Returns the number, the places of the old topics, the new topics, and the best scores including theirs.
    """
    found, high = (0, None, fitted, best), len(pairs)
    n = high
    for _ in range(MOST_SCORES):
        if n == found[0]:
            break
        places = np.arange(fitted.model.n_components)
        places[[m for _, m in pairs[:n]]] = [k for k, _ in pairs[:n]]
        kept, places = np.unique(places, return_inverse=True)
        trial = of_sums(fitted, places, len(kept))
        reached = scores(trial, held_out, n_jobs)
        if gain(reached, best) >= -SURE:
            found = n, places, trial, max(reached, best, key=np.sum)
        else:
            high = n
        n = (found[0] + high) // 2
    return found


def of_sums(fitted, places, n_topics):
    """Fitted topics in which topic k is added to topic ``places[k]``, or dropped if that is -1."""
    stats, priors = combined(fitted, one_hot(places, n_topics))
    old = fitted.model
    gamma = most_probable_gamma(old.gamma, stats["draws"])
    new = {"n_components": n_topics, "n_nonzero": n_topics, "gamma": gamma, **priors}
    model = altered(old.renewed(0), **new, learn_alpha=False, learn_beta=False)  # the step must not change priors
    model.global_step(stats)
    return FittedCounts(altered(model, learn_alpha=old.learn_alpha, learn_beta=old.learn_beta), stats)


def scores(fitted, held_out, n_jobs):
    """Log probability of the hidden tokens of each document held out."""
    prior = fitted.model.doc_topic_prior
    return completion_by_document(
        fitted.word_topic.T, held_out, doc_topic_prior=prior, test_fraction=HIDDEN, n_jobs=n_jobs
    )[0]  # fmt: skip


def gain(now, before):
    """Sum of the differences of the documents' scores, in its standard errors."""
    change = now - before
    error = np.sqrt(change @ change)
    return change.sum() / error if error > 0.0 else 0.0


def sampled(model, rows, schedule, workers):
    """Some documents of the fit with sampled topics of their tokens, and how many documents one of them represents."""
    out, mass, dtype = [], 0.0, _split.state_dtype(model.n_components)
    with sampling(model):
        model.draw_again()
        for batch in schedule._recurring():
            numbers, (resp, x) = rows.first_row + batch, respond(model, rows, batch, workers)
            model.sampler.take_back(resp)
            states = rows.memory.recall_states(numbers, x.sample_starts, tiles(numbers, model.tile), dtype)[1]
            out.append((x, states))
            mass += len(x) if x.weight is None else x.weight.sum()
            if sum(len(x) for x, _ in out) >= SAMPLED or sum(len(z) for _, z in out) >= MOST_TOKENS:
                break
    return out, rows.mass / mass


def gains(fitted, sample, scale, clusters):
    """Change of the bound for all merges of two topics, (K, K)."""
    documents = gains_of_documents(sample, fitted.word_topic / fitted.totals, fitted.model.doc_topic_prior)
    alive = np.flatnonzero(clusters.sizes)
    return scale * documents - clusters.losses[np.ix_(alive, alive)]


def best_pairs(gains):
    """Disjoint pairs of positive gain, those of largest gain first; ``gains`` changes."""
    gains[np.tril_indices(len(gains))] = -np.inf
    pairs, free = [], np.ones(len(gains), dtype=bool)
    chosen = np.argwhere(gains > 0.0)
    for k, m in chosen[np.argsort(-gains[gains > 0.0], kind="stable")]:
        if free[k] and free[m]:
            pairs.append((int(k), int(m)))
            free[[k, m]] = False
    return pairs
