"""Paths, folders, globs and addresses of files; optional packages; errors that name the file."""

import glob
import os
from collections.abc import Iterable
from contextlib import contextmanager


def needed(module, package=None):
    """Import an optional module; the error says how to install it."""
    try:
        return __import__(module, fromlist=["_"])
    except ImportError as error:
        package = package or module
        raise ImportError(f"{package} is needed to read this and is not installed: pip install {package}") from error


@contextmanager
def named_in_errors(path, package):
    """Turn any error of a damaged file into one sentence that names the file."""
    try:
        yield
    except (FileNotFoundError, PermissionError, ImportError, MemoryError):
        raise
    except Exception as error:
        if str(path) in str(error):  # this package's error
            raise
        raise ValueError(f"{path} is damaged, or not a file of {package} ({error}); write it again") from error


def is_address(path):
    """Whether a path is an address that fsspec opens, such as ``s3://bucket/cells.h5ad``."""
    return isinstance(path, str) and "://" in path


def open_binary(path):
    """A file or an address, open for reading bytes."""
    return needed("fsspec").open(path, "rb").open() if is_address(path) else open(path, "rb")


# What tells the content of an address that was written again, in the words of file systems of fsspec; the first counts.
CHANGES = ("ETag", "etag", "LastModified", "last_modified", "Last-Modified", "mtime", "updated", "created")


def state_of(path):
    """Size and time of change of a file or address, which are the same on all machines that see it.

    None if it is not there. Times have microseconds, since some network file systems round them.
    """
    try:
        if not is_address(path):
            found = os.stat(path)
            return found.st_size, found.st_mtime_ns // 1000
        system, inner = needed("fsspec.core", "fsspec").url_to_fs(path)
        system.invalidate_cache(inner)
        info = system.info(inner)
        return info.get("size"), str(next((info[name] for name in CHANGES if info.get(name) is not None), None))
    except FileNotFoundError:
        return None


def check_unchanged(path, state):
    """Raise if a file or address is no longer in the state in which its blocks were made; opening it finds it gone."""
    if state_of(path) not in (state, None):
        raise changed(path)


def changed(path):
    """The error about a file whose blocks would be others now."""
    return ValueError(
        f"{path} has changed since its blocks were made: make the blocks again, and copy files to other machines with "
        "their times"
    )


def paths_of(paths, ending, is_one=lambda folder: False):  # noqa: ARG005
    """Absolute paths or addresses of all files, in the order of the list, and by name within folders and globs.

    Parameters
    ----------
    paths : path-like or list of path-like
        Files, folders, globs and addresses.
    ending : str or tuple of str
        Endings of the files in a folder, with the dot.
    is_one : callable
        Whether a folder is data itself, and holds no list of files.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    listed = list(paths) if isinstance(paths, Iterable) else [paths]
    odd = next((path for path in listed if not isinstance(path, (str, os.PathLike))), None)
    if odd is not None:
        raise TypeError(
            f"paths holds the type {type(odd).__name__}, which is no path; give the path of the file, or pass "
            "rows that are in memory to fit or blocks.from_arrays"
        )
    paths = [os.fspath(path) for path in listed]
    if not paths:
        raise ValueError("the list of paths is empty; give at least one")
    find = {True: addresses, False: files}
    return [each for path in paths for each in find[is_address(path)](path, ending, is_one)]


def files(path, ending, is_one):
    """Files of a path, a folder or a glob."""
    path = os.path.abspath(path)
    if os.path.isdir(path) and not is_one(path):
        found = []
        for folder, folders, names in os.walk(path):
            stores = [name for name in folders if name.endswith(ending)]
            folders[:] = [name for name in folders if name not in stores]
            found += [os.path.join(folder, name) for name in (*names, *stores)
                      if name.endswith(ending) and not name.startswith((".", "_"))]  # fmt: skip
        return nonempty(sorted(found), f"{path} has no file that ends in {endings(ending)}")
    if os.path.exists(path):
        return [path]
    if glob.has_magic(path):
        return nonempty(sorted(glob.glob(path, recursive=True)), f"{path} matches no file")
    raise FileNotFoundError(f"{path} does not exist")


def addresses(path, ending, is_one):
    """Addresses of an address, a remote folder or a remote glob."""
    if path.startswith(("http://", "https://")):
        return [path]  # such servers do not list folders
    system, inner = needed("fsspec.core", "fsspec").url_to_fs(path)
    if glob.has_magic(inner):
        found = nonempty(sorted(system.glob(inner)), f"{path} matches no file")
    elif not system.exists(inner):
        raise FileNotFoundError(f"{path} does not exist")
    elif system.isdir(inner) and not is_one(path):
        found = [name for name in sorted(system.find(inner)) if name.endswith(ending)]
        nonempty(found, f"{path} has no file that ends in {endings(ending)}")
    else:
        return [path]
    return [system.unstrip_protocol(name) for name in found]


def nonempty(found, message):
    """The list; raises if it is empty."""
    if not found:
        raise FileNotFoundError(message)
    return found


def endings(ending):
    """One or several endings as text."""
    return ending if isinstance(ending, str) else " or ".join(ending)
