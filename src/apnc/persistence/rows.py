"""Landmarks as members of a model file, and back: arrays, CSR matrices, objects, row numbers."""

import json
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from apnc.kernels import GivenRows
from apnc.persistence.container import KINDS, Container, Member, ModelFileError
from apnc.persistence.plain import unlike_json
from apnc.persistence.record import Record

Array = npt.NDArray[Any]
Packed = tuple[dict[str, Any], dict[str, Member]]

CSR = {"csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}
KEEP = "Keep this model by pickle or joblib instead"


def pack_rows(rows: Any, prefix: str) -> Packed:
    """Fields and members of one block's landmarks; names of members begin with ``prefix``."""
    if isinstance(rows, GivenRows) and rows.numbers is not None:
        numbers = np.asarray(rows.numbers, dtype=np.int64)
        fields = {"type": "numbers", "number": len(numbers)}
        return fields, {f"{prefix}_landmarks.npy": Member.of_array(numbers)}
    if type(rows) in CSR.values():
        return _pack_csr(rows, prefix)
    if type(rows) is np.ndarray and rows.ndim == 2:
        _refuse_type(rows.dtype)
        fields = {"type": "dense", "number": rows.shape[0], "n_columns": rows.shape[1]}
        return fields, {f"{prefix}_landmarks.npy": Member.of_array(rows)}
    if type(rows) is list:
        return _pack_objects(rows, prefix)
    raise ModelFileError(f"Landmarks in a {type(rows).__name__} cannot be stored. {KEEP}.")


def _pack_csr(rows: Any, prefix: str) -> Packed:
    _refuse_type(rows.dtype)
    shape = {"number": rows.shape[0], "n_columns": rows.shape[1]}
    arrays = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
    members = {f"{prefix}_{name}.npy": Member.of_array(array) for name, array in arrays.items()}
    return {"type": "csr", "container": type(rows).__name__, **shape}, members


def _refuse_type(dtype: Any) -> None:
    if dtype.kind not in KINDS:
        raise ModelFileError(f"Landmarks of type {dtype} cannot be stored, only numbers. {KEEP}.")


def _pack_objects(rows: list[Any], prefix: str) -> Packed:
    for i, item in enumerate(rows):
        if reason := unlike_json(item):
            raise ModelFileError(
                f"Landmark {i} of {len(rows)}, {_shown(item)}, cannot be stored: {reason}. Landmarks are stored "
                "as JSON: strings, finite numbers, booleans, None, lists, and dicts with string keys. Fit on "
                f"such objects, or: {KEEP[0].lower()}{KEEP[1:]}."
            )
    lines = "".join(json.dumps(item, allow_nan=False) + "\n" for item in rows)
    fields = {"type": "objects", "number": len(rows)}
    return fields, {f"{prefix}_landmarks.jsonl": Member((lines.encode("ascii"),))}


def _shown(item: Any) -> str:
    try:
        text = repr(item)
    except Exception:
        return f"a {type(item).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def unpack_rows(record: Record, container: Container, prefix: str) -> Any:
    """One block's landmarks, in the container that they were in."""
    read = {"numbers": _numbers, "csr": _csr, "dense": _dense, "objects": _objects}
    rows = read[record.text("type", known=read)](record, container, prefix)
    record.end()
    return rows


def _numbers(record: Record, container: Container, prefix: str) -> GivenRows:
    number = record.integer("number", least=1)
    numbers = container.array(f"{prefix}_landmarks.npy", (number,), kinds="i")
    return GivenRows(np.empty((number, 0)), numbers)


def _dense(record: Record, container: Container, prefix: str) -> Array:
    shape = record.integer("number", least=1), record.integer("n_columns", least=1)
    return container.array(f"{prefix}_landmarks.npy", shape)


def _objects(record: Record, container: Container, prefix: str) -> list[Any]:
    number, name = record.integer("number", least=1), f"{prefix}_landmarks.jsonl"
    objects = container.lines(name)
    if len(objects) != number:
        raise container.error(name, f"{len(objects)} objects, expected {number}")
    return objects


def _csr(record: Record, container: Container, prefix: str) -> Any:
    make = CSR[record.text("container", known=CSR)]
    shape = record.integer("number", least=1), record.integer("n_columns", least=1)
    data = container.array(f"{prefix}_data.npy", (None,))
    indices = container.array(f"{prefix}_indices.npy", (len(data),), kinds="i")
    indptr = container.array(f"{prefix}_indptr.npy", (shape[0] + 1,), kinds="i")
    # The loops over sparse rows trust these numbers: wrong ones would read memory that is not theirs.
    if indptr[0] != 0 or indptr[-1] != len(data) or (np.diff(indptr) < 0).any():
        raise container.error(f"{prefix}_indptr.npy", f"row pointers do not ascend from 0 to {len(data)}")
    if len(indices) and not 0 <= indices.min() <= indices.max() < shape[1]:
        raise container.error(f"{prefix}_indices.npy", f"columns are not all from 0 to {shape[1] - 1}")
    return make((data, indices, indptr), shape=shape)
