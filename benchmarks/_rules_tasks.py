"""Measurements of the experiment ``rules`` of ``clusters.py``, in a child process: fits without each rule of the search
for a prior, or with another constant.

A rule is a name with its replacements: a module or class, an attribute, and its value during a fit.
"""

import warnings
from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
from _clusters_tasks import judged
from _growing_problems import draw, parameters
from _measure import spent

from sparsemix import StreamingNGGPMixture
from sparsemix._heuristics.clusters import automatic, estimates, independent, matrices, metrics, rounding, search
from sparsemix._heuristics.clusters.automatic import _Sample
from sparsemix._heuristics.clusters.independent import Independent
from sparsemix._heuristics.clusters.matrices import Matrices
from sparsemix.clusters import _streaming_nggp_mixture as streaming

AS_IT_IS = "as it is"
FAILED = {"clusters": 0, "right": 0.0, "ari": 0.0}
MOST = 10.0  # nats by which the held-out score of a row may change
STARTS, KEEP, CHOOSE, MAKE = search.starts, Independent._keep_given, _Sample.choose, streaming.make_state


def without_starts(places):
    """The first estimates except those at these places."""
    return lambda *args: [start for place, start in enumerate(STARTS(*args)) if place not in places]


def one_kappa(self):
    """The same kappa for all columns, in each round."""
    self.kappa = np.broadcast_to(1.0 / np.mean(1.0 / self.kappa, axis=1, keepdims=True), self.kappa.shape)
    return KEEP(self)


def penalty(log_rows):
    """Hyperpriors of both structures with ``log_rows(groups)`` for the log of the observations of each estimate."""

    def hyperprior(n_estimates):
        def log_hyperprior(self, groups):
            kappas = self.kappa.reshape(len(self.kappa), -1)
            log_prior = (0.5 * np.log(kappas) - 0.5 * estimates.PSEUDO * kappas).sum(axis=1)
            return log_prior / getattr(self, "n_shared", 1) - 0.5 * n_estimates(self) * log_rows(groups)

        return log_hyperprior

    return [
        (Independent, "log_hyperprior", hyperprior(lambda self: self.n_features + self.b.shape[1])),
        (Matrices, "log_hyperprior", hyperprior(lambda self: self.n_features * (self.n_features + 3) / 2)),
    ]


def undivided(*args, **kwargs):
    """A state and rows without a first partition."""
    return (*MAKE(*args, **kwargs)[:2], None)


def by_score(self, structures):
    """The structure of larger score."""
    if len(structures) == 1 or not self.varies.any():
        return CHOOSE(self, structures)
    full = self._search(structures[0])
    diag = self._search(structures[1])
    structure, found = (structures[0], full) if full.score > diag.score else (structures[1], diag)
    return self._result(structure, found)


def pseudo(value):
    """Another rate of the hyperprior of kappa."""
    return [(independent, "PSEUDO", value), (matrices, "PSEUDO", value)]


def unshrunk(covariance, degrees):  # noqa: ARG001
    return covariance


RULES = {
    "auto": {
        AS_IT_IS: [],
        "without near neighbours": [
            (search, "neighbours", lambda *_: None), (search, "starts", without_starts([0]))
        ],
        "near neighbours only": [
            (search, "directions", lambda *_: None), (search, "alone", lambda x: x),
            (search, "starts", without_starts([1, 2])),
        ],
        "without comparing shared rows": [(_Sample, "_best", lambda _self, _family, finalists, _x: finalists[0])],
        "one tree of a start": [(search, "TREE_ROUNDS", 1)],
        "horizontal cuts only": [(search, "CUT_ROUNDS", 0)],
        "without shrinkage": [(module, "shrunk", unshrunk) for module in (search, metrics, matrices)],
        "one kappa of all columns": [(Independent, "_keep_given", one_kappa)],
        "penalty by the mass of all rows": penalty(lambda groups: np.log(groups.sums(groups.count))),
        "no penalty": penalty(lambda _: 0.0),
        "kappa: PSEUDO 1e-6": pseudo(1e-6),
        "kappa: PSEUDO 2": pseudo(2.0),
        "nu: USUAL 2": [(independent, "USUAL", 2.0)],
        "nu: USUAL 64": [(independent, "USUAL", 64.0)],
        "without the first partition": [(streaming, "make_state", undivided)],
        "MOST_ROWS 1000": [(automatic, "MOST_ROWS", 1_000)],
        "SEARCH_ROWS 500": [(automatic, "SEARCH_ROWS", 500)],
        "SEARCH_ROWS 2000": [(automatic, "SEARCH_ROWS", 2_000)],
        "no rounding steps": [(rounding.Rounding, "widths", lambda _self, x: np.zeros(x.shape))],
        "no jitter of redundant columns": [(rounding, "dependent", lambda x: np.zeros(x.shape[1]))],
        "no clipping": [(automatic, "CLIPPED", np.inf)],
        "structure of larger score": [(_Sample, "choose", by_score)],
        "always full": [(_Sample, "choose", lambda self, structures: CHOOSE(self, structures[:1]))],
        "always diag": [(_Sample, "choose", lambda self, structures: CHOOSE(self, structures[-1:]))],
        "LEAVES 100": [(search, "LEAVES", 100)],
        "ROWS_OF_LEAF 2": [(search, "ROWS_OF_LEAF", 2)],
        "ROWS_OF_LEAF 8": [(search, "ROWS_OF_LEAF", 8)],
        "NEIGHBOURS 1": [(metrics, "NEIGHBOURS", 1)],
        "NEIGHBOURS 10": [(metrics, "NEIGHBOURS", 10)],
        "STARTS 256": [(metrics, "STARTS", 256)],
    },
    "spherical": {
        AS_IT_IS: [],
        "no exception of columns of one value": [(automatic, "lumpy", lambda x: np.zeros(x.shape[1], dtype=bool))],
        "without units of balls": [
            (_Sample, "_in_units_of_clusters", lambda self, structure, found: self._result(structure, found))
        ],
    },
}  # fmt: skip


def rules(name, seed):
    """Clusters, agreement, seconds and change of the held-out score of each fit, by likelihood and rule.

    Held-out scores are densities of a random half of the rows, after a fit to the other half. They are measured where a
    rule changes the fit at all, and not where values repeat or columns are functions of others: there the density
    depends on the jitter alone.
    """
    warnings.simplefilter("ignore")
    X, labels = draw(name, seed)
    more = parameters(name, X.shape[1])
    halves = np.array_split(X[np.random.default_rng(seed).permutation(len(X))], 2)
    scored = min(map(len, halves)) >= 2 * X.shape[1] and not len(rounding.Rounding(X).columns)
    StreamingNGGPMixture(random_state=0).fit(np.random.default_rng(0).standard_normal((50, 3)))  # loads code
    runs = {}
    for likelihood, by_name in RULES.items():
        if likelihood != "auto" and more:
            continue
        plain = reference = None
        for rule, replacements in by_name.items():
            arguments = {"likelihood": likelihood, **more, "random_state": seed}
            with ExitStack() as stack:
                for replacement in replacements:
                    stack.enter_context(patch.object(*replacement))
                model, seconds = spent(lambda arguments=arguments: fitted(X, arguments))
                run = (judged(model.labels_, labels) if model else FAILED) | {"seconds": seconds}
                run.pop("true", None)
                same = rule == AS_IT_IS or equal(model, plain)
                run["same"] = float(same)
                if scored:
                    run["held_out_change"] = 0.0
                if scored and (rule == AS_IT_IS or not same):
                    half = fitted(halves[0], arguments)
                    density = half.score_samples(halves[1]) if half else np.full(len(halves[1]), -np.inf)
                    if rule == AS_IT_IS:
                        reference = density
                    run["held_out_change"] = float(np.clip(density - reference, -MOST, MOST).mean())
            plain = model if rule == AS_IT_IS else plain
            runs[f"{likelihood}: {rule}"] = run
    return {"runs": runs}


def fitted(X, arguments):
    """A fit; None if it ends with an error without a rule."""
    try:
        return StreamingNGGPMixture(**arguments).fit(X)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        return None


def equal(model, plain):
    """Whether two fits have the same bits."""
    if model is None or plain is None:
        return model is plain
    return all(np.array_equal(getattr(model, name), getattr(plain, name))
               for name in ("labels_", "means_", "covariances_"))  # fmt: skip
