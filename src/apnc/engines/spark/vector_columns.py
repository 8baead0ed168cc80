"""Columns of Spark vectors, which arrive in Python as structs of type, size, indices and values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from apnc.sources.columns import unequal
from apnc.sources.pieces import SourceError
from apnc.typing import Array

#: Vectors with a smaller share of non-zero values are treated as sparse rows.
DENSE_SHARE = 0.25


def is_vector(type_: Any) -> bool:
    """Whether a Spark type is the vector type."""
    return type(type_).__name__ == "VectorUDT"


def mostly_zero(vectors: list[Any]) -> bool:
    """Whether these vectors are better treated as sparse rows."""
    stored = sum(len(vector.values) for vector in vectors)
    return stored < DENSE_SHARE * sum(vector.size for vector in vectors)


def vectors_as_csr(vectors: Any, width: int, name: str, place: Callable[[int], str]) -> Any:
    """A column of vectors as a CSR matrix of shape (n, width); a missing one is a row with a NaN."""
    there, sparse_ones, lengths = _parts_of(vectors, width, name, place)
    ends = np.cumsum(lengths)
    values, indices = np.full(lengths.sum(), np.nan), np.zeros(lengths.sum(), dtype=np.int32)
    owner = np.repeat(np.arange(len(vectors)), lengths)
    values[there[owner]] = _flat(vectors, "values")
    within = np.arange(len(owner)) - np.repeat(ends - lengths, lengths)
    indices[:] = np.where(there[owner], within, 0)
    indices[sparse_ones[owner]] = _flat(vectors, "indices")
    rows = sparse.csr_matrix((values, indices, np.append(0, ends)), shape=(len(vectors), width))
    rows.eliminate_zeros()
    return rows


def vectors_as_matrix(vectors: Any, width: int, name: str, place: Callable[[int], str]) -> Array:
    """A column of vectors as an array of shape (n, width); a missing one is a row of NaN."""
    there, sparse_ones, _ = _parts_of(vectors, width, name, place)
    if there.all() and not sparse_ones.any():
        return _flat(vectors, "values").reshape(-1, width)
    return vectors_as_csr(vectors, width, name, place).toarray()


def _parts_of(vectors: Any, width: int, name: str, place: Callable[[int], str]) -> tuple[Array, Array, Array]:
    """Which vectors are not missing, which of them are sparse, and how many values each has (a missing one: 1)."""
    there = vectors.is_valid().to_numpy(zero_copy_only=False)
    kinds = pc.fill_null(_field(vectors, "type"), 1).to_numpy(zero_copy_only=False)
    sparse_ones = there & (kinds == 0)
    lengths = pc.fill_null(pc.list_value_length(_field(vectors, "values")), 1).to_numpy(zero_copy_only=False)
    sizes = np.where(
        sparse_ones, pc.fill_null(_field(vectors, "size"), 0).to_numpy(zero_copy_only=False), lengths
    )
    wrong = np.flatnonzero(there & (sizes != width))
    if len(wrong):
        first = int(wrong[0])
        raise SourceError(unequal(place(first), name, int(sizes[first]), width))
    return there, sparse_ones, np.where(there, lengths, 1).astype(np.int64)


def _field(vectors: Any, name: str) -> Any:
    """A field of the structs; null where the struct is null."""
    return pc.struct_field(vectors, name)


def _flat(vectors: Any, name: str) -> Array:
    return pc.list_flatten(_field(vectors, name)).to_numpy(zero_copy_only=False)


def arrow_type(type_: Any, convert: Callable[[Any], Any]) -> Any:
    """The Arrow type of a column as its values are used: lists for vectors, a struct for what Arrow has no type for."""
    if is_vector(type_):
        return pa.list_(pa.float64())
    try:
        return convert(type_)
    except Exception:
        return pa.struct([])
