"""Exact kernel k-means in extended precision, as short as its definition, to compare results with.

With l = n landmarks and all components the embedding is exact, so that the labels of a fit are a fixed point of exact
kernel k-means: continuing it from them must not lower the objective by more than rounding explains.
"""

from dataclasses import dataclass

import numpy as np

from apnc.embeddings.spectrum import FLOOR
from tests.torture.family import require

WIDE = np.longdouble
#: Iterations of the exact method.
ITERATIONS = 50
#: Results are compared where rounding is smaller than this share of the scatter.
DEFINED = 0.05
#: The share of the scatter that is always allowed.
ALLOWED = 1e-6


def kernel_matrix(
    X: np.ndarray, name: str, gamma: float | None, coef0: float, degree: float, normalize: bool
) -> np.ndarray:
    """K by definition, shape (n, n)."""
    rows = X.astype(WIDE)
    products = (rows[:, None] * rows[None]).sum(axis=2)
    slope = WIDE(1 if gamma is None else gamma)
    if name == "cosine":
        norms = np.sqrt(products.diagonal())
        inverse = np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)
        K = products * inverse[:, None] * inverse
    elif name in ("linear", "polynomial"):
        K = products if name == "linear" else (slope * products + WIDE(coef0)) ** WIDE(degree)
    else:
        apart = np.abs(rows[:, None] - rows[None])
        total = np.abs(rows[:, None] + rows[None])
        ratio = np.divide(apart**2, total, out=np.zeros_like(apart), where=total > 0)
        K = np.exp(-slope * {"rbf": apart**2, "laplacian": apart, "chi2": ratio}[name].sum(axis=2))
    if not normalize:
        return K
    own = np.sqrt(np.maximum(K.diagonal(), 0))
    inverse = np.divide(1, own, out=np.zeros_like(own), where=own > 0)
    return K * inverse[:, None] * inverse


def distances(K: np.ndarray, labels: np.ndarray, weights: np.ndarray, k: int) -> np.ndarray:
    """Eq. 2: squared distances to the means, shape (n, k); infinite for empty clusters."""
    U = np.zeros((len(K), k), dtype=WIDE)
    U[np.arange(len(K)), labels] = weights
    total = U.sum(axis=0)
    U = U / np.where(total > 0, total, 1)
    products = K @ U
    D = K.diagonal()[:, None] - 2 * products + (U * products).sum(axis=0)
    D[:, total == 0] = np.inf
    return D


def objective(K: np.ndarray, labels: np.ndarray, weights: np.ndarray, k: int) -> float:
    """Eq. 1."""
    D = distances(K, labels, weights, k)
    return (weights * D[np.arange(len(K)), labels]).sum()


def continued(K: np.ndarray, labels: np.ndarray, weights: np.ndarray, k: int) -> float:
    """The lowest objective that the exact method reaches from a partition."""
    lowest = objective(K, labels, weights, k)
    for _ in range(ITERATIONS):
        moved = distances(K, labels, weights, k).argmin(axis=1)
        if np.array_equal(moved, labels):
            break
        labels = moved
        lowest = min(lowest, objective(K, labels, weights, k))
    return lowest


@dataclass(frozen=True)
class Rounding:
    """Errors that arithmetic of the rows' type may make, per unit of the largest k(x, x)."""

    kernel: np.longdouble
    floor: float
    n: int

    @property
    def of_products(self) -> np.longdouble:
        """Of inner products of embedded rows: kernel values, dropped eigenvalues, and division by kept small ones."""
        return 20 * self.kernel + self.n * self.floor + self.n * self.kernel**2 / self.floor


def rounding(X: np.ndarray, name: str, gamma: float | None, degree: float, is_sparse: bool) -> Rounding:
    """How exact kernel values can be: a long exponent loses digits, and so does a power."""
    n, d = X.shape
    wide, dtype = X.astype(WIDE), X.dtype.type
    longer, computed = WIDE(max(1.0, degree) if name == "polynomial" else 1), dtype
    if name == "rbf" and is_sparse:
        # Sparse rows are not centred, but computed in float64.
        longer, computed = 1 + WIDE(gamma) * (wide**2).sum(axis=1).max(initial=0), np.float64
    elif name == "rbf":
        longer = 1 + WIDE(gamma) * spread(wide)
    return Rounding(np.finfo(computed).eps * (d + 4) * longer, FLOOR[dtype], n)


def spread(wide: np.ndarray) -> float:
    """The largest squared distance from the middle."""
    middle = wide.mean(axis=0)
    return ((wide - middle) ** 2).sum(axis=1).max(initial=0)


def compare(
    labels: np.ndarray, inertia: float, weights: np.ndarray, K: np.ndarray, k: int, error: Rounding
) -> bool:
    """Labels and inertia against the exact method's; False where rounding leaves nothing to compare."""
    exists = weights > 0
    K, labels, weights = K[np.ix_(exists, exists)], labels[exists], weights[exists].astype(WIDE)
    weights = weights / weights.sum()
    scatter = objective(K, np.zeros(len(K), dtype=int), weights, 1)
    rounded = error.of_products * K.diagonal().max()
    if not (np.isfinite(K).all() and rounded < DEFINED * scatter):
        return False
    reached, lowest = objective(K, labels, weights, k), continued(K, labels, weights, k)
    allowed = ALLOWED * scatter + 4 * rounded
    require(
        reached - lowest <= allowed, f"exact k-means goes on from {reached} to {lowest}, allowed {allowed}"
    )
    found = WIDE(inertia)
    require(abs(found - reached) <= allowed, f"inertia {found}, exact {reached}, allowed {allowed}")
    return True
