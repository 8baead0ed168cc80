"""Values that survive JSON unchanged."""

import json
import math
from typing import Any

#: Nesting depth and number of digits that every JSON reader accepts.
DEPTH = 100
BITS = 10_000


def unlike_json(value: Any, depth: int = 0) -> str | None:
    """Why a value would not survive JSON unchanged; None if it would."""
    if depth > DEPTH:
        return f"it is nested more than {DEPTH} deep"
    if value is None or type(value) in (str, bool):
        return None
    if type(value) is int:
        return None if value.bit_length() <= BITS else "it holds an integer of thousands of digits"
    if type(value) is float:
        return None if math.isfinite(value) else "it holds NaN or infinity, which JSON does not have"
    if type(value) is list:
        return _first_reason(value, depth)
    if type(value) is dict:
        odd = next((key for key in value if type(key) is not str), None)
        if odd is not None:
            return f"it holds a dict with the key {odd!r}, and keys of JSON are strings"
        return _first_reason(value.values(), depth)
    return f"it holds a {type(value).__name__}{_HINTS.get(type(value), '')}"


_HINTS: dict[type, str] = {
    tuple: ", which JSON would give back as a list",
    set: ", which JSON does not have",
    frozenset: ", which JSON does not have",
    bytes: ", which JSON does not have",
}


def _first_reason(values: Any, depth: int) -> str | None:
    return next((reason for value in values if (reason := unlike_json(value, depth + 1))), None)


def parse(text: str) -> Any:
    """Parse strict JSON: no NaN, no duplicate fields."""
    return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field occurs twice")
    return fields
