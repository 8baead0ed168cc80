"""Tables that are not files: pyarrow objects, data frames, queries, and other objects that provide Arrow data."""

from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from apnc.sources.delimited import TextPart
from apnc.sources.files import DataFile, located
from apnc.sources.folders import with_values
from apnc.sources.pieces import SourceError
from apnc.sources.spool import Spool, spooling
from apnc.sources.table_readers import ArrowPart, ParquetPart, Parts, Reader, TablePart

#: Bytes per batch of a stream copied to a file, and rows per batch to request where that is possible.
BATCH_BYTES, BATCH_ROWS = 1 << 22, 1 << 16


def parts_of(data: Any) -> tuple[str, Parts]:
    """Name of a table, and functions that open its parts; data that can be read only once is copied to a file."""
    name = f"{type(data).__module__.split('.')[0].lstrip('_')}.{type(data).__name__}"
    if isinstance(data, ds.FileSystemDataset) and (reader := _reader_of(data)) is not None:
        fragments = list(data.get_fragments())
        values = [ds.get_partition_keys(fragment.partition_expression) for fragment in fragments]
        parts: Parts = [partial(reader, DataFile(fragment.path, data.filesystem)) for fragment in fragments]
        return name, with_values(parts, values)
    if hasattr(data, "__array__"):
        with located(name):
            # to_arrow of polars converts string views and dictionaries of them, which few Arrow functions support
            table = data.to_arrow() if hasattr(data, "to_arrow") else pa.table(data)
        return name, [partial(TablePart, table, name)]
    if hasattr(data, "sink_parquet"):
        # Given a path, polars may write a file there even after the query has failed.
        with spooling(name) as spool, open(spool.path, "wb") as file:
            data.sink_parquet(file, compression="lz4")
        return name, [partial(ParquetPart, _spooled(name, spool))]
    with located(name), spooling(name) as spool:
        n_rows = _copy(_batches(data), spool.path)
    if not n_rows:
        raise SourceError(
            f"{name} has no rows, or was read before: a stream can be read only once. To use its rows again, keep the "
            "source that apnc.open(...) makes of it."
        )
    return name, [partial(ArrowPart, _spooled(name, spool), n_rows)]


def _spooled(name: str, spool: Spool) -> DataFile:
    return DataFile(spool.path, label=name, spool=spool)


def _batches(data: Any) -> Any:
    """A reader of the batches, in order, which may work only once."""
    if isinstance(data, ds.Dataset):
        return data.scanner(batch_size=BATCH_ROWS).to_reader()
    # DuckDB, whose batches would otherwise have a million rows
    ask = getattr(data, "to_arrow_reader", None) or getattr(data, "fetch_record_batch", None)
    return pa.RecordBatchReader.from_stream(data) if ask is None else ask(BATCH_ROWS)


def _copy(reader: Any, path: str) -> int:
    """Write all batches to a file; return the number of rows."""
    n_rows = 0
    with reader, pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, reader.schema) as writer:
        for batch in reader:
            size = max(1, batch.num_rows * BATCH_BYTES // max(1, _bytes_of(batch)))
            for start in range(0, batch.num_rows, size):
                writer.write_batch(batch.slice(start, size))
            n_rows += batch.num_rows
    return n_rows


def _bytes_of(batch: pa.RecordBatch) -> int:
    try:
        return batch.nbytes
    except pa.ArrowTypeError:  # string views, in pyarrow up to 23
        return batch.get_total_buffer_size()


def _reader_of(data: Any) -> Reader | None:
    """The reader for the files of a Dataset; None if only pyarrow can read it: filtered rows, or another format."""
    if getattr(data, "_scan_options", None):
        return None
    if isinstance(data.format, ds.CsvFileFormat):
        return partial(TextPart, delimiter=data.format.parse_options.delimiter)
    if isinstance(data.format, ds.ParquetFileFormat):
        return ParquetPart
    return ArrowPart if isinstance(data.format, ds.IpcFileFormat) else None
