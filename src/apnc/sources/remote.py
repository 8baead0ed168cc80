"""What sources have in common whose rows are on the machines of their own engine."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NoReturn

from apnc.engines.contract import Chunk, Chunks, Data
from apnc.engines.local import Layout, Spread
from apnc.rows import compute_dtype
from apnc.sources.family import Decode, Source
from apnc.sources.missing import Missing, missing_in
from apnc.sources.pieces import Piece, SourceError
from apnc.wording import told

#: Characters of an id that messages show.
ID = 60


class RemoteSource(Source):
    """Rows that are read by the tasks of an engine; their ids, if any, are columns of each piece's first batch."""

    remote = True

    @abstractmethod
    def chunks(self, n_rows: int, ids: tuple[str, ...] = ()) -> Chunks:
        """Chunks of at most ``n_rows`` undecoded rows, which carry the columns ``ids``."""

    def decoded(self, n_rows: int, ids: tuple[str, ...] = ()) -> Chunks:
        """The same chunks, decoded and checked."""
        return self.chunks(n_rows, ids).map(Decode(self))

    def data(self, layout: Layout) -> Data:
        """Chunks on the engine; samples are handled by the cores of this machine."""
        ids = self.id_columns if layout.ids else ()
        chunks = self.decoded(layout.rows_per_chunk(None, self.read_bytes), ids)
        spread = Spread(layout.threads)
        return Data(chunks, None, compute_dtype(self), self.n_columns, spread=spread, here=False)

    def pieces(self, n_rows: int) -> NoReturn:
        """Not available on this machine."""
        raise SourceError(f"{self.name}: the rows stay on {self.engine}.")

    def count_missing(self, n_rows: int) -> Missing:
        """Count missing values in tasks."""
        return self.chunks(n_rows).reduce(CountMissing(self), Missing.__add__)

    def place(self, piece: Piece, row: int) -> str:
        """Partition and number of a row there, and its ids if there are id columns."""
        where = f"{piece.where}, row {piece.start + row}"
        ids = [f"{name}={told(repr(self._id(piece, name, row)), ID)}" for name in self.id_columns]
        return f"{where} ({', '.join(ids)})" if ids else where

    def _id(self, piece: Piece, name: str, row: int) -> Any:
        return piece.raw.batches[0].column(name)[row].as_py()


@dataclass(frozen=True)
class CountMissing:
    """Map: the missing values of a chunk."""

    source: Source

    def __call__(self, chunk: Chunk) -> Missing:
        return missing_in(self.source, chunk.rows)
