"""Limit BLAS to one thread while our own threads do the work."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_state: dict[str, Any] = {"depth": 0, "limit": None}


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread; contexts may overlap, and the last to end restores the original setting."""
    # The number of BLAS threads belongs to the process, so overlapping contexts of all threads share one limit.
    with _lock:
        if _state["depth"] == 0:
            _state["limit"] = _controller().limit(limits=1, user_api="blas")
        _state["depth"] += 1
    try:
        yield
    finally:
        with _lock:
            _state["depth"] -= 1
            if _state["depth"] == 0:
                _state["limit"].restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    """The controller of the BLAS libraries, cached because finding them takes milliseconds."""
    return ThreadpoolController()
