"""Values of objects that are computed once, by one thread at a time."""

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")
#: Locks of values that are being computed, by the object and the name of the value.
_computing: dict[tuple[int, str], Any] = {}


class cached_property(Generic[T]):
    """As in functools, but with one lock for each object.

    Until Python 3.12 that of functools has one for all objects of a class, so that threads wait for each other; and a
    process forked meanwhile finds it locked for ever.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        # Found there first by Python itself once it has been stored.
        values, key = vars(instance), (id(instance), self._name)
        try:
            with _computing.setdefault(key, threading.RLock()):
                if self._name not in values:
                    values[self._name] = self._compute(instance)
        finally:
            _computing.pop(key, None)
        value: T = values[self._name]
        return value


if hasattr(os, "register_at_fork"):
    # The threads that hold these locks do not exist in a forked process.
    os.register_at_fork(after_in_child=_computing.clear)
