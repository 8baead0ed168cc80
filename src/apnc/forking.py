"""Locks that are held while a process forks: in the child, the threads that could release them do not exist."""

from typing import Any

#: In the order in which they were added. ``engines.blas`` waits for them, after all else that a fork waits for.
_locks: list[Any] = []
_held: list[Any] = []


def hold_while_forking(lock: Any) -> None:
    """Add a reentrant lock."""
    _locks.append(lock)


def acquire_locks() -> None:
    """Before a fork."""
    for lock in tuple(_locks):
        lock.acquire()
        _held.append(lock)


def release_locks() -> None:
    """After a fork, in both processes."""
    while _held:
        _held.pop().release()
