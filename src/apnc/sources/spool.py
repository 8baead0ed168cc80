"""Temporary files for data that can be read only once, or that has no path."""

import errno
import os
import shutil
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from apnc.temporary import create, discard, place_for_files

#: Bytes copied at a time.
COPIED = 1 << 20


class Spool:
    """A file in ``TMPDIR`` that is removed when this object is no longer referenced, or when the process ends."""

    def __init__(self) -> None:
        file = create(place_for_files())
        self.path = os.fspath(file)
        self.remove = weakref.finalize(self, discard, file)


@contextmanager
def spooling(name: str) -> Iterator[Spool]:
    """A file for a copy of ``name``, removed at once if copying fails."""
    spool = Spool()
    try:
        yield spool
    except OSError as error:
        spool.remove()
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        where = f"the copy of {name} in {place_for_files()} (TMPDIR)"
        raise OSError(error.errno, error.strerror, where) from error
    except BaseException:
        spool.remove()
        raise


def copied(handle: Any, name: str) -> Spool:
    """A copy of the rest of an open binary file."""
    with spooling(name) as spool, open(spool.path, "wb") as file:
        shutil.copyfileobj(handle, file, COPIED)
    return spool
