"""Options with typing errors, and other names of options."""

import argparse
import io
import os
import subprocess
import sys

import pytest

from sparsemix.__main__ import main
from sparsemix.texts._commands import console
from sparsemix.texts._commands.options import KINDS, add_options
from sparsemix.texts._reading.corpus import COUNTS, Words, read_corpus
from sparsemix.texts._reading.formats.kinds import READERS


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


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_shows_how_many_texts_are_read(tmp_path, monkeypatch, is_terminal):
    """From the first text on, in a line that is removed; a file or pipe gets nothing."""
    (tmp_path / "a.txt").write_text("apple pear\nplum\n" * 20)
    monkeypatch.setattr(console, "EVERY", 0)
    out = io.StringIO()
    out.isatty = lambda: is_terminal
    monkeypatch.setattr(sys, "stdout", out)
    read_corpus(tmp_path / "a.txt", words=Words(stop_words=None))
    shown = out.getvalue()
    assert bool(shown) == is_terminal
    if is_terminal:
        assert shown.startswith("\rtexts read: 1\r")
        assert "\rtexts read: 40\r" in shown
        assert "\rtexts whose words are counted: 40\r" in shown
        assert shown.endswith("\r\x1b[K")


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
