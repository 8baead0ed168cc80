"""Limit BLAS to one thread while our own threads do the work, and fork only while no other thread calls BLAS.

OpenBLAS ends its threads before a fork. One that is at work for another thread misses the order, and the fork waits for
it forever, with the whole interpreter. And every call, on one thread too, holds a lock for a moment; a process that is
forked then finds it locked for ever. So a fork waits for work that may call BLAS, and new work waits for the fork.
"""

# The hooks of these two are registered before ours and so run after them: a fork must not hold their locks while it
# waits for work that may need them.
import concurrent.futures.thread  # noqa: F401
import logging  # noqa: F401
import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController

from apnc.forking import acquire_locks, release_locks

#: Seconds that a fork waits at most: work that itself waits for the fork would otherwise wait forever.
PATIENCE = 120.0


class _Use:
    """Who uses BLAS: how many contexts each thread is in, and which threads are about to fork."""

    def __init__(self) -> None:
        # Reentrant, as the garbage collector may end the context of a forgotten generator at any moment.
        self.changed = threading.Condition(threading.RLock())
        self.computing: Counter[int] = Counter()
        self.limiting: Counter[int] = Counter()
        self.limit: Any = None
        self.forking: set[int] = set()

    def wait_for_forks(self) -> None:
        """Wait until no other thread is about to fork."""
        thread = threading.get_ident()
        self.changed.wait_for(lambda: not self.forking - {thread})

    def leave(self, counter: Counter[int], thread: int) -> None:
        """End a context of a thread."""
        counter[thread] -= 1
        if not counter[thread]:
            del counter[thread]
        self.changed.notify_all()

    def may_be_forked(self) -> bool:
        """Whether no thread may be in a call of BLAS; those that are about to fork are not."""
        return not self.computing.keys() - self.forking

    def of_child(self, thread: int) -> "_Use":
        """The same in a forked process, where only this thread goes on."""
        own = _Use()
        for ours, theirs in ((own.computing, self.computing), (own.limiting, self.limiting)):
            ours.update({thread: theirs[thread]} if thread in theirs else {})
        if own.limiting:
            own.limit = self.limit
        elif self.limiting:
            self.lift()
        return own

    def set(self) -> None:
        """Limit BLAS to one thread."""
        self._take_control()
        self.limit = _controller().limit(limits=1, user_api="blas")

    def lift(self) -> None:
        """Restore the original setting."""
        self._take_control()
        self.limit.restore_original_limits()
        self._take_control()

    def _take_control(self) -> None:
        # Since 3.8, threadpoolctl ignores all threads but the first that has set a limit, though that limit has ended;
        # contexts of any thread may be the first and the last here.
        clear = getattr(OpenBLASController, "clear_controlling_thread", None)
        if clear is not None:
            clear(force=True)


_use = _Use()


@contextmanager
def computing() -> Iterator[None]:
    """Context for work that may call BLAS; a fork by another thread waits for its end, or for ``waiting`` in it."""
    thread = threading.get_ident()
    with _use.changed:
        if thread not in _use.computing:
            _use.wait_for_forks()
        _use.computing[thread] += 1
    try:
        yield
    finally:
        with _use.changed:
            _use.leave(_use.computing, thread)


@contextmanager
def waiting() -> Iterator[None]:
    """Context in which this thread waits for others and computes nothing, so that a fork need not wait for it."""
    thread = threading.get_ident()
    with _use.changed:
        n_contexts = _use.computing.pop(thread, 0)
        _use.changed.notify_all()
    try:
        yield
    finally:
        with _use.changed:
            if n_contexts:
                _use.wait_for_forks()
                _use.computing[thread] += n_contexts


@contextmanager
def one_thread() -> Iterator[None]:
    """Context for work with one thread of BLAS."""
    with computing(), limited():
        yield


@contextmanager
def limited() -> Iterator[None]:
    """Limit BLAS to one thread; contexts may overlap, and the last to end restores the original setting."""
    # The number of BLAS threads belongs to the process, so overlapping contexts of all threads share one limit.
    thread = threading.get_ident()
    with _use.changed:
        if not _use.limiting:
            _use.set()
        _use.limiting[thread] += 1
    try:
        yield
    finally:
        with _use.changed:
            _use.leave(_use.limiting, thread)
            if not _use.limiting:
                _use.lift()


@contextmanager
def no_openmp() -> Iterator[None]:
    """Use no threads of OpenMP: a process that is forked from a thread that has used them hangs when it uses them."""
    # Unlike that of BLAS, this limit belongs to the calling thread.
    with _controller().limit(limits=1, user_api="openmp"):
        yield


@cache
def _controller() -> ThreadpoolController:
    """The controller of the BLAS libraries, cached because finding them takes milliseconds."""
    return ThreadpoolController()


def _before_fork() -> None:
    try:
        with _use.changed:
            _use.forking.add(threading.get_ident())
            _use.changed.wait_for(_use.may_be_forked, PATIENCE)
        # Only now: what was waited for may have needed them.
        acquire_locks()
    finally:
        _use.changed.acquire()


def _after_fork_in_parent() -> None:
    release_locks()
    _use.forking.discard(threading.get_ident())
    _use.changed.notify_all()
    _use.changed.release()


def _after_fork_in_child() -> None:
    global _use
    release_locks()
    _use = _use.of_child(threading.get_ident())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
