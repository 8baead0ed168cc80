"""Validation of an estimator's parameters."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from apnc.checks import data
from apnc.checks.table import TABLE, rows_of
from apnc.embeddings import EMBEDDINGS
from apnc.kernels import KernelChoice, is_function
from apnc.kernels.bandwidth import LENGTHS
from apnc.kernels.names import SCALED
from apnc.rows import n_columns, n_rows
from apnc.sampling import Sample
from apnc.settings import Settings
from apnc.sources import Source
from apnc.typing import Array

#: Kernel parameters, in the order of ``KernelChoice``.
OF_KERNEL = ("kernel", "gamma", "coef0", "degree", "kernel_params", "normalize_kernel")
#: Kernel parameters that only some kernels take.
NOT_OF_ALL = ("gamma", "coef0", "degree", "kernel_params")


def settings_of(estimator: Any, source: Source) -> Settings:
    """Checked settings of the embedding and, for a clusterer, of the clustering."""
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
        n_init=_n_restarts(given.n_init, init, asked.embedding.n_starts),
        max_iter=given.max_iter,
        tol=given.tol,
    )


def checked(estimator: Any) -> SimpleNamespace:
    """All parameters except the kernel's, each checked by its row of the table; absent ones take their defaults."""
    rows = {name: row for name, row in (TABLE | rows_of(type(estimator))).items() if name not in OF_KERNEL}
    return SimpleNamespace(
        **{name: row.check(getattr(estimator, name, row.default)) for name, row in rows.items()}
    )


def _start(estimator: Any, given: SimpleNamespace, source: Source) -> Any:
    """``init`` as a name, start labels, or a sample of k instances."""
    if isinstance(given.init, str):
        return given.init
    k = given.n_clusters
    if data.are_labels(given.init, not isinstance(data.checked_kernel(estimator), str)):
        if not source.numbered:
            raise ValueError(
                "init as start labels needs rows in memory, not a file or rows on another engine."
            )
        return check_start_labels(np.asarray(given.init), source.n_rows or 0, k)
    instances = data.read_instances(estimator, given.init)
    if n_rows(instances) != k:
        raise ValueError(f"init has {n_rows(instances)} instances, expected n_clusters={k}.")
    if n_columns(instances) != source.n_columns:
        raise ValueError(f"init has {n_columns(instances)} features, but the rows have {source.n_columns}.")
    return Sample(instances, np.ones(k))


def _n_restarts(n_init: int | str, init: Any, usual: int) -> int:
    several = init in ("k-means++", "random") if isinstance(init, str) else False
    if n_init == "auto":
        return usual if several else 1
    if int(n_init) > 1 and not several:
        raise ValueError(
            f"n_init={n_init} has no effect with this init, which is a single start; use n_init=1."
        )
    return int(n_init)


def check_kernel_choice(estimator: Any) -> KernelChoice:
    """The kernel parameters of an estimator; refuse those that the kernel would ignore."""
    rows = TABLE | rows_of(type(estimator))
    given = {name: rows[name].check(getattr(estimator, name, rows[name].default)) for name in OF_KERNEL}
    choice = KernelChoice(*given.values())
    for name in NOT_OF_ALL:
        if given[name] is not None and (given[name] or None) != (rows[name].default or None):
            refuse_unused(choice, name, given[name])
    asked = choice.normalize != rows["normalize_kernel"].default
    if getattr(choice.kernel, "unit", False) and asked and not choice.normalize:
        raise ValueError(
            f"normalize_kernel=False contradicts {choice.kernel!r}, which is normalised; set normalize=False there."
        )
    if choice.kernel == "precomputed" and choice.normalize != "auto" and choice.normalize:
        raise ValueError(
            "normalize_kernel=True cannot be used with kernel='precomputed': the diagonal of new instances "
            "is unknown. Normalise the matrix first: K / sqrt(outer(diag(K), diag(K)))."
        )
    return choice


def check_gamma(kernel: Any, gamma: Any) -> None:
    """Refuse a gamma that is not a valid width, or that the kernel would ignore."""
    if TABLE["gamma"].check(gamma) is not None:
        refuse_unused(KernelChoice(kernel, gamma), "gamma", gamma)


def refuse_unused(choice: KernelChoice, name: str, value: Any) -> None:
    """Refuse a parameter that the kernel does not take."""
    kernel = choice.kernel
    if name not in choice.takes:
        called = "a kernel function" if is_function(kernel) else f"kernel={kernel!r}"
        raise ValueError(f"{name}={value!r} has no effect with {called}; leave it out.")
    if name == "gamma" and value in LENGTHS and not choice.lengths:
        raise ValueError(f"gamma={value!r} is for {', '.join(SCALED)}; kernel={kernel!r} takes a number.")


def check_scale_suits(scale: str | None, kernel: Any, source: Source) -> str | None:
    """``scale``, refused if it does not suit the rows or the kernel."""
    if scale is None:
        return None
    if kernel == "precomputed" or source.dtype is None:
        raise ValueError(f"scale={scale!r} needs vectors; leave it out for objects and precomputed kernels.")
    if source.is_sparse and scale != "unit":
        raise ValueError(
            f"scale={scale!r} would make sparse rows dense; use scale='unit', or scale them first."
        )
    if scale == "standard" and kernel == "chi2":
        raise ValueError(
            "scale='standard' gives negative features, which kernel='chi2' cannot take; use 'minmax'."
        )
    return scale


def random_seed(random_state: Any) -> int:
    """One integer seed from ``random_state``, from which every step of a fit derives its own."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def check_start_labels(init: Array, n: int, k: int) -> Array:
    """Start labels: n integers in 0..k-1."""
    if init.shape != (n,) or init.min() < 0 or init.max() >= k:
        raise ValueError(
            f"init as start labels must be {n} integers from 0 to {k - 1}; got shape {init.shape} with "
            f"values from {init.min()} to {init.max()}."
        )
    return np.ascontiguousarray(init, dtype=np.int32)
