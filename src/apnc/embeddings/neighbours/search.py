"""Nearest landmarks of rows: a shortlist first, then exact distances."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.spatial import KDTree

from apnc.caching import cached_property
from apnc.engines.blas import one_thread
from apnc.stored import stored
from apnc.typing import Array

#: Up to this many features a tree finds neighbours faster than matrix products.
FEW_FEATURES = 8
#: The rounding of float64.
EPS = float(np.finfo(np.float64).eps)
#: Rows whose scores are computed at once, so that they stay in cache.
ROWS_AT_ONCE = 128
#: Candidates beyond those asked for: enough for rounding, and for a search in a subspace.
SPARE, SPARE_IN_SUBSPACE = 2, 13
#: Sizes of subspaces to try, and the share of true neighbours that a search in one must find.
SUBSPACES, RECALL = (32, 64, 128, 256), 0.995
#: Rows that principal directions are computed from, and rows that the recall is measured on.
ROWS_OF_BASIS, ROWS_OF_RECALL = 2048, 512


@stored
@dataclass(frozen=True)
class Search:
    """The nearest landmarks of dense rows.

    A tree, or matrix products, find a few candidates for each row, and direct differences the nearest of them.

    Attributes
    ----------
    landmarks : array of shape (l, d).
    basis : array of shape (d, p), the subspace in which candidates are searched; None: all d features.

    """

    landmarks: Array
    basis: Array | None = None

    def __getstate__(self) -> dict[str, Any]:
        # What is cached is rebuilt on the worker.
        return {"landmarks": self.landmarks, "basis": self.basis}

    def nearest(self, X: Array, r: int) -> tuple[Array, Array]:
        """Numbers of the r nearest landmarks, int32, and squared distances, float64; shape (n, r), nearest first."""
        from apnc.loops.graph import closest

        indices, squared = np.empty((len(X), r), np.int32), np.empty((len(X), r))
        closest(X, self.landmarks, self._candidates(X, r), indices, squared)
        return indices, squared

    def assign(self, X: Array) -> Array:
        """Number of the nearest landmark, int32; in a subspace, of the one that is nearest there."""
        if len(self.landmarks) == 1 or self.landmarks.shape[1] <= FEW_FEATURES:
            return self.nearest(X, 1)[0][:, 0]
        return self._by_products(X, 1)[:, 0]

    def _candidates(self, X: Array, r: int) -> Array:
        """Numbers of landmarks among which the r nearest are, shape (n, c)."""
        l, d = self.landmarks.shape  # noqa: E741
        size = min(l, r + (SPARE if self.basis is None else SPARE_IN_SUBSPACE))
        if size == l:
            return np.broadcast_to(np.arange(l, dtype=np.int32), (len(X), l))
        if d <= FEW_FEATURES:
            return self._tree.query(X, size)[1].astype(np.int32).reshape(len(X), size)
        return self._by_products(X, size)

    def _by_products(self, X: Array, size: int) -> Array:
        from apnc.loops.graph import shortlist

        center, basis, columns = self._prepared
        found = np.empty((len(X), size), np.int32)
        room = np.empty((min(ROWS_AT_ONCE, len(X)), len(self.landmarks)), columns.dtype)
        with one_thread():
            for start in range(0, len(X), ROWS_AT_ONCE):
                rows = X[start : start + ROWS_AT_ONCE] - center
                rows = rows if basis is None else rows @ basis
                with_one = np.column_stack([rows, np.ones(len(rows), rows.dtype)])
                scores = np.matmul(with_one, columns, out=room[: len(rows)])
                shortlist(scores, self._slack(rows), found[start : start + ROWS_AT_ONCE])
        return found

    def _slack(self, rows: Array) -> Array:
        """A bound on the rounding of each row's scores, which depends on the number of rows multiplied at once.

        Zero for float32, for which it would hide differences, and whose results may depend on chunks.
        """
        if rows.dtype != np.float64:
            return np.zeros(len(rows), rows.dtype)
        d = self.landmarks.shape[1]
        return (d + 16) * EPS * self._reach * (self._reach + np.sqrt(np.einsum("ij,ij->i", rows, rows)))

    @cached_property
    def _reach(self) -> float:
        """The largest distance of a landmark from their center."""
        return float(np.sqrt(self._prepared[2][-1].max()))

    @cached_property
    def _tree(self) -> KDTree:
        return KDTree(self.landmarks)

    @cached_property
    def _prepared(self) -> tuple[Array, Array | None, Array]:
        """Center, basis and columns (-2 l, |l|^2): products of (x, 1) with them order landmarks by distance."""
        dtype = self.landmarks.dtype
        center = self.landmarks.mean(axis=0, dtype=np.float64).astype(dtype)
        basis = None if self.basis is None else self.basis.astype(dtype)
        shifted = self.landmarks - center
        squares = np.einsum("ij,ij->i", shifted, shifted, dtype=np.float64)
        shifted = shifted if basis is None else shifted @ basis
        return center, basis, np.vstack([-2 * shifted.T, squares]).astype(dtype)


def subspace_for(rows: Array, landmarks: Array, r: int) -> Array | None:
    """The smallest of ``SUBSPACES`` that finds nearly all nearest landmarks of a sample; None if none saves work."""
    worth_it = [p for p in SUBSPACES if p <= landmarks.shape[1] // 4]
    if landmarks.shape[1] <= FEW_FEATURES or not worth_it:
        return None
    some = rows[:ROWS_OF_RECALL]
    exact, _ = Search(landmarks).nearest(some, r)
    directions = principal_directions(rows[:ROWS_OF_BASIS], worth_it[-1])
    for p in worth_it:
        basis = np.ascontiguousarray(directions[:, :p])
        found, _ = Search(landmarks, basis).nearest(some, r)
        if np.mean([np.isin(a, b).mean() for a, b in zip(exact, found, strict=True)]) >= RECALL:
            return basis
    return None


def principal_directions(rows: Array, most: int) -> Array:
    """The leading directions of the rows, shape (d, <= most), float64."""
    centered = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    n, d = centered.shape
    with one_thread():
        if d <= n:
            return linalg.eigh(centered.T @ centered, subset_by_index=(d - most, d - 1))[1][:, ::-1]
        vectors = linalg.eigh(centered @ centered.T, subset_by_index=(max(0, n - most), n - 1))[1][:, ::-1]
        return linalg.qr(centered.T @ vectors, mode="economic")[0]
