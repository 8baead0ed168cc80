"""Objects in tables: a column whose values are the instances, or whole rows as records."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Self

import pyarrow as pa

from apnc.rows import LOOKED_AT, numbers_in_objects
from apnc.sources.columns import described
from apnc.sources.missing import present
from apnc.sources.pieces import Decoded, Piece, SourceError
from apnc.sources.table_columns import Request, layout_of_objects
from apnc.sources.table_readers import Part, Parts
from apnc.sources.tables import TableSource
from apnc.typing import Array

#: Copies of the objects while they are read: as Arrow data, before and after the allocator releases it, and as objects.
COPIES = 4


class TableObjects(TableSource):
    """Rows of a table as objects."""

    dtype = None  # type: ignore[assignment]

    def _names(self) -> Sequence[str]:
        """The columns that the objects are made of."""
        raise NotImplementedError

    def _verbatim(self) -> Collection[str]:
        """Those of them that are text in delimited files, whatever they look like."""
        return self._names()

    def _objects(self, table: Any) -> list[Any]:
        """Objects of a table with those columns."""
        raise NotImplementedError

    def _look_at(self, part: Part) -> None:
        if self._request.columns is not None or self._request.exclude:
            raise SourceError(
                f"{self.name}: rows are objects here, so columns= and exclude= (--columns, --exclude) have no effect. "
                "Leave them out."
            )
        self._layout = layout_of_objects(part, self._request, self._names(), self._verbatim())
        self.n_columns = 0
        first = next((batch for batch, _ in part.batches(self._layout.types, LOOKED_AT)), None)
        some = [] if first is None else self._objects(pa.Table.from_batches([first[:LOOKED_AT]]))
        self.held = numbers_in_objects([item for item in some if item is not None])
        self.read_bytes = COPIES * 8 * max(1, self.held)

    def matrix(self, piece: Piece) -> tuple[list[Any], Array | None]:  # type: ignore[override]
        """Instances (None where missing) and weights."""
        table = pa.Table.from_batches(piece.raw.batches)
        weights = None if self.weight_column is None else self._weights(table)
        return self._objects(table), weights

    def decode(self, piece: Piece) -> Decoded:
        """Instances, checked for missing ones."""
        return present(self, piece)

    def identity(self) -> dict[str, Any]:
        """With the columns that the objects are made of."""
        return {**super().identity(), "columns": list(self._names())}


class ObjectColumn(TableObjects):
    """A column of text, lists or structs, whose values are the instances; null is missing."""

    def __init__(self, name: str, parts: Parts, request: Request, drop_null: bool, object_field: str) -> None:
        self.object_field = object_field
        super().__init__(name, parts, request, drop_null)

    def _names(self) -> Sequence[str]:
        return (self.object_field,)

    def _objects(self, table: Any) -> list[Any]:
        return values_of(table.column(self.object_field))

    def of_objects(self, kernel: Any) -> Self:
        """The same objects, read by a kernel."""
        return self.read_by(kernel)

    def column_names(self) -> Sequence[str]:
        """The column of objects."""
        return [self.object_field]


class Records(TableObjects):
    """Rows as dicts of the fields that a kernel on records names; null is a missing value of the record."""

    def __init__(self, name: str, parts: Parts, request: Request, drop_null: bool, kernel: Any) -> None:
        self.kernel = kernel
        super().__init__(name, parts, request, drop_null)

    def _names(self) -> Sequence[str]:
        found: Sequence[str] = self.kernel.columns
        return found

    def _verbatim(self) -> Collection[str]:
        return [name for name, field in self.kernel.fields.items() if field.verbatim]

    def _objects(self, table: Any) -> list[Any]:
        return rows_as_records(table, self._names())

    def column_names(self) -> Sequence[str]:
        """All that can be missing is a weight."""
        return ["the records"]


def rows_as_records(table: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of a table or batch as dicts of the named columns."""
    columns = {name: values_of(table.column(name)) for name in names}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def values_of(column: Any) -> list[Any]:
    """Values of a column as Python has them: maps as dicts, times in microseconds instead of nanoseconds."""
    type_ = column.type
    if pa.types.is_timestamp(type_) and type_.unit == "ns":
        column = column.cast(pa.timestamp("us", type_.tz), safe=False)
    found: list[Any] = column.to_pylist()
    return [item and dict(item) for item in found] if pa.types.is_map(type_) else found


def no_object_column(where: str, kernel: Any, first: Callable[[], Part]) -> str:
    """The message for a table without a named column of objects."""
    with first() as part:
        columns = described([(field.name, field.type) for field in part.schema])
    return (
        f"{where}: {type(kernel).__name__} takes objects: name their column with object_field= (--object-field). "
        f"Columns: {columns}."
    )
