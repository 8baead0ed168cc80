"""Approximate kernel k-means of Chitta et al. (2011): centroids in the span of l sampled rows."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from scipy import linalg

from apnc.baselines.exact import KernelSpaceKMeans
from apnc.baselines.kernel_space import (
    Centroids,
    Problem,
    Run,
    Space,
    kernel_matrix,
    largest_entries,
    rounding,
)
from apnc.embeddings.spectrum import landmark_kernel
from apnc.engines.local import Layout, n_threads
from apnc.pipeline.state import choose_landmarks
from apnc.rows import GivenRows, n_rows
from apnc.sampling import Sample
from apnc.sources import InMemory
from apnc.typing import Array

#: Rows whose norms are computed together, to avoid a second matrix as large as K_B.
ROWS_AT_A_TIME = 4096


class SampledSpace(Space):
    """The span of l samples: rows and centroids are represented by their projections.

    Inner products are K_B K-hat^+ K_B^T, those of the untruncated Nystroem embedding if the kernel is
    positive semi-definite.

    Parameters
    ----------
    K : array of shape (n, l), the kernel between all rows and the samples (K_B).
    sample_kernel : array of shape (l, l), symmetric (K-hat).
    samples : the l instances.

    """

    def __init__(self, K: Array, sample_kernel: Array, samples: Any):
        self.K, self.sample_kernel, self.columns = K, sample_kernel, samples
        self.inverse = linalg.pinvh(sample_kernel)
        self.largest = largest_entries(K)
        parts = np.array_split(K, -(-len(K) // ROWS_AT_A_TIME))
        self.own = np.concatenate([np.einsum("nl,nl->n", part @ self.inverse, part) for part in parts])

    def centroids(self, memberships: Array) -> tuple[Centroids, Array]:
        """alpha = U-hat K_B K-hat^+ (here transposed), alpha K-hat alpha^T, and K_B alpha^T."""
        alpha = self.inverse @ (self.K.T @ memberships)
        squares = np.einsum("lk,lk->k", alpha, self.sample_kernel @ alpha)
        return Centroids(alpha, squares), self.K @ alpha

    def same_as(self, row: int) -> Array:
        """Rows with the same kernel values against the samples."""
        return largest_entries(self.K - self.K[row]) <= rounding(self.largest)


class SampledKernelKMeans(KernelSpaceKMeans):
    """Base class of methods on l sampled rows, with their parameters."""

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
        n_landmarks: int | str = "auto",
        init: Any = "random",
        n_init: int = 1,
        max_iter: int = 300,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.normalize_kernel = normalize_kernel
        self.n_landmarks = n_landmarks
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state


class ApproxKernelKMeans(SampledKernelKMeans):
    """Approx KKM: kernel k-means with centroids restricted to the span of l sampled rows.

    Centroids are alpha = U-hat K_B K-hat^+, with the plain pseudo-inverse as published: negative eigenvalues of an
    indefinite kernel are kept, and only rounding errors are dropped.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel, gamma, coef0, degree, kernel_params, normalize_kernel
        As in ``KernelKMeans``; the same ``random_state`` tunes the same gamma. "auto" is None.
    n_landmarks : int or "auto", default="auto"
        l. The samples are the landmarks of ``KernelKMeans`` with the same ``random_state``.
    init : {"random", "random-partition"} or array of n start labels, default="random"
        "random" starts from k rows, drawn by weight.
    n_init : int, default=1
        Number of starts; the one with the lowest inertia is kept.
    max_iter : int, default=300
        Maximum number of assignments and updates; a last assignment follows.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : array of shape (n,), int32.
    inertia_ : weighted sum of squared distances to the nearest centroid, of the rows' projections on the
        span; may be negative if the kernel is indefinite.
    n_iter_ : iterations of the best start.
    gamma_ : gamma as used, None if the kernel has none.
    landmarks_ : the l samples (``landmark_indices_`` for precomputed kernels).
    n_landmarks_ : l as used.

    """

    def _space(self, problem: Problem) -> AbstractContextManager[Space]:
        samples = choose_landmarks(problem.drawn, problem.settings)
        K = _against_samples(problem, samples)
        return nullcontext(SampledSpace(K, landmark_kernel(samples.rows, problem.kernel), samples.rows))

    def _store(self, problem: Problem, space: Space, best: Run) -> None:
        super()._store(problem, space, best)
        self.n_landmarks_ = n_rows(space.columns)
        if isinstance(space.columns, GivenRows):
            self.landmark_indices_ = space.columns.numbers
        else:
            self.landmarks_ = space.columns


def _against_samples(problem: Problem, samples: Sample) -> Array:
    """K_B: kernel values of all rows and the samples, shape (n, l)."""
    K = np.empty((len(problem.weights), len(samples)))
    chunks = InMemory(problem.rows, problem.weights).data(Layout(8 * len(samples), n_threads(None))).chunks
    for chunk in kernel_matrix(chunks, problem.kernel, samples.rows):
        K[slice(*chunk.carry)] = chunk.rows
    return K
