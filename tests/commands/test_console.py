"""Options with typing errors, and other names of options."""

import argparse

import pytest

from sparsemix.__main__ import main
from sparsemix._commands.topics_options import add_options


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["topics", "x", "--n-comps", "5"], "topics: error: --n-comps is no option; did you mean --n-components?"),
        (["topics", "--outptu=y", "x"], "topics: error: --outptu is no option; did you mean --output?"),
        (["demo", "--sed", "3"], "demo: error: --sed is no option; did you mean --seconds?"),
        (["report", "x", "--names", "y", "-z"], "report: error: -z is no option; sparsemix report --help lists all."),
    ],
)
def test_an_option_with_a_typing_error_is_named_with_the_nearest_one(capsys, arguments, message):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert capsys.readouterr().err == f"sparsemix {message}\n"


def test_topics_is_another_name_of_the_number_of_components():
    add_options(parser := argparse.ArgumentParser())
    assert parser.parse_args(["x", "--topics", "7"]).n_components == 7
    assert "--n-components K, --topics K" in parser.format_help()
