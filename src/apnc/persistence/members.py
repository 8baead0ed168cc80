"""Arrays and rows as members of a model file, named after the path to their field."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from apnc.persistence.container import KINDS, Container, Member, ModelFileError
from apnc.persistence.functions import Functions
from apnc.persistence.plain import unlike_json
from apnc.persistence.record import Record, shown
from apnc.typing import Array

CSR_PARTS = ("data", "indices", "indptr")
CSR = {"csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}


@dataclass
class Writing:
    """Output of encoding besides JSON: members, and the functions encountered."""

    members: dict[str, Member] = field(default_factory=dict)
    functions: list[Any] = field(default_factory=list)

    def add(self, name: str, member: Member) -> str:
        """Add a member; two fields whose paths map to the same name cannot both be stored."""
        if name in self.members:
            raise ModelFileError(f"Two fields would be stored as {name}; rename one of them.")
        self.members[name] = member
        return name


@dataclass
class Reading:
    """Input of decoding: the open file, and the source of functions; ``n_functions`` counts those encountered."""

    container: Container
    functions: Functions
    n_functions: int = 0

    def wrong(self, where: str, value: Any, expected: str) -> Exception:
        """An error that names a field's value and the expected one."""
        return self.container.schema_error(f"{where} is {shown(value)}, expected {expected}")

    def member(self, value: Any, where: str, *endings: str) -> str:
        """The member of a field; its name must follow from the path, up to the ending."""
        names = [member_name(where, ending) for ending in endings]
        if value not in names:
            raise self.wrong(where, value, " or ".join(names))
        return str(value)


def member_name(where: str, ending: str) -> str:
    """``model.blocks[0].weights`` is stored in ``model_blocks_0_weights.npy``."""
    return re.sub(r"\W+", "_", where) + ending


def encode_array(value: Any, hint: Any, where: str, out: Writing) -> str:
    """Store an array of numbers; returns the name of its member."""
    array = np.asarray(value)
    if array.dtype.kind not in KINDS:
        raise ValueError(f"it is an array of {array.dtype}, not of numbers")
    return out.add(member_name(where, ".npy"), Member.of_array(array))


def decode_array(value: Any, hint: Any, where: str, source: Reading) -> Array:
    """The array of a field."""
    return source.container.array(source.member(value, where, ".npy"))


def encode_rows(value: Any, hint: Any, where: str, out: Writing) -> Any:
    """Vectors, dense or sparse, or objects."""
    if type(value) in CSR.values():
        parts = {part: encode_array(getattr(value, part), hint, f"{where}.{part}", out) for part in CSR_PARTS}
        return {"type": type(value).__name__, "shape": [int(size) for size in value.shape], **parts}
    if type(value) is np.ndarray:
        return encode_array(value, hint, where, out)
    if type(value) is not list:
        raise ValueError(f"it is a {type(value).__name__}")
    for i, item in enumerate(value):
        if reason := unlike_json(item):
            raise ValueError(
                f"item {i} of {len(value)} is {_shown(item)}, and {reason}. Objects are stored as JSON: strings, "
                "finite numbers, booleans, None, lists, and dicts with string keys"
            )
    lines = "".join(json.dumps(item, allow_nan=False) + "\n" for item in value)
    return out.add(member_name(where, ".jsonl"), Member((lines.encode("ascii"),)))


def _shown(item: Any) -> str:
    try:
        text = repr(item)
    except Exception:
        return f"a {type(item).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def decode_rows(value: Any, hint: Any, where: str, source: Reading) -> Any:
    """Rows in their original container."""
    if isinstance(value, dict):
        return _csr(Record(value, where, source.container.schema_error), source)
    name = source.member(value, where, ".npy", ".jsonl")
    return source.container.lines(name) if name.endswith(".jsonl") else source.container.array(name)


def _csr(record: Record, source: Reading) -> Any:
    make = CSR[record.text("type", known=CSR)]
    shape = record.take("shape")
    if not isinstance(shape, list) or [type(size) for size in shape] != [int, int] or min(shape) < 0:
        raise record.wrong("shape", shape, "two whole numbers")
    data, indices, indptr = (
        decode_array(record.take(part), None, record.path(part), source) for part in CSR_PARTS
    )
    record.end()

    def require(holds: Any, part: str, reason: str) -> None:
        if not holds:
            raise source.container.error(member_name(record.path(part), ".npy"), reason)

    # The compiled loops over sparse rows do not check bounds: wrong numbers would read foreign memory.
    require(data.ndim == 1, "data", f"shape {data.shape}, expected one dimension")
    integers = indices.dtype.kind == "i" and indices.shape == data.shape
    require(integers, "indices", f"must be {data.size} integers")
    integers = indptr.dtype.kind == "i" and indptr.shape == (shape[0] + 1,)
    require(integers, "indptr", f"must be {shape[0] + 1} integers")
    ascends = indptr[0] == 0 and indptr[-1] == len(data) and (indptr[:-1] <= indptr[1:]).all()
    require(ascends, "indptr", f"row pointers do not ascend from 0 to {len(data)}")
    inside = not len(indices) or 0 <= indices.min() <= indices.max() < shape[1]
    require(inside, "indices", f"columns are not all from 0 to {shape[1] - 1}")
    return make((data, indices, indptr), shape=tuple(shape))
