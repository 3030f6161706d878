"""Every parameter has a text and a default; estimators that share one agree on both, or give a reason."""

import ast
from collections import defaultdict

import pytest
from documented import entries
from estimator_cases import CLASSES

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

FAMILIES = {
    "topics": [SparseLDA, SparseSCVB0LDA, SparseDMR, SparseHDP, CollapsedLDA, GibbsLDA],
    "clusters": [StreamingNGGPMixture, GibbsNGGPMixture],
    "mixtures": [SparseGaussianMixture],
    "linear": [SparseVonMisesFisherMixture, SparseMultinomialMixture, SparseBernoulliMixture, SparseMixedMixture],
    "words in order": [SkipGramTopicModel],
}
# Estimators whose state is prior + statistics; they document the same rule by the same words.
STEPS = [SparseGaussianMixture, *FAMILIES["linear"], SparseLDA, SparseSCVB0LDA]
SAME_IN_ALL = {
    "n_jobs": STEPS,
    "step_size": STEPS[:5],
    "dense_output": [*STEPS[:5], *FAMILIES["clusters"]],
    "verbose": CLASSES,
}

DEFAULTS_DIFFER = {
    "n_components": "1 or 10, as in scikit-learn's GaussianMixture and LatentDirichletAllocation",
    "init_params": "the initialisations of each method",
    "max_iter": "an epoch of online steps, of coordinate ascent and of a chain changes the model by different amounts",
    "tol": "gains per row, gains per token and changes of responsibilities have different units; log densities of "
    "directions and documents are tens to hundreds of nats, in which 0.01 changes no label; EM of few flags is slow",
    "burn_in": "visits of one document in stochastic collapsed inference, epochs of a chain elsewhere",
    "thin": "an epoch over all tokens changes more of a chain than an epoch over all rows",
    "inference": "the methods of each model; a component with one vector of parameters needs no prior, and EM "
    "gives better labels",
    "n_samples": "samples of a word given all words of its document, or of one position",
    "n_nonzero": "components of a row, or topics of a word; a row of a stream keeps every cluster above 1e-6",
    "learning_method": "stochastic collapsed inference has no bound, so memoized learning is no default",
    "word_prior": "the number of clusters is given, or follows from word_prior",
    "step_size": "10 and 0.7 as in scikit-learn's LatentDirichletAllocation; collapsed inference begins with similar "
    "topics and has small batches, whose first steps may be large",
}
TEXTS_DIFFER = {
    ("linear", "inference"): "the parameters that have a prior",
    ("linear", "init_params"): "distance of seeds: in cosine, or in likelihood",
    ("linear", "tol"): "reason of the default",
    ("topics", "n_components"): "the number, or the largest number that a fit may find",
    ("topics", "doc_topic_prior"): "when it is learned: in each step, or after each epoch except the first ten",
    ("topics", "topic_word_prior"): "when it is learned",
    ("topics", "step_size"): "reason of the default",
    ("topics", "init_params"): "the initialisations of the method",
    ("topics", "max_iter"): "whether a fit converges",
    ("topics", "tol"): "criterion: the bound, or changes of responsibilities",
    ("topics", "inference"): "the methods of each class",
    ("topics", "thin"): "whether the samples are stored",
    ("topics", "burn_in"): "visits of one document, or epochs of the chain",
    ("topics", "max_doc_update_iter"): "collapsed inference iterates single documents only in transform",
    ("topics", "n_jobs"): "one thread fits, because each token depends on the one before",
    ("topics", "warm_start"): "a collapsed fit continues from the responsibilities of all tokens",
    ("topics", "random_state"): "the random steps of the method",
    ("topics", "learning_method"): "the rules of the method",
    ("topics", "batch_size"): "meaning of None",
    ("topics", "n_averaged_iter"): "a class without mini-epochs and other learning methods",
    ("clusters", "concentration"): "a chain may learn it; a stream gives the reason of its default",
    ("clusters", "random_state"): "the random steps of the method",
    ("clusters", "max_iter"): "epochs of a chain, or of expectation propagation",
}


def parameters():
    """Name of each parameter to the estimators that have it."""
    found = defaultdict(list)
    for cls in CLASSES:
        for name in cls().get_params(deep=False):
            found[name].append(cls)
    return found


SHARED = {name: classes for name, classes in parameters().items() if len(classes) > 1}


def test_every_estimator_has_a_family():
    assert sorted(map(str, CLASSES)) == sorted(str(cls) for family in FAMILIES.values() for cls in family)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_parameter_has_an_entry_with_its_default(cls):
    documented = entries(cls, "Parameters")
    assert sorted(documented) == sorted(cls().get_params(deep=False))
    for name, value in cls().get_params(deep=False).items():
        kind, text = documented[name]
        written = ast.literal_eval(kind.rpartition("default=")[2])
        assert (type(written), written) == (type(value), value), f"{name}: {kind}"
        assert text.endswith("."), f"{name}: {text}"


def test_shared_parameters_have_one_default():
    wrong = []
    for name, classes in SHARED.items():
        defaults = {cls.__name__: cls().get_params(deep=False)[name] for cls in classes}
        one = len({(type(value), value) for value in defaults.values()}) == 1
        if one == (name in DEFAULTS_DIFFER):
            wrong.append(f"{name}: {defaults}: make them equal, or add or remove a reason")
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
            wrong.append(f"{name}: {texts}: make them equal, or add or remove a reason")
    assert not wrong, "\n".join(wrong)


def test_what_is_the_same_everywhere_has_one_text():
    texts = {name: {entries(cls, "Parameters")[name][1] for cls in SAME_IN_ALL[name]} for name in SAME_IN_ALL}
    assert not {name: found for name, found in texts.items() if len(found) != 1}


def test_exceptions_are_of_parameters_that_are_shared():
    assert set(DEFAULTS_DIFFER) <= set(SHARED)
    assert all(name in SHARED and family in FAMILIES for family, name in TEXTS_DIFFER)


@pytest.mark.parametrize("cls", CLASSES)
def test_html_representation_links_to_our_pages_only(cls, monkeypatch):
    assert cls()._get_doc_link() == ""  # nothing is published yet
    monkeypatch.setattr(cls, "_doc_link_module", "sparsemix")
    assert cls()._get_doc_link() == f"/generated/sparsemix.{cls.__name__}.html"
