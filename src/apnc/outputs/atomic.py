"""Atomic writing: files appear complete or not at all."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from apnc.temporary import create, discard

Target = str | os.PathLike[str]
#: Errors for a full disk, an exceeded quota and a file that is too large.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def atomic(path: Target) -> Iterator[Path]:
    """A hidden file in the same folder, which is renamed to ``path`` after it has been written and synced to disk.

    After a failure or an interrupt it is removed, and an existing file at ``path`` is untouched; if the process is
    killed, the next run that writes into the folder removes it. A file that replaces another has its permissions.
    """
    target = _settle(path)
    temporary = _create_beside(target)
    try:
        yield temporary
        # Without a sync, a crash after the rename could leave an empty file in place of the old one.
        with open(temporary, "r+b") as written:
            os.fsync(written.fileno())
        os.replace(temporary, target)
    except OSError as error:
        if error.errno in FULL:
            raise OSError(error.errno, os.strerror(error.errno), os.fspath(path)) from error
        raise
    finally:
        discard(temporary)
    _flush_folder(target.parent)


def _settle(path: Target) -> Path:
    """The actual file to replace; links are followed, so that they stay links."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it.")
    if target.exists() and not target.is_file():
        raise ValueError(f"{path} exists and is not a regular file; choose another name.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{path} cannot be written: there is no folder {target.parent}. Create it first."
        )
    return target


def _create_beside(target: Path) -> Path:
    """A new empty file with a hidden name, the same ending, and the permissions of the target or, if new, any file."""
    kept = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    try:
        # A long name would become too long; the end is kept, because the extension determines the format.
        temporary = create(target.parent, f".{target.name[-40:]}", 0o666 if kept is None else 0o600)
    except OSError as error:
        raise type(error)(
            f"{target} cannot be written: {error.strerror} in the folder {target.parent}. Choose another folder, or "
            "make this one writable."
        ) from error
    if kept is not None:
        with suppress(OSError):
            os.chmod(temporary, kept)
    return temporary


def _flush_folder(folder: Path) -> None:
    # The file has been renamed already. Some systems and network disks cannot sync a folder; that is not a failure.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_writable(path: Target) -> None:
    """Create and remove a file in the folder of ``path``, so that problems show before a long computation."""
    discard(_create_beside(_settle(path)))
