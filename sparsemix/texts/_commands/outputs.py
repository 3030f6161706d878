"""The output folder: checked before the fit, and filled with all files of a run at the end."""

import csv
import errno
import json
import os
import re
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path

import joblib

from sparsemix.extend import interrupts_wait, local_path, replacing
from sparsemix.texts._commands.console import printable, warn

MODEL, TOPICS, DOCUMENTS, CHAPTERS, PASSAGES, REPORT, RUN, WORDS, VECTORS, EFFECTS = NAMES = (
    "model.joblib", "topics.csv", "documents.csv", "chapters.csv", "passages.csv", "report.html", "run.json",
    "words.csv", "word_vectors.bin", "effects.csv",
)  # fmt: skip
# Tables of shares, by what their bins are.
STRATA = {
    "period": "over_time.csv", "group": "by_group.csv", "document": "by_document.csv", "position": "by_position.csv",
    "chapter": "by_chapter.csv",
}  # fmt: skip
FILES = (*NAMES, *STRATA.values())
# Prefix of the temporary folder in which the files wait until all are written, and the file that a living run locks.
STAGE, LOCK = ".outputs-", ".outputs.lock"
# Characters with which a spreadsheet formula begins, and texts that a spreadsheet reads as a number.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
NUMBER = re.compile(r"[+-]?\d[\d.,]*([eE][+-]?\d+)?")


class Outputs:
    """Output files of one run. They are written to a temporary folder and published together.

    The output folder never mixes files of two runs: if one cannot be written, it stays as it was, and ``kept`` is the
    folder of the files of this run. Files of an earlier run are replaced with ``force`` only.
    """

    def __init__(self, folder, force):
        self.folder = local_path(folder, "--output")
        self.written, self.failed, self.missing, self.published, self.kept = [], [], [], False, None
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder} exists and is not a folder; choose another with --output.")
        self._made = [folder for folder in (self.folder, *self.folder.parents) if not folder.exists()]
        self.folder.mkdir(parents=True, exist_ok=True)
        self._temporary, self._lock = [], locked(self.folder / LOCK)
        try:
            self._begin(force)
        except BaseException:
            self.discard()
            raise

    def _begin(self, force):
        """Check what the folder holds, and create the folder for the files of this run."""
        self.earlier = [name for name in FILES if (self.folder / name).exists()]
        if self.earlier and not force:
            raise ValueError(
                f"{self.folder} holds an earlier run ({', '.join(self.earlier)}); choose another folder with --output, "
                "or replace it with --force."
            )
        for name in self.earlier:
            if not (self.folder / name).is_file():
                raise ValueError(f"{self.folder / name} is not a file; choose another folder with --output.")
        for left in sorted(self.folder.glob(f"{STAGE}*")):
            warn(f"{left} holds files of a run that failed; you may remove it")
        self.stage = Path(tempfile.mkdtemp(prefix=STAGE, dir=self.folder))
        self._temporary.append(self.stage)

    @contextmanager
    def all_or_nothing(self):
        """Leave all files of the run in the output folder, or none of them. After an error they are kept elsewhere."""
        keep = False
        try:
            yield self
            keep = bool(self.failed) or not self.published
        except Exception:
            keep = True
            raise
        finally:
            with interrupts_wait():
                self.discard(keep)

    def discard(self, keep=False):
        """Remove unpublished files, unless they are to be kept, and the empty folders that this run created."""
        if keep and self.written:
            self.kept = self.stage
            shutil.rmtree(self.stage / "counts", ignore_errors=True)
            warn(f"the files of this run are in {self.kept}")
        for folder in self._temporary:
            if folder != self.kept:
                shutil.rmtree(folder, ignore_errors=True)
        if self._lock is not None:
            with suppress(OSError):  # Windows removes no open file, and an empty one may stay
                (self.folder / LOCK).unlink()
            self._lock.close()
            self._lock = None
        with suppress(OSError):  # a folder is not empty
            for folder in self._made:
                folder.rmdir()

    def publish(self):
        """Move the files to the output folder, in place of those of an earlier run, unless one failed."""
        if self.failed or self.stage.parent != self.folder:
            return
        with interrupts_wait():
            for name in set(self.earlier).difference(self.written):
                (self.folder / name).unlink()
            for name in tuple(self.written):
                try:
                    os.replace(self.stage / name, self.folder / name)
                except OSError as error:
                    warn(f"{self.folder / name} is not written: {error}")
                    self.failed.append(name)
            self.published = True

    def scratch(self):
        """A folder on the disk of the outputs, which has free space, for counts."""
        folder = self.stage / "counts"
        folder.mkdir(exist_ok=True)
        return str(folder)

    def write(self, name, writer, **options):
        """Write a file with ``writer(file)``. A failure is reported and recorded, and does not stop later files.

        If the disk fails, no file will be published; if the content cannot be made, this file only is missing.
        """

        def save(path):
            with replacing(path, **options) as file:
                writer(file)

        self.save(name, save)

    def save(self, name, save):
        """Write a file with ``save(path)``; otherwise as ``write``."""
        try:
            save(self.stage / name)
        except (OSError, MemoryError) as error:
            warn(f"{self.folder / name} is not written: {error or type(error).__name__}")
            self.failed.append(name)
        except Exception as error:  # no table may cost the fit
            self.leave_out(name, error)
        else:
            self.written.append(name)

    def attempt(self, what, make, otherwise=None):
        """What ``make()`` returns. If it fails, this part is named and left out, and ``otherwise`` replaces it."""
        try:
            return make()
        except Exception as error:  # no part may cost the fit
            self.leave_out(what, error)
            return otherwise

    def leave_out(self, what, error):
        """Report and record a part that cannot be made."""
        reason = str(error).rstrip(".") if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        warn(f"{what} cannot be made: {' '.join(reason.split())}")
        self.missing.append(what)

    def save_model(self, pipeline):
        """Save the model before later steps can fail: if not in the output folder, in a temporary one."""
        self.write(MODEL, lambda file: joblib.dump(pipeline, file))
        if self.failed:
            self.failed, self.stage = [], Path(tempfile.mkdtemp(prefix="sparsemix-"))
            self._temporary.append(self.stage)
            self.write(MODEL, lambda file: joblib.dump(pipeline, file))

    def write_table(self, name, make, *arguments):
        """Write the rows that ``make(*arguments)`` returns as CSV."""
        self.write(
            name, lambda file: csv.writer(file).writerows(make(*arguments)), mode="w", newline="", encoding="utf-8"
        )

    def write_json(self, name, make):
        """Write the value of ``make()`` as JSON."""
        self.write(name, lambda file: file.write(json_of(make())))


def locked(path):
    """An open file that is locked until it is closed or this process ends; raises if another process has locked it."""
    while True:
        file = path.open("ab")
        try:
            lock(file)
        except OSError as error:
            file.close()
            if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):  # this disk has no locks
                return None
            raise ValueError(
                f"{path.parent} is the output folder of a run that has not ended; wait for it, or choose another "
                "folder with --output."
            ) from error
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()  # the run before removed it in the meantime


def lock(file):
    """Lock an open file for this process, or raise at once."""
    if os.name == "nt":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def json_of(value):
    """A value as bytes of JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace")


def cell(text):
    """A table cell without control characters and spreadsheet formulas. Numbers such as -1 and +3.5 do not change."""
    text = printable(text)
    return f"'{text}" if text.startswith(FORMULA) and not NUMBER.fullmatch(text) else text


def listed(words):
    """A cell with words separated by spaces; spaces inside them become underscores."""
    return cell(" ".join("_".join(word.split()) or "_" for word in words))
