"""Download of the bags of words of the UCI repository."""

import hashlib
from pathlib import Path
from typing import Any

from sklearn.datasets import get_data_home

from sparsemix._typing import Folder
from sparsemix.datasets._bag_of_words import load_bag_of_words, read_header, read_vocabulary
from sparsemix.datasets._files import open_packed

URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/bag-of-words/"
# Published numbers of documents, words and entries of each set. The repository publishes no checksums.
SIZES = {
    "kos": (3430, 6906, 353_160),
    "nips": (1500, 12_419, 746_316),
    "enron": (39_861, 28_102, 3_710_420),
    "nytimes": (300_000, 102_660, 69_679_427),
    "pubmed": (8_200_000, 141_043, 483_450_157),
}


def fetch_bag_of_words(name: str, *, data_home: Folder = None, download_if_missing: bool = True) -> Any:
    """Load one of the five bags of words of the UCI repository; the first call downloads it.

    The files are stored in the folder ``bag_of_words`` of scikit-learn's data home. Downloading needs pooch
    (``pip install "sparsemix[datasets]"``). Files that you put there yourself are used.

    The repository publishes no checksums. The first file is accepted if it has the published numbers of documents,
    words and entries. Its SHA-256 is stored in the same folder, in the format of ``sha256sum``, and compared in later
    calls. This detects changes on your disk, but not a wrong first download.

    Parameters
    ----------
    name : {"kos", "nips", "enron", "nytimes", "pubmed"}
        Name of the set. The sets have 3,430, 1,500, 39,861, 300,000 and 8,200,000 documents; the last two downloads
        are 220 MB and 1.9 GB.
    data_home : str or path, default=None
        Data folder; None takes :func:`sklearn.datasets.get_data_home`.
    download_if_missing : bool, default=True
        Whether to download missing files.

    Returns
    -------
    corpus : :class:`~sklearn.utils.Bunch`
        With these attributes:

        data : CSR matrix of shape (n_documents, n_words), float32
            Counts.
        feature_names : ndarray of shape (n_words,)
            The words.

    Raises
    ------
    ValueError
        If no set has this name, or a file differs from the published numbers.
    ImportError
        If a download is needed and pooch is missing.
    OSError
        If a file is missing and cannot be downloaded, or has changed since its first use.

    See Also
    --------
    load_bag_of_words : Reads any file of this format.

    References
    ----------
    D. Newman, "Bag of Words", UCI Machine Learning Repository, 2008, https://doi.org/10.24432/C5ZG6P

    Examples
    --------
    >>> from sparsemix.datasets import fetch_bag_of_words
    >>> kos = fetch_bag_of_words("kos")  # doctest: +SKIP
    >>> kos.data.shape  # doctest: +SKIP
    (3430, 6906)
    """
    if name not in SIZES:
        raise ValueError(f"There is no bag of words {name!r}; there are {', '.join(map(repr, SIZES))}.")
    folder = Path(get_data_home(data_home), "bag_of_words")
    counts, words = folder / f"docword.{name}.txt.gz", folder / f"vocab.{name}.txt"
    for path in (counts, words):
        provide(path, name, download_if_missing)
    return load_bag_of_words(counts, vocabulary=words)


def provide(path, name, download_if_missing):
    """Download a file if it is missing; raise if it has changed since its first use."""
    present = path.exists()
    if not present:
        if not download_if_missing:
            raise OSError(f"{path} is missing and download_if_missing is False. {by_hand(path)}")
        download(path)
    record = path.with_name(path.name + ".sha256")
    digest = sha256(path)
    if present and record.exists():
        if record.read_text(encoding="utf-8").split()[:1] != [digest]:
            raise OSError(f"{path} is not the file that was used first: its SHA-256 is {digest}, {record.name} has "
                          f"another. Delete both to download it again.")  # fmt: skip
        return
    try:
        check_sizes(path, name)
    except (OSError, ValueError) as error:
        if not present:
            path.unlink()
        raise ValueError(f"{path} is not the published file: {error} {by_hand(path)}") from error
    record.write_text(f"{digest}  {path.name}\n", encoding="utf-8")


def download(path):
    """Download a file of the repository with pooch."""
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            f"Downloading {path.name} needs pooch: pip install 'sparsemix[datasets]'. {by_hand(path)}"
        ) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        pooch.retrieve(URL + path.name, known_hash=None, fname=path.name, path=path.parent)
    except OSError as error:
        raise OSError(f"{path.name} could not be downloaded ({error}). {by_hand(path)}") from error


def by_hand(path):
    """Remedy without a network."""
    return f"Get {URL}{path.name} in another way and put it into {path.parent}."


def sha256(path):
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_sizes(path, name):
    """Raise if a file does not have the published numbers of documents, words and entries."""
    if path.name.startswith("vocab"):
        found, published = len(read_vocabulary(path)), SIZES[name][1]
    else:
        with open_packed(path) as file:
            found, published = tuple(read_header(file, path)), SIZES[name]
    if found != published:
        raise ValueError(f"it has {found} instead of {published}.")
