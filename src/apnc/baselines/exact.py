"""Exact kernel k-means (Eq. 1 and 2), and the base class it shares with its approximations."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from apnc import checks
from apnc.baselines.kernel_space import (
    Centroids,
    Problem,
    Run,
    Space,
    best_run,
    kernel_matrix,
    largest_entries,
    rounding,
)
from apnc.baselines.posing import posed, warn_of
from apnc.engines.contract import Chunk, Chunks
from apnc.engines.local import Layout, n_threads
from apnc.kernels import Kernel
from apnc.rows import n_rows, take
from apnc.sources import InMemory
from apnc.typing import Array


class KernelSpaceKMeans(ClusterMixin, BaseEstimator):
    """Kernel k-means with centroids in the kernel's space; subclasses define which combinations they may be."""

    _kernel: Kernel
    _columns: Any
    _centroids: Centroids

    def _space(self, problem: Problem) -> AbstractContextManager[Space]:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster X.

        Parameters
        ----------
        X : array, sparse matrix, data frame, or list of objects with a kernel function.
        y : ignored, present by convention.
        sample_weight : array of shape (n,), default=None
            A row of weight 2 counts as two equal rows; rows of weight 0 are ignored by the fit, but are labelled.

        """
        rows = checks.read_rows(self, X, reset=True)
        problem = self._pose(rows, checks.check_weights(sample_weight, n_rows(rows)))
        with self._space(problem) as space:
            best = best_run(space, problem)
        warn_of(best.converged, best.last.labels, problem.settings)
        self._store(problem, space, best)
        self.labels_ = self._all_labels(rows, problem.exists, best.last.labels)
        return self

    def predict(self, X: Any) -> Array:
        """Number of the nearest centroid of each row, int32."""
        check_is_fitted(self)
        return self._labels(checks.read_rows(self, X, reset=False))

    def _store(self, problem: Problem, space: Space, best: Run) -> None:
        self._kernel, self._centroids = problem.kernel, best.last.centroids
        self._columns = problem.kernel.remember(space.columns)
        self.gamma_ = problem.kernel.gamma
        self.inertia_, self.n_iter_ = best.inertia, best.n_iter

    def _labels(self, rows: Any) -> Array:
        p, k = self._centroids.coefficients.shape
        chunks = InMemory(rows).data(Layout(8 * (p + k), n_threads(None))).chunks
        labelled = kernel_matrix(chunks, self._kernel, self._columns).map(self._centroids)
        return np.concatenate([chunk.rows for chunk in labelled])

    def _all_labels(self, rows: Any, exists: Array, found: Array) -> Array:
        labels = np.empty(len(exists), dtype=np.int32)
        labels[exists] = found
        if not exists.all():
            labels[~exists] = self._labels(take(rows, np.flatnonzero(~exists)))
        return labels

    def _pose(self, rows: Any, weights: Array) -> Problem:
        return posed(self, rows, weights, checks.check_kernel_choice(self))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel == "chi2"
        return tags


@dataclass(frozen=True)
class Times:
    """Map: kernel rows K of a chunk to K @ coefficients."""

    coefficients: Array

    def __call__(self, chunk: Chunk) -> Chunk:
        return chunk.with_rows(chunk.rows @ self.coefficients)


def _own_and_largest(chunk: Chunk) -> Chunk:
    own = chunk.rows[np.arange(len(chunk.rows)), np.arange(*chunk.carry)]
    return chunk.with_rows(np.stack([own, largest_entries(chunk.rows)]))


class ExactSpace(Space):
    """Eq. 2 as written: centroids are combinations of all rows, and K is read once per iteration.

    Parameters
    ----------
    K : chunks of the kernel matrix, shape (n, n).
    kernel, rows : from which K is computed.

    """

    def __init__(self, K: Chunks, kernel: Kernel, rows: Any):
        self.K, self.kernel, self.columns = K, kernel, rows
        self.own, self.largest = np.concatenate([chunk.rows for chunk in K.map(_own_and_largest)], axis=1)

    def centroids(self, memberships: Array) -> tuple[Centroids, Array]:
        """The double sum of Eq. 2, and its single sum for every row."""
        products = np.concatenate([chunk.rows for chunk in self.K.map(Times(memberships))])
        return Centroids(memberships, np.einsum("nk,nk->k", memberships, products)), products

    def same_as(self, row: int) -> Array:
        """Rows at distance zero."""
        column = self.kernel(self.columns, take(self.columns, np.array([row])))[:, 0]
        return np.abs(self.own + self.own[row] - 2 * column) <= rounding(self.largest)


class ExactKernelKMeans(KernelSpaceKMeans):
    """Exact kernel k-means (Eq. 1 and 2): every iteration reads the whole kernel matrix.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel, gamma, coef0, degree, kernel_params, normalize_kernel
        As in ``KernelKMeans``; the same ``random_state`` tunes the same gamma. "auto" is None.
    init : {"random", "random-partition"} or array of n start labels, default="random"
        "random" starts from k rows, drawn by weight.
    n_init : int, default=1
        Number of starts; the one with the lowest inertia is kept.
    max_iter : int, default=300
        Maximum number of assignments and updates; a last assignment follows.
    memory_bytes : int, default=2**30
        The kernel matrix is kept in memory if its 8 n^2 bytes fit, else recomputed in each iteration.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : array of shape (n,), int32.
    inertia_ : weighted sum of squared distances to the nearest centroid; may be negative if the kernel is
        indefinite.
    n_iter_ : iterations of the best start.
    gamma_ : gamma as used, None if the kernel has none.

    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        gamma: Any = None,
        coef0: float = 1,
        degree: float = 3,
        kernel_params: dict[str, Any] | None = None,
        normalize_kernel: bool = False,
        init: Any = "random",
        n_init: int = 1,
        max_iter: int = 300,
        memory_bytes: float = 1 << 30,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.normalize_kernel = normalize_kernel
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.memory_bytes = memory_bytes
        self.random_state = random_state

    def _space(self, problem: Problem) -> AbstractContextManager[Space]:
        return exact_space(problem, checks.non_negative("memory_bytes", self.memory_bytes))


@contextmanager
def exact_space(problem: Problem, memory_bytes: float) -> Iterator[Space]:
    """The space of all rows of a problem; K is kept in memory if it fits in ``memory_bytes``."""
    n, k = len(problem.weights), problem.settings.n_clusters
    chunks = InMemory(problem.rows, problem.weights).data(Layout(8 * (n + k), n_threads(None))).chunks
    K = kernel_matrix(chunks, problem.kernel, problem.rows)
    with K.cached() if 8 * n * n <= memory_bytes else nullcontext(K) as kept:
        yield ExactSpace(kept, problem.kernel, problem.rows)
