"""Dask dataframes as sources: numeric columns, a column of lists, of objects, or whole rows as records."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from apnc.engines.contract import MOST_CHUNKS, Chunk, SourceRows
from apnc.engines.dask.chunks import Read, shipped
from apnc.engines.dask.source import Find, Remote, first_of, found_by
from apnc.engines.local import Layout
from apnc.kernels.family import RECORDS
from apnc.sources.columns import HEAD
from apnc.sources.family import Source
from apnc.sources.pieces import Piece, SourceError
from apnc.sources.table_objects import ObjectColumn, Records
from apnc.sources.table_readers import Parts, Place, TablePart
from apnc.sources.tables import Packed, TableSource, request_of
from apnc.typing import Array

NAME = "the Dask DataFrame"


def open_frame(
    frame: Any,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    id_columns: Sequence[str] = (),
    weight_column: str | None = None,
    object_field: str | None = None,
) -> Source:
    """A dataframe as a source; ``object_field`` names a column whose values are the instances."""
    request = request_of(columns, exclude, id_columns, weight_column)
    head = first_of(part.head(HEAD) for part in frame.to_delayed())
    parts: Parts = [partial(FirstRows, frame, table_of(head))]
    if object_field is not None:
        return FrameObjects(NAME, parts, request, False, object_field)
    return FrameSource(NAME, parts, request, False)


class FirstRows(TablePart):
    """The first rows of a dataframe as the only part of a table, by which its columns are known."""

    def __init__(self, frame: Any, table: Any) -> None:
        super().__init__(table, NAME)
        # Not known to be empty: without rows and without columns are two problems.
        self.frame, self.n_rows, self.empty = frame, None, False


class Framed(Remote, TableSource):
    """Base class of sources in a dataframe."""

    skipping = "df.dropna()"
    result = "a dask dataframe; write it with .to_parquet(...)"

    @property
    def collection(self) -> Any:
        """The dataframe."""
        part: Any = self._parts[0]()
        return part.frame

    @property
    def _read(self) -> dict[str, Any]:
        """Columns that tasks read, and their types: ids, by which messages name rows, are taken as they come."""
        types: dict[str, Any] = self._layout.types
        return types | dict.fromkeys(name for name in self.id_columns if name not in types)

    def identity(self) -> dict[str, Any]:
        """Dask's own name for the rows, and the columns in use, of which objects may be made."""
        return super().identity() | {"columns": list(self._layout.types)}

    def parts(self) -> Sequence[Any]:
        """The partitions, with the columns in use."""
        names = dict(zip(map(str, self.collection.columns), self.collection.columns, strict=True))
        found: list[Any] = self.collection[[names[name] for name in self._read]].to_delayed()
        return found

    def reader(self, n_rows: int, ids: tuple[str, ...] = ()) -> Read:
        """Slices of the Arrow batch that a partition becomes."""
        return Batches(n_rows, self._read, ids)

    def with_column(self, output: Any, model: Any, layout: Layout) -> Any:
        """The dataframe with a column for each value of a model's output."""
        import dask.dataframe as dd
        from dask import delayed

        # Optimising may join partitions.
        frame, find = self.collection.optimize(), self.finding(output, model, layout)
        given = output.columns(model)
        names = [given] if isinstance(given, str) else given
        for taken in (name for name in names if name in frame.columns):
            raise ValueError(f"{self.name} already has a column {taken!r}; rename or drop it.")
        meta = with_values(frame._meta, names, find.nothing)
        sent, run = shipped(find), delayed(appended, pure=False)
        parts = [run(sent, names, part, number) for number, part in enumerate(frame.to_delayed())]
        return dd.from_delayed(parts, meta=meta, divisions=frame.divisions, verify_meta=False)


class FrameSource(Framed):
    """Numeric features in a dataframe, or in one column of lists."""

    def of_objects(self, kernel: Any) -> Source:
        """Rows as records of the fields that the kernel names."""
        if kernel.takes != RECORDS:
            return super().of_objects(kernel)
        return FrameRecords(NAME, self._parts, self._request, False, kernel)


class FrameObjects(Framed, ObjectColumn):
    """A column of text, lists or structs as instances."""


class FrameRecords(Framed, Records):
    """Rows as records of the fields that a kernel names."""


@dataclass(frozen=True)
class Batches:
    """Turns a pandas partition into chunks of at most ``n_rows`` rows, which carry ``ids``.

    ``types`` are those of the columns to read; None: as Arrow infers it.
    """

    n_rows: int
    types: Mapping[str, Any]
    ids: tuple[str, ...] = ()

    def __call__(self, part: Any, number: int) -> Iterator[Chunk]:
        place = Place(f"{NAME}, partition {number}")
        batch = batch_of(part, self.types, place.text)
        for index, start in enumerate(range(0, batch.num_rows, self.n_rows)):
            rows = batch.slice(start, self.n_rows)
            piece = Piece(Packed([rows], [(place, start)]), start, rows.num_rows, place.text)
            ids = rows.select(self.ids) if self.ids else None
            carry = SourceRows(start, start + rows.num_rows, ids=ids)
            yield Chunk(number * MOST_CHUNKS + index, piece, np.empty(0), carry)


def batch_of(part: Any, types: Mapping[str, Any], where: str) -> Any:
    """Columns of a pandas frame as an Arrow batch."""
    labels, arrays = {str(label): label for label in part.columns}, []
    for name, type_ in types.items():
        try:
            arrays.append(as_arrow(part[labels[name]], type_))
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise SourceError(
                f"{where}: column {name!r} is not of type {type_}, as in the first rows: {error} Give the column one "
                "type: df.astype(...)."
            ) from error
    return pa.RecordBatch.from_arrays(arrays, list(types))


def table_of(head: Any) -> Any:
    """All columns of a pandas frame as an Arrow table; those that Arrow has no type for hold structs without fields."""
    arrays = []
    for j in range(head.shape[1]):
        try:
            arrays.append(as_arrow(head.iloc[:, j], None))
        except (pa.ArrowException, TypeError, ValueError):
            arrays.append(pa.nulls(len(head), pa.struct([])))
    return pa.Table.from_arrays(arrays, list(map(str, head.columns)))


def as_arrow(column: Any, type_: Any) -> Any:
    """A pandas series as an Arrow array; NaN is null."""
    found = pa.array(column, type_, from_pandas=True)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def appended(find: Find, names: Sequence[str], part: Any, number: int) -> Any:
    """A partition with the values of an output in columns of these names, computed on one thread."""
    return with_values(part, names, found_by(find, part, number))


def with_values(part: Any, names: Sequence[str], values: Array) -> Any:
    """A pandas frame with more columns: one for each value of a row."""
    import pandas as pd

    fields = [values[name] for name in values.dtype.names] if values.dtype.names else [values]
    columns = [column for field in fields for column in (field.T if field.ndim == 2 else [field])]
    more = pd.DataFrame(dict(zip(names, columns, strict=True)), index=part.index)
    return pd.concat([part, more], axis=1)
