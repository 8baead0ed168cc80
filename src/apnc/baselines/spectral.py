"""Spectral vectors of a similarity matrix, which PSC and DASC cluster (Ng, Jordan and Weiss 2002)."""

from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import eigsh
from sklearn.base import BaseEstimator, ClusterMixin

from apnc import checks
from apnc.baselines.kernel_space import Problem
from apnc.baselines.posing import posed
from apnc.kernels import KernelChoice
from apnc.rows import n_rows
from apnc.typing import Array

#: Up to this many rows a dense eigensolver is as fast as an iterative one.
FEW = 500


def spectral_vectors(similarity: Any, k: int, seed: int) -> Array:
    """Rows of the k leading eigenvectors of D^(-1/2) S D^(-1/2), scaled to norm 1, shape (n, k).

    ``similarity`` is symmetric and non-negative; a dense one is overwritten. A row similar to nothing stays zero.
    """
    degrees = np.asarray(similarity.sum(axis=1), dtype=np.float64).ravel()
    roots = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    vectors = leading_eigenvectors(_scaled(similarity, roots.astype(similarity.dtype)), k, seed)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)


def _scaled(similarity: Any, roots: Array) -> Any:
    if sparse.issparse(similarity):
        diagonal = sparse.diags_array(roots)
        return (diagonal @ similarity @ diagonal).tocsr()
    similarity *= roots[:, None]
    similarity *= roots
    return similarity


def leading_eigenvectors(matrix: Any, k: int, seed: int) -> Array:
    """Eigenvectors of the k largest eigenvalues of a symmetric matrix, shape (n, k)."""
    n = matrix.shape[0]
    if n <= max(FEW, 2 * k):
        dense = matrix.toarray() if sparse.issparse(matrix) else matrix
        return np.asarray(linalg.eigh(dense, subset_by_index=(n - k, n - 1))[1])
    start = np.random.default_rng(seed).uniform(0.5, 1.5, n).astype(matrix.dtype)
    return np.asarray(eigsh(matrix, k, which="LA", v0=start)[1])


class SpectralClusterer(ClusterMixin, BaseEstimator):
    """Base class of PSC and DASC: reads vectors, and uses the starts of the other methods."""

    def _problem(self, X: Any, choice: KernelChoice) -> Problem:
        rows = checks.read_rows(self, X, reset=True)
        return posed(self, rows, np.ones(n_rows(rows)), choice)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
