"""Registration of classes that are stored in model files; ``apnc.persistence`` uses only their fields."""

from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from apnc.typing import Array

T = TypeVar("T", bound=type)

#: Registered classes by name.
STORED: dict[str, type] = {}
#: Key of a field's metadata: advice for values that cannot be stored.
OTHERWISE = "otherwise"
#: Key of a field's metadata: older files may lack the field, and then its default is used.
ADDED = "added"


def stored(kind: T) -> T:
    """Class decorator, above ``@dataclass(frozen=True)``: instances of the class can be stored in model files.

    The type hints of the fields determine how they are stored: numbers, strings, JSON values, arrays, ``Rows``,
    functions, other registered classes, tuples of them. An optional method ``check`` raises a ValueError for
    inconsistent values; it is called for every object that is read.
    """
    if not is_dataclass(kind) or not kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise TypeError(f"{kind.__name__} must be a frozen dataclass to be stored.")
    if odd := [field.name for field in fields(kind) if not field.init or field.name == "type"]:
        raise TypeError(
            f"{kind.__name__}.{odd[0]} cannot be stored: it is not an argument, or is called 'type'."
        )
    known = STORED.get(kind.__name__, kind)
    if known.__module__ != kind.__module__:
        raise ValueError(
            f"{kind.__module__}.{kind.__name__} cannot be stored: {known.__module__} has a class of that name."
        )
    STORED[kind.__name__] = kind
    return kind


def require(holds: Any, reason: str) -> None:
    """Raise a ValueError with the reason unless the condition holds."""
    if not holds:
        raise ValueError(reason)


def require_flags(item: Any, *names: str) -> None:
    """Require that attributes are true or false."""
    for name in names:
        found = getattr(item, name)
        require(type(found) is bool, f"{name}={found!r:.40}: expected true or false")


def largest(array: Array) -> float:
    """The largest magnitude in an array; 0 if it is empty."""
    return max(abs(float(array.min())), abs(float(array.max()))) if array.size else 0.0
