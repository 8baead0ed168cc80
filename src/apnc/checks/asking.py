"""What an estimator's parameters ask for, checked."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from apnc.checks import data
from apnc.checks.table import TABLE, rows_of
from apnc.embeddings import EMBEDDINGS
from apnc.kernels import KernelChoice
from apnc.kernels.vectors import SCALED, SLOPED
from apnc.rows import n_columns, n_rows
from apnc.sampling import Sample
from apnc.settings import Settings
from apnc.sources import Source
from apnc.typing import Array

#: Parameters of the kernel, in the order of ``KernelChoice``.
OF_KERNEL = ("kernel", "gamma", "coef0", "degree", "kernel_params", "normalize_kernel")


def settings_of(estimator: Any, source: Source) -> Settings:
    """Parameters of the embedding, and of the clustering where there is one."""
    kernel, given = check_kernel_choice(estimator), checked(estimator)
    named = isinstance(given.embedding, str)
    asked = Settings(
        kernel=kernel,
        embedding=EMBEDDINGS[given.embedding]() if named else given.embedding,
        n_landmarks=given.n_landmarks,
        n_components=given.n_components,
        seed=random_seed(given.random_state),
        scale=check_scale_suits(given.scale, kernel.kernel, source),
    )
    if not hasattr(estimator, "n_clusters"):
        return asked
    init = _start(estimator, given, source)
    return replace(
        asked,
        n_clusters=given.n_clusters,
        init=init,
        n_init=_n_restarts(given.n_init, init),
        max_iter=given.max_iter,
        tol=given.tol,
    )


def checked(estimator: Any) -> SimpleNamespace:
    """All parameters but those of the kernel, each checked by its row; what an estimator lacks is at its default."""
    rows = {name: row for name, row in (TABLE | rows_of(type(estimator))).items() if name not in OF_KERNEL}
    return SimpleNamespace(
        **{name: row.check(getattr(estimator, name, row.default)) for name, row in rows.items()}
    )


def _start(estimator: Any, given: SimpleNamespace, source: Source) -> Any:
    """``init`` as a name, start labels, or a sample of k instances."""
    if isinstance(given.init, str):
        return given.init
    k = given.n_clusters
    if data.are_labels(given.init, callable(estimator.kernel)):
        if not source.numbered:
            raise ValueError(
                "init as start labels goes with rows in memory, not with a file or a Spark DataFrame."
            )
        return check_start_labels(np.asarray(given.init), source.n_rows or 0, k)
    instances = data.read_instances(estimator, given.init)
    if n_rows(instances) != k:
        raise ValueError(f"init has {n_rows(instances)} instances, expected n_clusters={k}.")
    if n_columns(instances) != source.n_columns:
        raise ValueError(f"init has {n_columns(instances)} features, but the rows have {source.n_columns}.")
    return Sample(instances, np.ones(k))


def _n_restarts(n_init: int | str, init: Any) -> int:
    several = init in ("k-means++", "random") if isinstance(init, str) else False
    if n_init == "auto":
        return 10 if several else 1
    if int(n_init) > 1 and not several:
        raise ValueError(
            f"n_init={n_init} has no effect with this init, which is a single start; use n_init=1."
        )
    return int(n_init)


def check_kernel_choice(estimator: Any) -> KernelChoice:
    """The kernel parameters of an estimator; a gamma or kernel_params that would be ignored are refused."""
    given = (getattr(estimator, name, TABLE[name].default) for name in OF_KERNEL)
    kernel, gamma, coef0, degree, params, normalize = (
        TABLE[name].check(value) for name, value in zip(OF_KERNEL, given, strict=True)
    )
    if params and not callable(kernel):
        raise ValueError(f"kernel_params go with a function as the kernel, not with kernel={kernel!r}.")
    if kernel == "precomputed" and normalize != "auto" and normalize:
        raise ValueError(
            "normalize_kernel=True cannot be used with kernel='precomputed': the diagonal of new instances "
            "is unknown. Normalise the matrix before: K / sqrt(outer(diag(K), diag(K)))."
        )
    _check_gamma_suits(kernel, gamma)
    return KernelChoice(kernel, gamma, coef0, degree, params, normalize)


def check_gamma(kernel: Any, gamma: Any) -> None:
    """Refuse a gamma that is no width, or that the kernel would ignore."""
    _check_gamma_suits(kernel, TABLE["gamma"].check(gamma))


def _check_gamma_suits(kernel: Any, gamma: Any) -> None:
    if gamma is None:
        return
    if kernel not in SCALED + SLOPED:
        name = f"kernel={kernel!r}" if isinstance(kernel, str) else "a kernel function"
        raise ValueError(f"gamma={gamma!r} has no effect with {name}; leave it out.")
    if gamma == "local" and kernel not in SCALED:
        raise ValueError(f"gamma='local' is for {', '.join(SCALED)}; kernel={kernel!r} takes a number.")


def check_scale_suits(scale: str | None, kernel: Any, source: Source) -> str | None:
    """A way to scale that suits the rows and the kernel."""
    if scale is None:
        return None
    if kernel == "precomputed" or source.dtype is None:
        raise ValueError(f"scale={scale!r} needs vectors; leave it out for objects and given kernels.")
    if source.is_sparse and scale != "unit":
        raise ValueError(
            f"scale={scale!r} would make sparse rows dense; use scale='unit', or scale them before."
        )
    if scale == "standard" and kernel == "chi2":
        raise ValueError(
            "scale='standard' gives negative features, which kernel='chi2' cannot take; use 'minmax'."
        )
    return scale


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
