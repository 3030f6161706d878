"""Word counts in the file format of the UCI repository."""

import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from sparsemix._typing import Array, FilePath
from sparsemix.datasets._files import in_utf8, open_packed

# Bytes of text per read; the parsed numbers take three to four times as much.
BLOCK = 1 << 24
# Three whole numbers or a word are shorter; a longer line is of another format, perhaps without line breaks.
LONGEST_LINE = 1000
# Maximal bytes of a vocabulary file.
LARGEST_VOCABULARY = 1 << 30
# Largest column, count and row number.
MOST = 2**31 - 1
# A header may announce this many documents without entries; more documents must have entries.
FREE_DOCUMENTS = 1_000_000
HEADER = ("documents", "words", "entries")
NAME = re.compile(r"docword\.(.+?)\.txt(\.gz)?")
# Characters of valid lines, and a pattern of anything that is not a whole number.
PLAIN = b"0123456789 \t\n\r\v\f"
ODD = re.compile(rb"[^\d\s-]|-(?!\d)|(?<=[\d-])-")


def load_bag_of_words(path: FilePath, vocabulary: FilePath | Sequence[str] | bool | None = None) -> Any:
    """Read a corpus in the UCI bag-of-words format.

    ``docword.NAME.txt``, plain or gzip-compressed, has three lines with the numbers of documents, words and entries,
    then a line ``document word count`` for each entry; document and word count from 1. ``vocab.NAME.txt`` has one word
    per line. The file is read in blocks, so memory is that of the result plus about 100 MB.

    Parameters
    ----------
    path : str or path
        File of counts.
    vocabulary : str, path, sequence of str, False or None, default=None
        The words or their file. None finds ``vocab.NAME.txt`` in the folder of the counts; False reads no words.

    Returns
    -------
    corpus : :class:`~sklearn.utils.Bunch`
        With these attributes:

        data : CSR matrix of shape (n_documents, n_words), float32
            Counts; documents without entries are empty rows.
        feature_names : ndarray of shape (n_words,) or None
            The words.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a line violates the format; the message names the line.

    See Also
    --------
    fetch_bag_of_words : Downloads the sets of the UCI repository.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sparsemix.datasets import load_bag_of_words
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "docword.tiny.txt")
    ...     n_bytes = path.write_text("2\\n3\\n3\\n1 1 2\\n1 3 1\\n2 2 4\\n")
    ...     corpus = load_bag_of_words(path, vocabulary=["sparse", "topic", "word"])
    >>> corpus.data.toarray()
    array([[2., 0., 1.],
           [0., 4., 0.]], dtype=float32)
    """
    path = Path(path)
    with open_packed(path) as packed:
        file = without_mark(in_utf8(packed))
        n_documents, n_words, n_entries = read_header(file, path)
        counts = read_counts(file, path, n_documents, n_words, n_entries)
    return Bunch(data=counts, feature_names=find_vocabulary(vocabulary, path, n_words))


def without_mark(file):
    """A file after the byte order mark of UTF-8, if it has one."""
    if file.peek(len(BOM_UTF8)).startswith(BOM_UTF8):
        file.read(len(BOM_UTF8))
    return file


def read_header(file, path):
    """Numbers of documents, words and entries."""
    sizes = []
    for line, what in enumerate(HEADER, start=1):
        # The limit protects memory from a file of another format without line breaks.
        text = file.readline(LONGEST_LINE).strip()
        if not text.isdigit() or len(text) > 18:
            raise ValueError(
                f"{path}, line {line}: {shown(text)} is not the number of {what}. A bag of words begins with three "
                f"lines, the numbers of documents, words and entries."
            )
        sizes.append(int(text))
    for line, (size, what) in enumerate(zip(sizes[:2], HEADER, strict=False), start=1):
        if size > MOST:
            raise ValueError(f"{path}, line {line}: {size} {what} are more than {MOST}. Correct the line.")
    if sizes[0] > max(FREE_DOCUMENTS, 100 * sizes[2]):
        raise ValueError(f"{path}, line 1: {sizes[0]} documents for {sizes[2]} entries. Correct the line.")
    if sizes[2] > sizes[0] * sizes[1]:
        raise ValueError(f"{path}, line 3: {sizes[2]} entries are more than {sizes[0]} x {sizes[1]}. Correct the line.")
    return sizes


def read_counts(file, path, n_documents, n_words, n_entries):
    """All entries as one CSR matrix. Memory grows with the actual entries, not with the header."""
    words, counts = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32)
    lengths = np.zeros(n_documents, dtype=np.int64)
    documents = None  # used only if the file is not sorted by document
    start, last = 0, 0
    for entries in read_entries(file, path, (n_documents, n_words)):
        stop = start + len(entries)
        if stop > n_entries:
            raise ValueError(wrong_number(path, n_entries, "more"))
        document = entries[:, 0] - 1
        if documents is None and (document[0] < last or np.any(document[1:] < document[:-1])):
            documents = np.repeat(np.arange(n_documents, dtype=np.int32), lengths)
        if documents is not None:
            documents = with_capacity(documents, stop, n_entries)
            documents[start:stop] = document
        words, counts = with_capacity(words, stop, n_entries), with_capacity(counts, stop, n_entries)
        words[start:stop] = entries[:, 1] - 1
        counts[start:stop] = entries[:, 2]
        first = document.min()
        found = np.bincount(document - first)
        lengths[first : first + len(found)] += found
        start, last = stop, document[-1]
    if start < n_entries:
        raise ValueError(wrong_number(path, n_entries, f"{start}"))
    shape = (n_documents, n_words)
    if documents is not None:
        return sparse.csr_matrix((counts[:start], (documents[:start], words[:start])), shape=shape)
    matrix = sparse.csr_matrix((counts, words, np.concatenate([[0], np.cumsum(lengths)])), shape=shape)
    matrix.sum_duplicates()
    return matrix


def with_capacity(array, size, most):
    """The array, or a copy with space for ``size`` entries: at least doubled, but at most ``most``."""
    if len(array) >= size:
        return array
    grown = np.empty(min(most, max(size, 2 * len(array))), dtype=array.dtype)
    grown[: len(array)] = array
    return grown


def wrong_number(path, expected, found):
    """Error message for a number of entries that differs from the header."""
    return (
        f"{path}, line 3 announces {expected} entries and {found} follow: the file is cut off or the line is wrong. "
        f"Get the file again or correct the line."
    )


def read_entries(file, path, shape):
    """Checked arrays of shape (n, 3): document, word and count."""
    line = 1 + len(HEADER)
    for text in whole_lines(file, path):
        # fromstring is the only NumPy parser without a Python object per line: 60 ns a number. It only warns of what it
        # cannot read, and warning filters are shared by all threads, so odd characters are searched first.
        odd = text.translate(None, PLAIN) and ODD.search(text)
        numbers = np.empty(0) if odd else np.fromstring(text, dtype=np.int64, sep=" ")
        n_lines = text.count(b"\n") + 1
        if numbers.size != 3 * n_lines or not three_a_line(text):
            raise ValueError(bad_line(text, path, line))
        entries = numbers.reshape(-1, 3)
        check_entries(entries, path, line, shape)
        yield entries
        line += n_lines


def three_a_line(text):
    """Whether each line has three numbers. A short line and a long one would shift the entries between them."""
    characters = np.frombuffer(text, dtype=np.uint8)
    blank = characters <= ord(" ")
    begins = ~blank
    begins[1:] &= blank[:-1]
    ends = np.flatnonzero(characters == ord("\n"))
    before = np.searchsorted(np.flatnonzero(begins), ends)
    return bool((before == 3 * np.arange(1, len(ends) + 1)).all())


def whole_lines(file, path):
    """Blocks of text that end at a line end, without the last line break."""
    rest = b""
    while block := file.read(BLOCK):
        head, newline, tail = block.rpartition(b"\n")
        if newline and (text := (rest + head).rstrip()):
            yield text
        rest = tail if newline else rest + tail
        if len(rest) > LONGEST_LINE:
            raise ValueError(f"{path}: {shown(rest[:100])} is a line without an end. Is it a bag of words?")
    if text := rest.rstrip():
        yield text


def bad_line(text, path, first_line):
    """Error message for the first line that is not three whole numbers."""
    lines = enumerate(text.split(b"\n"), start=first_line)
    three = re.compile(rb"\s*-?\d+\s+-?\d+\s+-?\d+\s*")
    line, content = next((item for item in lines if not three.fullmatch(item[1])), (first_line, text))
    return f"{path}, line {line}: {shown(content)} is not 'document word count', three whole numbers. Correct the line."


def check_entries(entries, path, first_line, shape):
    """Raise for the first entry that is out of range."""
    wrong = (entries < 1).any(axis=1) | (entries > [*shape, MOST]).any(axis=1)
    if not wrong.any():
        return
    row = int(np.argmax(wrong))
    document, word, count = entries[row].tolist()
    where = f"{path}, line {first_line + row}"
    if not 1 <= document <= shape[0]:
        raise ValueError(f"{where}: document {document} is not among 1 to {shape[0]}; is line 1 right?")
    if not 1 <= word <= shape[1]:
        raise ValueError(f"{where}: word {word} is not among 1 to {shape[1]}; is line 2 right?")
    raise ValueError(f"{where}: the count is {count}, counts are 1 to {MOST}. Correct or remove the line.")


def find_vocabulary(vocabulary, path, n_words):
    """The words: given, or read from their file."""
    if vocabulary is False:
        return None
    if vocabulary is None:
        vocabulary = vocabulary_beside(path)
    if isinstance(vocabulary, (str, Path)):
        words, source = read_vocabulary(vocabulary), vocabulary
    else:
        words, source = np.asarray(vocabulary, dtype=str), "vocabulary"
    if len(words) != n_words:
        raise ValueError(f"{source} has {len(words)} words and {path} counts {n_words}; they do not belong together.")
    return words


def vocabulary_beside(path):
    """Vocabulary file that belongs to a file of counts."""
    if match := NAME.fullmatch(path.name):
        for ending in ("", ".gz"):
            if (vocabulary := path.with_name(f"vocab.{match[1]}.txt{ending}")).exists():
                return vocabulary
        expected = path.with_name(f"vocab.{match[1]}.txt")
    else:
        expected = f"The name of {path} is not docword.NAME.txt, so vocab.NAME.txt"
    raise FileNotFoundError(f"{expected} is not there; give a file with one word per line as vocabulary.")


def read_vocabulary(path: FilePath) -> Array:
    """Read the words of a file with one word per line, plain or compressed; empty lines at the end are ignored.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    words : ndarray of shape (n_words,)

    Raises
    ------
    ValueError
        For a file that is too large to be a vocabulary.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sparsemix.datasets import read_vocabulary
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "words.txt")
    ...     n_characters = path.write_text("sparse\\ntopic\\n")
    ...     read_vocabulary(path).tolist()
    ['sparse', 'topic']
    """
    with open_packed(Path(path)) as file:
        content = in_utf8(file).read(LARGEST_VOCABULARY)
    if len(content) == LARGEST_VOCABULARY:
        raise ValueError(f"{path} has more than {LARGEST_VOCABULARY:,} bytes; give a file with one word per line.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: the word is not in UTF-8; read the file in its encoding, and give its words"
        ) from None
    return np.array([line.strip() for line in text.rstrip().split("\n")] if text.strip() else [], dtype=str)


def shown(content):
    """A line of a file, shortened for a message."""
    text = content.decode("utf-8", errors="replace").strip()
    return repr(text if len(text) <= 40 else text[:40] + "...")
