"""Every kind of file as a stream of documents, by its format; a folder holds files of these kinds."""

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

from sparsemix.datasets import PACKED_ENDINGS
from sparsemix.texts._commands.outputs import FILES as OUTPUTS
from sparsemix.texts._reading.formats.extract import EXTRACTORS, read_document, read_mail
from sparsemix.texts._reading.formats.files import lines, read_whole, unpacked_name
from sparsemix.texts._reading.formats.records import NOT_READ, Document, first_words
from sparsemix.texts._reading.formats.tables import read_excel, read_json, read_parquet, read_table
from sparsemix.texts._reading.formats.xml import read_xml

# Texts of a folder whose name tells no other kind.
PLAIN = ".txt"
ARCHIVES = (".zip", ".tar", ".tgz", ".tbz2", ".txz", ".7z", ".rar")


def read_lines(path, *, encoding, tally, **_):
    """One document per nonempty line, named by its first words."""
    for number, line in lines(path, encoding, tally):
        yield Document(line, first_words(line), row=number)


def read_text(path, *, encoding, tally, **_):
    """The text of a whole file."""
    yield Document(read_whole(path, encoding, tally), "")


def refuse(path, **_):
    """Raise for a file that must be unpacked or converted first."""
    if unpacked_name(path).endswith(ARCHIVES):
        raise ValueError(f"{path} is an archive; unpack it, and give the folder or a file of it.")
    raise ValueError(
        f"{path} is of a kind that is not read; save it as .docx, .pdf or text, for example by "
        "soffice --headless --convert-to txt."
    )


def read_folder(path, *, glob, encoding, fields, tally):
    """The documents of a folder's files, named by their path inside the folder.

    A file that cannot be read is counted and named, unless no file can be read. The group of a document may be the
    folder that contains its file.
    """
    files = files_of(path, glob)
    others = Counter(file.suffix.lower() or file.name for file in set(seen_files(path, "*")).difference(files))
    kinds = Counter(Path(unpacked_name(file)).suffix or file.name for file in files)
    if len(kinds) > 1:
        tally.facts["files"] = f"{numbers_of_endings(kinds)} (--glob '*{max(kinds, key=kinds.get)}' reads one kind)"
    if others:
        tally.facts["files not read"] = f"{numbers_of_endings(others)} (--glob '*' reads all files that hold text)"
    by_folder = fields.group == "folder"
    within = replace(fields, group=None) if by_folder else fields
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


def numbers_of_endings(counts):
    """The numbers of files, most frequent ending first."""
    return ", ".join(f"{-n:,} {ending}" for n, ending in sorted((-n, ending) for ending, n in counts.items()))


def read_file(path, kind, *, name=None, **options):
    """The documents of a file of a known kind. ``name`` is that of the file within its folder.

    A reader of several documents names them, within the file if this is one of a folder.
    """
    if kind == "folder":
        yield from read_folder(path, **options)
        return
    number = 0
    for number, document in enumerate(READERS[kind][0](path, **options), start=1):
        names = [document.name or path.name] if name is None else filter(None, [name, document.name])
        yield replace(document, name=": ".join(names), file=name or path.name, row=document.row or number)
    if not number:
        raise ValueError(f"{path} {'has no documents' if path.stat().st_size else 'is empty'}.")


def files_of(path, glob=None):
    """Files of a folder that match the pattern, compressed or not."""
    try:
        if glob is not None:
            files = seen_files(path, glob, *(glob + ending for ending in PACKED_ENDINGS))
        else:
            found = {file: kind_of_file(file) for file in seen_files(path, "*")}
            plain = [file for file, kind in found.items() if kind == "text" or unpacked_name(file).endswith(PLAIN)]
            texts = {without_endings(file) for file in plain}  # a paper and its text are one document
            more = [file for file, kind in found.items() if kind in EXTRACTED and without_endings(file) not in texts]
            files = sorted(plain + more)
    except (NotImplementedError, ValueError) as error:
        raise ValueError(f"--glob {glob!r} is not a pattern for files inside a folder ({error}).") from error
    if not files:
        pattern = f"matches {glob!r}" if glob else "ends in .txt or holds texts of another kind that is known"
        has = ", ".join(sorted({file.suffix.lower() or file.name for file in seen_files(path, "*")})[:5]) or "no files"
        raise ValueError(f"{path} has no file that {pattern} (it has {has}); give another pattern with --glob.")
    return files


def without_endings(file):
    """The path of a file without its ending, and that of a compressed one."""
    return file.with_name(Path(unpacked_name(file)).stem)


def seen_files(path, *patterns):
    """Files that match a pattern, sorted, without hidden ones and outputs of earlier runs.

    Links to files that are gone count as files.
    """
    runs = {file.parent for file in path.rglob("run.json") if (file.parent / "topics.csv").exists()}
    found = {file for pattern in patterns for file in path.rglob(pattern)}
    files = {file for file in found if file.parent not in runs or file.name not in OUTPUTS}
    hidden = (any(part.startswith(".") for part in file.relative_to(path).parts) for file in sorted(files))
    return [
        file for file, is_hidden in zip(sorted(files), hidden, strict=True)
        if not is_hidden and (file.is_file() or not file.exists())
    ]  # fmt: skip


def kind_of_file(path):
    """The format of a file, by its ending."""
    name = unpacked_name(path)
    return next((kind for kind, (_, endings) in READERS.items() if name.endswith(endings)), "lines")


# Readers, and the endings of their files. Each yields documents.
READERS = {
    "folder": (read_folder, ()),
    "lines": (read_lines, ()),
    "text": (read_text, (".rst", ".tex", ".md", ".markdown")),
    "json": (read_json, (".json", ".jsonl", ".ndjson")),
    "csv": (read_table, (".csv", ".tsv", ".tab")),
    "parquet": (read_parquet, (".parquet",)),
    "excel": (read_excel, (".xlsx", ".xlsm")),
    "document": (read_document, tuple(EXTRACTORS)),
    "xml": (read_xml, (".xml", ".tei")),
    "mail": (read_mail, (".eml", ".mbox")),
    "other": (refuse, (*ARCHIVES, ".doc", ".odt", ".odp", ".ppt", ".pptx", ".rtf", ".xls", ".ods")),
}  # fmt: skip
# Kinds of files whose texts are extracted; tables and records are no texts.
EXTRACTED = ("document", "xml", "mail")
