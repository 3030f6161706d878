"""Options with typing errors, and other names of options."""

import argparse
import os
import subprocess
import sys

import pytest

from sparsemix.__main__ import main
from sparsemix._commands.options import KINDS, add_options
from sparsemix._commands.reading.corpus import COUNTS
from sparsemix._commands.reading.formats.kinds import READERS


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


def test_the_formats_are_those_that_are_read():
    assert ("auto", *READERS, *COUNTS) == KINDS


@pytest.mark.parametrize("arguments", [["--help"], ["topics", "--help"], ["demo", "--help"], ["report"], ["--version"]])
def test_help_imports_no_large_package(arguments):
    code = (
        "import sys\nfrom sparsemix.__main__ import main\ntry:\n    main(sys.argv[1:])\n"
        "finally:\n    assert not {'numpy', 'scipy', 'sklearn', 'pandas', 'joblib'} & sys.modules.keys()"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, check=False, env=environment)
    assert b"AssertionError" not in done.stderr
    assert done.returncode == (2 if arguments == ["report"] else 0)
