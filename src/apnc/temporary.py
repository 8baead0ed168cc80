"""Temporary files whose names say which process they belong to, so that a later run can remove those of dead ones.

A process that is killed removes nothing. A name has the place (a digest of the machine's boot and the namespace of
processes: where process numbers mean the same), the number of the process, and the time it started, which no later
process with that number shares. Which processes of another place are alive, as with a shared disk, cannot be known:
their files are removed once nothing has been written to them for a week.
"""

import errno
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir
from typing import Any, NamedTuple

#: Seconds after which files of another place are given up.
OLD = 7 * 24 * 3600.0
#: The place where the system does not say it: no process of it is ever taken for dead.
NOWHERE = "0" * 12
#: Start of a process that is not there, or only waits for its parent to notice its end.
DEAD = -1
NAME = re.compile(r"\.apnc-([0-9a-f]{12})-([0-9]{1,9})-([0-9]{1,18})-[0-9a-f]{12}(\..*)?", re.DOTALL)

#: What this process has created and not yet discarded: a signal that ends the process at once must find it.
_created: set[Path] = set()


class Owner(NamedTuple):
    """A process: where it runs, its number, and when it started."""

    place: str
    pid: int
    start: int

    @classmethod
    def here(cls) -> "Owner":
        """This process; not remembered, because a forked one is another."""
        pid = os.getpid()
        start = start_of(pid)
        return cls(NOWHERE, pid, 0) if start is None else cls(place(), pid, start)

    @classmethod
    def of(cls, name: str) -> "Owner | None":
        """The process that a file belongs to by its name; None if the name is not one of ours."""
        found = NAME.fullmatch(name)
        return None if found is None else cls(found[1], int(found[2]), int(found[3]))

    def is_dead(self, here: "Owner") -> bool | None:
        """Whether the process has ended; None if that cannot be known here."""
        if NOWHERE in (self.place, here.place) or self.place != here.place:
            return None
        start = start_of(self.pid)
        return None if start is None else start != self.start


def place() -> str:
    """A digest of what tells apart tables of processes; elsewhere than on Linux, of the machine."""
    try:
        links = [os.readlink(f"/proc/self/ns/{name}") for name in ("pid", "time")]
        told = [Path("/proc/sys/kernel/random/boot_id").read_text(), *links]
    except OSError:
        import platform
        import uuid

        told = [platform.node(), hex(uuid.getnode())]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:12]


def start_of(pid: int) -> int | None:
    """When a process started, in clock ticks; ``DEAD`` if there is none; None if the system does not tell."""
    if not os.path.exists("/proc/self/stat"):
        return _start_by_psutil(pid)
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return _dead_or_hidden(pid)
    return DEAD if fields[0] in "ZX" else int(fields[19])


def _dead_or_hidden(pid: int) -> int | None:
    """Of a process that /proc does not show: some systems hide those of other users."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return DEAD
    except OSError:
        pass
    return None


def _start_by_psutil(pid: int) -> int | None:
    """Elsewhere than on Linux; psutil is a dependency there."""
    import psutil

    try:
        return round(psutil.Process(pid).create_time() * 100)
    except psutil.NoSuchProcess:
        return DEAD
    except psutil.Error:
        return None


def create(folder: Path, ending: str = "", mode: int = 0o600) -> Path:
    """A new empty file with a hidden name; files of dead processes in the folder are removed."""
    path = _claim(folder, ending)
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        # The time by the clock of the disk, which all machines share.
        sweep(folder, path.stat().st_mtime)
    except BaseException:
        discard(path)
        raise
    return path


def place_for_files() -> Path:
    """``TMPDIR``, or where else the system has temporary files."""
    try:
        return Path(gettempdir())
    except FileNotFoundError as error:
        raise OSError(
            errno.ENOSPC, "No folder for temporary files can be written to. Free some space, or set TMPDIR"
        ) from error


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A new folder in ``TMPDIR`` that is removed with all its files at the end of the context."""
    path = _claim(place_for_files())
    try:
        path.mkdir(mode=0o700)
        sweep(path.parent, path.stat().st_mtime)
        yield path
    finally:
        discard(path)


def _claim(folder: Path, ending: str = "") -> Path:
    """A new name; remembered before anything has it, so that an interrupt in between leaves nothing."""
    here = Owner.here()
    path = folder / f".apnc-{here.place}-{here.pid}-{here.start}-{secrets.token_hex(6)}{ending}"
    _created.add(path)
    return path


def discard(path: Path) -> None:
    """Remove a file or folder, if it is there and this process, not the one it was forked from, created it."""
    _created.discard(path)
    owner = Owner.of(path.name)
    if owner is not None and owner.pid == os.getpid():
        _remove(path)


def discard_all() -> None:
    """Remove whatever this process has created and not yet discarded."""
    for path in list(_created):
        discard(path)


def sweep(folder: Path, now: float) -> None:
    """Remove the temporary files of dead processes; ``now`` is the time by the clock of the disk.

    Any number of processes may do so at once: a name is never used again, so all that can happen to a file that is
    found here is that another process removes it first.
    """
    here = Owner.here()
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            owner = Owner.of(entry.name)
            if owner is not None and _is_stale(entry, owner, here, now):
                _remove(folder / entry.name)


def _is_stale(entry: Any, owner: Owner, here: Owner, now: float) -> bool:
    dead = owner.is_dead(here)
    if dead is not None:
        return dead
    try:
        return bool(now - entry.stat(follow_symlinks=False).st_mtime > OLD)
    except OSError:
        return False


def _remove(path: Path) -> None:
    # What cannot be removed now is removed by a later run.
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
