"""The output folder: checked before the fit, and filled with all files of a run at the end."""

import csv
import io
import json
import os
import re
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

import joblib

from sparsemix._commands.console import printable, warn
from sparsemix._commands.reading.formats.files import scratch_file
from sparsemix._engine.threads import interrupts_wait
from sparsemix._estimator.writing import local_path, replacing

TOPICS, DOCUMENTS, REPORT, RUN, WORDS, VECTORS, OVER_TIME, BY_GROUP = TABLES = (
    "topics.csv", "documents.csv", "report.html", "run.json", "words.csv", "word_vectors.bin", "over_time.csv",
    "by_group.csv",
)  # fmt: skip
# File name of the model, by the library that saves it.
MODELS = {"joblib": "model.joblib", "skops": "model.skops"}
# Prefixes of temporary folders: counts on disk, and outputs before they are published.
SCRATCH, STAGE = "scratch", ".outputs"
# Characters with which a spreadsheet formula begins.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
# Texts that a spreadsheet reads as a number.
NUMBER = re.compile(r"[+-]?\d[\d.,]*([eE][+-]?\d+)?")


class Outputs:
    """Output files of one run.

    Parameters
    ----------
    folder : str or path
        Created if it does not exist.
    force : bool
        Whether files of an earlier run may be replaced. They are replaced together after the new files are written, so
        that the folder never mixes files of two runs.
    model_format : {"joblib", "skops"}
        The library that saves the model.

    Raises
    ------
    ValueError, OSError
        If the folder holds an earlier run or is not writable.
    ImportError
        If skops is chosen but not installed.
    """

    def __init__(self, folder, force, model_format="joblib"):
        self.dump, self.model = dumper(model_format), MODELS[model_format]
        self.folder = local_path(folder, "--output")
        self.written = []
        self.failed = []
        self.published = False
        self.refuge = None  # folder of the files of a run that failed
        self._stage = self._scratch = None
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder} exists and is not a folder; choose another with --output.")
        self._made = [folder for folder in (self.folder, *self.folder.parents) if not folder.exists()]
        self.folder.mkdir(parents=True, exist_ok=True)
        self.earlier = [name for name in (*MODELS.values(), *TABLES) if (self.folder / name).exists()]
        if self.earlier and not force:
            raise ValueError(
                f"{self.folder} holds an earlier run ({', '.join(self.earlier)}); choose another folder with --output, "
                "or replace it with --force."
            )
        for name in self.earlier:
            if not (self.folder / name).is_file():
                raise ValueError(f"{self.folder / name} is not a file; choose another folder with --output.")
        with tempfile.TemporaryFile(dir=self.folder) as probe:
            probe.write(b"can this folder be written to?")

    @contextmanager
    def all_or_nothing(self):
        """Leave all files of the run in the output folder, or none of them. After an error they are in a refuge."""
        try:
            yield self
        except Exception:
            if self.refuge is not None:
                self.publish()
            elif self._stage is not None:
                self.retreat()
            raise
        finally:
            with interrupts_wait():
                self.discard()

    def publish(self):
        """Move the files to the output folder, in place of those of an earlier run; to a refuge if one failed."""
        if self.failed and self.refuge is None:
            self.retreat()
            return
        with interrupts_wait():
            stage, self._stage = self._stage, None
            if stage is None:
                return
            self.clear_earlier()
            for name in tuple(self.written):
                try:
                    os.replace(stage / name, self.folder / name)
                except OSError as error:
                    warn(f"{self.folder / name} is not written: {error}; it is in {stage}")
                    self.written.remove(name)
                    self.failed.append(name)
            self.published = True
            with suppress(OSError):  # the folder still holds a file that could not be moved
                stage.rmdir()

    def retreat(self):
        """Move the files to a new temporary folder, and write later ones there. The output folder stays as it was."""
        with interrupts_wait():
            stage, self._stage = self._stage, None
            self.refuge = Path(tempfile.mkdtemp(prefix="sparsemix-"))
            left = []
            for name in tuple(self.written):
                try:
                    shutil.move(stage / name, self.refuge / name)
                except OSError as error:
                    warn(f"{self.refuge / name} is not written: {error}; it is in {stage}")
                    self.written.remove(name)
                    left.append(name)
            if stage is not None and not left:
                shutil.rmtree(stage, ignore_errors=True)
            self.folder, self.earlier = self.refuge, []
            self.published = bool(self.written)

    def discard(self):
        """Remove unpublished files, and the empty folders that this run created."""
        if self._stage is not None:
            shutil.rmtree(self._stage, ignore_errors=True)
        if self._scratch is not None:
            self._scratch.cleanup()
        self._stage = self._scratch = None
        for folders in ([] if self.refuge is None else [self.refuge], self._made):
            with suppress(OSError):  # a folder is not empty
                for folder in folders:
                    folder.rmdir()

    def stage(self):
        """The folder of unpublished files, inside the output folder."""
        if self._stage is None:
            self.tell_of_killed_runs(STAGE, "outputs")
            self._stage = self.folder / f"{STAGE}-{token_hex(4)}"
            self._stage.mkdir()
        return self._stage

    def tell_of_killed_runs(self, prefix, what):
        """Warn of temporary folders that a killed run left behind."""
        for left in sorted(self.folder.glob(f"{prefix}*")):
            warn(f"{left} holds {what} of a killed run; you may remove it if no other run uses it")

    def scratch(self):
        """A temporary folder on disk, inside the output folder, which has free space."""
        if self._scratch is None:
            self.tell_of_killed_runs(SCRATCH, "counts")
            self._scratch = tempfile.TemporaryDirectory(prefix=SCRATCH, dir=self.folder, ignore_cleanup_errors=True)
        return self._scratch.name

    def write(self, name, writer, **options):
        """Write a file with ``writer(file)``. A failure is reported and recorded, and does not stop later files."""
        try:
            with replacing(self.stage() / name, **options) as file:
                writer(file)
        except (OSError, ValueError, MemoryError) as error:
            warn(f"{self.folder / name} is not written: {error or type(error).__name__}")
            self.failed.append(name)
            return False
        self.failed = [failed for failed in self.failed if failed != name]
        self.written.append(name)
        return True

    def save_model(self, pipeline):
        """Save the model before later steps can fail. If the output folder fails, all files go to a refuge."""
        if not self.write(self.model, lambda file: self.dump(pipeline, file)):
            self.retreat()
            self.write(self.model, lambda file: self.dump(pipeline, file))

    def clear_earlier(self):
        """Remove the files of an earlier run, except the model, which is replaced afterwards."""
        for name in self.earlier:
            if name != self.model:
                (self.folder / name).unlink(missing_ok=True)
        self.earlier = []

    def write_table(self, name, columns, rows):
        """Write a table as CSV."""

        def writer(file):
            table = csv.writer(file)
            table.writerow(columns)
            table.writerows(rows)

        return self.write(name, writer, mode="w", newline="", encoding="utf-8")

    def write_json(self, name, value):
        """Write a value as JSON."""
        text = json.dumps(value, indent=2, ensure_ascii=False)
        return self.write(name, lambda file: file.write(text.encode("utf-8", "backslashreplace")))


def dumper(model_format):
    """The function that writes a model to a file."""
    if model_format == "joblib":
        return joblib.dump
    try:
        from skops import io as skops_io
    except ImportError as error:
        raise ImportError("--model-format skops needs skops, which is not installed: pip install skops") from error
    return skops_io.dump


class Spool:
    """Rows of a table, kept on disk until the table is written."""

    def __init__(self, folder=None):
        self.file = scratch_file(self, folder)

    def add(self, rows):
        """Append rows."""
        text = io.StringIO()
        csv.writer(text).writerows(rows)
        self.file.write(text.getvalue().encode("utf-8", "backslashreplace"))

    def copy_to(self, file):
        """Copy all rows to a file, in order."""
        self.file.seek(0)
        while block := self.file.read(1 << 20):
            file.write(block)


def cell(text):
    """A table cell without control characters and spreadsheet formulas. Numbers such as -1 and +3.5 do not change."""
    text = printable(text)
    return f"'{text}" if text.startswith(FORMULA) and not NUMBER.fullmatch(text) else text
