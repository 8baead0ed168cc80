"""Arrow batches of a partition as chunks, and the columns that a model's outputs become."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from apnc.engines.contract import MOST_CHUNKS, Chunk, SourceRows
from apnc.engines.local import Step
from apnc.engines.spark.chunks import NAME
from apnc.engines.spark.tasks import partition
from apnc.sources.pieces import Piece
from apnc.sources.table_readers import Place
from apnc.sources.tables import Packed
from apnc.typing import Array

#: Column types of single values.
SCALARS = {np.dtype(np.int32): "int", np.dtype(np.float32): "float", np.dtype(np.float64): "double"}


@dataclass(frozen=True)
class Batches:
    """Splits the Arrow batches of a partition into chunks of at most ``n_rows`` rows, which carry ``ids``.

    ``names`` are those of the columns, which arrive by number.
    """

    n_rows: int
    names: tuple[str, ...]
    ids: tuple[str, ...] = ()

    def __call__(self, batches: Iterable[Any]) -> Iterator[tuple[int, Iterator[Chunk]]]:
        yield partition(), self.chunks(batches, partition())

    def chunks(self, batches: Iterable[Any], position: int, start: int = 0) -> Iterator[Chunk]:
        """The chunks of a partition, or of its rows from ``start`` on."""
        index = position * MOST_CHUNKS
        for batch in batches:
            for first in range(0, batch.num_rows, self.n_rows):
                rows = pa.RecordBatch.from_arrays(batch.slice(first, self.n_rows).columns, self.names)
                place = Place(f"{NAME}, partition {position}")
                piece = Piece(Packed([rows], [(place, start)]), start, rows.num_rows, place.text)
                stop, ids = start + rows.num_rows, rows.select(self.ids) if self.ids else None
                yield Chunk(index, piece, np.empty(0), SourceRows(start, stop, ids=ids))
                index, start = index + 1, stop


@dataclass(frozen=True)
class Append:
    """Task: compute the values of a new column from the columns in use."""

    names: tuple[str, ...]
    steps: tuple[Step, ...]
    n_rows: int
    dtype: np.dtype[Any]
    listed: bool

    def run(self, columns: Iterator[Any]) -> Iterator[Any]:
        """Arrow arrays, batch by batch."""
        start = 0
        for arrays in columns:
            batch = pa.RecordBatch.from_arrays([arrays] if len(self.names) == 1 else list(arrays), self.names)
            yield self._of(batch, start)
            start += batch.num_rows

    def _of(self, batch: Any, start: int) -> Any:
        from apnc.engines.blas import one_thread

        found = []
        with one_thread():
            for chunk in Batches(self.n_rows, self.names).chunks([batch], partition(), start):
                for step in self.steps:
                    chunk = step(chunk)
                found.append(chunk.rows)
        nothing = np.empty((0, 1) if self.listed else 0, self.dtype)
        return _as_column(np.concatenate(found).astype(self.dtype, copy=False) if found else nothing)


def column_type(output: Any) -> str:
    """The Spark type of an output's column; arrays are of float unless the output is float64."""
    dtype = np.dtype(output.dtype or np.float32)
    if dtype.names is None:
        return f"array<{SCALARS[dtype]}>" if output.prefix else SCALARS[dtype]
    fields = ((name, *(dtype[name].subdtype or (dtype[name], ()))) for name in dtype.names)
    types = (
        f"{name}:{f'array<{SCALARS[item]}>' if shape else SCALARS[item]}" for name, item, shape in fields
    )
    return f"struct<{','.join(types)}>"


def _as_column(values: Array) -> Any:
    """An array as an Arrow column of single values, of one list per row, or of structures."""
    if values.dtype.names is not None:
        names = list(values.dtype.names)
        return pa.StructArray.from_arrays([_as_column(values[name]) for name in names], names)
    values = np.ascontiguousarray(values)
    if values.ndim == 1:
        return pa.array(values)
    offsets = np.arange(0, values.size + 1, values.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(offsets, values.ravel())
