"""File objects that the caller keeps open."""

import io
import threading
from typing import Any


class OwnPosition(io.RawIOBase):
    """Reads a shared file object at a position of its own, and never closes it: ids are read while rows are.

    Parameters
    ----------
    handle : a seekable binary file.
    lock : one for all that read it.

    """

    def __init__(self, handle: Any, lock: threading.Lock) -> None:
        self._handle, self._lock, self._position = handle, lock, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with self._lock:
            end = self._handle.seek(0, io.SEEK_END) if whence == io.SEEK_END else 0
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: end}[whence]
        self._position = base + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        with self._lock:
            self._handle.seek(self._position)
            data = self._handle.read(len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)
