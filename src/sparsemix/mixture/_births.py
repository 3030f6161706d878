"""Births in a fit: a component that has died is born again as one half of another, cut where the rows ask for it.

Before a lap some of the largest components are cut as at the start, by a sample of their rows; the halves that gain
most take the places of the dead, and the lap shows what all rows make of them. Where there is a bound and that lap has
lowered it, the statistics of before come back.
"""

from copy import copy

import numpy as np

from sparsemix._engine.blocks import Rows
from sparsemix._engine.loop import respond
from sparsemix.mixture._candidates import PERIOD, CandidateLists
from sparsemix.mixture._splitting import Splitting

# A component with less than this share of an even part of the rows is dead.
DEAD = 0.1
# So many times as many are looked at as could be born, through so many rows each, and for each dimension.
CHOICE = 2
ROWS, ROWS_PER_DIRECTION = 100, 6
# Halves of a sample would be sure of themselves: so many rows of their parent for each dimension join them.
SMOOTHING = 1.0


class Births:
    """Proposes births before laps 2, 3, 5, 9, 17 and so on, and settles them at their end.

    Nothing is kept from lap to lap, so that a fit which goes on elsewhere does the same.
    """

    _before = None

    def propose(self, lap, model, rows, schedule, stats, workers):
        """Statistics with births, under which the model is; the given ones where there are none."""
        count = stats["count"]
        dead = np.flatnonzero(count < DEAD * count.sum() / len(count))
        parents = np.argsort(-count, kind="stable")[: CHOICE * len(dead)]
        parents = np.sort(np.setdiff1d(parents, dead))
        if (lap - 1) & (lap - 2) or not len(dead) or not len(parents):
            return stats
        cuts = self._cut(model, rows, count, parents, len(dead), np.random.default_rng(lap), workers)
        if cuts is None:
            return stats
        halves, first, second = cuts
        before, stats = stats, stats.copy()
        cut = parents[first]
        whole = stats.take(cut)
        blend = SMOOTHING * model.family.n_features / count[cut]
        born, left = (halves.take(each).put(np.arange(len(cut)), whole, blend, 1.0) for each in (second, first))
        factors = count[cut] / (born["count"] + left["count"])
        dead = dead[: len(second)]
        stats.put(dead, born, factors).put(cut, left, factors)
        undo = [schedule.put(np.concatenate([dead, cut]), stats)]
        if rows.memory is not None:
            undo.append(rows.memory.saved())
        if schedule.has_bound:
            self._before = model.lower_bound(before), before, dict(vars(model)), undo
        if model.search is not None:
            model.search = model.search.renewed()
        model.global_step(stats, workers.split)
        return stats

    def settle(self, model, stats, workers):
        """Statistics after the lap that births were in, and whether they were taken back."""
        if self._before is None:
            return stats, False
        (bound, before, parameters, undo), self._before = self._before, None
        if model.lower_bound(stats) >= bound:
            return stats, False
        for each in undo:
            each()
        vars(model).update(parameters)
        if model.search is not None:
            model.search = model.search.renewed()
        model.global_step(before, workers.split)
        return before, True

    def _cut(self, model, rows, count, parents, wanted, rng, workers):
        """Statistics of the halves, and the numbers in them of first and second ones; None where no cut gains."""
        wish = max(ROWS, ROWS_PER_DIRECTION * model.family.n_features)
        size = min(len(rows), int(len(rows) * wish / (count[parents].mean() / count.sum() * len(rows))) + 1)
        sample = np.sort(rng.choice(len(rows), size=size, replace=False))
        place = np.full(len(count), -1, dtype=np.int32)
        place[parents] = np.arange(len(parents))
        labels = place[most_likely(model, rows, sample, workers)]
        sample, labels = sample[labels >= 0], labels[labels >= 0]
        if not len(sample):
            return None
        some = Rows(rows.read(sample), rows.weight(sample))
        splitting = Splitting(model.judge, some, rng, workers, labels.copy(), len(parents))
        born = splitting.cut(wanted, least=0.0)
        if not len(born):
            return None
        second = len(parents) + np.arange(len(born))
        one = np.unique(splitting.labels, return_index=True)
        first = labels[one[1][np.searchsorted(one[0], second)]]
        return splitting.stats(), first, second


def most_likely(model, rows, selection, workers):
    """The most likely component of each of the chosen rows; nothing of what is remembered of them changes."""
    some = copy(rows)
    if rows.memory is not None:
        some = Rows(rows.read(selection), rows.weight(selection))
        some.memory = CandidateLists(len(some), rows.memory.lists.shape[1])
        some.memory.lists[:] = rows.memory.lists[selection]
        some.memory.visits[:] = PERIOD - 1  # few random components
        selection = slice(0, len(some))
    resp, _ = respond(model, some, selection, workers)
    return resp.indices[np.arange(len(resp.indices)), resp.values.argmax(axis=1)]
