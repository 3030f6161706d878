"""The prior of documents, learned from documents that the topics have not seen."""

from contextlib import contextmanager

import numpy as np

from sparsemix._engine.loop import Hook, respond
from sparsemix.metrics._checks import first_part
from sparsemix.topics._assemble import count_blocks

# Documents that most epochs leave out: this number of tokens, at least LEAST documents, at most SHARE of all.
TOKENS, LEAST, SHARE = 1e4, 50, 0.1
# Visits before each epoch.
VISITS = 4
# Epochs before the first visit: topics are alike at first.
FORMING = 2


def leave_out(schedule, documents, n_tokens):
    """Let the schedule leave out some batches until epochs are averaged."""
    n_documents = max(LEAST, TOKENS * documents.mass / n_tokens)
    n_batches = -(-documents.n_rows // schedule.batch_size)
    schedule.n_unseen = min(int(SHARE * n_batches), round(n_documents / schedule.batch_size) + 1)


def whole(X):
    """Whether all counts are whole numbers; others, such as tf-idf, do not show how often a topic is repeated."""
    return all(first_part(block) is None for _, block in count_blocks(X))


class UnseenDocuments(Hook):
    """Learns the mass of the prior before each epoch that leaves documents out.

    Each visit samples topics of their tokens under the current topics, from the samples of the visit before. The
    samples determine the mass by one step of Minka's fixed point.
    """

    def before(self, epoch, fit, stats):
        """See Hook."""
        model, batches = fit.model, fit.schedule.unseen
        if not batches or epoch > fit.schedule.last_warm or epoch <= FORMING:
            return stats
        with sampling(model):
            for _ in range(VISITS):
                model.learn_prior_mass(draws(model, fit.rows, batches, fit.workers))
        return stats


@contextmanager
def sampling(model):
    """Let the model sample topics of unseen documents, even while it visits others densely."""
    sampler, model.sampler, model.unseen = model.sampler, model.later_sampler, True
    model.begin_visits()
    try:
        yield
    finally:
        model.sampler, model.unseen = sampler, False
        model.begin_visits()


def draws(model, rows, batches, workers):
    """Statistics of alpha from one visit of the documents of some batches."""
    sums = {"draws": np.zeros(model.n_components), "per_prior": 0.0, "documents": 0.0}
    model.draw_again()
    for batch in batches:
        resp, x = respond(model, rows, batch, workers)
        weight = rows.weight(batch)
        sums["documents"] += len(x) if weight is None else weight.sum()
        of_batch = model.draws_of(x, weight)()
        for name in ("draws", "per_prior"):
            sums[name] += of_batch[name]
        model.sampler.take_back(resp)
    return sums
