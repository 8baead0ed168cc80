"""Labels and embeddings to files, streamed in order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from apnc.writing.atomic import Target, atomic, check_writable
from apnc.writing.tables import Ids, load_pyarrow, table_file

Array = npt.NDArray[Any]
#: Values of some rows, and the numbers of those rows in the source, which ascend.
Numbered = tuple[Array, Array]

#: What labels and embeddings can be written as.
LABEL_KINDS = (".parquet", ".arrow", ".feather", ".csv", ".csv.gz")
EMBEDDING_KINDS = (".npy", *LABEL_KINDS)
#: A row group or record batch holds this many rows, fewer where they are wide.
BATCH_ROWS, BATCH_BYTES = 1 << 16, 1 << 24


def check_target(path: Target, kinds: Sequence[str]) -> str:
    """The kind of file that ``path`` asks for, after a trial that one can be made there: for before long work."""
    kind = next((kind for kind in kinds if str(path).lower().endswith(kind)), None)
    if kind is None:
        raise ValueError(f"{path}: the ending says what to write; it must be one of {', '.join(kinds)}.")
    if kind != ".npy":
        load_pyarrow()
    check_writable(path)
    return kind


def check_names(id_columns: Sequence[str], own: Iterable[str]) -> None:
    """Refuse id columns that are called like a column of the output."""
    clash = sorted(set(id_columns) & set(own))
    if clash:
        raise ValueError(
            f"Id column {clash[0]!r} has the name of a column that is written beside it. Rename it in the source, or "
            "leave it out of the id columns."
        )


def write_labels(path: Target, chunks: Iterable[Numbered], ids: Ids | None = None) -> int:
    """Write the id columns, or ``row`` (int64) where there are none, and ``label`` (int32).

    Parameters
    ----------
    path : ends in one of ``LABEL_KINDS``.
    chunks : (labels of shape (n,), row numbers of shape (n,)), in order.
    ids : id columns of the same source.

    Returns
    -------
    Number of rows written.

    """
    kind = check_target(path, LABEL_KINDS)
    check_names(ids.names if ids else (), ["label"])
    batches = _batches(_in_order(chunks, ()), BATCH_ROWS, (), np.int32)
    return _write_table(path, kind, batches, ids, _label_column)


def write_embedding(path: Target, chunks: Iterable[Numbered], ids: Ids | None, n_components: int) -> int:
    """Write Y as float32: a plain array of the rows that were not skipped, or a table.

    A table has the id columns, or ``row`` (int64) where there are none, and ``y0``, ``y1``, ...

    Parameters
    ----------
    path : ends in one of ``EMBEDDING_KINDS``.
    chunks : (Y of shape (n, n_components), row numbers of shape (n,)), in order.
    ids : id columns of the same source; not for ``.npy``, which has no place for them.
    n_components : m.

    Returns
    -------
    Number of rows written.

    """
    kind = check_target(path, EMBEDDING_KINDS)
    shape = (n_components,)
    if kind != ".npy":
        check_names(ids.names if ids else (), _component_names(n_components))
        size = max(1, min(BATCH_ROWS, BATCH_BYTES // (4 * max(1, n_components))))
        batches = _batches(_in_order(chunks, shape), size, shape, np.float32)
        return _write_table(path, kind, batches, ids, _component_columns)
    if ids is not None:
        raise ValueError(
            f"{path}: an array has no place for the id columns {', '.join(ids.names)}. Write .parquet, or no ids."
        )
    return _write_array(path, _in_order(chunks, shape), n_components)


def _label_column(labels: Array) -> dict[str, Array]:
    return {"label": labels}


def _component_names(n_components: int) -> list[str]:
    return [f"y{j}" for j in range(n_components)]


def _component_columns(Y: Array) -> dict[str, Array]:
    return dict(zip(_component_names(Y.shape[1]), np.ascontiguousarray(Y.T), strict=True))


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


def _batches(
    chunks: Iterable[Numbered], size: int, shape: tuple[int, ...], dtype: type
) -> Iterator[Numbered]:
    """Chunks of any length as batches of ``size`` rows, the last one shorter; always one, if empty."""
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
    path: Target,
    kind: str,
    batches: Iterable[Numbered],
    ids: Ids | None,
    columns: Callable[[Array], dict[str, Array]],
) -> int:
    n_written = 0
    with atomic(path) as temporary, table_file(temporary, kind, str(path)) as write:
        for values, numbers in batches:
            before = {"row": numbers} if ids is None else ids.take(numbers)
            write({**before, **columns(values)})
            n_written += len(numbers)
        if ids is not None:
            ids.finish()
    return n_written


def _write_array(path: Target, chunks: Iterable[Numbered], n_components: int) -> int:
    n_written = 0
    with atomic(path) as temporary, open(temporary, "wb") as file:
        _write_header(file, 0, n_components)
        for Y, _ in chunks:
            file.write(np.ascontiguousarray(Y, dtype="<f4").data)
            n_written += len(Y)
        file.seek(0)
        _write_header(file, n_written, n_components)
    return n_written


def _write_header(file: Any, n_rows: int, n_components: int) -> None:
    # Numpy pads it for a first axis of any length, so that it can be written again when that is known.
    header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, n_components)}
    np.lib.format.write_array_header_1_0(file, header)
