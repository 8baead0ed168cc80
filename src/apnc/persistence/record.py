"""JSON objects of a schema, read field by field with type checks."""

import re
from collections.abc import Callable, Iterable
from typing import Any

#: Integers up to this are exact in every JSON reader, since some read them as doubles.
LARGEST = 1 << 53

Fail = Callable[[str], Exception]


class Record:
    """A JSON object; each field is taken once, and ``end`` refuses fields that were not taken.

    Parameters
    ----------
    values : the parsed value; anything but an object is refused.
    where : the path to it, for messages; empty at the top level.
    fail : makes the error.

    """

    def __init__(self, values: Any, where: str, fail: Fail):
        self.where, self.fail = where, fail
        if not isinstance(values, dict):
            raise fail(f"{where or 'the schema'} is {kind(values)}, expected an object")
        self._values = dict(values)

    @property
    def names(self) -> set[str]:
        """Fields not taken yet."""
        return set(self._values)

    def path(self, name: str) -> str:
        """The path to a field."""
        return f"{self.where}.{name}" if self.where else name

    def wrong(self, name: str, value: Any, expected: str) -> Exception:
        """An error that names a field's value and the expected one."""
        return self.fail(f"{self.path(name)} is {shown(value)}, expected {expected}")

    def peek(self, name: str) -> Any:
        """Any value, without taking it; None if it is missing."""
        return self._values.get(name)

    def take(self, name: str) -> Any:
        """Any value."""
        if name not in self._values:
            raise self.fail(f"{self.path(name)} is missing")
        return self._values.pop(name)

    def integer(self, name: str, least: int = 0) -> int:
        """A whole number of at least ``least``."""
        value = self.take(name)
        if type(value) is not int or not least <= value <= LARGEST:
            raise self.wrong(name, value, f"a whole number from {least} to {LARGEST}")
        return value

    def text(
        self, name: str, known: Iterable[str] | None = None, matching: re.Pattern[str] | None = None
    ) -> str:
        """A string; one of ``known``, or matching a pattern, if these are given."""
        value = self.take(name)
        known = None if known is None else list(known)
        if type(value) is not str:
            raise self.wrong(name, value, "a string")
        if known is not None and value not in known:
            raise self.wrong(name, value, f"one of {', '.join(known)}")
        if matching is not None and not matching.fullmatch(value):
            raise self.wrong(name, value, f"a string such as {matching.pattern}")
        return value

    def record(self, name: str) -> "Record":
        """An object."""
        return Record(self.take(name), self.path(name), self.fail)

    def end(self) -> None:
        """Refuse fields that were not taken."""
        if self._values:
            raise self.fail(f"{self.path(min(self._values))} is unknown")


def shown(value: Any) -> str:
    """A value in a message: itself if it is short and plain, else its JSON type."""
    return (repr(value) if isinstance(value, (str, int, float)) else kind(value))[:80]


def kind(value: Any) -> str:
    """The JSON type of a value."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
