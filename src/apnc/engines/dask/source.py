"""Dask collections as sources: what all of them share, arrays of vectors, and bags of objects."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from apnc.engines.blas import one_thread
from apnc.engines.contract import MOST_CHUNKS, Chunk, SourceRows
from apnc.engines.dask.chunks import DaskChunks, Parts, Read, Work, shipped
from apnc.engines.local import Layout
from apnc.rows import LOOKED_AT, compute_dtype, n_rows, numbers_held
from apnc.sources.arrays import delivered_dtype, refuse_kind
from apnc.sources.family import Decode, Source
from apnc.sources.missing import present
from apnc.sources.pieces import Decoded, Piece, SourceError
from apnc.sources.remote import RemoteSource
from apnc.typing import Array


def open_collection(data: Any, **options: Any) -> Source:
    """A Dask dataframe, array or bag as a source; ``options`` name columns of a dataframe."""
    kind = type(data).__name__
    if kind == "DataFrame":
        from apnc.engines.dask.frames_in import open_frame

        return open_frame(data, **options)
    if kind not in ("Array", "Bag"):
        raise SourceError(
            f"A Dask {kind} is not a collection of rows. Pass a dask array of shape (rows, features), a dask dataframe "
            "or a dask bag: series.to_frame(), or from_delayed of dask.array or dask.dataframe, makes one."
        )
    if options:
        converts = "dask.dataframe.from_dask_array" if kind == "Array" else "bag.to_dataframe"
        raise SourceError(
            f"{', '.join(f'{name}=' for name in options)} cannot be used with a Dask {kind.lower()}, which has no "
            f"columns. Make it a dataframe: {converts}."
        )
    return ArraySource(data) if kind == "Array" else BagSource(data)


class Remote(RemoteSource):
    """Base class of sources on Dask.

    Attributes
    ----------
    collection : the rows.

    """

    collection: Any
    engine = "Dask"
    memory = "on Dask, memory is set by memory_limit of the cluster's workers"

    def chunks(self, n_rows: int, ids: tuple[str, ...] = ()) -> DaskChunks:
        """Chunks of at most ``n_rows`` undecoded rows, which carry the columns ``ids``."""
        self.refuse_problem()
        return DaskChunks(Parts(self.parts()), self.reader(n_rows, ids), name=self.name)

    @abstractmethod
    def parts(self) -> Sequence[Any]:
        """The partitions as delayed objects, with what chunks are read from."""

    @abstractmethod
    def reader(self, n_rows: int, ids: tuple[str, ...] = ()) -> Read:
        """What turns a partition into chunks."""

    def identity(self) -> dict[str, Any]:
        """Dask's own name for the rows, and the columns in use."""
        from dask.tokenize import tokenize

        columns = self.n_columns if self.columns is None else list(self.columns)
        return {"rows": tokenize(self.collection), "columns": columns, "weight_column": self.weight_column}

    def with_column(self, output: Any, model: Any, layout: Layout) -> Any:
        """A model's output for each row as a dask array, in the chunks of the partitions."""
        import dask.array as da
        from dask import delayed

        find = self.finding(output, model, layout)
        sent, run = shipped(find), delayed(found_by, pure=False)
        values = [run(sent, part, number) for number, part in enumerate(self.parts())]
        shape = (find.width,) if find.width else ()
        arrays = [
            da.from_delayed(value, (n, *shape), find.dtype)
            for value, n in zip(values, self.sizes(), strict=True)
        ]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)

    def finding(self, output: Any, model: Any, layout: Layout) -> "Find":
        """The task that computes an output for a partition."""
        computed = compute_dtype(self)
        reader = self.reader(layout.rows_per_chunk(None, self.read_bytes))
        work = Work(reader, (Decode(self), *output.steps(model, computed)))
        return Find(work, np.dtype(output.dtype or computed), output.width(model))

    def sizes(self) -> Sequence[float]:
        """Number of rows of each partition; NaN if unknown."""
        return [np.nan] * len(self.parts())

    def __getstate__(self) -> dict[str, Any]:
        """The state that tasks need; the collection stays here."""
        return {name: value for name, value in vars(self).items() if name not in ("collection", "_parts")}


class ArraySource(Remote):
    """Rows of a two-dimensional array of numbers, with blocks of numpy arrays or scipy's CSR matrices."""

    name = "the Dask array"
    skipping = "x[~dask.array.isnan(x).any(axis=1)]"
    result = "a dask array; write it with dask.array.to_npy_stack or to_zarr"

    def __init__(self, array: Any) -> None:
        if array.ndim != 2 or np.isnan(array.shape[1]):
            raise SourceError(
                f"{self.name} has shape {array.shape}, expected (rows, features), with a known number of features. "
                "Use x.reshape(-1, 1) if each value is a row; x.compute_chunk_sizes() finds unknown numbers."
            )
        refuse_kind(self.name, array.dtype)
        # A task needs whole rows.
        self.collection = array.rechunk({1: -1})
        self.n_columns, self.dtype = array.shape[1], delivered_dtype(array.dtype)
        self.is_sparse = sparse.issparse(array._meta)
        self.held = numbers_held(first_of(self.parts())) if self.is_sparse else self.n_columns
        self.read_bytes = 2 * self.held * self.dtype.itemsize

    def parts(self) -> Sequence[Any]:
        """The blocks."""
        found: list[Any] = self.collection.to_delayed().ravel().tolist()
        return found

    def sizes(self) -> Sequence[float]:
        """The chunks along the rows."""
        found: Sequence[float] = self.collection.chunks[0]
        return found

    def reader(self, n_rows: int, ids: tuple[str, ...] = ()) -> Read:
        """Slices of a block."""
        return Slices(n_rows, self.name)

    def matrix(self, piece: Piece) -> tuple[Any, None]:
        """Array of shape (n, d) in C order, or CSR matrix."""
        if self.is_sparse:
            return sparse.csr_matrix(piece.raw), None
        return np.ascontiguousarray(piece.raw, dtype=self.dtype), None


class BagSource(Remote):
    """Items of a bag as instances; None is missing."""

    name = "the Dask bag"
    n_columns, dtype = 0, None
    skipping = "bag.filter(lambda item: item is not None)"
    result = "a dask array; write it with dask.array.to_npy_stack or to_zarr"

    def __init__(self, bag: Any) -> None:
        self.collection = bag
        some = [item for item in first_of(self.parts())[:LOOKED_AT] if item is not None]
        self.held = numbers_held(some)
        self.read_bytes = 8 * max(1, self.held)

    def parts(self) -> Sequence[Any]:
        """The partitions, as lists."""
        from dask import delayed

        listed = delayed(list, pure=False)
        return [listed(part) for part in self.collection.to_delayed()]

    def reader(self, n_rows: int, ids: tuple[str, ...] = ()) -> Read:
        """Slices of a partition."""
        return Slices(n_rows, self.name)

    def matrix(self, piece: Piece) -> tuple[list[Any], Array | None]:
        """The items."""
        return piece.raw, None

    def decode(self, piece: Piece) -> Decoded:
        """The items, none of which may be missing."""
        return present(self, piece)

    def column_names(self) -> Sequence[str]:
        """For messages."""
        return ["the object"]


def first_of(parts: Iterable[Any]) -> Any:
    """The first partition that has rows, or else the last."""
    for part in parts:
        found = part.compute()
        if n_rows(found):
            break
    return found


@dataclass(frozen=True)
class Slices:
    """Splits a partition into chunks of at most ``n_rows`` rows."""

    n_rows: int
    name: str

    def __call__(self, part: Any, number: int) -> Iterator[Chunk]:
        where = f"{self.name}, partition {number}"
        for index, start in enumerate(range(0, n_rows(part), self.n_rows)):
            raw = part[start : start + self.n_rows]
            piece = Piece(raw, start, n_rows(raw), where)
            yield Chunk(
                number * MOST_CHUNKS + index, piece, np.empty(0), SourceRows(start, start + piece.n_rows)
            )


@dataclass(frozen=True)
class Find:
    """Task: an output of a model for the rows of a partition."""

    work: Work
    dtype: np.dtype[Any]
    width: int

    def __call__(self, part: Any, number: int) -> Array:
        found = [chunk.rows for chunk in self.work(part, number)]
        return np.concatenate([self.nothing, *found]).astype(self.dtype, copy=False)

    @property
    def nothing(self) -> Array:
        """The values of no rows."""
        return np.empty((0, self.width) if self.width else 0, self.dtype)


def found_by(find: Find, part: Any, number: int) -> Array:
    """The values of an output, computed on one thread."""
    with one_thread():
        return find(part, number)
