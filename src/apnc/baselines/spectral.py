"""Spectral vectors of a graph of rows (Ng, Jordan and Weiss 2002), or of rows and landmarks."""

from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import eigsh
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.preprocessing import normalize
from sklearn.utils import gen_batches

from apnc import checks
from apnc.baselines.kernel_space import Problem
from apnc.baselines.posing import posed
from apnc.engines.blas import one_thread
from apnc.kernels import KernelChoice
from apnc.rows import n_rows
from apnc.typing import Array

#: Up to this many rows a dense eigensolver is as fast as an iterative one.
FEW = 500
#: Eigenvalues of a graph of rows and landmarks, which are at most 1, below this are rounding errors.
NOISE = 1e-10
#: Rows of a sparse matrix multiplied at a time.
ROWS_AT_A_TIME = 1 << 18


def spectral_vectors(similarity: Any, k: int, seed: int) -> Array:
    """Rows of the k leading eigenvectors of D^(-1/2) S D^(-1/2), scaled to norm 1, shape (n, k).

    ``similarity`` is symmetric and non-negative; a dense one is overwritten. A row similar to nothing stays zero.
    """
    degrees = np.asarray(similarity.sum(axis=1), dtype=np.float64).ravel()
    roots = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    return unit_rows(leading_eigenvectors(_scaled(similarity, roots.astype(similarity.dtype)), k, seed))


def unit_rows(vectors: Array) -> Array:
    """Rows scaled to norm 1; those of norm 0 stay zero."""
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


def bipartite_vectors(B: Any, k: int, trivial: bool = True) -> Array:
    """Spectral vectors of the graph that connects rows with landmarks, scaled to norm 1, float32, shape (n, k).

    They are the rows' part of the eigenvectors u of L u = gamma D u with the k smallest gamma, or up to the scale of
    rows the k leading left singular vectors of D_X^(-1/2) B D_R^(-1/2). Without ``trivial``, the constant vector with
    gamma = 0 is left out. There are at most as many vectors as landmarks.

    Parameters
    ----------
    B : CSR matrix of shape (n, p), similarities of rows and landmarks; D_X and D_R are its row and column sums.
    k : int
    trivial : bool

    """
    to_rows = transfer(B, k, trivial)
    Y = np.empty((B.shape[0], to_rows.shape[1]), dtype=np.float32)
    for part in gen_batches(len(Y), ROWS_AT_A_TIME):
        Y[part] = unit_rows(B[part] @ to_rows)
    return Y


def transfer(B: Any, k: int, trivial: bool) -> Array:
    """v / (1 - gamma) for the eigenvectors v of L_R v = lambda D_R v on the landmarks alone, shape (p, k).

    A row's part of an eigenvector is D_X^-1 B times that; gamma (2 - gamma) = lambda (Li, Wu and Chang 2012).
    """
    degrees = np.asarray(B.sum(axis=0), dtype=np.float64).ravel()
    roots = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    graph = landmark_graph(B) * roots[:, None] * roots
    if not trivial:
        # Subtracted, not dropped: if the graph has several components, the first vector is any mixture of theirs.
        constant = np.sqrt(degrees / degrees.sum())
        graph -= np.outer(constant, constant)
    p = len(degrees)
    # Measured at p = 1000: more threads are slower, many times so if cores are busy.
    with one_thread():
        values, vectors = linalg.eigh(graph, subset_by_index=(max(0, p - k), p - 1))
    scales = np.where(values > NOISE, 1 / np.sqrt(np.maximum(values, NOISE)), 0.0)
    return roots[:, None] * vectors * scales


def landmark_graph(B: Any) -> Array:
    """B^T D_X^-1 B, dense, shape (p, p): similarities of landmarks by the rows they share."""
    E = np.zeros((B.shape[1], B.shape[1]))
    for part in gen_batches(B.shape[0], ROWS_AT_A_TIME):
        E += (B[part].T @ normalize(B[part], norm="l1")).toarray()
    return E


class SpectralClusterer(ClusterMixin, BaseEstimator):
    """Base class of the spectral methods: reads vectors, and uses the starts of the other methods."""

    def _problem(self, X: Any, choice: KernelChoice, n_sampled: int | None = None) -> Problem:
        rows = checks.read_rows(self, X, reset=True)
        return posed(self, rows, np.ones(n_rows(rows)), choice, n_sampled)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
