"""Tables with pyarrow: reading id columns, and writing the output file."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from apnc.typing import Array


def load_pyarrow() -> Any:
    """Import pyarrow, or explain how to install it."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError('Tables are written with pyarrow: pip install "apnc[files]"') from error
    return pyarrow


class Ids:
    """Id columns of a source, read in order and matched with the rows that were not skipped.

    Parameters
    ----------
    names : of the columns.
    batches : values by name (Arrow arrays or lists) of consecutive rows, including skipped ones.
    n_rows : returns, after all chunks, the number of rows in the source, including skipped ones.

    """

    def __init__(self, names: Sequence[str], batches: Iterable[Mapping[str, Any]], n_rows: Callable[[], int]):
        self.names = tuple(names)
        self._n_rows = n_rows
        self._batches = iter(batches)
        self._held: Any = None
        self._start = self._stop = 0

    def take(self, numbers: Array) -> dict[str, Any]:
        """Arrow columns of the rows with these numbers, which must ascend from call to call."""
        pa = load_pyarrow()
        parts = []
        while len(numbers):
            within = int(np.searchsorted(numbers, self._stop))
            if within:
                parts.append(self._rows(numbers[:within] - self._start))
            numbers = numbers[within:]
            if len(numbers):
                self._read_on(int(numbers[0]))
        if not parts:
            return {name: pa.nulls(0) for name in self.names}
        try:
            joined = pa.concat_tables(parts, promote_options="permissive")
        except pa.ArrowException as error:
            raise ValueError(f"Id columns change their type before row {self._stop:,}: {error}") from error
        return dict(zip(joined.column_names, joined.columns, strict=True))

    def finish(self) -> None:
        """Read to the end, where only skipped rows may be left."""
        n_rows = self._n_rows()
        for batch in self._batches:
            self._stop += len(batch[self.names[0]])
            if self._stop > n_rows:
                break
        if self._stop != n_rows:
            found = "continue after" if self._stop > n_rows else f"end after {self._stop:,} of"
            self._refuse(f"{found} the {n_rows:,} rows read before")

    def _rows(self, positions: Array) -> Any:
        # take copies; a slice would keep the whole batch in memory as long as any of its rows.
        return self._held if len(positions) == self._held.num_rows else self._held.take(positions)

    def _read_on(self, wanted: int) -> None:
        batch = next(self._batches, None)
        if batch is None:
            self._refuse(f"end after {self._stop:,} rows, but row {wanted:,} was read before")
        self._held = _decoded(batch, self.names, self._stop)
        self._start, self._stop = self._stop, self._stop + self._held.num_rows

    def _refuse(self, found: str) -> NoReturn:
        raise ValueError(
            f"The id columns {', '.join(self.names)} {found}: the source has changed since. Nothing was written; "
            "run again on data that does not change."
        )


def _decoded(batch: Mapping[str, Any], names: Sequence[str], start: int) -> Any:
    """A table of the columns; views and dictionaries, which may differ between batches, become plain types."""
    pa = load_pyarrow()
    try:
        table = pa.table({name: batch[name] for name in names})
    except (pa.ArrowException, TypeError) as error:
        raise ValueError(f"Id columns from row {start:,} on are not of one type: {error}") from error
    return table.cast(pa.schema([field.with_type(_plain(field.type)) for field in table.schema]))


def _plain(type_: Any) -> Any:
    """The corresponding type that can be written to every kind of file."""
    pa = load_pyarrow()
    if pa.types.is_dictionary(type_):
        return _plain(type_.value_type)
    return pa.large_string() if pa.types.is_string_view(type_) else type_


@contextmanager
def table_file(file: Path, kind: str, name: str) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A function that writes one row group or record batch; the first determines the column types."""
    pa = load_pyarrow()
    with ExitStack() as opened:
        writer: Any = None
        schema: Any = None

        def write(columns: Mapping[str, Any]) -> None:
            nonlocal writer, schema
            table = pa.table(columns)
            try:
                if writer is None:
                    schema, writer = table.schema, _open_table(file, kind, table.schema, opened)
                writer.write_table(table.cast(schema).combine_chunks())
            except pa.ArrowException as error:
                raise ValueError(f"{name} cannot be written as {kind}: {error}") from error

        yield write


def _open_table(file: Path, kind: str, schema: Any, opened: ExitStack) -> Any:
    pa, enter = load_pyarrow(), opened.enter_context
    sink = enter(pa.OSFile(str(file), "wb"))
    if kind == ".parquet":
        from pyarrow.parquet import ParquetWriter

        return enter(ParquetWriter(sink, schema))
    if kind in (".arrow", ".feather"):
        return enter(pa.ipc.new_file(sink, schema))
    from pyarrow.csv import CSVWriter

    sink = enter(pa.CompressedOutputStream(sink, "gzip")) if kind == ".csv.gz" else sink
    return enter(CSVWriter(sink, schema))
