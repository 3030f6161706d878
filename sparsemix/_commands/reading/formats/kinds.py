"""Every kind of file as a stream of documents, by its format; a folder and an archive are files of these kinds."""

import os
import re
import tarfile
import tempfile
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

from sparsemix._commands.reading.formats.files import ENDINGS, lines, read_whole
from sparsemix._commands.reading.formats.mail import read_mail
from sparsemix._commands.reading.formats.office import BROKEN, PARTS, read_epub, read_office, read_pdf
from sparsemix._commands.reading.formats.records import NOT_READ, Document, Kept, first_words
from sparsemix._commands.reading.formats.tabular import read_excel, read_json, read_parquet, read_table
from sparsemix._commands.reading.formats.web import read_html, read_markdown, read_notebook
from sparsemix.datasets._files import HEAD, open_packed

# Without --glob, a folder's files with this ending are read; if there are none, all files that hold text.
PLAIN = "*.txt"
# Bytes and members that an archive may unpack to.
LARGEST_ARCHIVE, MOST_MEMBERS = 1 << 36, 10_000_000


def read_lines(path, *, encoding, tally, **_):
    """One document per nonempty line, named by its first words."""
    for number, line in lines(path, encoding, tally):
        tally.place = f"line {number}"
        yield Document(line, first_words(line), row=number)


def read_text(path, *, encoding, tally, **_):
    """The text of a whole file."""
    yield {"text": read_whole(path, encoding, tally)}


def read_folder(path, *, glob, encoding, fields, tally):
    """The documents of a folder's files, named by their path inside the folder.

    A file that cannot be read is counted and named, unless no file can be read. The group of a document may be the
    folder that contains its file.
    """
    files = files_of(path, glob)
    tally.other_files = unread_files(path, files)
    by_folder = fields.group == "folder"
    within = replace(fields, group=None) if by_folder else fields
    tally.used.update(["--glob", "--group"] if by_folder else ["--glob"])
    n, first = 0, None
    for file in files:
        name = file.relative_to(path).as_posix()
        try:
            kind = kind_of_file(file)
            kind = "text" if kind == "lines" else kind
            for document in read_file(file, kind, glob=glob, encoding=encoding, fields=within, tally=tally, name=name):
                n += not document.missing
                yield replace(document, group=Path(name).parent.as_posix()) if by_folder else document
        except (ValueError, OSError) as error:
            first = first or error
            tally.skip(name, str(error).replace(f"{path}{os.sep}", ""))
            yield Document("", name, file=name, missing=NOT_READ)
    if first is not None and not n:
        raise first


def read_file(path, kind, *, fields, tally, name=None, **options):
    """The documents of a file of a known kind. ``name`` is that of the file within its folder.

    Readers of several documents name them. Others yield records of a text and some fields.
    """
    for number, item in enumerate(READERS[kind][0](path, fields=fields, tally=tally, **options), start=1):
        file = name or path.name
        if isinstance(item, Document):
            row = item.row or number
            if item.file:  # a file of a folder, or of an archive in it
                file, row = item.file if name is None else f"{name}/{item.file}", item.row
            called = item.name if name is None else f"{name}: {item.name}"
            yield replace(item, name=called, file=file, row=row)
            continue
        own = name or path.name
        if kind == "mail" and not path.name.lower().endswith(".eml"):
            own = item["subject"] or f"message {number}"
            own = own if name is None else f"{name}: {own}"
        # a file of one text has few fields: options that name others have no effect, which a warning says
        known = {option: getattr(fields, option) for option in ("id", "date", "group")}
        known = {option: field if field in item else None for option, field in known.items()}
        texts = Kept(replace(fields, text="text" if kind != "mail" else fields.text, **known), tally)
        document = texts.document(item, own, own)
        yield replace(document, name=document.name if known["id"] else own, file=file, row=number)


def files_of(path, glob=None):
    """Files of a folder that match the pattern, compressed or not, without hidden files and those of macOS."""
    try:
        files = seen_files(path, with_packed(glob or PLAIN))
        if glob is None and not files:
            files = [file for file in seen_files(path, ["*"]) if kind_of_file(file) in HOLD_TEXT]
    except (NotImplementedError, ValueError) as error:
        raise ValueError(f"--glob {glob!r} is not a pattern for files inside a folder ({error}).") from error
    if not files:
        pattern = f"matches {glob!r}" if glob else "ends in .txt or holds texts of another kind that is known"
        raise ValueError(f"{path} has no file that {pattern}; give another pattern with --glob.")
    return files


def seen_files(path, patterns):
    """Files that match a pattern, sorted, without hidden ones."""
    files = {file for pattern in patterns for file in path.rglob(pattern)}
    return sorted(file for file in files if not hidden(file.relative_to(path)) and file.is_file())


def with_packed(pattern):
    """The pattern, and those of compressed files."""
    return pattern, *(pattern + ending for ending in ENDINGS)


def hidden(path):
    """Whether a file, or a folder that contains it, is hidden (begins with a dot) or is what macOS adds to archives."""
    return any(part.startswith(".") or part == "__MACOSX" for part in path.parts)


def unread_files(path, files):
    """Endings of files that are not read, without hidden files, and their numbers; most frequent first."""
    known, found = set(files), Counter()
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not hidden(Path(name))]
        others = (Path(folder, name) for name in names if not hidden(Path(name)))
        found.update(file.suffix.lower() or file.name for file in others if file not in known)
    return tuple(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def read_archive(path, *, tally, **options):
    """The documents of an archive, which is unpacked to a temporary folder and read like a folder."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            unpack(path, folder)
        except BROKEN as error:
            raise ValueError(f"{path} is not an archive that can be unpacked ({error}).") from error
        yield from read_folder(Path(folder), tally=tally, **options)


def unpack(path, folder):
    """Unpack a ZIP or TAR archive into a folder; links and names outside the folder are refused."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            check_size(path, (member.file_size for member in archive.infolist()))
            archive.extractall(folder)
        return
    with open_packed(path) as file, tarfile.open(fileobj=file, mode="r|") as archive:
        sizes = []
        for member in archive:
            sizes.append(member.size)
            if len(sizes) % 1000 == 1:
                check_size(path, sizes)
            if member.isfile() or member.isdir():
                archive.extract(member, folder, filter="data")


def check_size(path, sizes):
    """Raise for an archive that unpacks to more than a disk holds."""
    sizes = list(sizes)
    if sum(sizes) > LARGEST_ARCHIVE or len(sizes) > MOST_MEMBERS:
        raise ValueError(f"{path} unpacks to {sum(sizes):,} bytes in {len(sizes):,} files; unpack it yourself.")


def kind_of_file(path):
    """The format of a file, by its ending; pages and mail boxes also by their beginning."""
    name = path.name.lower()
    packed = next((ending for ending in ENDINGS if name.endswith(ending)), "")
    inner = name.removesuffix(packed)
    for kind, (_, endings) in READERS.items():
        if inner.endswith(endings):
            return kind
    if path.is_file():
        with open_packed(path) as file:
            head = file.peek(HEAD)[:HEAD]
        return next((kind for kind, beginning in BEGINNINGS.items() if beginning.match(head)), "lines")
    return "lines"


# Readers, and the endings of their files. Each yields documents, or records whose text is one document.
READERS = {
    "folder": (read_folder, ()),
    "lines": (read_lines, ()),
    "text": (read_text, (".rst", ".tex")),
    "json": (read_json, (".json", ".jsonl", ".ndjson")),
    "csv": (read_table, (".csv", ".tsv", ".tab")),
    "parquet": (read_parquet, (".parquet",)),
    "excel": (read_excel, (".xlsx", ".xlsm")),
    "html": (read_html, (".html", ".htm", ".xhtml")),
    "markdown": (read_markdown, (".md", ".markdown")),
    "notebook": (read_notebook, (".ipynb",)),
    "mail": (read_mail, (".eml", ".mbox")),
    "office": (read_office, tuple(PARTS)),
    "epub": (read_epub, (".epub",)),
    "pdf": (read_pdf, (".pdf",)),
    "archive": (read_archive, (".zip", ".tar", ".tgz", ".tbz2", ".txz")),
}  # fmt: skip
# Kinds of files that a folder without *.txt is searched for: texts, no tables.
HOLD_TEXT = ("text", "html", "markdown", "notebook", "mail", "office", "epub", "pdf")
# First bytes of formats, for files whose names do not show the format.
BEGINNINGS = {
    "html": re.compile(
        rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype html|html\b)", re.IGNORECASE | re.DOTALL
    ),
    "mail": re.compile(rb"From \S+ .*\n(?:[\w-]+:[ \t].*\n)"),
}
