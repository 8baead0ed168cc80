"""JSON objects of a schema, read field by field; every field has a type."""

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

#: Whole numbers up to here are the same in every reader of JSON.
LARGEST = 1 << 53

Fail = Callable[[str], Exception]


class Record:
    """A JSON object; each field is taken once, and ``end`` refuses fields that nobody took.

    Parameters
    ----------
    values : what was read; anything but an object is refused.
    where : the path to it, for messages; empty for the outermost.
    fail : makes the error.

    """

    def __init__(self, values: Any, where: str, fail: Fail):
        self.where, self.fail = where, fail
        if not isinstance(values, dict):
            raise fail(f"{where or 'the schema'} is {kind(values)}, expected an object")
        self._values = dict(values)

    @property
    def names(self) -> set[str]:
        """Fields that are left."""
        return set(self._values)

    def path(self, name: str) -> str:
        """The path to a field."""
        return f"{self.where}.{name}" if self.where else name

    def wrong(self, name: str, value: Any, expected: str) -> Exception:
        """An error that says what a field is and what it should be."""
        shown = repr(value) if isinstance(value, (str, int, float)) else kind(value)
        return self.fail(f"{self.path(name)} is {shown[:80]}, expected {expected}")

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

    def number(self, name: str, positive: bool = False) -> float:
        """A finite number."""
        value = self.take(name)
        if type(value) is int and abs(value) <= LARGEST:
            value = float(value)
        if type(value) is not float or not math.isfinite(value) or (positive and value <= 0):
            raise self.wrong(name, value, "a positive number" if positive else "a finite number")
        return value

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self.take(name)
        if type(value) is not bool:
            raise self.wrong(name, value, "true or false")
        return value

    def text(
        self, name: str, known: Iterable[str] | None = None, matching: re.Pattern[str] | None = None
    ) -> str:
        """A string, one of ``known`` or of a pattern if they are given."""
        value = self.take(name)
        known = None if known is None else list(known)
        if type(value) is not str:
            raise self.wrong(name, value, "a string")
        if known is not None and value not in known:
            raise self.wrong(name, value, f"one of {', '.join(known)}")
        if matching is not None and not matching.fullmatch(value):
            raise self.wrong(name, value, f"a string such as {matching.pattern}")
        return value

    def texts(self, name: str) -> list[str]:
        """A list of strings."""
        values = self.take(name)
        if not isinstance(values, list) or any(type(value) is not str for value in values):
            raise self.wrong(name, values, "a list of strings")
        return values

    def record(self, name: str) -> "Record":
        """An object."""
        return Record(self.take(name), self.path(name), self.fail)

    def records(self, name: str) -> list["Record"]:
        """A list of objects."""
        values = self.take(name)
        if not isinstance(values, list):
            raise self.wrong(name, values, "a list")
        return [Record(value, f"{self.path(name)}[{i}]", self.fail) for i, value in enumerate(values)]

    def unless_null(self, name: str, read: Callable[[str], Any]) -> Any:
        """None for null, else what ``read`` (a method of this record) makes of the field."""
        if name in self._values and self._values[name] is None:
            return self._values.pop(name)
        return read(name)

    def end(self) -> None:
        """No field may be left."""
        if self._values:
            raise self.fail(f"{self.path(min(self._values))} is unknown")


def kind(value: Any) -> str:
    """What JSON calls a value."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
