"""Encode registered dataclasses as JSON and members, and decode them, by their type hints alone.

An object is ``{"type": class, field: value, ...}``. Arrays and rows are members, named after the path to their field.
"""

import collections.abc
import math
import types
from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from apnc.persistence.container import ModelFileError
from apnc.persistence.functions import NAME, import_name
from apnc.persistence.members import Reading, Writing, decode_array, decode_rows, encode_array, encode_rows
from apnc.persistence.plain import unlike_json
from apnc.persistence.record import LARGEST, Record
from apnc.rows import GivenRows, Rows
from apnc.stored import ADDED, OTHERWISE, STORED

T = TypeVar("T")

KEEP = "Save this model with pickle or joblib instead"
#: Descriptions of scalars for error messages, by type hint.
SCALARS = {
    bool: "true or false",
    int: f"a whole number up to {LARGEST}",
    float: "a finite number",
    str: "a string",
}


def encode(value: Any, hint: Any, where: str, out: Writing, otherwise: str = KEEP) -> Any:
    """A field's value as JSON; ``where`` is the path to it, ``otherwise`` the advice if it cannot be stored."""
    hint, optional = without_none(hint)
    if value is None and optional:
        return None
    try:
        return form_of(hint).encode(value, hint, where, out)
    except ValueError as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{where} cannot be stored: {error}. {otherwise}.") from error


def decode(value: Any, hint: Any, where: str, source: Reading) -> Any:
    """A value from JSON, checked against its type hint."""
    hint, optional = without_none(hint)
    if value is None and optional:
        return None
    return form_of(hint).decode(value, hint, where, source)


def encode_fields(value: Any, where: str, out: Writing) -> dict[str, Any]:
    """All fields of a dataclass."""
    hints = get_type_hints(type(value), include_extras=True)
    return {
        part.name: encode(
            getattr(value, part.name),
            hints[part.name],
            f"{where}.{part.name}" if where else part.name,
            out,
            part.metadata.get(OTHERWISE, KEEP),
        )
        for part in fields(value)
    }


def decode_fields(kind: type[T], record: Record, source: Reading) -> T:
    """An instance of a dataclass; unknown fields are errors, and missing ones unless they were added later."""
    hints = get_type_hints(kind, include_extras=True)
    names = [
        part.name
        for part in fields(kind)  # type: ignore[arg-type]
        if ADDED not in part.metadata or part.name in record.names
    ]
    values = {name: decode(record.take(name), hints[name], record.path(name), source) for name in names}
    record.end()
    try:
        made = kind(**values)
        if hasattr(made, "check"):
            made.check()
    except ValueError as error:
        raise source.container.error(record.where, str(error).rstrip(".")) from error
    return made


def without_none(hint: Any) -> tuple[Any, bool]:
    """A hint without ``| None``, and whether it had one."""
    if get_origin(hint) not in (Union, types.UnionType):
        return hint, False
    rest = [part for part in get_args(hint) if part is not type(None)]
    if len(rest) != 1:
        raise TypeError(f"A field of type {hint} cannot be stored; only a single type, optionally with None.")
    return rest[0], True


class Form(NamedTuple):
    """How values of a type hint are written and read."""

    encode: Callable[[Any, Any, str, Writing], Any]
    decode: Callable[[Any, Any, str, Reading], Any]


def form_of(hint: Any) -> Form:
    """The form in which values of a hint are stored."""
    if hint is Rows:
        return ROWS
    if hint is Any:
        return JSON
    origin = get_origin(hint) or hint
    return FORMS.get(origin, OBJECT)


def encode_scalar(value: Any, hint: Any, where: str, out: Writing) -> Any:
    """Numpy scalars become Python ones."""
    plain = value.item() if isinstance(value, np.generic) else value
    plain = float(plain) if hint is float and type(plain) is int else plain
    if not is_scalar(plain, hint):
        raise ValueError(f"it is {plain!r:.80}, expected {SCALARS[hint]}")
    return plain


def decode_scalar(value: Any, hint: Any, where: str, source: Reading) -> Any:
    """A value of exactly the hinted type; integers are accepted as floats."""
    if hint is float and type(value) is int and abs(value) <= LARGEST:
        value = float(value)
    if not is_scalar(value, hint):
        raise source.wrong(where, value, SCALARS[hint])
    return value


def is_scalar(value: Any, hint: Any) -> bool:
    """Whether a value has the hinted type and survives JSON unchanged."""
    # Not isinstance: a bool is an int.
    if type(value) is not hint:
        return False
    return abs(value) <= LARGEST if hint is int else math.isfinite(value) if hint is float else True


def encode_json(value: Any, hint: Any, where: str, out: Writing) -> Any:
    """Values that survive JSON unchanged."""
    value = dict(value) if isinstance(value, collections.abc.Mapping) else value
    if reason := unlike_json(value):
        raise ValueError(reason)
    return value


def decode_json(value: Any, hint: Any, where: str, source: Reading) -> Any:
    """Any JSON value."""
    if reason := unlike_json(value):
        raise source.container.schema_error(f"{where}: {reason}")
    return value


def encode_mapping(value: Any, hint: Any, where: str, out: Writing) -> dict[str, Any]:
    """A JSON object, its values encoded by their hint."""
    inner = get_args(hint)[1]
    if inner is Any:
        return encode_json(value, hint, where, out)
    return {name: encode(item, inner, f"{where}.{name}", out) for name, item in value.items()}


def decode_mapping(value: Any, hint: Any, where: str, source: Reading) -> dict[str, Any]:
    """A JSON object, its values decoded by their hint."""
    record = Record(value, where, source.container.schema_error)
    inner = get_args(hint)[1]
    return {name: decode(record.take(name), inner, record.path(name), source) for name in value}


def encode_sequence(value: Any, hint: Any, where: str, out: Writing) -> list[Any]:
    """A list, item by item."""
    inner = get_args(hint)[0]
    return [encode(item, inner, f"{where}[{i}]", out) for i, item in enumerate(value)]


def decode_sequence(value: Any, hint: Any, where: str, source: Reading) -> Any:
    """A tuple or list, item by item."""
    if type(value) is not list:
        raise source.wrong(where, value, "a list")
    inner = get_args(hint)[0]
    return get_origin(hint)(decode(item, inner, f"{where}[{i}]", source) for i, item in enumerate(value))


def encode_type(value: Any, hint: Any, where: str, out: Writing) -> str:
    """The name of a compute type."""
    return np.dtype(value).name


def decode_type(value: Any, hint: Any, where: str, source: Reading) -> Any:
    """A compute type."""
    if value not in ("float32", "float64"):
        raise source.wrong(where, value, "float32 or float64")
    return np.dtype(value).type


def encode_function(value: Any, hint: Any, where: str, out: Writing) -> str | None:
    """The function's import name; null if it has none."""
    out.functions.append(value)
    return import_name(value)


def decode_function(value: Any, hint: Any, where: str, source: Reading) -> Any:
    """The function that the user passes or trusts."""
    if value is not None and not (type(value) is str and NAME.fullmatch(value)):
        raise source.wrong(where, value, "null or package.module:function")
    source.n_functions += 1
    return source.functions.find(value, source.container.schema_error)


def encode_object(value: Any, hint: Any, where: str, out: Writing) -> dict[str, Any]:
    """The name of the class, then its fields."""
    kind = type(value)
    if STORED.get(kind.__name__) is not kind:
        raise ValueError(f"it is a {kind.__name__}, a class not registered with apnc.stored.stored")
    return {"type": kind.__name__, **encode_fields(value, where, out)}


def decode_object(value: Any, hint: Any, where: str, source: Reading) -> Any:
    """An instance of a registered class that the hint allows."""
    record = Record(value, where, source.container.schema_error)
    known = {name: kind for name, kind in STORED.items() if issubclass(kind, hint)}
    return decode_fields(known[record.text("type", known=sorted(known))], record, source)


def encode_any_rows(value: Any, hint: Any, where: str, out: Writing) -> Any:
    """Any container of rows."""
    return (encode_object if isinstance(value, GivenRows) else encode_rows)(value, hint, where, out)


def decode_any_rows(value: Any, hint: Any, where: str, source: Reading) -> Any:
    """Rows in their original container."""
    if isinstance(value, dict) and value.get("type") == GivenRows.__name__:
        return decode_object(value, GivenRows, where, source)
    return decode_rows(value, hint, where, source)


SCALAR = Form(encode_scalar, decode_scalar)
SEQUENCE = Form(encode_sequence, decode_sequence)
JSON = Form(encode_json, decode_json)
MAPPING = Form(encode_mapping, decode_mapping)
ROWS = Form(encode_any_rows, decode_any_rows)
OBJECT = Form(encode_object, decode_object)
FORMS: dict[Any, Form] = {
    **dict.fromkeys(SCALARS, SCALAR),
    tuple: SEQUENCE,
    list: SEQUENCE,
    dict: MAPPING,
    collections.abc.Mapping: MAPPING,
    np.ndarray: Form(encode_array, decode_array),
    type: Form(encode_type, decode_type),
    collections.abc.Callable: Form(encode_function, decode_function),
}
