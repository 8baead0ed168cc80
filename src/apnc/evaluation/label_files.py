"""Files of labels, read in pieces."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.lib import format as npy

from apnc import sources
from apnc.engines.spill import read_ahead
from apnc.sources.arrays import read_header
from apnc.sources.files import find_files, located, one_format
from apnc.sources.pieces import SourceError
from apnc.typing import Array

#: Rows compared at a time, and rows read at a time.
PIECE_ROWS, BATCH_ROWS = 1 << 18, 1 << 16
#: Name of the column of labels; if there is none, the last column is used.
LABEL = "label"
#: Names by which the labels are found among several arrays of an archive.
ARRAYS = (LABEL, "labels", "y", "truth", "target", "classes")


def count_rows(path: Any) -> int:
    """Number of rows of a table or array, from its metadata if possible."""
    format = sources.format_of(path)
    if format == "npy":
        return len(np.load(path, mmap_mode="r"))
    if format == "parquet":
        from pyarrow.parquet import read_metadata

        return int(read_metadata(path).num_rows)
    return sum(map(len, LabelFile.open(path).read()))


@dataclass(frozen=True)
class LabelFile:
    """A file with a column of labels.

    Attributes
    ----------
    name : path, for messages.
    column : name of the column of labels.
    others : names of all other columns.
    tables : function from column names to an iterator over Arrow tables of these columns, as text.

    """

    name: str
    column: str
    others: tuple[str, ...]
    tables: Callable[[Sequence[str]], Iterator[Any]]

    @classmethod
    def open(cls, path: Any) -> "LabelFile":
        """Open a table or an array; the format is inferred from the name, the separator of CSV from its first line."""
        format = sources.format_of(path)
        if format in ("npy", "npz"):
            return cls(str(path), LABEL, (), partial(_array_tables, path, format))
        if format not in ("parquet", "arrow", "csv", "tsv"):
            raise ValueError(
                f"{path}: labels are read from .parquet, .arrow, .csv, .tsv, .npy and .npz files, not from {format}."
            )
        parts = _parts(path, format)
        names = _column_names(path, parts)
        column = LABEL if LABEL in names else names[-1]
        others = tuple(name for name in names if name != column)
        return cls(str(path), column, others, partial(_part_tables, parts))

    def read(self, ids: Sequence[str] = ()) -> Iterator[Any]:
        """Tables of the id columns and the labels, ``PIECE_ROWS`` in all but the last; refuse rows without a label."""
        import pyarrow as pa
        import pyarrow.compute as pc

        held: list[Any] = []
        for table in read_ahead(self.tables([*ids, self.column])):
            if pc.any(pc.equal(table[self.column], "")).as_py():
                raise ValueError(
                    f"{self.name}: column {self.column!r} has rows without a label; leave them out."
                )
            held = [pa.concat_tables([*held, table])]
            while len(held[0]) >= PIECE_ROWS:
                yield held[0][:PIECE_ROWS]
                held = [held[0][PIECE_ROWS:]]
        yield from filter(len, held)

    def whole(self, ids: Sequence[str]) -> Any:
        """All pieces as one table."""
        import pyarrow as pa

        pieces = list(self.read(ids))
        if not pieces:
            raise ValueError(f"{self.name} has no rows.")
        return pa.concat_tables(pieces).combine_chunks()


def _parts(path: Any, format: str) -> list[Callable[[], Any]]:
    try:
        from apnc.sources.delimited import TextPart, separator_of
        from apnc.sources.tables import READERS
    except ModuleNotFoundError as error:
        raise ImportError(f'Reading {format} needs pyarrow: pip install "apnc[files]".') from error
    files = find_files(path)
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


def _part_tables(parts: Iterable[Callable[[], Any]], names: Sequence[str]) -> Iterator[Any]:
    for opened in parts:
        with opened() as part:
            if part.empty:
                continue
            for name in names:
                if (n := part.schema.names.count(name)) != 1:
                    found = "there is no column" if n == 0 else f"{n} columns are called"
                    raise ValueError(f"{part.name}: {found} {name!r}; expected one.")
            for batch, place in part.batches(part.types(names, verbatim=True), BATCH_ROWS):
                yield _as_text({name: batch.column(name) for name in names}, place.text)


def _array_tables(path: Any, format: str, _: Sequence[str]) -> Iterator[Any]:
    values = _mapped(path) if format == "npy" else _unpacked(path)
    for start in range(0, len(values), BATCH_ROWS):
        part = values[start : start + BATCH_ROWS]
        yield _as_text({LABEL: np.array(part, part.dtype.newbyteorder("="))}, str(path))


def _mapped(path: Any) -> Array:
    """The array of a ``.npy`` file."""
    name = find_files(path).only_local("npy").path
    with open(name, "rb") as file:
        _refuse(name, file)
    with located(name):
        return np.load(name, mmap_mode="r")


def _unpacked(path: Any) -> Array:
    """The labels of an ``.npz`` archive: its only array, or the one named in ``ARRAYS``."""
    name = find_files(path).only_local("npz").path
    with located(name, "The file is damaged or cut off."), ZipFile(name) as archive:
        there = [member.removesuffix(".npy") for member in archive.namelist()]
        chosen = there if len(there) == 1 else [array for array in there if array in ARRAYS]
        if len(chosen) != 1:
            raise SourceError(
                f"{name}: holds the arrays {', '.join(there) or '(none)'}, and it is unclear which are the labels. "
                f"Call one of them {', '.join(ARRAYS[:-1])} or {ARRAYS[-1]}, or save it alone with numpy.save."
            )
        where, member = f"{name}, array {chosen[0]}", f"{chosen[0]}.npy"
        with located(where):
            with archive.open(member) as file:
                _refuse(where, file)
            with archive.open(member) as file:
                return npy.read_array(file, allow_pickle=False)


def _refuse(where: str, file: Any) -> None:
    """Refuse all but one-dimensional arrays of integers or text, before their values are read."""
    shape, _, dtype = read_header(file, where)
    if len(shape) != 1 or dtype.kind not in "iubU":
        raise SourceError(
            f"{where}: labels must be whole numbers or text of shape (n,), got {dtype} of shape {shape}."
        )


def _as_text(columns: dict[str, Any], where: str) -> Any:
    """A table of text, as in CSV, with missing values as empty strings."""
    import pyarrow as pa

    table = pa.table(columns)
    for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        try:
            plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
            table = table.set_column(place, name, plain.cast(pa.large_string()).fill_null(""))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ValueError(
                f"{where}: column {name!r} of type {column.type} cannot be used as labels or ids."
            ) from error
    return table
