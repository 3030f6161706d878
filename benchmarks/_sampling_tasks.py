"""What ``sampling.py`` measures, in a child process: epochs of a topic estimator, and their phases.

Phases are the methods of the model protocol, the same for every estimator.
"""

import time
import warnings

import numpy as np
from _measure import peak_resident_bytes, resident_bytes
from _tasks import timed
from _topics_ours import Passes, estimator
from _topics_tasks import load
from sklearn.exceptions import ConvergenceWarning

from sparsemix._engine import schedules
from sparsemix._models.topics.stochastic_model import StochasticCollapsedModel
from sparsemix._models.topics.variational_model import TopicModel
from sparsemix.topics._collapsed import assemble_stochastic

PHASES = {
    "tables": ["prepare"], "documents": ["local_step"], "sums": ["accumulate"], "steps": ["global_step", "absorb"],
}  # fmt: skip
OWNERS = (TopicModel, StochasticCollapsedModel, schedules.Memoized, schedules.Stochastic)


def passes(folder, path, n_passes, n_components, parameters):
    """Median seconds of the later epochs of one thread, and what of them goes to each phase."""
    X = load(folder, "train")
    assemble_stochastic.START_BATCHES = 0, 0
    spent = dict.fromkeys(PHASES, 0.0)
    observe(spent)
    epochs = Laps(spent)
    wishes = {"n_components": n_components, "n_jobs": 1, "max_iter": n_passes, "tol": 0.0, "random_state": 0}
    model = estimator(path, wishes, parameters)
    before = resident_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_callbacks(Passes(epochs)).fit(X)
    used = peak_resident_bytes() - before
    later = np.diff(epochs.kept, axis=0)[n_passes // 2 :]
    seconds, cpu_seconds, *phases = np.median(later, axis=0)
    sampled = getattr(model, "sampler_", None) == "mhw"
    return {
        "seconds": seconds,
        "cpu_share": cpu_seconds / seconds,
        "phases": dict(zip(PHASES, phases, strict=True)),
        "draws": X.nnz * model.n_samples * (model.burn_in + 1) if sampled else None,
        "acceptance": model.acceptance_rate_ if sampled else None,
        "bytes": used,
    }


def observe(spent):
    """Add up the seconds of each phase from now on."""
    for phase, names in PHASES.items():
        for owner in OWNERS:
            for name in names:
                if name in vars(owner):
                    setattr(owner, name, timed(getattr(owner, name), phase, spent))


class Laps:
    """In the place of a clock: seconds so far, of all and of each phase, after the start and after each epoch."""

    def __init__(self, spent):
        self.spent, self.kept = spent, []

    def epoch(self, passes, topics=None):  # noqa: ARG002
        """Note the time; never ask to stop."""
        self.kept.append([time.perf_counter(), time.process_time(), *self.spent.values()])
        return False
