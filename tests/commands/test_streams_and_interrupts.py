"""The command with closed streams, readers that go away, and Ctrl-C at fixed moments of its own process."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest

from sparsemix.__main__ import main
from sparsemix.texts._commands import conclusion as _conclusion
from sparsemix.texts._commands import outputs as _outputs
from sparsemix.texts._commands import topics as _topics_command

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and shells of Unix")
ROOT = Path(__file__).parents[2]
NAMES = ["documents.csv", "model.joblib", "report.html", "run.json", "topics.csv"]
OPTIONS = ["--n-components", "2", "--max-iter", "2", "--n-jobs", "1"]
# Python imports this module when it starts: Ctrl-C at the first event of some kind whose first argument has some text.
INTERRUPT = """
import os, signal, sys

event, text = os.environ["INTERRUPT_AT"].split()
signal.signal(signal.SIGINT, signal.default_int_handler)

def hook(name, arguments):
    global event
    if name == event and text in " ".join(map(str, arguments[:2])):
        event = None
        os.kill(os.getpid(), signal.SIGINT)

sys.addaudithook(hook)
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "texts.txt"
    rng = np.random.default_rng(0)
    themes = [["apple", "pear", "plum", "cherry"], ["river", "lake", "ocean", "brook"]]
    path.write_text("".join(" ".join(rng.choice(themes[i % 2], 12)) + "\n" for i in range(60)))
    return path


def topics(corpus, output, *options):
    return [sys.executable, "-m", "sparsemix", "topics", str(corpus), "--output", str(output), *OPTIONS, *options]


def environment(**more):
    path = os.pathsep.join(map(str, [*more.pop("paths", []), ROOT]))
    return os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"} | more


def assert_complete(output):
    assert sorted(file.name for file in output.iterdir()) == NAMES
    assert joblib.load(output / "model.joblib").transform(["apple pear"]).shape == (1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_change_no_output(tmp_path, corpus, closed):
    command = f"{shlex.join(topics(corpus, tmp_path / 'out'))} {closed}"
    done = subprocess.run(["sh", "-c", command], env=environment(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (b"written to" in done.stdout) == (">&-" not in closed.replace("2>&-", ""))
    assert_complete(tmp_path / "out")


@pytest.mark.slow
def test_a_closed_standard_input_has_no_texts(tmp_path):
    command = f"{shlex.join(topics('-', tmp_path / 'out'))} <&-"
    done = subprocess.run(["sh", "-c", command], env=environment(), capture_output=True, check=False, text=True)
    assert done.returncode == 2
    (error,) = done.stderr.splitlines()
    assert "standard input is closed; pipe texts into the command" in error
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("stream", ["both", "help"])
def test_a_reader_that_goes_away_is_silence(tmp_path, corpus, stream):
    read, write = os.pipe()
    os.close(read)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    streams |= dict.fromkeys(["stdout", "stderr"] if stream == "both" else ["stdout"], write)
    command = topics(corpus, tmp_path / "out", "--n-components", "40")  # which is too many, and a warning
    command = [*command[:4], "--help"] if stream == "help" else command
    done = subprocess.run(command, env=environment(), check=False, **streams)
    os.close(write)
    assert done.returncode == 0
    assert b"Traceback" not in (done.stderr or b"")
    assert b"Exception" not in (done.stderr or b"")
    if stream != "help":
        assert sorted(file.name for file in (tmp_path / "out").iterdir()) == NAMES


@pytest.fixture
def sandbox(tmp_path):
    """A folder whose ``sitecustomize`` sends the interrupt."""
    folder = tmp_path / "sandbox"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(INTERRUPT)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("module", ["sparsemix.topics", "sparsemix.texts._commands.conclusion"])
def test_ctrl_c_during_imports_ends_the_process_by_the_signal(tmp_path, corpus, sandbox, module):
    """A shell says 130 for it."""
    done = subprocess.run(
        topics(corpus, tmp_path / "out"), env=environment(paths=[sandbox], INTERRUPT_AT=f"import {module}"),
        capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")
    assert not (tmp_path / "out").exists()


# What is called when Ctrl-C comes, and a part of its arguments; then whether there are outputs.
MOMENTS = {
    "before the folder is there": (_topics_command, "Outputs", "", False),
    "reading": (_topics_command, "read_corpus", "", False),
    "saving the model": (_outputs, "replacing", "model.joblib", False),
    "the report": (_conclusion, "report", "", False),
    "the first table": (_outputs, "replacing", "topics.csv", False),
    "the last file": (_outputs, "replacing", "run.json", False),
    "publishing the first file": (os, "replace", "out/model.joblib", True),
    "publishing the last file": (os, "replace", "out/run.json", True),
    "telling": (_conclusion, "tell", "", True),
}


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("earlier", [False, True])
def test_ctrl_c_leaves_all_outputs_or_none(tmp_path, corpus, monkeypatch, capsys, moment, earlier):
    module, name, text, complete = MOMENTS[moment]
    output, whole, sent = tmp_path / "new" / "out", getattr(module, name), []
    before = dict.fromkeys(NAMES, b"of an earlier run") if earlier else {}
    for file, content in before.items():
        output.mkdir(parents=True, exist_ok=True)
        (output / file).write_bytes(content)

    def interrupted(*arguments, **options):
        if text in str(arguments) and not sent:
            sent.append(arguments)
            os.kill(os.getpid(), signal.SIGINT)
        return whole(*arguments, **options)

    monkeypatch.setattr(module, name, interrupted)
    with pytest.raises(SystemExit) as caught:
        main(topics(corpus, output, "--force")[3:])
    assert sent
    assert caught.value.code == 130
    what = f"the outputs are in {output}" if complete else "nothing was written"
    assert capsys.readouterr().err == f"sparsemix topics: interrupted; {what}\n"
    if complete:
        assert_complete(output)
    elif earlier:
        assert {file.name: file.read_bytes() for file in output.iterdir()} == before
    else:
        assert not (tmp_path / "new").exists()


def test_outputs_of_a_killed_run_are_told(tmp_path, corpus, capsys):
    (tmp_path / "out" / ".outputs-1234").mkdir(parents=True)
    main(topics(corpus, tmp_path / "out")[3:])
    assert ".outputs-1234 holds files of a run that failed" in capsys.readouterr().err


@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_sigterm_ends_a_fit_as_ctrl_c_does(tmp_path, corpus, number, ignored):
    """The outputs are those of the epochs before. A process in the background may ignore Ctrl-C, but not SIGTERM."""
    if ignored and number == signal.SIGINT:
        return
    command = [*topics(corpus, tmp_path / "out"), "--max-iter", "1000000", "--held-out", "0", "--runs", "1"]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler),
    ) as process:  # fmt: skip
        for line in process.stdout:
            if "epoch   2/" in line or "epoch 2/" in " ".join(line.split()):
                break
        process.send_signal(number)
        process.stdout.read()
        told = process.stderr.read()
    assert "interrupted: the result is that of the last complete epoch" in told
    assert "Traceback" not in told
    assert process.returncode == (143 if number == signal.SIGTERM else 0)
    assert_complete(tmp_path / "out")


def test_sigterm_before_the_fit_leaves_nothing(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    command = topics(tmp_path / "pipe", tmp_path / "out")
    with (
        subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True) as process,
        (tmp_path / "pipe").open("w"),  # the command reads it
    ):
        process.terminate()
        told = process.stderr.read()
    assert (process.returncode, told) == (143, "sparsemix topics: interrupted; nothing was written\n")
    assert not (tmp_path / "out").exists()


def test_a_second_run_into_a_folder_is_refused_while_the_first_one_lives(tmp_path, corpus):
    """Also with --force. A killed run leaves the folder free, and its files are named."""
    output, wait = tmp_path / "out", tmp_path / "pipe"
    os.mkfifo(wait)
    with subprocess.Popen(topics(wait, output), env=environment(), stderr=subprocess.PIPE) as first:
        try:
            with wait.open("w"):  # the first run has begun to read
                done = subprocess.run(
                    topics(corpus, output, "--force"), env=environment(), capture_output=True, text=True, check=False
                )
                first.kill()
        finally:
            first.kill()
    assert (done.returncode, done.stdout) == (2, "")
    (error,) = done.stderr.splitlines()
    assert error.endswith(
        f"error: {output} is the output folder of a run that has not ended; wait for it, or choose another folder "
        "with --output."
    )
    again = subprocess.run(topics(corpus, output), env=environment(), capture_output=True, text=True, check=True)
    assert re.search(r"\.outputs-\S+ holds files of a run that failed; you may remove it\n", again.stderr)
    assert sorted(file.name for file in output.iterdir() if file.is_file()) == NAMES


def test_a_file_that_cannot_be_moved_is_told_and_kept(tmp_path, corpus, monkeypatch, capsys):
    replace = os.replace

    def full(source, target):
        if str(target).endswith("out/topics.csv"):
            raise OSError("no space left")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(SystemExit, match="1"):
        main(topics(corpus, tmp_path / "out")[3:])
    error = capsys.readouterr().err
    assert "topics.csv is not written: no space left" in error
    assert "error: not written: topics.csv" in error
    assert "the files of this run are in" in error
    (kept,) = (tmp_path / "out").glob(".outputs*/topics.csv")
    assert kept.read_text().startswith("topic,token_share")
    assert sorted(file.name for file in (tmp_path / "out").glob("[!.]*")) == [n for n in NAMES if n != "topics.csv"]
