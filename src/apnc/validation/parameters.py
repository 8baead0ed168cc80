"""Checks of parameters."""

import difflib
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_random_state

from apnc.embeddings import EMBEDDINGS, Embedding
from apnc.kernels import KERNELS, KernelChoice
from apnc.kernels.vectors import SCALED, SLOPED
from apnc.scaling import SCALES
from apnc.sources.family import Source

Array = npt.NDArray[Any]
#: What users call some of our names elsewhere.
SYNONYMS = {
    "gaussian": "rbf",
    "poly": "polynomial",
    "neural": "sigmoid",
    "tanh": "sigmoid",
    "kmeans++": "k-means++",
}
INITS = ("k-means++", "random", "random-partition")
GAMMA = "a positive number or 'local'; left out, it is tuned from the data"


def known_name(parameter: str, value: str, known: Iterable[str]) -> str:
    """``value`` if it is known, else an error that names the nearest."""
    known = list(known)
    if value in known:
        return value
    plain = SYNONYMS.get(value.lower(), value.lower())
    nearest = difflib.get_close_matches(plain, known, n=1, cutoff=0.5)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    raise ValueError(f"{parameter}={value!r} is unknown.{hint} Known: {', '.join(known)}.")


def positive_integer(parameter: str, value: Any) -> int:
    """A whole number of at least 1."""
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1:
        return int(value)
    raise ValueError(f"{parameter}={value!r} must be a positive integer.")


def size_or_auto(parameter: str, value: Any) -> int | str:
    """A positive integer or ``"auto"``."""
    if isinstance(value, str):
        return known_name(parameter, value, ["auto"])
    return positive_integer(parameter, value)


def non_negative(parameter: str, value: Any) -> float:
    """A finite number of at least 0."""
    if isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) < np.inf:
        return float(value)
    raise ValueError(f"{parameter}={value!r} must be a number >= 0.")


def check_embedding_choice(value: Any) -> Embedding:
    """An embedding by name or as an object."""
    if isinstance(value, Embedding):
        return value
    if isinstance(value, str):
        return EMBEDDINGS[known_name("embedding", value, EMBEDDINGS)]()
    hint = " Pass an instance, not the class." if isinstance(value, type) else ""
    raise ValueError(
        f"embedding={value!r} must be one of {', '.join(EMBEDDINGS)}, or an object of a subclass of "
        f"apnc.Embedding.{hint}"
    )


def check_kernel_choice(estimator: Any) -> KernelChoice:
    """The kernel parameters of an estimator; a parameter that would be ignored is refused."""
    kernel, gamma, params = estimator.kernel, estimator.gamma, estimator.kernel_params
    check_kernel_name(kernel)
    if params and not callable(kernel):
        raise ValueError(f"kernel_params go with a function as the kernel, not with kernel={kernel!r}.")
    if kernel in ("polynomial", "sigmoid"):
        _check_shape(estimator.coef0, estimator.degree)
    if kernel == "precomputed" and estimator.normalize_kernel:
        raise ValueError(
            "normalize_kernel=True cannot be used with kernel='precomputed': the diagonal of new instances "
            "is unknown. Normalise the matrix before: K / sqrt(outer(diag(K), diag(K)))."
        )
    check_gamma(kernel, gamma)
    return KernelChoice(
        kernel, gamma, estimator.coef0, estimator.degree, params, bool(estimator.normalize_kernel)
    )


def check_scale(scale: Any, kernel: Any, given: Any) -> str | None:
    """A known way to scale that suits the rows."""
    if scale is None:
        return None
    if not isinstance(scale, str):
        raise ValueError(f"scale={scale!r} must be one of {', '.join(SCALES)}, or None.")
    known_name("scale", scale, SCALES)
    if kernel == "precomputed" or getattr(given, "dtype", None) is None:
        raise ValueError(f"scale={scale!r} needs vectors; leave it out for objects and given kernels.")
    is_sparse = given.is_sparse if isinstance(given, Source) else sparse.issparse(given)
    if is_sparse and scale != "unit":
        raise ValueError(
            f"scale={scale!r} would make sparse rows dense; use scale='unit', or scale them before."
        )
    if scale == "standard" and kernel == "chi2":
        raise ValueError(
            "scale='standard' gives negative features, which kernel='chi2' cannot take; use 'minmax'."
        )
    return scale


def check_kernel_name(kernel: Any) -> Any:
    """A function, or a name that is known."""
    if not callable(kernel):
        if not isinstance(kernel, str):
            raise ValueError(f"kernel={kernel!r} must be a name or a function f(A, B).")
        known_name("kernel", kernel, (*KERNELS, "precomputed"))
    return kernel


def _check_shape(coef0: Any, degree: Any) -> None:
    if not isinstance(coef0, Real) or not np.isfinite(float(coef0)):
        raise ValueError(f"coef0={coef0!r} must be a finite number.")
    if not isinstance(degree, Real) or not 0 < float(degree) < np.inf:
        raise ValueError(f"degree={degree!r} must be a positive number.")


def check_gamma(kernel: Any, gamma: Any) -> None:
    """Refuse a gamma that is no width, or that the kernel would ignore."""
    if gamma is None:
        return
    if kernel not in SCALED + SLOPED:
        name = f"kernel={kernel!r}" if isinstance(kernel, str) else "a kernel function"
        raise ValueError(f"gamma={gamma!r} has no effect with {name}; leave it out.")
    if isinstance(gamma, str):
        if gamma != "local":
            raise ValueError(f"gamma={gamma!r} must be {GAMMA}.")
        if kernel not in SCALED:
            raise ValueError(f"gamma='local' is for {', '.join(SCALED)}; kernel={kernel!r} takes a number.")
    elif isinstance(gamma, bool) or not (isinstance(gamma, Real) and 0 < float(gamma) < np.inf):
        raise ValueError(f"gamma={gamma!r} must be {GAMMA}.")


def random_seed(random_state: Any) -> int:
    """One integer from ``random_state``; every step of a fit derives its own from it."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def check_start_labels(init: Array, n: int, k: int) -> Array:
    """Start labels: n integers in 0..k-1."""
    if init.shape != (n,) or init.min() < 0 or init.max() >= k:
        raise ValueError(
            f"init as start labels must be {n} integers from 0 to {k - 1}; got shape {init.shape} with "
            f"values from {init.min()} to {init.max()}."
        )
    return np.ascontiguousarray(init, dtype=np.int32)
