"""The interface of all sources of rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from apnc.engines.contract import Chunk, Data, SourceRows
from apnc.engines.local import Layout, LocalChunks, Spread
from apnc.engines.spill import read_ahead
from apnc.rows import as_csr, compute_dtype, n_rows
from apnc.sources.columns import no_rows
from apnc.sources.formats import FORMATS
from apnc.sources.missing import Missing, finite, missing_in
from apnc.sources.pieces import Decoded, Piece, SourceError
from apnc.typing import Array

#: Number of columns in the representation of a source.
SHOWN = 8
#: Rows read at a time when they are only counted.
COUNTED = 65_536
#: Endings of text files, whose number of rows is estimated from the first lines.
PLAIN_TEXT = tuple(ending for format in FORMATS.values() if format.text for ending in format.endings)


class Source(ABC):
    """Rows that can be read in pieces any number of times, always in the same order.

    Attributes
    ----------
    name : path or description, for messages.
    columns : names of the features; None if the format has none.
    n_columns : number of features; 0 for objects.
    dtype : type of the decoded rows; None for objects.
    held : numbers stored for a row: for sparse rows, the mean; for objects, as many as take the same memory.
    read_bytes : approximate memory of one row while it is read and decoded.
    n_rows : number of rows, including skipped ones; None until they have been counted.
    overhead : approximate memory of reading besides the rows (page buffers, indices, a decompressor).
    id_columns : columns written before the labels.
    weight_column : column of the weights, if any.
    left_out : columns that were left out of the features automatically, and why.
    paths : the paths that were opened, if any.
    files : the files that were found there.
    drop_null : skip rows with missing values instead of refusing them.
    is_sparse : rows are CSR matrices.
    remote : rows are on the machines of their own engine.
    numbered : start labels, which the user holds in memory, can be matched with the rows by number.
    engine : where the rows are, for messages.
    memory : how the memory of a remote source is set, for messages.
    result : what outputs of a remote source are and how they are written, for messages.
    kernel : reads the objects, checking each; None: they are taken as they are.
    skipping : how to skip rows with missing values, for messages.

    """

    name: str
    columns: tuple[str, ...] | None = None
    n_columns: int
    dtype: np.dtype[Any] | None
    held: int
    read_bytes: int
    n_rows: int | None = None
    overhead: int = 0
    id_columns: tuple[str, ...] = ()
    weight_column: str | None = None
    left_out: Mapping[str, str] = MappingProxyType({})
    paths: tuple[Any, ...] = ()
    files: tuple[Any, ...] = ()
    drop_null: bool = False
    is_sparse: bool = False
    remote: bool = False
    numbered: bool = False
    engine: str = "this machine"
    memory: str = ""
    result: str = ""
    kernel: Any = None
    skipping: str = "drop_null=True (in apnc.open, or --drop-null)"

    @abstractmethod
    def pieces(self, n_rows: int) -> Iterator[Piece]:
        """All rows in order, in pieces of at most ``n_rows``; failures raise a ``SourceError`` that says where."""

    @abstractmethod
    def matrix(self, piece: Piece) -> tuple[Any, Array | None]:
        """Rows of a piece (array or CSR matrix, NaN where a value is missing) and weights; runs on any thread."""

    def decode(self, piece: Piece) -> Decoded:
        """Rows of a piece, checked; runs on any thread."""
        return finite(self, piece, *self.matrix(piece))

    def place(self, piece: Piece, row: int) -> str:
        """Where a row of a piece is, for messages: the file and the row or line, both as a user would count them."""
        return f"{self.name}, row {piece.start + row}"

    def select(self, columns: Sequence[str]) -> Self:
        """The same rows with these features, in this order; missing ones are named in the error."""
        raise SourceError(f"{self.name} has no column names, so {', '.join(columns)} cannot be selected.")

    def of_objects(self, kernel: Any) -> "Source":
        """The same rows as objects, read by a kernel on objects."""
        if self.n_columns:
            raise SourceError(
                f"{self.name} has vectors of {self.n_columns} numbers, but {type(kernel).__name__} takes objects. Name "
                "their column with object_field= (--object-field), or choose a kernel on vectors."
            )
        return self.read_by(kernel)

    def read_by(self, kernel: Any) -> Self:
        """The same objects, which this kernel reads."""
        # Not a copy by the pickle protocol, for which remote sources leave their frame behind.
        found = object.__new__(type(self))
        vars(found).update(vars(self), kernel=kernel)
        return found

    def refuse_problem(self) -> None:  # noqa: B027
        """Refuse to read a source whose features are unclear."""

    def with_columns(self, n_columns: int) -> Self:
        """The same rows with ``n_columns`` features if the format leaves their number open; else the same source."""
        return self

    def ids(self, n_rows: int) -> Iterator[dict[str, Any]]:
        """Values of the id columns by name, of all rows in order, skipped or not; at most ``n_rows`` at a time."""
        raise SourceError(f"{self.name} has no id columns.")

    def data(self, layout: Layout) -> Data:
        """The rows in chunks: read piece by piece on a separate thread, and decoded by the workers."""
        pieces = Stream(self, layout.rows_per_chunk(None, self.read_bytes))
        decode = Decode(self)
        chunks = LocalChunks(pieces, layout.threads, (decode,), layout.room, layout.on_rows, layout.store)
        spread = Spread(layout.threads)
        return Data(chunks, None, compute_dtype(self), self.n_columns, False, spread, decode.skipped)

    def near(self) -> AbstractContextManager["Source"]:
        """A remote source for several passes: until the context ends, rows may be kept nearer to the tasks."""
        return nullcontext(self)

    def identity(self) -> dict[str, Any]:
        """JSON values by which the same data is known again: its columns, and names, sizes and times of its files."""
        return {
            "name": self.name,
            "columns": self.n_columns if self.columns is None else list(self.columns),
            "id_columns": list(self.id_columns),
            "weight_column": self.weight_column,
            "drop_null": self.drop_null,
            "files": [file.stamp() for file in self.files],
        }

    def with_column(self, output: Any, model: Any, layout: Layout) -> Any:
        """The remote frame with one more column, which ``output`` computes from its rows."""
        raise SourceError(f"{self.name} is not a frame to which a column can be added.")

    def head(self, size: int) -> Any:
        """Up to ``size`` rows for a rehearsal: the first ones, since others can be reached only by reading."""
        decoded = (self.decode(piece).rows for piece in self.pieces(size))
        found = next((rows for rows in decoded if n_rows(rows)), None)
        if found is None:
            raise SourceError(no_rows(self.name))
        return found

    def count(self) -> tuple[int, bool]:
        """The number of rows, and whether it is exact rather than estimated from the first lines."""
        if self.n_rows is None and self.name.lower().endswith(PLAIN_TEXT) and Path(self.name).is_file():
            return _estimated(Path(self.name)), False
        if self.n_rows is None:
            self.n_rows = sum(piece.n_rows for piece in self.pieces(COUNTED))
        return self.n_rows, True

    def count_missing(self, n_rows: int) -> "Missing":
        """Missing values of all rows, read in pieces of ``n_rows``."""
        parts = [missing_in(self, piece) for piece in self.pieces(n_rows)]
        return sum(parts[1:], parts[0])

    def __repr__(self) -> str:
        names = ", ".join((*(self.columns or ())[:SHOWN], *["..."] * (self.n_columns > SHOWN)))
        features = f"{self.n_columns:,} features" if self.n_columns else "objects"
        return f"<{type(self).__name__} {self.name}: {features}{f' ({names})' if self.columns else ''}>"

    def column_names(self) -> Sequence[str]:
        """Names of the columns, for messages."""
        return self.columns if self.columns is not None else [f"column {j}" for j in range(self.n_columns)]


def _estimated(path: Path) -> int:
    """Number of lines of a file, estimated from the length of the first ones."""
    with path.open("rb") as file:
        head = file.read(1 << 22)
    return int(path.stat().st_size * head.count(b"\n") / max(1, len(head))) + 1


@dataclass(frozen=True)
class Stream:
    """Pieces of a source as chunks, read ahead of the workers."""

    source: Source
    size: int

    def __iter__(self) -> Iterator[Chunk]:
        index, n = -1, 0
        for index, piece in enumerate(read_ahead(self.source.pieces(self.size))):
            n = piece.start + piece.n_rows
            yield Chunk(index, piece, np.empty(0), SourceRows(piece.start, n))
        if index < 0:
            raise SourceError(no_rows(self.source.name))
        self.source.n_rows = n


@dataclass(frozen=True)
class Decode:
    """Map: decodes a piece to rows and weights; counts skipped rows, by the number of the piece's first row."""

    source: Source
    skipped: dict[int, int] = field(default_factory=dict)

    def __call__(self, chunk: Chunk) -> Chunk:
        decoded: Decoded = self.source.decode(chunk.rows)
        start, stop, _, ids = chunk.carry
        n = n_rows(decoded.rows)
        if decoded.kept is not None:
            self.skipped[start] = stop - start - n
        weights = np.ones(n) if decoded.weights is None else decoded.weights
        carry = SourceRows(start, stop, decoded.kept, ids)
        return Chunk(chunk.index, as_csr(decoded.rows), weights, carry)
