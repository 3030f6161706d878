"""Arguments of all plots have one order: the model, data, what is shown, names; all other options by keyword."""

import inspect

import pytest

from sparsemix import plotting

# Fitted models, and results of functions of models.
FIRST = {"model", "choice", "drift", "effects"}
# Arguments by position after the first one, in this order.
BY_POSITION = ["X", "dates", "topic", "covariate", "patch_shape", "feature_names"]
OPTIONAL = {"X", "feature_names"}


def parameters_of(function, *kinds):
    """Parameters of these kinds, in order."""
    return [each for each in inspect.signature(function).parameters.values() if each.kind in kinds]


@pytest.mark.parametrize("name", plotting.__all__)
def test_arguments_of_plots_have_one_order(name):
    function = getattr(plotting, name)
    model, *positional = parameters_of(function, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    assert model.name in FIRST
    assert model.default is inspect.Parameter.empty
    names = [each.name for each in positional]
    assert names == [each for each in BY_POSITION if each in names], "give other arguments by keyword"
    for each in positional:
        assert each.default is (None if each.name in OPTIONAL and each is positional[-1] else inspect.Parameter.empty)
    keywords = parameters_of(function, inspect.Parameter.KEYWORD_ONLY)
    assert keywords[-1].name in ("figure", "ax"), "the last one is where to draw"
    assert keywords[-1].default is None
    assert all(each.default is not inspect.Parameter.empty for each in keywords)
    assert len(keywords) + 1 + len(positional) == len(inspect.signature(function).parameters)
