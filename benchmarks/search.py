"""Nearest landmarks of all rows, as a fit of ``SpectralClustering`` searches them: one level or two."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.streaming import Prepared, Timed, rows_of

#: Landmarks searched for each row, threads, and rows on which the recall is measured.
NEAREST, THREADS, ROWS_OF_RECALL = 3, 2, 2000


def prepare(n: int, d: int, l: int, more: int) -> Prepared:
    X, real = data.mnist(n, d)
    return {"X": X, "l": l, "more": more, "real_data": real}


def searching(size: str, two_levels: bool) -> Callable[[Prepared], Timed]:
    """One pass over all rows with as many landmarks as ``size`` says; finding landmarks and subspace takes no time."""

    def contestant(p: Prepared) -> Timed:
        from apnc.embeddings.neighbours.search import Search, subspace_for

        X, landmarks = p["X"], means(p["X"], p[size])
        basis = subspace_for(X, landmarks, NEAREST) if two_levels else None
        search = Search(landmarks, basis)
        pass_over(X[:THREADS], search)

        facts = {
            "l": len(landmarks),
            "subspace": None if basis is None else basis.shape[1],
            "recall": recall(X[-ROWS_OF_RECALL:], search),
            "real_data": p["real_data"],
        }
        return lambda: pass_over(X, search) or facts

    return contestant


def means(X: np.ndarray, l: int) -> np.ndarray:
    """Landmarks as in a fit: means of rows."""
    from apnc.embeddings.neighbours.landmarks import ROWS_EACH, trained
    from apnc.sampling import Sample

    order = np.random.default_rng(0).permutation(len(X))[: ROWS_EACH * l]
    return trained(Sample(X[order], np.ones(len(order))), l, NEAREST, chunks_of).landmarks


def chunks_of(X: np.ndarray, weights: np.ndarray) -> Any:
    from apnc.engines.local import CHUNK_BYTES, LocalChunks, split

    return LocalChunks.of(X, weights, split(len(X), CHUNK_BYTES // (16 * X.shape[1])), THREADS)


def pass_over(X: np.ndarray, search: Any) -> None:
    """The pass of a fit that compares every row with its landmarks."""
    from apnc.embeddings.neighbours.block import Compare
    from apnc.embeddings.neighbours.links import Neighbours
    from apnc.kernels import VectorKernel

    near = Neighbours(search, np.ones(len(search.landmarks)), 1.0, NEAREST)
    compare = Compare(VectorKernel("linear"), None, near, np.float32)
    chunks_of(X, np.ones(len(X))).map(compare).reduce(rows_of, int.__add__)


def recall(X: np.ndarray, search: Any) -> float:
    """Share of the found landmarks that are no farther than the last of the true ones; float64."""
    from scipy.spatial.distance import cdist

    found, _ = search.nearest(X, NEAREST)
    distances = cdist(X, search.landmarks)
    farthest = np.partition(distances, NEAREST - 1, axis=1)[:, [NEAREST - 1]]
    return float((np.take_along_axis(distances, found, axis=1) <= farthest).mean())


CONTESTANTS = {
    "one level, l = 1,000": searching("l", two_levels=False),
    "two levels, l = 1,000": searching("l", two_levels=True),
    "two levels, l = 10,000": searching("more", two_levels=True),
}
