"""Our topic estimators as contestants, with their own defaults; other packages are in ``_topics_peers``.

A contestant is made from documents and a setting (conversion of the documents is outside the clock), and has

* ``learn(clock)``: train until the clock says that time is up, and report every epoch (``Clock.epoch``);
* ``topics()``: (K, V) weights, as of the last epoch;
* ``documents(X)``, ``proportions(documents)``: new documents as the package wants them, and their topics (n, K).
"""

import importlib
import warnings
from dataclasses import dataclass

from _clock import observe
from sklearn.exceptions import ConvergenceWarning

UNLIMITED = 1_000_000

warnings.simplefilter("ignore", ConvergenceWarning)  # fits here end by the clock


@dataclass(frozen=True)
class Setting:
    """Settings of a contestant; priors that are None are the package's own."""

    n_components: int
    doc_topic_prior: float | None
    topic_word_prior: float | None
    seed: int = 0


class Estimator:
    """Any of our estimators, by "module:Class"; further parameters go to it. It is observed by callbacks.

    Fits end by the clock, but for those whose last epochs differ from the ones before: they have their own number. With
    ``own_end`` all end as they do by default.
    """

    def __init__(self, X, setting, path, own_end=False, **parameters):
        wishes = {} if own_end else {"max_iter": UNLIMITED, "tol": 0.0}
        wishes |= {"n_components": setting.n_components, "random_state": setting.seed}
        self.model = estimator(path, wishes, parameters)
        self.X = X

    def learn(self, clock):
        self.model.set_callbacks(observe(clock))
        clock.begin()
        self.model.fit(self.X)
        self.model.set_callbacks()

    def topics(self):
        return self.model.components_

    def documents(self, X):
        return X

    def proportions(self, documents):
        return self.model.transform(documents)


# Epochs of fits whose last epochs are averages, for all lengths of documents.
AVERAGED_FIT = 20


def estimator(path, wishes, parameters):
    """One of our estimators with these parameters, and with those wishes that it knows: not all have n_jobs, or tol."""
    module, name = path.split(":")
    kind = getattr(importlib.import_module(module), name)
    known = kind().get_params()
    if "n_averaged_iter" in known and "max_iter" in wishes:
        wishes = wishes | {"max_iter": AVERAGED_FIT}
    return kind(**({key: value for key, value in wishes.items() if key in known} | parameters))

