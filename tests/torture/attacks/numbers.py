"""Numerical torture: rows, weights and parameters at the edges of what floating point can hold."""

import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from apnc import KernelEmbedding, KernelKMeans, SpectralClustering
from apnc.kernels.names import KERNELS, SCALED, TAKES
from tests.torture import oracle
from tests.torture.family import Attack, BrokenError, require

EMBEDDINGS = ("nystroem", "nystroem", "stable", "ensemble")
#: Kernels that are positive semidefinite; chi2 for rows without negative values.
DEFINITE = ("linear", "rbf", "polynomial", "laplacian", "cosine", "chi2")


# Rows


def magnitudes(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return X * 10.0 ** rng.uniform(-300, 300)


def columns_of_all_sizes(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return X * 10.0 ** rng.uniform(-150, 150, size=X.shape[1])


def denormal(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.round(X * 10) * 5e-324


def far_away(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return X + 10.0 ** rng.uniform(0, 17)


def near_duplicates(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return X[rng.integers(0, max(1, len(X) // 4), size=len(X))] + X * 10.0 ** rng.uniform(-18, -6)


def duplicates(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return X[rng.integers(0, max(1, len(X) // 2), size=len(X))]


def rank_one(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.outer(X[:, 0], rng.normal(size=X.shape[1]))


def constant(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.full_like(X, rng.choice([0.0, 1.0, -0.0, 1e300, 5e-324]))


def an_outlier(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    changed = X.copy()
    changed[rng.integers(len(X)), rng.integers(X.shape[1])] = 10.0 ** rng.uniform(1, 308)
    return changed


def zeros_among(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return X * (rng.random(size=X.shape) < 0.4)


def as_they_are(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return X


SHAPES = (
    magnitudes, magnitudes, columns_of_all_sizes, denormal, far_away, near_duplicates, duplicates, rank_one, constant,
    an_outlier, zeros_among, as_they_are, as_they_are,
)  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """An estimator with rows and weights."""

    kind: type
    options: dict[str, Any]
    X: np.ndarray
    weights: np.ndarray | None
    is_sparse: bool
    said: str

    @property
    def rows(self) -> Any:
        return sparse.csr_array(self.X) if self.is_sparse else self.X

    @property
    def is_exact(self) -> bool:
        """Whether the exact method is defined, and the embedding is exact."""
        given = self.options
        definite = given["kernel"] in DEFINITE and self.degree in (1, 2, 3) and self.coef0 >= 0
        whole = given["n_landmarks"] == given["n_components"] == len(self.X)
        plain = given.get("embedding") == "nystroem" and given["scale"] is None
        return self.kind is KernelKMeans and definite and whole and plain

    @property
    def degree(self) -> float:
        return self.options.get("degree", 3)

    @property
    def coef0(self) -> float:
        return self.options.get("coef0", 1)


def problem(rng: np.random.Generator) -> Problem:
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d)) + 4 * rng.integers(0, 3, size=(n, 1))
    chosen = [SHAPES[i] for i in rng.integers(len(SHAPES), size=rng.choice([1, 1, 2]))]
    dtype = np.float32 if rng.random() < 0.3 else np.float64
    kernel = str(rng.choice(KERNELS))
    with np.errstate(all="ignore"):
        for shape in chosen:
            X = shape(X, rng)
        X = np.clip(X, -1e308, 1e308) if dtype is np.float64 else np.clip(X, -3e38, 3e38)
        X = (np.abs(X) if kernel == "chi2" else X).astype(dtype)
    kind = (KernelKMeans, KernelKMeans, SpectralClustering, KernelEmbedding)[rng.integers(4)]
    names = "+".join(shape.__name__ for shape in chosen)
    is_sparse = bool(rng.random() < 0.35)
    said = f"{kind.__name__} {names} {np.dtype(dtype)} n={n} d={d} {'sparse' if is_sparse else 'dense'}"
    return Problem(kind, options_of(kind, kernel, n, rng), X, weights_of(n, rng), is_sparse, said)


def options_of(kind: type, kernel: str, n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Parameters that the estimator and the kernel take."""

    def one(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    gammas = (1e-300, 1e-8, 0.5, 1.0, 1e8, 1e300, *(float(10 ** rng.uniform(-5, 3)) for _ in range(3)))
    gammas += ("auto", None, "mean", "local", "auto", None) if kernel in SCALED else (None,)
    landmarks = one(n, n, n, n, 1, 2, max(1, n // 2))
    options = {
        "gamma": one(*gammas) if rng.random() > 0.02 else 0,
        "coef0": one(1, 1, 0, -1, 1e150),
        "degree": one(3, 3, 2, 1, 0.5, 40),
    }
    options = {name: value for name, value in options.items() if name in TAKES[kernel]} | {
        "kernel": kernel,
        "normalize_kernel": one(False, False, "auto", True),
        "n_landmarks": landmarks,
        "n_components": one(n, n, n, n, "auto", 1) if landmarks == n else one("auto", 1),
        "scale": one(None, None, None, None, "minmax", "standard", "unit"),
        "embedding": one(*EMBEDDINGS),
        "n_clusters": one(1, 2, 3, n, max(1, n // 2)),
        "n_init": one(1, 3),
        "tol": 0,
        "random_state": int(rng.integers(100)),
    }
    if rng.random() < 0.5:
        # The exact method needs all landmarks and components.
        whole = {"n_landmarks": n, "n_components": n, "embedding": "nystroem", "scale": None}
        options |= whole | {"n_clusters": one(1, 2, 3, 4, n, max(1, n // 2))}
        options |= {"coef0": 1, "degree": one(1, 2, 3)} if kernel == "polynomial" else {}
    known = kind._get_param_names()  # type: ignore[attr-defined]
    return {name: value for name, value in options.items() if name in known}


def weights_of(n: int, rng: np.random.Generator) -> np.ndarray | None:
    if rng.random() < 0.5:
        return None
    weights = 10.0 ** rng.uniform(-12, 12, size=n) if rng.random() < 0.6 else rng.integers(0, 3, size=n) * 1.0
    return np.where(rng.random(size=n) < 0.1, 0.0, weights)


# What must hold


def case(seed: int, folder: Path) -> str:
    """One fit: exact where that is defined, else finite; or a clear error."""
    asked = problem(np.random.default_rng([17, seed]))
    try:
        return judged(asked)
    except BrokenError as error:
        raise BrokenError(f"{asked.said}, {asked.options}: {error}") from None


def judged(asked: Problem) -> str:
    estimator = asked.kind(**asked.options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            estimator.fit(asked.rows, sample_weight=asked.weights)
            found = outputs(estimator, asked.rows)
        except Exception as error:
            require_no_warning(caught)
            return require_clear(error)
    require_no_warning(caught)
    require(all(np.isfinite(array).all() for array in found.values()), f"not finite: {[*found]}")
    if not hasattr(estimator, "predict"):
        return "finite"
    require_labels(estimator, found["predict"], asked)
    finished = not any(issubclass(one.category, ConvergenceWarning) for one in caught)
    return "as exact" if finished and asked.is_exact and as_exact(estimator, asked) else "finite"


def outputs(estimator: Any, rows: Any) -> dict[str, np.ndarray]:
    names = [name for name in ("predict", "transform", "embed") if hasattr(estimator, name)]
    found = {name: np.asarray(getattr(estimator, name)(rows)) for name in names}
    kept = {
        name: getattr(estimator, name, None) for name in ("inertia_", "cluster_sizes_", "residual_", "gamma_")
    }
    return found | {name: np.asarray(value, dtype=float) for name, value in kept.items() if value is not None}


def require_no_warning(caught: list[Any]) -> None:
    odd = [one for one in caught if not issubclass(one.category, UserWarning)]
    told = [
        f"{one.category.__name__} {one.message} ({Path(one.filename).name}:{one.lineno})" for one in odd[:2]
    ]
    require(not odd, f"warned: {'; '.join(told)}")


def require_clear(error: Exception) -> str:
    """An error of ours, or of scikit-learn's checks: not of the numerical libraries beneath."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1].filename.replace("\\", "/")
    ours = "/apnc/" in last or "/sklearn/utils/" in last
    text = str(error)
    shown = f"{type(error).__name__}: {text} ({Path(last).name}:{frames[-1].lineno})"
    require(isinstance(error, ValueError) and ours and len(text) > 20 and text.isprintable(), shown)
    return "clear error"


def require_labels(estimator: Any, predicted: np.ndarray, asked: Problem) -> None:
    labels, k = estimator.labels_, asked.options["n_clusters"]
    require(labels.shape == (len(asked.X),), f"{labels.shape} labels")
    require(((labels >= 0) & (labels < k)).all(), "labels out of range")
    require(
        np.array_equal(labels, predicted),
        f"{(labels != predicted).sum()} labels differ from those of predict",
    )
    require(estimator.inertia_ >= 0, f"inertia {estimator.inertia_}")


def as_exact(estimator: Any, asked: Problem) -> bool:
    given, name = asked.options, asked.options["kernel"]
    normal = given["normalize_kernel"] is True or (given["normalize_kernel"] == "auto" and name == "cosine")
    weights = np.ones(len(asked.X)) if asked.weights is None else asked.weights
    K = oracle.kernel_matrix(asked.X, name, estimator.gamma_, asked.coef0, asked.degree, normal)
    error = oracle.rounding(asked.X[weights > 0], name, estimator.gamma_, asked.degree, asked.is_sparse)
    inertia = estimator.inertia_ / weights.sum()
    return oracle.compare(estimator.labels_, inertia, weights, K, given["n_clusters"], error)


ATTACK = Attack(
    name="numbers",
    what=(
        "Rows from 1e-300 to 1e300, denormals, offsets, outliers, near-duplicates, rank 1, k = n, l = n, gamma 0 or "
        "huge, weights from 1e-12 to 1e12; all kernels, embeddings and estimators, dense and sparse"
    ),
    holds=(
        "finite results, labels within range and equal to those of predict; where l = n, exact kernel k-means in "
        "extended precision confirms inertia and labels; or a clear error; no warning from inside numpy"
    ),
    full=5_000,
    case=case,
    share=tuple(range(150)),
    cpu_seconds=60.0,
    order=5,
)
