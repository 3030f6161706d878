"""A parameter that several estimators share has one default and, within a family, one text; exceptions have reasons."""

import ast
from collections import defaultdict

import pytest
from documented import entries
from estimator_cases import CLASSES

from sparsemix import (
    CollapsedLDA,
    GibbsNGGPMixture,
    SkipGramTopicModel,
    SparseBernoulliMixture,
    SparseGaussianMixture,
    SparseLDA,
    SparseMultinomialMixture,
    SparseSCVB0LDA,
    SparseVonMisesFisherMixture,
    StreamingNGGPMixture,
)

FAMILIES = {
    "topics": [SparseLDA, SparseSCVB0LDA, CollapsedLDA],
    "clusters": [StreamingNGGPMixture, GibbsNGGPMixture],
    "mixtures": [SparseGaussianMixture],
    "linear": [SparseVonMisesFisherMixture, SparseMultinomialMixture, SparseBernoulliMixture],
    "words in order": [SkipGramTopicModel],
}
# Those that prior + statistics make, whose words for the same rule are the same.
STEPS = [SparseGaussianMixture, *FAMILIES["linear"], SparseLDA, SparseSCVB0LDA]
SAME_IN_ALL = {
    "n_jobs": STEPS,
    "step_size": FAMILIES["linear"],
    "verbose": CLASSES,
}

DEFAULTS_DIFFER = {
    "n_components": "1 or 10, as in scikit-learn's GaussianMixture and LatentDirichletAllocation",
    "init_params": "each names the starts that its method knows",
    "max_iter": "a pass is worth more or less by the method: online steps, bounded passes, sweeps of a chain",
    "tol": "gains per row, per token, changes of responsibilities: different units; directions and documents have "
    "densities of tens to hundreds of nats, in which a hundredth moves no label; EM of few flags is slow",
    "burn_in": "visits of one document in stochastic collapsed inference, sweeps of a chain elsewhere",
    "thin": "a sweep over all tokens changes more of a chain than one over all rows",
    "inference": "the methods that a model has; likelihoods of one vector a component need no prior to live, and EM "
    "labels better",
    "n_samples": "for all words of a document, which inform each other, or for a position alone",
    "n_nonzero": "components of a row, topics of a word; a row of a stream touches as many clusters as matter",
    "learning_method": "stochastic collapsed inference has no bound that memoized learning would keep",
    "word_prior": "with a given number of clusters, or one that follows from it",
    "step_size": "10 and 0.7 as in scikit-learn's LatentDirichletAllocation; collapsed inference begins with topics "
    "that are alike and has small batches, whose first steps may be large",
}
TEXTS_DIFFER = {
    ("linear", "inference"): "what has a prior",
    ("linear", "init_params"): "how far apart seeds are: in cosine, or in likelihood",
    ("topics", "doc_topic_prior"): "when it is learned: in each step, or after each sweep but the first",
    ("topics", "topic_word_prior"): "when it is learned",
    ("topics", "step_size"): "why the default is what it is",
    ("topics", "init_params"): "the starts that the method knows",
    ("topics", "max_iter"): "whether a fit converges, and what a pass is called",
    ("topics", "tol"): "what is measured: the bound, or changes of responsibilities",
    ("topics", "burn_in"): "visits of one document, or sweeps of the chain",
    ("topics", "max_doc_update_iter"): "collapsed inference iterates single documents in transform alone",
    ("topics", "n_jobs"): "sweeps follow each other, and one thread makes them",
    ("topics", "warm_start"): "sweeps go on from the responsibilities of all tokens",
    ("topics", "random_state"): "what is drawn",
    ("topics", "learning_method"): "which rules there are, and what they do",
    ("topics", "batch_size"): "what None means",
    ("clusters", "concentration"): "a chain may learn it; a stream says why its default is large",
    ("clusters", "random_state"): "what is drawn",
    ("clusters", "max_iter"): "epochs of a chain, or of a stream and its repetitions",
}


def parameters():
    """Name of each parameter to the estimators that have it."""
    found = defaultdict(list)
    for cls in CLASSES:
        for name in cls().get_params():
            found[name].append(cls)
    return found


SHARED = {name: classes for name, classes in parameters().items() if len(classes) > 1}


def test_families_are_of_all_estimators():
    assert sorted(map(str, CLASSES)) == sorted(str(cls) for family in FAMILIES.values() for cls in family)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_parameter_has_an_entry_with_its_default(cls):
    documented = entries(cls, "Parameters")
    assert sorted(documented) == sorted(cls().get_params())
    for name, value in cls().get_params().items():
        kind, text = documented[name]
        written = ast.literal_eval(kind.rpartition("default=")[2])
        assert (type(written), written) == (type(value), value), f"{name}: {kind}"
        assert text.endswith("."), f"{name}: {text}"


def test_shared_parameters_have_one_default():
    wrong = []
    for name, classes in SHARED.items():
        defaults = {cls.__name__: cls().get_params()[name] for cls in classes}
        one = len({(type(value), value) for value in defaults.values()}) == 1
        if one == (name in DEFAULTS_DIFFER):
            wrong.append(f"{name}: {defaults}: make them one, or say why they differ, or no longer do")
    assert not wrong, "\n".join(wrong)


WITHIN = [(family, name) for family in FAMILIES for name in SHARED
          if len(set(FAMILIES[family]) & set(SHARED[name])) > 1]  # fmt: skip


def test_parameters_that_a_family_shares_have_one_text():
    assert WITHIN
    wrong = []
    for family, name in WITHIN:
        texts = {entries(cls, "Parameters")[name] for cls in FAMILIES[family] if cls in SHARED[name]}
        texts = {(kind.rpartition(", default=")[0], text) for kind, text in texts}  # defaults are compared above
        if (len(texts) == 1) == ((family, name) in TEXTS_DIFFER):
            wrong.append(f"{name}: {texts}: make them one, or say why they differ, or no longer do")
    assert not wrong, "\n".join(wrong)


def test_what_is_the_same_everywhere_has_one_text():
    texts = {name: {entries(cls, "Parameters")[name][1] for cls in SAME_IN_ALL[name]} for name in SAME_IN_ALL}
    assert not {name: found for name, found in texts.items() if len(found) != 1}


def test_exceptions_are_of_parameters_that_are_shared():
    assert set(DEFAULTS_DIFFER) <= set(SHARED)
    assert all(name in SHARED and family in FAMILIES for family, name in TEXTS_DIFFER)
