"""Every public estimator in the settings that the contract tests of ``tests/estimators`` try.

A new estimator joins with its lines in ``CASES``; what it promises follows from its methods and parameters, and from
the few fields of a ``Case`` that cannot be read off it. Its wrong parameters go to ``test_wrong_parameters.py``.
"""

from dataclasses import dataclass, replace

import cluster_cases
import flag_cases
import mixed_cases
import mixture_cases
import numpy as np
import pytest
import row_cases
import sequence_cases
import topic_cases
from cluster_cases import LIKELIHOODS, given_prior
from row_cases import CLOUDS, SCALES
from sklearn.base import BaseEstimator, clone
from topic_cases import GIVEN, LEARNED, K, V, X

from sparsemix import (
    CollapsedLDA,
    GibbsLDA,
    GibbsNGGPMixture,
    SkipGramTopicModel,
    SparseBernoulliMixture,
    SparseDMR,
    SparseGaussianMixture,
    SparseHDP,
    SparseLDA,
    SparseMixedMixture,
    SparseMultinomialMixture,
    SparseSCVB0LDA,
    SparseVonMisesFisherMixture,
    StreamingNGGPMixture,
)
from sparsemix._models.clusters.model import GibbsModel, StreamingModel
from sparsemix._models.mixture.model import LinearMixture, MixtureModel
from sparsemix._models.skipgram.stochastic_model import StochasticSkipGramModel
from sparsemix._models.skipgram.sweep_models import GibbsSkipGramModel, WalkingSkipGramModel
from sparsemix._models.topics.covariates.regression_model import RegressionModel
from sparsemix._models.topics.exact_model import ExactModel
from sparsemix._models.topics.hdp_model import HDPModel
from sparsemix._models.topics.stochastic_model import StochasticCollapsedModel
from sparsemix._models.topics.sweep_models import GibbsModel as GibbsTopics
from sparsemix._models.topics.sweep_models import SecondOrderModel, UncollapsedModel, ZeroOrderModel
from sparsemix._models.topics.variational_model import TopicModel
from sparsemix.datasets import make_sparse_lda
from sparsemix.topics import WordPrior


@dataclass(frozen=True, eq=False)
class Data:
    """Rows, many of them, and what is tried in their place: (rows, weights, message) that calls refuse, and sizes.

    ``kind`` is "points", "counts" of words, "flags" of zeros and ones, or "words" in their order; the last three are
    sparse.
    """

    rows: object
    many: object
    bad: dict  # by every call
    later: dict  # by calls of a fitted estimator
    sizes: dict
    kind: str
    readable: frozenset = frozenset()  # of ``later``, what predictions accept
    categories: tuple = ()  # columns of points that hold categories, all of which a fit must see

    @property
    def sparse(self):
        """Whether rows are a sparse matrix."""
        return self.kind != "points"

    @property
    def other(self):
        """Rows of another kind, of which an old model may be."""
        if self.kind in ("words", "flags"):
            return sequence_cases.OTHER if self.kind == "words" else 1 - self.rows.toarray()[::-1]
        return 2 * self.rows[::-1] + (0 if self.sparse else 1.0)

    def units(self, rows):
        """What statistics count: points, tokens, or words of contexts."""
        return rows.shape[0] if self.kind == "points" else self.word_totals(rows).sum()

    def word_totals(self, rows):
        """What the topics' counts of each word add up to, (V,)."""
        if self.kind == "words":
            return sequence_cases.context_totals(rows)
        return np.asarray(rows.sum(axis=0), dtype=float).ravel()

    def n_features(self, rows):
        """Columns, or words of the vocabulary."""
        return sequence_cases.V if self.kind == "words" else rows.shape[1]

    @property
    def unread(self):
        """What readings refuse."""
        refused = {name: call for name, call in self.later.items() if name not in self.readable}
        return {name: call[0::2] for name, call in refused.items() if call[1] is None}


_many, _, _ = make_sparse_lda(450, n_features=V, n_components=K, doc_length=15, random_state=2)
_noise = np.random.default_rng(5).normal(scale=0.1, size=(450, 2))
COUNTS = Data(X, _many, topic_cases.BAD_CALLS, topic_cases.LATER, topic_cases.SIZES, "counts")
ROWS = Data(CLOUDS, np.tile(CLOUDS, (3, 1)) + _noise, row_cases.BAD_CALLS, row_cases.LATER, row_cases.SIZES, "points")
FLAGS = Data(
    flag_cases.X, (_many > 0).astype(np.int64), flag_cases.BAD_CALLS, flag_cases.LATER, flag_cases.SIZES, "flags"
)
MIXED = Data(
    mixed_cases.X, np.tile(mixed_cases.X, (3, 1)) + np.pad(_noise, [(0, 0), (0, 2)]), mixed_cases.BAD_CALLS,
    mixed_cases.LATER, mixed_cases.SIZES, "points", categories=(2,),
)  # fmt: skip
_refused = sequence_cases.BAD | sequence_cases.WEIGHTS
SEQUENCES = Data(
    sequence_cases.X, sequence_cases.MANY, _refused, _refused | sequence_cases.UNKNOWN, sequence_cases.SIZES, "words"
)
UNWEIGHED = replace(SEQUENCES, bad=sequence_cases.BAD, later=sequence_cases.BAD | sequence_cases.UNKNOWN)
AROUND_ZERO = replace(ROWS, rows=SCALES)
DIRECTIONS = replace(
    ROWS,
    bad={k: v for k, v in ROWS.bad.items() if not k.startswith(("cs", "coo"))}
    | {"a row of zeros": (row_cases.spoilt_row(0.0), None, "row 41 of X is zero and has no direction.*remove")},
    later={k: v for k, v in ROWS.later.items() if not k.startswith(("cs", "coo"))}
    | {"a row of zeros": (row_cases.spoilt_row(0.0), None, "row 41 of X is zero and has no direction.*remove")},
    readable=frozenset({"a row of zeros"}),
    sizes={k: v for k, v in ROWS.sizes.items() if k != "rows of zeros"},
)


@dataclass(frozen=True, eq=False)
class Case:
    """An estimator whose fit is short, its data, and what it promises.

    Attributes
    ----------
    model : type
        The methods that a fit is made of are this class's; tests let them fail.
    same_as_repeated : dict or None
        Parameters of a start and of batches under which a row of weight two is two rows; None: it never is.
    keeps_on : bool
        An interrupt within a later epoch leaves what the rows have done by then, and not what the last epoch had left.
    rows_alone : bool
        ``fit`` takes no weights and has no warm start, and says so.
    """

    name: str
    estimator: BaseEstimator
    data: Data
    model: type
    same_as_repeated: dict | None = None
    keeps_on: bool = False
    rows_alone: bool = False

    def make(self, **params):
        """A new estimator."""
        return clone(self.estimator).set_params(**params)

    def fitted(self, **params):
        """Fitted to the rows."""
        return self.make(**params).fit(self.data.rows)

    def with_epochs(self, n, **params):
        """A new estimator that makes so many epochs and does not converge; one epoch where it cannot make more."""
        params |= {name: 1 if self.makes_one_epoch else n for name in ("max_iter",) if self.has(name)}
        return self.make(**params, **({"tol": 0.0} if self.has("tol") else {}))

    def has(self, *names):
        """Whether it has all these parameters."""
        return set(names) <= set(self.estimator.get_params(deep=False))

    def can(self, *names):
        """Whether it has all these methods."""
        return all(hasattr(self.estimator, name) for name in names)

    @property
    def makes_one_epoch(self):
        """Streams of parts of the rows meet once, at the end."""
        return getattr(self.estimator, "n_shards", 1) > 1

    @property
    def learns_priors(self):
        """Whether it learns a prior."""
        params = self.estimator.get_params(deep=False)
        chosen = (params.get(name) for name in ("doc_topic_prior", "topic_word_prior"))
        return any(isinstance(value, str) and value == "learned" for value in chosen)

    @property
    def prior(self):
        """The parameter of a topic model that is the prior of its topics' shares, or else of their words."""
        if self.data.kind == "words":
            return "input_topic_prior"
        return "doc_topic_prior" if self.has("doc_topic_prior") else "topic_word_prior"

    @property
    def steps(self):
        """The methods that an epoch is made of, the first of them called first."""
        names = ("local_step", "accumulate", "global_step"), ("sweep", "recount", "global_step")
        if self.makes_one_epoch:  # nothing else is called
            return ("sweep",) * 3
        return names[0] if hasattr(self.model, "local_step") else names[1]

    def assert_valid(self, est, rows):
        """Everything finite and of its shape, distributions are such, nothing of the rows is lost."""
        module = {"mixture": mixture_cases, "topics": topic_cases, "clusters": cluster_cases,
                  "skipgram": sequence_cases}  # fmt: skip
        module[type(est).__module__.split(".")[1]].assert_valid(est, rows)

    def __repr__(self):
        return self.name


def mixture(name, n_components=3, data=ROWS, **params):
    defaults = {"n_nonzero": 2, "max_iter": 3, "tol": 0.0, "batch_size": 50, "random_state": 0}
    precisions = np.eye(2) * np.array([[[0.02]], [[0.2]], [[2.0]]])  # of components that differ in nothing else
    given = CLOUDS[:n_components] if params.get("covariance_type") != "zero_mean" else {"precisions": precisions}
    start = {"init_params": given, "learning_method": "batch", "candidates": "all"}
    bad, later = ({k: v for k, v in calls.items() if k not in row_cases.MISSING} for calls in (data.bad, data.later))
    data = replace(data, bad=bad, later=later)
    return Case(name, SparseGaussianMixture(n_components, **(defaults | params)), data, MixtureModel, start)


def directions(name, n_components=3, **params):
    defaults = {"inference": "vb", "n_nonzero": 2, "max_iter": 3, "tol": 0.0, "batch_size": 50, "random_state": 0}
    return Case(name, SparseVonMisesFisherMixture(n_components, **(defaults | params)), DIRECTIONS, LinearMixture)


def multinomial(name, **params):
    defaults = {"inference": "vb", "n_nonzero": 2, "max_iter": 3, "tol": 0.0, "batch_size": 20, "random_state": 0}
    return Case(name, SparseMultinomialMixture(K, **(defaults | params)), COUNTS, LinearMixture)


def bernoulli(name, **params):
    defaults = {"inference": "vb", "n_nonzero": 2, "max_iter": 3, "tol": 0.0, "batch_size": 20, "random_state": 0}
    return Case(name, SparseBernoulliMixture(K, **(defaults | params)), FLAGS, LinearMixture)


def mixed(name, **params):
    defaults = {"n_nonzero": 2, "max_iter": 3, "tol": 0.0, "batch_size": 50, "random_state": 0}
    defaults |= {"columns": mixed_cases.COLUMNS, "handle_unknown": "ignore"}
    return Case(name, SparseMixedMixture(3, **(defaults | params)), MIXED, LinearMixture)


# Priors of topics over words: a sparse and a dense table.
SEEDS, EXCLUDES = WordPrior(seeds={"first": [0]}), WordPrior(exclude={0: [0]}, word_prior=0.1)


def lda(name, **params):
    defaults = {"n_nonzero": 2, "max_iter": 3, "tol": 0.0, "batch_size": 20, "random_state": 0}
    start = {"init_params": GIVEN, "learning_method": "batch", "n_restarts": 0}
    return Case(name, SparseLDA(K, **(defaults | params)), COUNTS, TopicModel, start)


def scvb0(name, sampler, learning_method, **params):
    defaults = {"init_params": "bregman", "batch_size": 20, "max_iter": 3, "n_samples": 5, "random_state": 0}
    params = defaults | {"sampler": sampler, "learning_method": learning_method} | params
    start = {"init_params": GIVEN, "learning_method": "memoized", "batch_size": 500} if sampler == "dense" else None
    return Case(name, SparseSCVB0LDA(K, **params), COUNTS, StochasticCollapsedModel, start)


def regression(name, **params):
    params = {"batch_size": 20, "max_iter": 3, "random_state": 0} | params
    return Case(name, SparseDMR(K, **params), COUNTS, RegressionModel)


def collapsed(name, method, **params):
    model = {"cvb0": ZeroOrderModel, "cvb": SecondOrderModel, "cvb_exact": ExactModel, "gibbs": GibbsTopics}[method]
    params = {"max_iter": 3, "tol": 0.0, "random_state": 0} | params
    return Case(name, CollapsedLDA(K, inference=method, **params), COUNTS, model)


def chains(name, sampler, **params):
    model = {"collapsed": GibbsTopics, "uncollapsed": UncollapsedModel}[sampler]
    params = {"max_iter": 3, "burn_in": 2, "thin": 1, "random_state": 0} | params  # one sample: the topics
    return Case(name, GibbsLDA(K, inference=sampler, **params), COUNTS, model)


def clusters(name, cls, model, likelihood, **params):
    data = {"multinomial": COUNTS, "zero_mean": AROUND_ZERO}.get(likelihood, ROWS)
    params = {"concentration": 1.0, "random_state": 0} | given_prior(likelihood) | params
    return Case(name, cls(likelihood, **params), data, model, keeps_on=True)


def streaming(name, likelihood, **params):
    params = {
        "new_cluster_threshold": max(0.3, params.get("discount", 0.0)),
        "tol": 0.0,
        "merge_criterion": None,
        "max_iter": 1,
    } | params
    return clusters(name, StreamingNGGPMixture, StreamingModel, likelihood, **params)


def gibbs(name, likelihood, **params):
    return clusters(
        name, GibbsNGGPMixture, GibbsModel, likelihood, **({"max_iter": 4, "burn_in": 2, "thin": 1} | params)
    )


def skip_gram(name, model=StochasticSkipGramModel, **params):
    by_steps = model is StochasticSkipGramModel
    defaults = {"max_iter": 3, "window": 3, "batch_size": 15, "n_words": sequence_cases.V, "random_state": 0}
    data = SEQUENCES if by_steps else UNWEIGHED
    return Case(name, SkipGramTopicModel(sequence_cases.K, **(defaults | params)), data, model, rows_alone=not by_steps)


PRIOR = np.array([0.1, 0.2, 0.3, 0.4, 1.0])
CASES = [
    mixture("mixture"),
    mixture("mixture full em", inference="em", learning_method="batch"),
    mixture("mixture tied", covariance_type="tied", learning_method="batch", mean_prior=[4.0, 5.0]),
    mixture("mixture tied em", covariance_type="tied", inference="em", learning_method="online"),
    mixture("mixture diag", covariance_type="diag", learning_method="online"),
    mixture("mixture tied diag", covariance_type="tied_diag", mean_prior=[4.0, 5.0], candidates=2),
    mixture("mixture tied diag em", covariance_type="tied_diag", inference="em", learning_method="online"),
    mixture("mixture tied spherical", covariance_type="tied_spherical", learning_method="online", n_nonzero=None),
    mixture("mixture tied spherical em", covariance_type="tied_spherical", inference="em"),
    mixture("mixture diag em", covariance_type="diag", inference="em", n_nonzero=1, init_params="random"),
    mixture(
        "mixture spherical sticks", covariance_type="spherical", init_params="kmeans",
        weight_concentration_prior_type="dirichlet_process",
    ),
    mixture(
        "mixture spherical em", covariance_type="spherical", inference="em", learning_method="online", n_nonzero=None,
        reg_covar=1e-3, init_params="random_from_data",
    ),
    mixture("mixture low rank", covariance_type=("low_rank", 1), candidates=2),
    mixture("mixture low rank em", covariance_type=("low_rank", 1), inference="em", learning_method="batch"),
    mixture("mixture low rank online", covariance_type="low_rank", learning_method="online", n_nonzero=None),
    mixture("mixture zero mean", data=AROUND_ZERO, covariance_type="zero_mean", learning_method="batch"),
    mixture("mixture zero mean em", data=AROUND_ZERO, covariance_type="zero_mean", inference="em"),
    mixture("mixture candidates", n_components=5, candidates=3),
    mixture("mixture scales", covariance_prior="learned"),
    mixture("mixture diag scales", covariance_type="diag", learning_method="batch", covariance_prior=("learned", 1.0)),
    mixture(
        "mixture equal weights", covariance_type="tied_spherical", n_nonzero=2, weight_concentration_prior=np.inf,
    ),
    directions("directions"),
    directions("directions em", inference="em", learning_method="online"),
    directions("directions em memoized", inference="em"),
    directions("directions own", concentration_type="own", learning_method="batch", n_nonzero=None),
    directions("directions own em", concentration_type="own", inference="em", init_params="random"),
    directions("directions candidates", n_components=5, candidates=3, init_params="random_from_data"),
    multinomial("words"),
    multinomial("words candidates", candidates=2, n_nonzero=2),
    multinomial("words equal weights", weight_concentration_prior=np.inf),
    multinomial("words em", inference="em", learning_method="batch", init_params="random"),
    multinomial("words em memoized", inference="em"),
    multinomial("words online", learning_method="online", n_nonzero=None, init_params="random_from_data"),
    multinomial("words plain", n_nonzero=3, word_prior=1.0),
    bernoulli("flags"),
    bernoulli("flags em", inference="em", learning_method="batch", init_params="random"),
    bernoulli("flags candidates", candidates=2, inference="em"),
    bernoulli("flags online", learning_method="online", n_nonzero=None, init_params="random_from_data", beta_prior=1.0),
    mixed("mixed", init_params="random_from_data"),
    mixed("mixed vb", inference="vb", learning_method="batch", init_params="random"),
    mixed("mixed candidates", candidates=2, inference="vb"),
    mixed("mixed seeds"),
    mixed("mixed full", learning_method="online", n_nonzero=None, columns=mixed_cases.GROUPS),
    lda("lda"),
    lda("lda priors", learning_method="batch", init_params="random", n_nonzero=None, doc_topic_prior="learned"),
    lda("lda online", learning_method="online", init_params="bregman"),
    lda("lda hard", n_nonzero=1, init_params="random", warm_documents=False),
    lda("lda restarts", n_restarts=2, **LEARNED),
    lda("lda dense online", learning_method="online", n_nonzero=None),
    lda("lda hard batch", learning_method="batch", n_nonzero=1, init_params="bregman", topic_word_prior="learned"),
    lda("lda dense", n_nonzero=None, init_params="bregman", warm_documents=False),
    lda("lda given", init_params=GIVEN, learning_method="online"),
    Case("hdp", SparseHDP(K, batch_size=20, max_iter=3, random_state=0), COUNTS, HDPModel),
    scvb0("scvb0 mhw", "mhw", "online", local_step_size=(10.0, 0.9)),
    scvb0("scvb0 dense", "dense", "memoized"),
    scvb0("scvb0 dense online", "dense", "online", local_step_size=(10.0, 0.9), init_params="em"),
    scvb0("scvb0 dense random", "dense", "online", init_params="random", doc_topic_prior=PRIOR),
    scvb0("scvb0 gibbs", "gibbs", "memoized", init_params="uniform"),
    scvb0("scvb0 gibbs online", "gibbs", "online"),
    scvb0("scvb0 gibbs after steps", "gibbs", "online", init_params="random", batch_size=1),
    scvb0("scvb0 gibbs priors", "gibbs", "online", init_params="random", batch_size=1, n_averaged_iter=0, **LEARNED),
    scvb0("scvb0 dense priors", "dense", "memoized", topic_word_prior="learned"),
    scvb0("scvb0 mhw priors", "mhw", "online", doc_topic_prior="learned"),
    scvb0("scvb0 gibbs averages", "gibbs", "online", n_averaged_iter=2),
    scvb0("scvb0 gibbs mini-epochs", "gibbs", "online", mini_epoch=(40, 2)),
    scvb0("scvb0 mhw memoized", "mhw", "memoized", init_params="em"),
    scvb0("scvb0 mhw steps memoized", "mhw", "memoized", local_step_size=(10.0, 0.9)),
    scvb0("scvb0 mhw after steps", "mhw", "online", init_params="uniform", batch_size=1),
    scvb0("scvb0 mini-epochs", "mhw", "online", local_step_size=(10.0, 0.9), mini_epoch=(40, 2)),
    scvb0("scvb0 gibbs seeds", "gibbs", "online", topic_word_prior=SEEDS),
    scvb0("scvb0 dense seeds", "dense", "memoized", topic_word_prior=SEEDS, init_params="random"),
    regression("regression"),
    regression("regression words", topic_word_prior="learned", init_params="bregman", n_averaged_iter=1),
    scvb0("scvb0 gibbs excludes", "gibbs", "memoized", topic_word_prior=EXCLUDES, init_params="random"),
    lda("lda seeds", topic_word_prior=SEEDS),
    lda("lda online excludes", learning_method="online", topic_word_prior=EXCLUDES, n_nonzero=None),
    collapsed("gibbs seeds", "gibbs", topic_word_prior=SEEDS),
    collapsed("cvb exact seeds", "cvb_exact", topic_word_prior=SEEDS),
    chains("chains excludes", "collapsed", topic_word_prior=EXCLUDES),
    collapsed("cvb0", "cvb0"),
    collapsed("cvb0 priors", "cvb0", **LEARNED, max_iter=13),
    collapsed("cvb", "cvb", doc_topic_prior=PRIOR),
    collapsed("cvb priors", "cvb", doc_topic_prior="learned", max_iter=13),
    collapsed("gibbs", "gibbs", burn_in=1, thin=1),
    collapsed("gibbs priors", "gibbs", **LEARNED, max_iter=13),
    collapsed("cvb exact", "cvb_exact", doc_topic_prior=PRIOR),
    chains("chains", "collapsed"),
    chains("chains, uncollapsed", "uncollapsed", doc_topic_prior="learned", max_iter=12, burn_in=11),
    *(streaming(f"stream {likelihood}", likelihood) for likelihood in LIKELIHOODS),
    *(streaming(f"epochs {likelihood}", likelihood, max_iter=3) for likelihood in LIKELIHOODS),
    streaming("stream inverse Gaussian", "multinomial", discount=0.5, u_rule=("quadrature", "count"),
              merge_criterion="responsibility", merge_every=13),
    streaming("stream stable", "full", discount=0.3, tilt=0.0, merge_criterion="similarity", prune_threshold=1.5,
              merge_every=13, n_nonzero=2, max_components=6),
    streaming("parts", "multinomial", n_shards=2),
    streaming("parts diag", "diag", n_shards=3, n_jobs=2),
    streaming("epochs merged", "diag", discount=0.5, merge_criterion="bayes_factor", merge_every=25, max_iter=3),
    *(gibbs(f"chain {likelihood}", likelihood) for likelihood in LIKELIHOODS),
    gibbs("chain stable", "multinomial", discount=0.7, tilt=0.0, init_params="sequential"),
    streaming("stream Pitman-Yor", "diag", discount=0.3, tilt="pitman-yor"),
    gibbs("chain Pitman-Yor", "diag", discount=0.3, tilt="pitman-yor"),
    gibbs("chain learned", "spherical", discount=0.3, concentration_prior=(2.0, 0.5), max_components=3),
    skip_gram("skip-gram"),
    skip_gram("skip-gram chains", sampler="mhw"),
    skip_gram("skip-gram mini-epochs", sampler="mhw", mini_epoch=(30, 2)),
    skip_gram("skip-gram given", init_params=sequence_cases.GIVEN, input_topic_prior=np.full(sequence_cases.K, 0.2)),
    skip_gram("skip-gram gibbs", GibbsSkipGramModel, inference="gibbs"),
    skip_gram("skip-gram mhw", WalkingSkipGramModel, inference="mhw"),
]  # fmt: skip
CLASSES = list(dict.fromkeys(type(case.estimator) for case in CASES))
FIRST = [next(case for case in CASES if type(case.estimator) is cls) for cls in CLASSES]


# What the quick tests try: the first of each class and kind of data.
QUICK = list({(type(case.estimator), case.data.kind): case for case in reversed(CASES)}.values())


def over(cases):
    """Run a test for each of these cases; those that the quick tests leave out are slow."""
    marked = [pytest.param(case, id=case.name, marks=[] if case in QUICK else pytest.mark.slow) for case in cases]
    return pytest.mark.parametrize("case", marked)


def with_methods(*names):
    """The cases that have these methods."""
    return [case for case in CASES if case.can(*names)]


def with_parameters(*names):
    """The cases that have these parameters."""
    return [case for case in CASES if case.has(*names)]


def of_kind(*kinds):
    """The cases whose rows are of these kinds."""
    return [case for case in CASES if case.data.kind in kinds]


def with_weights(cases=CASES):
    """Those of the cases whose fits take weights."""
    return [case for case in cases if not case.rows_alone]


def of_any_length(cases):
    """Those whose first epochs are the same however many are asked for: averages are over the last ones."""
    cases = [case for case in cases if not getattr(case.estimator, "n_averaged_iter", None)]
    cases = [case for case in cases if not case.makes_one_epoch]
    return [without_averages(case) if getattr(case.estimator, "batch_size", None) == 1 else case for case in cases]


def without_averages(case):
    """A case of many steps in an epoch, of which two epochs would average the last ones."""
    return replace(case, estimator=clone(case.estimator).set_params(n_averaged_iter=0))


def with_warm_start():
    """The cases whose fits continue from the last."""
    return [case for case in with_parameters("warm_start") if not case.rows_alone]
