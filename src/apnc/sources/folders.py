"""Columns from the names of folders: ``year=2024/part-0.parquet``, as Hive, Spark and pyarrow write them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from apnc.sources.files import DataFile
from apnc.sources.table_readers import Part, Parts, Place, Types


def values_of(files: Sequence[DataFile]) -> list[dict[str, Any]]:
    """Values from the folder names of each file, by column, as text."""
    named = [folder.partition("=")[0] for file in files for folder in file.folders if "=" in folder]
    parse = ds.HivePartitioning(pa.schema([(name, pa.string()) for name in dict.fromkeys(named)])).parse
    # pyarrow takes the last name to be that of the file
    return [ds.get_partition_keys(parse("/".join((*file.folders, "file")))) for file in files]


def with_values(parts: Parts, values: Sequence[Mapping[str, Any]]) -> Parts:
    """Parts of a table, each with additional constant columns."""
    names = dict.fromkeys(name for known in values for name in known)
    columns = {name: _typed([known.get(name) for known in values]) for name in names}
    scalars = [{name: column[i] for name, column in columns.items()} for i in range(len(parts))]
    return [partial(InFolder, part, mine) for part, mine in zip(parts, scalars, strict=True)]


def _typed(values: list[Any]) -> Any:
    """An array of values; text becomes int64 or float64 if all of it can."""
    column = pa.array(values)
    for type_ in (pa.int64(), pa.float64()) if pa.types.is_string(column.type) else ():
        try:
            return column.cast(type_)
        except pa.ArrowInvalid:
            continue
    return column


class InFolder(Part):
    """A part with constant columns from its folder names; columns of the same name in the file take precedence.

    Parameters
    ----------
    opened : function that opens the part.
    values : Arrow scalars by column name.

    """

    def __init__(self, opened: Callable[[], Part], values: Mapping[str, Any]) -> None:
        self._part = part = opened()
        self.name, self.index, self.empty, self.n_rows = part.name, part.index, part.empty, part.n_rows
        there = set(part.schema.names)
        self._values = {name: value for name, value in values.items() if there and name not in there}
        self.schema = part.schema
        for name, value in self._values.items():
            self.schema = self.schema.append(pa.field(name, value.type))

    def types(self, names: Iterable[str], verbatim: bool = False) -> dict[str, Any]:
        """Types to read columns as; those of the constant columns do not depend on ``verbatim``."""
        return {
            name: self._values[name].type
            if name in self._values
            else self._part.types([name], verbatim)[name]
            for name in names
        }

    def batches(self, types: Types, n_rows: int) -> Iterator[tuple[Any, Place]]:
        stored: Types = {name: type_ for name, type_ in types.items() if name not in self._values}
        added = [name for name in types if name in self._values]
        # At least one column must be read, to know the number of rows.
        stored = stored or self._part.types(self._part.schema.names[:1], verbatim=True)
        for batch, place in self._part.batches(stored, n_rows):
            for name in added:
                batch = batch.append_column(name, pa.repeat(self._values[name], batch.num_rows))
            yield batch, place

    def buffers(self, names: Iterable[str]) -> int:
        return self._part.buffers([name for name in names if name not in self._values])

    def close(self) -> None:
        self._part.close()
