"""Checks of data: rows in memory, sources, given kernels."""

import os
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from apnc import sources
from apnc.checks.table import TABLE
from apnc.rows import GivenRows, as_csr, n_rows
from apnc.sources import InMemory, Source
from apnc.typing import Array

#: What an estimator knows of the features of its rows.
FEATURES = ("n_features_in_", "feature_names_in_")


def check_weights(sample_weight: Any, n: int) -> Array:
    """Weights as float64 of shape (n,); None means one each."""
    if sample_weight is None:
        return np.ones(n)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, expected ({n},): one weight for each row."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        bad = int((~np.isfinite(weights) | (weights < 0)).sum())
        raise ValueError(
            f"sample_weight must be finite and >= 0; {bad} of {n} are negative, NaN or infinite."
        )
    if not weights.any():
        raise ValueError("sample_weight is zero for every row; at least one row must have a positive weight.")
    return weights


def are_objects(kernel: Any, X: Any) -> bool:
    """Whether X is a collection of arbitrary objects for a kernel function."""
    if not callable(kernel) or sparse.issparse(X) or hasattr(X, "columns"):
        return False
    return getattr(getattr(X, "dtype", None), "kind", "O") not in "fiub"


def as_objects(X: Any) -> list[Any]:
    """The objects as a list."""
    if isinstance(X, (str, bytes, dict)) or not hasattr(X, "__iter__"):
        raise ValueError(
            f"X must be a list of objects, got a single {type(X).__name__}. Pass [{type(X).__name__}]."
        )
    objects = list(X)
    if not objects:
        raise ValueError("Found 0 sample(s) while a minimum of 1 is required: X is an empty list of objects.")
    return objects


def refuse_text(kernel: Any, X: Any) -> None:
    """Name columns that are not numbers; tell lists of objects to bring a kernel function."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        types = X.dtypes if isinstance(X.dtypes, list) else list(X.dtypes)
        bad = [str(c) for c, kind in zip(X.columns, types, strict=True) if not _is_number(kind)]
        if bad:
            raise ValueError(
                f"Not numeric: {len(bad)} of {len(types)} columns ({', '.join(map(repr, bad[:10]))}). Drop or encode "
                "them, or pass records (a list of dict) with a function as the kernel."
            )
        return
    first = _first_object(X)
    if isinstance(first, (str, bytes, dict, set, frozenset, os.PathLike)):
        files = " Files are read by apnc.open([...])." if isinstance(first, (str, os.PathLike)) else ""
        raise ValueError(
            f"kernel={kernel!r} needs numeric vectors, got a list of {type(first).__name__}. For objects pass "
            f"a function as the kernel: kernel=f with f(A, B) -> matrix of shape (len(A), len(B)).{files}"
        )


def _first_object(X: Any) -> Any:
    """The first of a flat collection of things that are not numbers, else None."""
    flat = isinstance(X, (list, tuple)) or getattr(X, "ndim", 0) == 1
    if not flat or not len(X):
        return None
    return X.iloc[0] if hasattr(X, "iloc") else X[0]


def are_labels(init: Any, for_objects: bool) -> bool:
    """Whether ``init`` is start labels; a list is one of instances if those may be any object."""
    if sparse.issparse(init) or hasattr(init, "columns") or (for_objects and isinstance(init, list)):
        return False
    given = np.asarray(init)
    return given.ndim == 1 and given.dtype.kind in "iu"


def _is_number(kind: Any) -> bool:
    if hasattr(kind, "is_numeric"):
        return bool(kind.is_numeric()) or str(kind) == "Boolean"
    return getattr(kind, "kind", "O") in "fiub" or bool(getattr(kind, "_is_numeric", False))


def read(estimator: Any, X: Any, sample_weight: Any = None, reset: bool = False) -> Source:
    """X as a source whose features are those the estimator knows; with ``reset`` it learns them here."""
    if streams(estimator, X, sample_weight):
        if sample_weight is not None:
            raise ValueError("Weights of a file come from it: apnc.open(..., weight_column='name').")
        return read_source(estimator, X, reset)
    source = InMemory(read_rows(estimator, X, reset))
    source.weights = check_weights(sample_weight, source.n_rows or 0)
    names = getattr(estimator, "feature_names_in_", None)
    source.columns = None if names is None else tuple(names)
    return source


def streams(estimator: Any, X: Any, sample_weight: Any) -> bool:
    """Whether X is read in pieces; a memory map is rows in memory where something goes with its rows."""
    if type(X) is np.ndarray or (estimator.kernel == "precomputed" and hasattr(X, "shape")):
        return False
    init = getattr(estimator, "init", "")
    labels = not isinstance(init, str) and are_labels(init, callable(estimator.kernel))
    beside = isinstance(X, np.memmap) and (sample_weight is not None or labels)
    return sources.is_source(X) and not beside


def read_rows(estimator: Any, X: Any, reset: bool) -> Any:
    """X as rows for an engine: array, CSR, list of objects, or rows of a given kernel."""
    kernel = TABLE["kernel"].check(getattr(estimator, "kernel", "linear"))
    if are_objects(kernel, X):
        forget_features(estimator, reset)
        return as_objects(X)
    if kernel == "precomputed" and "_model" in vars(estimator) and not reset:
        return as_new_given_rows(
            X, estimator.n_features_in_, estimator.n_landmarks_, type(estimator).__name__
        )
    refuse_text(kernel, X)
    X = validate_data(estimator, X, accept_sparse="csr", dtype="numeric", reset=reset)
    return as_given_kernel(X) if kernel == "precomputed" else as_vectors(X, kernel)


def read_instances(estimator: Any, instances: Any) -> Any:
    """Instances that a parameter holds, as rows for an engine; the estimator learns nothing from them."""
    if estimator.kernel == "precomputed":
        return GivenRows(as_csr(check_array(instances, accept_sparse="csr")))
    before = {name: value for name, value in vars(estimator).items() if name in FEATURES}
    try:
        return read_rows(estimator, instances, reset=True)
    finally:
        forget_features(estimator, reset=True)
        vars(estimator).update(before)


def forget_features(estimator: Any, reset: bool) -> None:
    """Features of an earlier fit mean nothing to this one."""
    for stale in FEATURES if reset else ():
        estimator.__dict__.pop(stale, None)


def read_source(estimator: Any, data: Any, reset: bool) -> Source:
    """A path or an open object as a source whose features are those the estimator knows."""
    kernel = TABLE["kernel"].check(estimator.kernel)
    source = sources.open(data)
    if kernel == "precomputed":
        raise ValueError("kernel='precomputed' takes a matrix in memory, not a file: load it first.")
    if source.n_columns == 0 and not callable(kernel):
        raise ValueError(
            f"{source.name} holds objects, so the kernel must be a function f(A, B), got kernel={kernel!r}."
        )
    if source.remote and estimator.memory_limit is not None:
        raise ValueError(f"memory_limit is for this machine; {source.memory}.")
    forget_features(estimator, reset)
    return source if reset else matching(estimator, source)


def matching(estimator: Any, source: Source) -> Source:
    """The source with the features of the fit: by name if both have names, else by number."""
    names, n = getattr(estimator, "feature_names_in_", None), getattr(estimator, "n_features_in_", 0)
    if names is not None and source.columns is not None:
        return source.select(list(names))
    source = source.with_columns(n) if n and source.n_columns else source
    if source.n_columns != n:
        found, expected = _features(source.n_columns), _features(n)
        raise ValueError(
            f"{source.name} has {found}, but {type(estimator).__name__} is expecting {expected}."
        )
    return source


def _features(n: int) -> str:
    return f"{n} features" if n else "objects (JSON lines)"


def as_vectors(X: Any, kernel: Any) -> Any:
    """Checked vectors in a type the loops know; CSR without duplicates."""
    if getattr(X, "dtype", None) == np.longdouble:
        X = X.astype(np.float64)
    if kernel == "chi2" and n_rows(X) and X.min() < 0:
        raise ValueError(f"kernel='chi2' needs features >= 0, found {X.min():.3g}.")
    return as_csr(X)


def as_given_kernel(X: Any) -> GivenRows:
    """A square kernel matrix with its row numbers."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"kernel='precomputed' needs a square matrix to fit, got shape {X.shape}.")
    if X.shape[0] > 1 and not X.diagonal().any() and X.max() > 0:
        raise ValueError(
            "kernel='precomputed' needs similarities, but the diagonal is zero: these look like distances. "
            "Make them similar, for example by exp(-gamma * D**2)."
        )
    return GivenRows(as_csr(X), np.arange(X.shape[0]))


def as_new_given_rows(X: Any, n: int, n_landmarks: int, estimator: str) -> GivenRows:
    """Kernel values of new instances against all instances or against the landmarks."""
    X = check_array(X, accept_sparse="csr")
    if X.shape[1] not in (n, n_landmarks):
        raise ValueError(
            f"X has {X.shape[1]} features, but {estimator} is expecting {n} features as input (kernel values "
            f"against all fitted instances), or {n_landmarks} (against landmark_indices_)."
        )
    return GivenRows(as_csr(X))
