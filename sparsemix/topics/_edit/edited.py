"""A fitted topic model with other topics: checks, and the copy whose statistics and priors are replaced."""

from copy import copy

import numpy as np
from scipy import sparse
from scipy.special import psi
from sklearn.utils.validation import check_is_fitted

from sparsemix._estimator.additive import Additive
from sparsemix._estimator.input.forms import COUNTS
from sparsemix._estimator.input.integers import integers_of
from sparsemix._estimator.learning import OF_FIT, OF_STREAM
from sparsemix._models.topics.stochastic_model import NO_OFFSET
from sparsemix._stats.altered import altered
from sparsemix._stats.sums import as_sums
from sparsemix.topics._assemble import is_learned, parts_of
from sparsemix.topics._predict import TopicPredictMixin

# What describes the old topics or their fit; stored documents would initialise the topics of a stream again.
FORGOTTEN = (*OF_FIT, *OF_STREAM, "_row_state")
# Smaller counts are what is left of those of a prior.
ROUND_OFF = 1e-4
# Attributes of an additive model that do not depend on the number of topics.
KEPT = ("learn_alpha", "learn_beta", "seed", "n_steps", "random_documents", "batch_size", "step_rows")


def check_topic_estimator(model, name):
    """Refuse anything but a topic model of documents."""
    if not isinstance(model, TopicPredictMixin) or model._takes is not COUNTS:
        raise TypeError(
            f"{name} is a {type(model).__name__}, whose topics cannot be changed; give a SparseSCVB0LDA, SparseLDA, "
            "CollapsedLDA or GibbsLDA"
        )


def check_topic_model(model, name="model"):
    """Refuse anything but a fitted topic model of documents."""
    check_topic_estimator(model, name)
    check_is_fitted(model)


def topic_numbers(values, n_components, name):
    """Numbers of different topics of a model, at least one."""
    remedy = f"give numbers of topics from 0 to {n_components - 1}"
    numbers = integers_of(values, name, remedy, "entry")
    if numbers.ndim != 1 or not len(numbers):
        raise ValueError(f"{name} has shape {numbers.shape}; give a list of one or more numbers of topics")
    bad = numbers[(numbers < 0) | (numbers >= n_components)]
    if len(bad):
        raise ValueError(f"{name} contains {bad[0]}, and the model has {n_components} topics; {remedy}")
    if len(set(numbers.tolist())) < len(numbers):
        raise ValueError(f"{name} contains a topic twice; give each number once")
    return numbers


def one_hot(places, n_places):
    """A matrix (len(places), n_places) for ``combined``: row k is added to ``places[k]``, or to none if that is -1."""
    rows = np.flatnonzero(places >= 0)
    return sparse.csr_array((np.ones(len(rows)), (rows, places[rows])), shape=(len(places), n_places))


def counts_by_topic(stats):
    """Counts of a model without those of its prior, csr_array (K, V) float64; the statistics do not change."""
    table, factor = stats.unfolded("word_topic")
    counts = sparse.csr_array(as_sums(table).tocsr().T, dtype=np.float64) * factor
    if stats.prior is not None:
        counts = sparse.csr_array(counts - sparse.csr_array(stats.prior.table).T)
        counts.data[counts.data < ROUND_OFF] = 0.0
        counts.eliminate_zeros()
    return counts


def combined(fitted, components, words=None, factors=None):
    """Statistics and priors after a linear map of the topics, as in ``SufficientStatistics.combined``."""
    old, stats = fitted.model, fitted.stats
    if "offset" in stats and float(stats["offset"]) >= NO_OFFSET * old.topic_word_prior:
        stats = stats.copy()  # sums of topics have different backgrounds, so these become counts
        table = as_sums(stats["word_topic"]).tocsr().toarray()
        table += table.dtype.type(stats["offset"])
        stats["offset"] = 0.0
        kind = type(stats["word_topic"])
        stats.replace("word_topic", table if kind is np.ndarray else kind.of(sparse.csr_array(table)))
    priors = {"doc_topic_prior": components.T @ old.doc_topic_prior, "topic_word_prior": old.topic_word_prior}
    if hasattr(old, "first_priors"):
        priors["first_priors"] = components.T @ old.first_priors[0], old.first_priors[1]
    if hasattr(old, "coefficients"):
        priors["coefficients"] = coefficients_of_sums(old, components)
    return stats.combined(components, words, factors), priors


def coefficients_of_sums(model, components):
    """Coefficients (P, J) of sums of topics: exact for a document of mean covariates, and of the same slope there."""
    alpha = np.exp(model.coefficients[0])
    sums = np.maximum(components.T @ alpha, np.finfo(float).tiny)
    return np.vstack([np.log(sums), (components.T @ (alpha * model.coefficients[1:]).T / sums[:, None]).T])


def refitted(estimator, fitted, stats, priors):
    """Fitted state of new statistics; ``estimator`` has the new parameters."""
    alpha, n_words = priors["doc_topic_prior"], stats.unfolded("word_topic")[0].shape[0]
    if not isinstance(estimator, Additive):
        model = altered(fitted.model, n_components=len(alpha), n_words=n_words, **priors)
        return type(fitted)(model, stats)
    old, model = vars(fitted.model), estimator._recipe().model(n_words)
    kept = {name: old[name] for name in KEPT if name in old}
    if old.get("prior_mass") is not None:
        kept["prior_mass"] = alpha.sum()
    if "visited" in stats:
        stats["entropy"] = stats["alloc"] = np.nan  # the documents' part of the bound is not known
        if kept["learn_alpha"]:  # the sums under which this prior is optimal, from which a stream continues
            stats["log_pi"] = float(stats["mass"]) * (psi(alpha) - psi(alpha.sum()))
    model = altered(model, **{**kept, **priors, "learn_alpha": False, "learn_beta": False})
    model.global_step(stats)
    return type(fitted)(altered(model, **kept), stats)


def edited(model, change, doc_counts=None):
    """A copy of a model with the statistics and priors that ``change(fitted)`` returns.

    Parameters
    ----------
    model : estimator
    change : callable
    doc_counts : csr_array of shape (K, J), default=None
        Map of the topics of the training documents; None if it is not known.
    """
    out, params = copy(model), model._params
    for name in FORGOTTEN:
        vars(out).pop(name, None)
    stats, priors = change(model._fitted)
    alpha = priors["doc_topic_prior"]
    new = {"n_components": len(alpha)}
    for name in ("doc_topic_prior", "topic_word_prior"):
        given = getattr(params, name)
        if given is not None and not is_learned(given):
            new[name] = priors[name]
    if stats.prior is not None:
        new["topic_word_prior"] = (stats.prior.toarray() + priors["topic_word_prior"]).T.astype(np.float64)
    out.set_params(**new)
    out._fitted = refitted(out, model._fitted, stats, priors)
    if not isinstance(params.init_params, str):  # another fit can begin only with topics of this number
        out.set_params(init_params=out.components_.copy())
    if "_samples" in vars(out):
        out._samples = [refitted(out, each, *change(each)) for each in out._samples]
    if "_doc_counts" in vars(out):
        counts = vars(out).pop("_doc_counts")
        if doc_counts is not None:
            shape = len(counts[2]) - 1, doc_counts.shape[0]
            mapped = sparse.csr_array(counts, shape=shape) @ doc_counts.astype(counts[0].dtype)
            out._doc_counts = parts_of(mapped.sorted_indices())
    return out


def regrouped(model, places, n_places):
    """A copy of a model whose topic k is added to topic ``places[k]``, or dropped if that is -1."""
    components = one_hot(places, n_places)
    return edited(model, lambda fitted: combined(fitted, components), components)
