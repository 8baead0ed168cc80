"""Kernels on vectors, dense or sparse, under scikit-learn's names."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from apnc.kernels.bandwidth import additive_chi2, manhattan
from apnc.kernels.family import VECTORS, Kernel, KernelRows
from apnc.kernels.names import KERNELS, SCALED, TAKES
from apnc.stored import require, stored
from apnc.typing import Array

Products = Callable[[Any, Array | None], Array]

#: Bytes of a kernel matrix that elementwise functions process at a time.
ELEMENTWISE_BYTES = 1 << 18
#: Landmarks that a loaded model is tried on, and the largest matrix of sparse landmarks, zeros included.
TRIALS, TRIAL_NUMBERS = 2, 1 << 25


@stored
@dataclass(frozen=True)
class VectorKernel(Kernel):
    """One of ``KERNELS``.

    Attributes
    ----------
    name : one of ``KERNELS``.
    gamma : length scale or slope; None if the kernel has none.
    coef0, degree : of ``polynomial`` and ``sigmoid``, as in scikit-learn.

    """

    takes: ClassVar[str] = VECTORS
    name: str
    gamma: float | None = None
    coef0: float = 1.0
    degree: float = 3.0

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """All but the sigmoid, and polynomials with a negative coef0 or a fractional degree."""
        whole = self.coef0 >= 0 and self.degree == int(self.degree)
        return self.name != "sigmoid" and (self.name != "polynomial" or whole)

    @property
    def euclidean(self) -> bool:
        """Whether it is linear."""
        return self.name == "linear"

    @property
    def same_diagonal(self) -> float | None:
        """1 if it depends on distances."""
        return 1.0 if self.name in SCALED else None

    def check(self) -> None:
        """Require a known kernel, with a gamma if and only if it takes one."""
        require(self.name in KERNELS, f"name is {self.name!r}, expected one of {', '.join(KERNELS)}")
        takes_gamma = "gamma" in TAKES[self.name]
        right = (self.gamma or 0) > 0 if takes_gamma else self.gamma is None
        require(right, f"gamma is {self.gamma}, expected {'> 0' if takes_gamma else 'none'} for {self.name}")
        require(self.degree > 0, f"degree is {self.degree}, expected > 0")

    def check_landmarks(self, landmarks: Any) -> None:
        """Require vectors."""
        require(
            sparse.issparse(landmarks) or (isinstance(landmarks, np.ndarray) and landmarks.ndim == 2),
            f"landmarks of the kernel {self.name} must be vectors",
        )

    def trial(self, landmarks: Any) -> Any:
        """The first landmarks, as dense rows; None for sparse landmarks of a huge declared shape."""
        if not sparse.issparse(landmarks):
            return landmarks[:TRIALS]
        # Dense rows spare the compilation of the sparse loops. The shape is the file's claim: a few bytes can declare
        # a matrix that would not fit in memory.
        small = landmarks.shape[0] * landmarks.shape[1] <= TRIAL_NUMBERS
        return landmarks[:TRIALS].toarray() if small else None

    def asked_for(self, normalize: bool | str = "auto") -> dict[str, Any]:
        """By name."""
        return {"kernel": self.name}

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """Prepare K(., landmarks), computed in ``dtype``."""
        prepare: Callable[[Any, type], KernelRows] = getattr(self, f"_{self.name}")
        return prepare(landmarks, dtype)

    def work_bytes(self, held: int, n_landmarks: int, dtype: type) -> int:
        """Laplacian distances are computed in float64 and cast; all other kernels work in place."""
        extra = 8 * n_landmarks if self.name == "laplacian" else 0
        return super().work_bytes(held, n_landmarks, dtype) + extra

    def diagonal(self, rows: Any) -> Array:
        """k(x, x) of each row, float64."""
        if self.name in SCALED:
            return np.ones(rows.shape[0])
        squares = _squared_norms(rows)
        if self.name == "linear":
            return squares
        if self.name == "cosine":
            return (squares > 0).astype(np.float64)
        products = self._slope * squares + self.coef0
        return products**self.degree if self.name == "polynomial" else np.tanh(products)

    @property
    def _slope(self) -> float:
        if self.gamma is None:
            raise ValueError(f"kernel={self.name!r} needs a value for gamma.")
        return self.gamma

    def _linear(self, landmarks: Any, dtype: type) -> KernelRows:
        return KernelRows(_products(landmarks, dtype))

    def _cosine(self, landmarks: Any, dtype: type) -> KernelRows:
        products = _products(landmarks, dtype)
        columns: Array = _inverse_norms(landmarks).astype(dtype)

        def cosine(X: Any, room: Array | None) -> Array:
            K = products(X, room)
            K *= _inverse_norms(X).astype(dtype)[:, None]
            K *= columns
            return K

        return KernelRows(cosine)

    def _polynomial(self, landmarks: Any, dtype: type) -> KernelRows:
        largest = float(np.abs(self.diagonal(landmarks)).max(initial=0.0))
        # Dividing inside the power, by factor^(1/degree), keeps intermediate results within float32.
        factor = largest if np.isfinite(largest) and largest > 0 else 1.0
        root = factor ** (-1.0 / self.degree) if self.degree else 1.0
        products = _products(landmarks, dtype)
        slope, offset = self._slope * root, self.coef0 * root

        def polynomial(X: Any, room: Array | None) -> Array:
            return _in_cache(products(X, room), power)

        def power(K: Array) -> None:
            K *= slope
            K += offset
            _power(K, self.degree)

        return KernelRows(polynomial, factor)

    def _sigmoid(self, landmarks: Any, dtype: type) -> KernelRows:
        products = _products(landmarks, dtype)

        def sigmoid(X: Any, room: Array | None) -> Array:
            return _in_cache(products(X, room), neural)

        def neural(K: Array) -> None:
            K *= self._slope
            K += self.coef0
            np.tanh(K, out=K)

        return KernelRows(sigmoid)

    def _rbf(self, landmarks: Any, dtype: type) -> KernelRows:
        squared = _squared_distances(landmarks, dtype, self._slope)
        return KernelRows(lambda X, room: _in_cache(squared(X, room), _exp_of_negative))

    def _laplacian(self, landmarks: Any, dtype: type) -> KernelRows:
        def laplacian(X: Any, room: Array | None) -> Array:
            K: Array = manhattan(_like(X, landmarks), landmarks).astype(dtype, copy=False)
            K *= -self._slope
            return np.exp(K, out=K)

        return KernelRows(laplacian)

    def _chi2(self, landmarks: Any, dtype: type) -> KernelRows:
        dense = _dense(landmarks, dtype)

        def chi2(X: Any, room: Array | None) -> Array:
            K = additive_chi2(_dense(X, dtype), dense)
            K *= self._slope
            return np.exp(K, out=K)

        return KernelRows(chi2)


def _dense(rows: Any, dtype: type) -> Array:
    rows = rows.toarray() if sparse.issparse(rows) else rows
    return np.ascontiguousarray(rows, dtype=dtype)


def _like(rows: Any, landmarks: Any) -> Any:
    """Rows in the landmarks' layout, sparse or dense."""
    if sparse.issparse(landmarks):
        return sparse.csr_array(rows)
    return rows.toarray() if sparse.issparse(rows) else rows


def _squared_norms(rows: Any) -> Array:
    if sparse.issparse(rows):
        squares = rows.astype(np.float64).multiply(rows.astype(np.float64))
        return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()
    wide = np.asarray(rows, dtype=np.float64)
    return np.einsum("ij,ij->i", wide, wide)


def _inverse_norms(rows: Any) -> Array:
    norms = np.sqrt(_squared_norms(rows))
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def _products(landmarks: Any, dtype: type) -> Products:
    """X -> X @ landmarks.T; sparse rows are never densified when the landmarks are sparse too."""
    if sparse.issparse(landmarks):
        return _sparse_products(landmarks, dtype)
    columns: Array = np.ascontiguousarray(landmarks, dtype=dtype).T
    return lambda X, room: np.matmul(_dense(X, dtype), columns, out=room)


def _sparse_products(landmarks: Any, dtype: type) -> Products:
    by_column = landmarks.tocsc().astype(dtype)
    transposed = by_column.T

    def products(X: Any, room: Array | None) -> Array:
        if not sparse.issparse(X):
            return np.asarray(np.ascontiguousarray(X, dtype=dtype) @ transposed)
        from apnc.loops.products import sparse_products

        out = np.empty((X.shape[0], landmarks.shape[0]), dtype=dtype) if room is None else room
        sparse_products(
            X.data.astype(dtype),
            X.indices,
            X.indptr,
            by_column.data,
            by_column.indices,
            by_column.indptr,
            out,
        )
        return out

    return products


def _squared_distances(landmarks: Any, dtype: type, gamma: float) -> Products:
    """X -> -gamma |x - landmark|^2, up to rounding.

    Dense rows are shifted by the landmarks' mean first: distances do not change, and the
    cancellation in |x|^2 - 2 x.l + |l|^2 is milder near the origin. Sparse rows keep their zeros
    and are computed in float64 instead.
    """
    if sparse.issparse(landmarks):
        products = _products(landmarks, np.float64)
        columns = gamma * _squared_norms(landmarks)

        def from_sparse(X: Any, room: Array | None) -> Array:
            K = products(X, room if dtype is np.float64 else None)
            K *= 2 * gamma
            K -= gamma * _squared_norms(X)[:, None]
            K -= columns
            return K.astype(dtype, copy=False)

        return from_sparse

    center: Array = landmarks.mean(axis=0, dtype=np.float64).astype(dtype)
    # One product of augmented matrices gives all three terms, without further passes over K. In place: landmarks may
    # be most of the memory that a model takes.
    rows = _augmented(landmarks, center, gamma)
    rows[:, :-2] *= 2 * gamma
    rows[:, -2:] = rows[:, :-3:-1].copy()
    columns = rows.T

    def from_dense(X: Any, room: Array | None) -> Array:
        return np.matmul(_augmented(X, center, gamma), columns, out=room)

    return from_dense


def _augmented(rows: Any, center: Array, gamma: float) -> Array:
    """Rows (x, -gamma |x|^2, 1); multiplied by columns (2 gamma l, 1, -gamma |l|^2) they give -gamma |x - l|^2."""
    dense = rows.toarray() if sparse.issparse(rows) else rows
    n, d = dense.shape
    out = np.empty((n, d + 2), dtype=center.dtype)
    x = out[:, :d]
    np.subtract(dense, center, out=x, casting="same_kind")
    np.multiply(-gamma, np.einsum("ij,ij->i", x, x), out=out[:, d], casting="same_kind")
    out[:, d + 1] = 1
    return out


def _in_cache(K: Array, function: Callable[[Array], Any]) -> Array:
    """Apply an elementwise function in place, a few rows at a time, so that they stay in cache."""
    step = max(1, ELEMENTWISE_BYTES // max(1, K.shape[1] * K.itemsize))
    for start in range(0, len(K), step):
        function(K[start : start + step])
    return K


def _exp_of_negative(K: Array) -> None:
    # Rounding can make the negated distance of equal rows positive, and k(x, x) larger than 1.
    np.minimum(K, 0, out=K)
    np.exp(K, out=K)


def _power(K: Array, degree: float) -> None:
    """``K ** degree`` in place; integer degrees by repeated squaring, which is faster than ``np.power``."""
    if degree != int(degree) or degree < 1:
        np.power(K, degree, out=K)
        return
    base = K.copy()
    for bit in bin(int(degree))[3:]:
        np.multiply(K, K, out=K)
        if bit == "1":
            np.multiply(K, base, out=K)
