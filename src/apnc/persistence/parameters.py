"""Constructor parameters as fields of a schema, and back."""

from typing import Any

import numpy as np

from apnc.embeddings import EMBEDDINGS
from apnc.persistence.plain import unlike_json
from apnc.persistence.record import Record

NONE = type(None)
#: Types in which parameters are stored; in any other type they are left at their default.
TYPES: dict[str, tuple[type, ...]] = {
    "n_clusters": (int,),
    "kernel": (str,),
    "gamma": (int, float, str, NONE),
    "coef0": (int, float),
    "degree": (int, float),
    "kernel_params": (dict, NONE),
    "normalize_kernel": (bool,),
    "scale": (str, NONE),
    "embedding": (str,),
    "n_landmarks": (int, str),
    "n_components": (int, str),
    "init": (str,),
    "n_init": (int, str),
    "max_iter": (int,),
    "tol": (int, float),
    "random_state": (int, NONE),
    "n_jobs": (int, NONE),
    "memory_limit": (int, str, NONE),
    "verbose": (int, bool),
    "embedding__subset_size": (int, float),
    "embedding__n_blocks": (int,),
    "embedding__mixture_weights": (list, NONE),
}
CLASSES = {kind.__name__: kind for kind in EMBEDDINGS.values()}


def pack_parameters(estimator: Any) -> dict[str, Any]:
    """``parameters`` and ``parameters_not_stored`` of an estimator; a kernel function is not among them."""
    given = estimator.get_params(deep=False)
    if callable(given["kernel"]):
        del given["kernel"]
        given["kernel_params"] = given["kernel_params"] and dict(given["kernel_params"])
    embedding = given["embedding"]
    fields: dict[str, Any] = {}
    if type(embedding) in CLASSES.values():
        del given["embedding"]
        own = {f"embedding__{name}": value for name, value in embedding.get_params().items()}
        given |= own
        fields["embedding_class"] = type(embedding).__name__
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    stored = {name: value for name, value in plain.items() if storable(name, value)}
    left = sorted(set(plain) - set(stored))
    return {"parameters": {**fields, **stored}, "parameters_not_stored": left}


def storable(name: str, value: Any) -> bool:
    """Whether a parameter comes back from JSON as it is."""
    return type(value) in TYPES.get(name, ()) and unlike_json(value) is None


def unpack_parameters(record: Record, kind: type) -> dict[str, Any]:
    """Arguments of the constructor of ``kind``; what is not stored is not among them."""
    values: dict[str, Any] = {}
    own: dict[str, Any] = {}
    embedding = (
        CLASSES[record.text("embedding_class", CLASSES)] if "embedding_class" in record.names else None
    )
    known = set(kind._get_param_names())  # type: ignore[attr-defined]
    known_of_embedding = set() if embedding is None else set(embedding._get_param_names())
    for path in sorted(record.names):
        inner = path.removeprefix("embedding__")
        if inner not in (known_of_embedding if inner != path else known) or path not in TYPES:
            raise record.fail(f"{record.path(path)} is unknown: no parameter of {kind.__name__}")
        value = record.take(path)
        if not storable(path, value):
            expected = " or ".join("null" if t is NONE else t.__name__ for t in TYPES[path])
            raise record.wrong(path, value, expected)
        (own if inner != path else values)[inner] = value
    if embedding is not None:
        if "embedding" in values:
            raise record.fail("parameters has both embedding and embedding_class")
        values["embedding"] = embedding(**own)
    return values
