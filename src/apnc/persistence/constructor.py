"""Encode constructor parameters as JSON, and decode them."""

from typing import Any

import numpy as np

from apnc.checks import rows_of
from apnc.embeddings import EMBEDDINGS
from apnc.persistence.plain import unlike_json
from apnc.persistence.record import LARGEST, Fail

CLASSES = {kind.__name__: kind for kind in EMBEDDINGS.values()}


def pack_parameters(estimator: Any) -> tuple[dict[str, Any], list[str]]:
    """Parameters that survive JSON, and the names of the others; a kernel function is stored with the model."""
    given = estimator.get_params(deep=False)
    if callable(given.get("kernel")):
        del given["kernel"]
        if given.get("kernel_params"):
            given["kernel_params"] = dict(given["kernel_params"])
    embedding = given.get("embedding")
    if type(embedding) not in CLASSES.values():
        return split(given, type(estimator), "")
    del given["embedding"]
    stored, left = split(given, type(estimator), "")
    own, more = split(embedding.get_params(deep=False), type(embedding), "embedding.")
    return {**stored, "embedding": {"type": type(embedding).__name__, **own}}, sorted(left + more)


def split(given: dict[str, Any], kind: Any, prefix: str) -> tuple[dict[str, Any], list[str]]:
    """Values that can be stored, and the names of those that cannot."""
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    left = [name for name, value in plain.items() if refusal(kind, name, value)]
    stored = {name: value for name, value in plain.items() if name not in left}
    return stored, sorted(prefix + name for name in left)


def refusal(kind: Any, name: str, value: Any) -> str | None:
    """Why a value is invalid for a parameter of ``kind``, or cannot be stored; None if it is fine."""
    row = rows_of(kind)[name]
    if reason := unlike_json(value):
        return f"{name}: {reason}"
    if type(value) not in row.types:
        expected = " or ".join("null" if t is type(None) else t.__name__ for t in row.types)
        return f"{name} is {value!r:.80}, expected {expected}"
    if type(value) is int and abs(value) > LARGEST:
        return f"{name} is {value!r:.80}, expected at most {LARGEST}"
    try:
        row.check(value)
    except (ValueError, TypeError, OverflowError) as error:
        return str(error)
    return None


def unpack_parameters(given: dict[str, Any], kind: Any, fail: Fail) -> dict[str, Any]:
    """Arguments for the constructor of ``kind``, without those that are not stored."""
    given = dict(given)
    embedding = given.pop("embedding", None)
    found = checked(given, kind, "", fail)
    if isinstance(embedding, dict):
        own = dict(embedding)
        name = own.pop("type", None)
        if name not in CLASSES:
            raise fail(f"parameters.embedding.type is {name!r:.80}, expected one of {', '.join(CLASSES)}")
        return {**found, "embedding": CLASSES[name](**checked(own, CLASSES[name], "embedding.", fail))}
    return found if embedding is None else {**found, **checked({"embedding": embedding}, kind, "", fail)}


def checked(given: dict[str, Any], kind: Any, prefix: str, fail: Fail) -> dict[str, Any]:
    """The parameters, after checking that ``kind`` has them and accepts their values."""
    known = set(kind._get_param_names())
    for name, value in given.items():
        if name not in known:
            raise fail(f"parameters.{prefix}{name} is not a parameter of {kind.__name__}")
        if reason := refusal(kind, name, value):
            raise fail(f"parameters.{prefix}{name}: {reason.rstrip('.')}")
    return given
