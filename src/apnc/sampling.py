"""Exact-size sampling that ignores order, chunking and repetition.

An instance's key depends only on its content and a seed; a sample consists of the distinct instances with the
smallest keys. See docs/decisions/03-sampling-by-content.md.
"""

import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from apnc.engines.contract import MOST_CHUNKS, Chunk, Chunks
from apnc.rows import Rows, concatenate, n_rows, take
from apnc.scaling import Columns
from apnc.stored import require, stored
from apnc.typing import Array

Hash = Callable[[Chunk], Array]


class OpaqueObjectError(TypeError):
    """An object without canonical bytes, which can only be identified by its row number."""


def content_hash(chunk: Chunk) -> Array:
    """A 64-bit hash of each row's content.

    Equal rows have equal hashes, whether dense or CSR, float32 or float64, and in any order of dictionary keys.
    """
    from apnc.loops.hashing import hash_dense, hash_sparse

    rows = chunk.rows
    if sparse.issparse(rows):
        bits = rows.data.astype(np.float64).view(np.uint64)
        return hash_sparse(bits, rows.indices, rows.indptr)
    if isinstance(rows, np.ndarray):
        return hash_dense(np.array(rows, dtype=np.float64, order="C").view(np.uint64))
    return np.array([_object_hash(item) for item in rows], dtype=np.uint64)


def row_number_hash(chunk: Chunk) -> Array:
    """Row numbers, for rows without content to hash (a precomputed kernel matrix, opaque objects).

    On remote engines they begin anew in every partition, whose number comes before them.
    """
    partition = np.uint64(chunk.index // MOST_CHUNKS) << np.uint64(40)
    return partition + np.arange(chunk.carry.start, chunk.carry.stop, dtype=np.uint64)


def keys_of(hashes: Array, seed: int) -> Array:
    """Sampling keys of content hashes under ``seed``: uniform over 64 bits."""
    from apnc.loops.hashing import mix_keys

    return mix_keys(np.ascontiguousarray(hashes), np.uint64(seed))


def _object_hash(item: Any) -> int:
    try:
        text = _canonical(item)
    except (TypeError, ValueError) as error:
        raise OpaqueObjectError(type(item).__name__) from error
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


def _canonical(item: Any) -> str:
    return json.dumps(item, sort_keys=True, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, (set, frozenset)):
        return {"set": sorted(_canonical(item) for item in value)}
    raise TypeError(f"no canonical form for {type(value).__name__}")


@stored
@dataclass(frozen=True)
class Sketch:
    """The ``size`` smallest distinct keys in ascending order, and the weight of each."""

    keys: Array
    weights: Array
    size: int

    def check(self) -> None:
        """Require ascending keys, each with a weight."""
        require(self.keys.dtype == np.uint64, f"keys are of type {self.keys.dtype}")
        require(self.keys.ndim == 1 and self.weights.shape == self.keys.shape, "keys without weights")
        require(len(self.keys) <= self.size and (self.keys[1:] > self.keys[:-1]).all(), "keys do not ascend")

    def __add__(self, other: "Sketch") -> "Sketch":
        keys, weights = other.keys, other.weights
        if len(self.keys) == self.size:
            # A full sketch only needs keys up to its largest; filtering first keeps the merge small.
            within = np.searchsorted(keys, self.keys[-1], side="right")
            keys, weights = keys[:within], weights[:within]
        if not len(keys):
            return self
        return smallest(np.concatenate([self.keys, keys]), np.concatenate([self.weights, weights]), self.size)

    @property
    def n_distinct(self) -> float:
        """Number of distinct instances: exact below ``size``, else the estimate (s - 1) / h_s."""
        if len(self.keys) < self.size or self.size < 2:
            return float(len(self.keys))
        return max(float(self.size), (self.size - 1) / ((float(self.keys[-1]) + 1.0) / 2.0**64))


def smallest(keys: Array, weights: Array, size: int) -> Sketch:
    """Sketch of the given keys; weights of equal keys are added."""
    # Partitioning is cheaper than sorting all keys; the check makes sure that enough distinct ones remain.
    if len(keys) > 4 * size:
        near = keys <= np.partition(keys, 2 * size)[2 * size]
        if len(np.unique(keys[near])) >= size:
            keys, weights = keys[near], weights[near]
    order = np.argsort(keys, kind="stable")
    keys, weights = keys[order], weights[order]
    if len(keys):
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        keys, weights = keys[starts], np.add.reduceat(weights, starts)
    return Sketch(keys[:size], weights[:size], size)


@stored
@dataclass(frozen=True)
class Census:
    """Statistics of one pass over the data: rows, weight, a sketch per purpose, and column statistics if wanted."""

    n_rows: int
    n_positive: int
    total_weight: float
    sketches: dict[str, Sketch]
    columns: Columns | None = None

    def __add__(self, other: "Census") -> "Census":
        return Census(
            self.n_rows + other.n_rows,
            self.n_positive + other.n_positive,
            self.total_weight + other.total_weight,
            {name: sketch + other.sketches[name] for name, sketch in self.sketches.items()},
            self.columns + other.columns if self.columns and other.columns else None,
        )


@dataclass(frozen=True)
class TakeCensus:
    """Algorithms 3 and 4, map: keys of a chunk's rows, for several samples at once.

    Attributes
    ----------
    hashes : content of each row as 64 bits.
    samples : purpose -> (seed, size). Rows of weight zero are ignored.
    describe : whether to compute column statistics.

    """

    hashes: Hash
    samples: Mapping[str, tuple[int, int]]
    describe: bool = False

    def __call__(self, chunk: Chunk) -> Census:
        exists = chunk.weights > 0
        hashes, weights = self.hashes(chunk)[exists], chunk.weights[exists]
        sketches = {
            name: smallest(keys_of(hashes, seed), weights, size)
            for name, (seed, size) in self.samples.items()
        }
        columns = Columns.of(chunk.rows[exists], weights) if self.describe else None
        return Census(len(exists), int(exists.sum()), float(weights.sum()), sketches, columns)


@stored
@dataclass(frozen=True)
class Sample:
    """Distinct instances in key order.

    Attributes
    ----------
    rows : the instances, in the container of the source.
    weights : array of shape (n,), the total weight of each instance in the data.

    """

    rows: Rows
    weights: Array

    def check(self) -> None:
        """Require a positive weight for each instance."""
        n = n_rows(self.rows)
        require(self.weights.shape == (n,), f"weights have shape {self.weights.shape}, expected {(n,)}")
        require(n > 0 and self.weights.min() > 0, "weights are not positive")

    def __len__(self) -> int:
        return len(self.weights)

    def first(self, size: int) -> "Sample":
        """The ``size`` instances of smallest key."""
        return Sample(self.rows[:size], self.weights[:size])


@dataclass(frozen=True)
class Gather:
    """Algorithms 3 and 4, emit: the distinct rows of a chunk whose key was chosen."""

    hashes: Hash
    chosen: Mapping[str, tuple[int, Array]]

    def __call__(self, chunk: Chunk) -> dict[str, "Gathered"]:
        hashes = self.hashes(chunk)
        found = {}
        for name, (seed, wanted) in self.chosen.items():
            keys = keys_of(hashes, seed)
            # The wanted keys ascend: one comparison discards nearly all rows before the slower isin.
            positions = np.flatnonzero(keys <= wanted[-1])
            positions = positions[np.isin(keys[positions], wanted)]
            once, first = np.unique(keys[positions], return_index=True)
            found[name] = Gathered(((once, take(chunk.rows, positions[first])),))
        return found


@dataclass(frozen=True)
class Gathered:
    """Chosen rows with their keys, in parts, each with every key once.

    A part is merged with the one before it only if it is at least half as long, so that rows are rarely copied.
    """

    parts: tuple[tuple[Array, Any], ...]

    def __add__(self, other: "Gathered") -> "Gathered":
        parts = list(self.parts)
        for part in other.parts:
            parts.append(part)
            while len(parts) > 1 and 2 * len(parts[-1][0]) >= len(parts[-2][0]):
                parts[-2:] = [_merged(parts[-2], parts[-1])]
        return Gathered(tuple(parts))

    @property
    def in_key_order(self) -> Any:
        """The rows, each once, in the order of their keys."""
        keys, rows = functools.reduce(_merged, reversed(self.parts))
        return take(rows, np.argsort(keys))


def _merged(one: tuple[Array, Any], two: tuple[Array, Any]) -> tuple[Array, Any]:
    """Two parts as one, with each key once."""
    new = ~np.isin(two[0], one[0])
    if not new.any():
        return one
    rows = two[1] if new.all() else take(two[1], np.flatnonzero(new))
    return np.concatenate([one[0], two[0][new]]), concatenate([one[1], rows])


def merge_gathered(one: dict[str, Gathered], two: dict[str, Gathered]) -> dict[str, Gathered]:
    """Merge rows found in two parts of the data."""
    return {name: found + two[name] for name, found in one.items()}


def draw(
    chunks: Chunks,
    hashes: Hash,
    samples: Mapping[str, tuple[int, int]],
    counted: Callable[[Census], Mapping[str, int]] | None = None,
    describe: bool = False,
) -> tuple[Census, dict[str, Sample]]:
    """Algorithms 3 and 4, lines 1 to 6: count the data and draw every sample.

    Two passes: one over the keys, and one that gathers the chosen rows. ``counted`` is called in between with the
    census of the first, and returns the sizes that samples are cut to.
    """
    census = chunks.reduce(TakeCensus(hashes, samples, describe), Census.__add__)
    cut = {} if counted is None else counted(census)
    keys = {name: sketch.keys[: cut.get(name)] for name, sketch in census.sketches.items()}
    chosen = {name: (seed, keys[name]) for name, (seed, _) in samples.items()}
    gathered = chunks.reduce(Gather(hashes, chosen), merge_gathered)
    return census, {
        name: Sample(found.in_key_order, census.sketches[name].weights[: len(keys[name])])
        for name, found in gathered.items()
    }
