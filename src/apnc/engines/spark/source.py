"""Spark DataFrames as sources: numeric columns, a column of arrays or vectors, or a column of objects."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from apnc.engines.local import Layout
from apnc.engines.spark.batches import Append, Batches, column_type
from apnc.engines.spark.chunks import NAME, Rows, SparkChunks
from apnc.engines.spark.executors import not_forever
from apnc.engines.spark.losses import told_plainly
from apnc.engines.spark.session import on_drivers_python, shipped
from apnc.engines.spark.vector_columns import (
    arrow_type,
    is_vector,
    mostly_zero,
    vectors_as_csr,
    vectors_as_matrix,
)
from apnc.kernels.family import RECORDS
from apnc.rows import compute_dtype
from apnc.sources.columns import absent
from apnc.sources.family import Decode, Source
from apnc.sources.missing import present
from apnc.sources.pieces import Decoded, Piece, SourceError
from apnc.sources.remote import RemoteSource
from apnc.sources.table_columns import Request
from apnc.sources.table_objects import rows_as_records, values_of
from apnc.sources.table_readers import Part, Place, Types
from apnc.sources.tables import TableSource, request_of
from apnc.typing import Array

#: Rough memory of an object, whose actual size is unknown.
OBJECT_BYTES = 10_000
#: Rows of a chunk that is kept: as many as Spark hands over at a time.
WHOLE = 1 << 31
#: Rows inspected to decide whether vectors are mostly zeros.
LOOK = 100


def open_frame(
    frame: Any,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    id_columns: Sequence[str] = (),
    weight_column: str | None = None,
    object_field: str | None = None,
) -> Source:
    """A Spark DataFrame as a source; ``object_field`` names a column whose values are the instances."""
    request = request_of(columns, exclude, id_columns, weight_column)
    with told_plainly(frame):
        if object_field is not None:
            return FrameObjects(frame, object_field, request)
        found = _vectors(frame, {*request.exclude, *request.ids}) if request.columns is None else None
        request = request if found is None else replace(request, columns=found, exclude=())
        return FrameSource(NAME, [partial(FramePart, frame)], request, drop_null=False)


def _vectors(frame: Any, taken: set[str]) -> tuple[str] | None:
    """The feature column by Spark's conventions: the one named so, or else the only one of vectors."""
    free = [field for field in frame.schema.fields if field.name not in taken]
    vectors = [field.name for field in free if is_vector(field.dataType)]
    arrays = [field.name for field in free if field.dataType.typeName() == "array"]
    if "features" in (*vectors, *arrays):
        return ("features",)
    return (vectors[0],) if len(vectors) == 1 else None


class Remote(RemoteSource):
    """Base class of sources on Spark, whose rows are read by tasks.

    Attributes
    ----------
    frame : the DataFrame.
    used : names of the columns that tasks read.

    """

    frame: Any
    used: tuple[str, ...]
    engine = "Spark"
    memory = "on Spark, memory is set by spark.executor.memory"
    skipping = "df.na.drop()"
    result = "a DataFrame; write it with .write.parquet(...)"

    def chunks(self, n_rows: int, ids: tuple[str, ...] = ()) -> SparkChunks:
        """Chunks of at most ``n_rows`` undecoded rows, which carry the columns ``ids``."""
        # Columns read in the same pass: in another one, partitions need not have the same rows in the same order.
        from pyspark.sql.functions import col

        # Tasks get columns by number: Spark's mapInArrow does not take all names, such as those with backticks.
        with told_plainly(self.frame):
            numbered = [col(quoted(name)).alias(f"c{j}") for j, name in enumerate(self._read)]
            return SparkChunks(Rows(self.frame.select(*numbered)), Batches(n_rows, self._read, ids))

    @property
    def _read(self) -> tuple[str, ...]:
        """The columns that tasks read: those in use, and ids by which messages name rows."""
        return tuple(dict.fromkeys((*self.used, *self.id_columns)))

    def identity(self) -> dict[str, Any]:
        """The columns in use and the files behind them."""
        with told_plainly(self.frame):
            used = [field.simpleString() for field in self.frame.schema.fields if field.name in self.used]
            files = sorted(self.frame.inputFiles())
            return {"columns": used, "weight_column": self.weight_column, "files": files}

    def with_column(self, output: Any, model: Any, layout: Layout) -> Any:
        """The DataFrame with a model's output as an additional column, or several if it has fields."""
        from pyspark.sql.functions import ArrowUDFType, arrow_udf

        n_rows, dtype = layout.rows_per_chunk(None, self.read_bytes), np.dtype(output.dtype or np.float32)
        name, several = output.name, dtype.names or ()
        for taken in (added for added in several or (name,) if added in self.frame.columns):
            raise ValueError(f"{self.name} already has a column {taken!r}; rename or drop it.")
        steps = (Decode(self), *output.steps(model, compute_dtype(self)))
        with told_plainly(self.frame), on_drivers_python(self.frame):
            task = shipped(self.frame, Append(self._read, steps, n_rows, dtype, bool(output.prefix)))
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "It is preferred to specify type hints")
                function = arrow_udf(task.run, column_type(output), ArrowUDFType.SCALAR_ITER)
            frame = _in_rows(self.frame).withColumn(name, function(*map(quoted, self._read)))
        before = map(quoted, self.frame.columns)
        return frame.select(*before, *(f"{quoted(name)}.{part}" for part in several)) if several else frame

    def __getstate__(self) -> dict[str, Any]:
        """The state that tasks need; the DataFrame cannot be pickled and stays on the driver."""
        return {name: value for name, value in vars(self).items() if name not in ("frame", "_kept", "_parts")}


class FrameSource(Remote, TableSource):
    """Numeric features in a DataFrame; those in a column of arrays or vectors have no names."""

    _kept: SparkChunks | None = None

    def __init__(self, name: str, parts: Any, request: Request, drop_null: bool) -> None:
        super().__init__(name, parts, request, drop_null)
        self.frame, self.used = parts[0]().frame, tuple(self._layout.types)
        self.columns = None if self._layout.width else self.columns
        vectors = [name for name in self._layout.features if is_vector(self.frame.schema[name].dataType)]
        self._vectors = bool(vectors)
        self.is_sparse = self._vectors and mostly_zero(_first_values(self.frame, vectors[0], LOOK))

    def chunks(self, n_rows: int, ids: tuple[str, ...] = ()) -> SparkChunks:
        """Pieces of at most ``n_rows`` rows, not decoded, which carry the columns ``ids``."""
        self.refuse_problem()
        return super().chunks(n_rows, ids)

    @contextmanager
    def near(self) -> Iterator[Source]:
        """Decoded rows in files of the executors, since reading them through Spark takes longer than most passes."""
        if self.is_sparse or self._kept is not None:
            yield self
            return
        with self.chunks(WHOLE).map(Decode(self)).cached() as kept:
            found = self.read_by(self.kernel)
            found._kept = kept
            yield found

    def decoded(self, n_rows: int, ids: tuple[str, ...] = ()) -> SparkChunks:
        """Chunks of rows that are kept near, or else read."""
        if self._kept is None or ids:
            return self.chunks(n_rows, ids).map(Decode(self))
        return self._kept.split(n_rows)

    def of_objects(self, kernel: Any) -> Source:
        """Rows as records of the fields that the kernel names."""
        if kernel.takes != RECORDS:
            return super().of_objects(kernel)
        return FrameRecords(self.frame, self._request, kernel)

    def matrix(self, piece: Piece) -> tuple[Any, Array | None]:
        """Array of shape (n, d) or CSR matrix, with NaN for null, and weights."""
        if not self._vectors:
            return super().matrix(piece)
        batch = piece.raw.batches[0]
        name, width = self._layout.features[0], self._layout.width
        convert = vectors_as_csr if self.is_sparse else vectors_as_matrix
        rows = convert(batch.column(name), width, name, partial(self.place, piece))
        return rows, self._weights(batch)


class FrameObjects(Remote):
    """A column of strings, arrays, maps or structs as instances."""

    n_columns, held, dtype, read_bytes = 0, 0, None, OBJECT_BYTES

    def __init__(self, frame: Any, field: str, request: Request) -> None:
        self._choose(frame, (field,), request)

    def _choose(self, frame: Any, columns: tuple[str, ...], request: Request) -> None:
        if request.columns is not None or request.exclude:
            raise SourceError(
                "object_field= or the kernel already names the instances, so columns= and exclude= cannot be used here."
            )
        self.name, self.frame, self.object_columns = NAME, frame, columns
        self.weight_column, self.id_columns = request.weight, request.ids
        self.used = columns if request.weight is None else (*columns, request.weight)
        missing = [column for column in (*self.used, *request.ids) if column not in frame.columns]
        if missing:
            raise SourceError(
                absent(NAME, missing, [(f.name, f.dataType.simpleString()) for f in frame.schema])
            )

    def matrix(self, piece: Piece) -> tuple[list[Any], Array | None]:
        """Instances (None where missing) and weights."""
        batch, weights = piece.raw.batches[0], None
        if self.weight_column is not None:
            weights = batch.column(self.weight_column).cast(pa.float64()).to_numpy(zero_copy_only=False)
        return self._objects(batch), weights

    def _objects(self, batch: Any) -> list[Any]:
        return values_of(batch.column(self.object_columns[0]))

    def decode(self, piece: Piece) -> Decoded:
        """Instances that are not missing."""
        return present(self, piece)

    def column_names(self) -> Sequence[str]:
        """The column of objects."""
        return self.object_columns[:1]


class FrameRecords(FrameObjects):
    """Rows as records of the fields that a kernel names."""

    def __init__(self, frame: Any, request: Request, kernel: Any) -> None:
        self.kernel = kernel
        self._choose(frame, kernel.columns, request)

    def _objects(self, batch: Any) -> list[Any]:
        return rows_as_records(batch, self.object_columns)


class FramePart(Part):
    """A DataFrame as the only part of a table; vectors are treated as lists."""

    name = NAME

    def __init__(self, frame: Any) -> None:
        from pyspark.sql.pandas.types import to_arrow_type

        self.frame = frame
        fields = [(field.name, arrow_type(field.dataType, to_arrow_type)) for field in frame.schema.fields]
        self.schema = pa.schema(fields)

    def batches(self, types: Types, n_rows: int) -> Iterator[tuple[Any, Place]]:
        """The first values of one column of numbers; of lists one, by which their length is known."""
        ((name, type_),) = types.items()
        nested = pa.types.is_nested(type_)
        values = _first_values(self.frame, name, 1 if nested else n_rows)
        column = pa.array([list(value) if nested else value for value in values], type_)
        yield pa.RecordBatch.from_arrays([column], [name]), Place(NAME)

    def buffers(self, names: Iterable[str]) -> int:
        """No buffers on the driver."""
        return 0


def _first_values(frame: Any, name: str, n: int) -> list[Any]:
    with told_plainly(frame), not_forever(frame):
        column = frame[quoted(name)]
        return [row[0] for row in frame.where(column.isNotNull()).select(column).take(n)]


def _in_rows(frame: Any) -> Any:
    """The same rows, in a form that functions can be applied to.

    Spark 4.3 cannot apply a function to columnar input from Parquet if the columns include vectors. A filter converts
    the input to rows; this one keeps them all, but the optimiser does not know that.
    """
    from pyspark.sql.functions import spark_partition_id

    return frame.where(spark_partition_id() >= 0) if '"type":"udt"' in frame.schema.json() else frame


def quoted(name: str) -> str:
    """A column's name quoted for Spark's expressions."""
    return "`" + name.replace("`", "``") + "`"
