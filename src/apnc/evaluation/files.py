"""Files of labels, read in pieces."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from apnc import sources

#: Rows read at a time.
PIECE_ROWS = 1 << 16
#: The name of a column of labels; without it the last column is taken.
LABEL = "label"


def count_rows(path: Any) -> int:
    """Rows of a table or array, without reading more than has to be."""
    format = sources.format_of(path)
    if format == "npy":
        return len(np.load(path, mmap_mode="r"))
    if format == "parquet":
        from pyarrow.parquet import read_metadata

        return int(read_metadata(path).num_rows)
    return sum(len(columns[0]) for columns in LabelFile.open(path).read([]))


@dataclass(frozen=True)
class LabelFile:
    """A file with a column of labels.

    Attributes
    ----------
    name : path, for messages.
    column : of the labels.
    others : all other columns.
    pieces : for names of columns, iterates over their values, as Arrow arrays of text.

    """

    name: str
    column: str
    others: tuple[str, ...]
    pieces: Callable[[Sequence[str]], Iterator[list[Any]]]

    @classmethod
    def open(cls, path: Any) -> "LabelFile":
        """A table or a .npy array; the name tells the format, the first line of CSV what separates its values."""
        format = sources.format_of(path)
        if format == "npy":
            return cls(str(path), LABEL, (), partial(_array_pieces, path))
        if format not in ("parquet", "arrow", "csv", "tsv"):
            raise ValueError(
                f"{path}: labels are read from .parquet, .arrow, .csv, .tsv and .npy files, not from {format}."
            )
        parts = _parts(path, format)
        names = _column_names(path, parts)
        column = LABEL if LABEL in names else names[-1]
        others = tuple(name for name in names if name != column)
        return cls(str(path), column, others, partial(_table_pieces, parts))

    def read(self, ids: Sequence[str]) -> Iterator[list[Any]]:
        """The id columns and the labels, which must all be there."""
        import pyarrow.compute as pc

        for columns in self.pieces([*ids, self.column]):
            if columns[-1].null_count or pc.any(pc.equal(columns[-1], "")).as_py():
                raise ValueError(
                    f"{self.name}: column {self.column!r} has rows without a label; leave them out."
                )
            yield columns


def _parts(path: Any, format: str) -> list[Callable[[], Any]]:
    try:
        from apnc.sources.delimited import TextPart, separator_of
        from apnc.sources.files import find_files, one_format
        from apnc.sources.tables import READERS
    except ModuleNotFoundError as error:
        raise ImportError(f'Reading {format} needs pyarrow: pip install "apnc[files]".') from error
    files = find_files(path, None)
    one_format(files, format)
    if format == "csv":
        return [partial(TextPart, file, separator_of(file)) for file in files]
    return [partial(READERS[format], file) for file in files]


def _column_names(path: Any, parts: Iterable[Callable[[], Any]]) -> list[str]:
    for opened in parts:
        with opened() as part:
            if part.schema.names:
                return list(part.schema.names)
    raise ValueError(f"{path} is empty.")


def _table_pieces(parts: Iterable[Callable[[], Any]], names: Sequence[str]) -> Iterator[list[Any]]:
    for opened in parts:
        with opened() as part:
            if part.empty:
                continue
            missing = [name for name in names if name not in part.schema.names]
            if missing:
                raise ValueError(f"{part.name}: there is no column {missing[0]!r}.")
            for batch, place in part.batches(part.types(names, verbatim=True), PIECE_ROWS):
                yield [_as_text(batch.column(name), name, place.text) for name in names]


def _array_pieces(path: Any, _: Sequence[str]) -> Iterator[list[Any]]:
    import pyarrow as pa

    values = np.load(path, mmap_mode="r")
    if values.ndim != 1 or values.dtype.kind not in "iubU":
        raise ValueError(
            f"{path}: labels are whole numbers or text of shape (n,), got {values.dtype} of shape {values.shape}."
        )
    for start in range(0, len(values), PIECE_ROWS):
        yield [_as_text(pa.array(np.array(values[start : start + PIECE_ROWS])), LABEL, str(path))]


def _as_text(column: Any, name: str, where: str) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(
            f"{where}: column {name!r} of type {column.type} is neither labels nor ids."
        ) from error
