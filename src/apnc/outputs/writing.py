"""Stream values of rows to files, in order."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from apnc.outputs.arrow import Ids, load_pyarrow, table_file
from apnc.outputs.atomic import Target, atomic, check_writable
from apnc.typing import Array

#: Values of consecutive rows, and their ascending row numbers in the source.
Numbered = tuple[Array, Array]

#: File extensions for one value per row, and for several.
TABLE_KINDS = (".parquet", ".arrow", ".feather", ".csv", ".csv.gz")
ARRAY_KINDS = (".npy", *TABLE_KINDS)
#: Rows per row group or record batch; fewer if they are wide.
BATCH_ROWS, BATCH_BYTES = 1 << 16, 1 << 24


def check_target(path: Target, kinds: Sequence[str]) -> str:
    """The kind of file that ``path`` names, after testing that it can be written, before a long computation."""
    kind = next((kind for kind in kinds if str(path).lower().endswith(kind)), None)
    if kind is None:
        raise ValueError(
            f"{path}: the extension determines the format; it must be one of {', '.join(kinds)}."
        )
    if kind != ".npy":
        load_pyarrow()
    check_writable(path)
    return kind


def check_names(id_columns: Sequence[str], own: Iterable[str]) -> None:
    """Refuse id columns with the name of an output column."""
    clash = sorted(set(id_columns) & set(own))
    if clash:
        raise ValueError(
            f"Id column {clash[0]!r} has the same name as an output column. Rename it in the source, or "
            "leave it out of the id columns."
        )


def write(
    path: Target,
    chunks: Iterable[Numbered],
    columns: str | Sequence[str],
    dtype: Any,
    ids: Ids | None = None,
) -> int:
    """Write values of rows: a table, or a plain array of the rows that were not skipped.

    A table has the id columns, or ``row`` (int64) where there are none, in front of the values.

    Parameters
    ----------
    path : ends in one of ``TABLE_KINDS``, or in ``.npy`` if there are several values per row.
    chunks : (values of shape (n,) or (n, len(columns)), row numbers of shape (n,)), in order.
    columns : names of the columns; a single name if there is one value per row.
    dtype : of the values; if structured, values have shape (n,), and their fields are the columns.
    ids : id columns of the same source; not for ``.npy``, which has no place for them.

    Returns
    -------
    Number of rows written.

    """
    structured = np.dtype(dtype).names is not None
    scalar = isinstance(columns, str) or structured
    kind = check_target(path, TABLE_KINDS if scalar else ARRAY_KINDS)
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    shape = () if scalar else (len(names),)
    if kind != ".npy":
        check_names(ids.names if ids else (), names)
        row_bytes = np.dtype(dtype).itemsize * (1 if structured else max(1, len(names)))
        size = max(1, min(BATCH_ROWS, BATCH_BYTES // row_bytes))
        batches = _batches(_in_order(chunks, shape), size, shape, dtype)
        return _write_table(path, kind, batches, ids, names)
    if ids is not None:
        raise ValueError(
            f"{path}: an array cannot hold the id columns {', '.join(ids.names)}. Write .parquet, or no ids."
        )
    return _write_array(path, _in_order(chunks, shape), len(names), np.dtype(dtype))


def _in_order(chunks: Iterable[Numbered], shape: tuple[int, ...]) -> Iterator[Numbered]:
    """The chunks, checked: values of one row have ``shape``, and row numbers ascend."""
    last = -1
    for values, numbers in chunks:
        if values.shape != (len(numbers), *shape):
            raise ValueError(
                f"Values of shape {values.shape} for {len(numbers)} rows, each of shape {shape}."
            )
        if (np.diff(numbers, prepend=last) <= 0).any():
            raise ValueError(f"Row numbers must ascend; they do not after row {last}.")
        last = int(numbers[-1]) if len(numbers) else last
        yield values, numbers


def _batches(chunks: Iterable[Numbered], size: int, shape: tuple[int, ...], dtype: Any) -> Iterator[Numbered]:
    """Regroup chunks of any length into batches of ``size`` rows, the last one shorter; at least one, even if empty."""
    values: Array = np.empty((size, *shape), dtype)
    numbers = np.empty(size, np.int64)
    filled, n_full = 0, 0
    for chunk, chunk_numbers in chunks:
        used = 0
        while used < len(chunk):
            n = min(size - filled, len(chunk) - used)
            values[filled : filled + n] = chunk[used : used + n]
            numbers[filled : filled + n] = chunk_numbers[used : used + n]
            filled, used = filled + n, used + n
            if filled == size:
                yield values, numbers
                values, numbers = np.empty_like(values), np.empty_like(numbers)
                filled, n_full = 0, n_full + 1
    if filled or not n_full:
        yield values[:filled], numbers[:filled]


def _write_table(
    path: Target, kind: str, batches: Iterable[Numbered], ids: Ids | None, names: Sequence[str]
) -> int:
    n_written = 0
    with atomic(path) as temporary, table_file(temporary, kind, str(path)) as write_batch:
        for values, numbers in batches:
            before = {"row": numbers} if ids is None else ids.take(numbers)
            write_batch({**before, **dict(zip(names, _by_column(values), strict=True))})
            n_written += len(numbers)
        if ids is not None:
            ids.finish()
    return n_written


def _by_column(values: Array) -> list[Array]:
    """The columns of values, one array each."""
    if values.dtype.names is None:
        return [values] if values.ndim == 1 else list(np.ascontiguousarray(values.T))
    return [column for name in values.dtype.names for column in _by_column(values[name])]


def _write_array(path: Target, chunks: Iterable[Numbered], width: int, dtype: np.dtype[Any]) -> int:
    n_written, stored = 0, dtype.newbyteorder("<")
    with atomic(path) as temporary, open(temporary, "wb") as file:
        _write_header(file, (0, width), stored)
        for values, _ in chunks:
            file.write(np.ascontiguousarray(values, dtype=stored).data)
            n_written += len(values)
        file.seek(0)
        _write_header(file, (n_written, width), stored)
    return n_written


def _write_header(file: Any, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
    # Numpy pads the header for any length of the first axis, so it can be rewritten in place once that is known.
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
