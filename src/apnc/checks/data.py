"""Validation of data: rows in memory, sources, precomputed kernels."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from apnc import sources
from apnc.checks import frames
from apnc.checks.fit import WEIGHTLESS, warn_left_out
from apnc.checks.precomputed import as_given_kernel, as_new_given_rows
from apnc.checks.table import TABLE
from apnc.kernels import ON_OBJECTS, Kernel
from apnc.kernels.family import ANYTHING, OBJECT_KINDS, RECORDS
from apnc.rows import GivenRows, all_finite, as_csr, n_rows
from apnc.sources import InMemory, Source, SourceError
from apnc.sources.columns import VECTORS_OF_TEXT, no_features, no_rows
from apnc.sources.missing import bad_weight, finite, infinite, missing_values, refuse_missing
from apnc.sources.pieces import AbsentError, MissingValuesError, Piece, read_objects
from apnc.typing import Array

#: Attributes of an estimator that describe its features.
FEATURES = ("n_features_in_", "feature_names_in_")
#: scikit-learn only converts rows to numeric arrays; their values are checked here, with messages of our own.
AS_THEY_ARE = {
    "accept_sparse": "csr",
    "dtype": "numeric",
    "ensure_all_finite": False,
    "ensure_min_samples": 0,
    "ensure_min_features": 0,
}


def check_weights(sample_weight: Any, n: int) -> Array:
    """Weights as float64 of shape (n,); None means weight 1 for every row."""
    if sample_weight is None:
        return np.ones(n)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, expected ({n},): one weight for each row."
        )
    wrong = np.flatnonzero((weights < 0) | np.isinf(weights))
    if len(wrong):
        raise SourceError(bad_weight(f"X, row {wrong[0]}", f"{weights[wrong[0]]:g}"))
    if missing := int(np.isnan(weights).sum()):
        raise SourceError(missing_values("X", {"the weights": missing}, missing) + f" {InMemory.skipping}.")
    if not weights.any():
        raise ValueError(WEIGHTLESS)
    return weights


def is_frame(X: Any) -> bool:
    """Whether X is a data frame in memory."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def are_objects(kernel: Any, X: Any) -> bool:
    """Whether X is a collection of arbitrary objects for a kernel."""
    if getattr(kernel, "takes", ANYTHING) in OBJECT_KINDS:
        return True
    if not callable(kernel) or sparse.issparse(X) or hasattr(X, "columns"):
        return False
    return getattr(getattr(X, "dtype", None), "kind", "O") not in "fiub"


def as_objects(X: Any, kernel: Any) -> list[Any]:
    """The objects as a list, in the form that the kernel computes with."""
    if is_frame(X) and getattr(kernel, "takes", None) == RECORDS:
        X = frames.records(X, kernel.columns)
    elif is_frame(X) or sparse.issparse(X):
        raise ValueError(
            f"{type(kernel).__name__} takes a list of objects, got a {type(X).__name__} of shape {X.shape}. Pass one "
            "of its columns, or use a kernel on vectors or records."
        )
    if isinstance(X, (str, bytes, dict)) or not hasattr(X, "__iter__"):
        raise ValueError(
            f"X must be a list of objects, got a single {type(X).__name__}. Pass [{type(X).__name__}]."
        )
    objects = list(X)
    if not objects:
        raise SourceError(no_rows("X"))
    if not isinstance(kernel, Kernel):
        return objects
    return read_objects(kernel, objects, lambda position: f"X, row {position}")


def refuse_objects(kernel: Any, X: Any) -> None:
    """Refuse a list of objects, which only a kernel function can take."""
    first = _first_object(X)
    if isinstance(first, (str, bytes, dict, set, frozenset, os.PathLike)):
        raise SourceError(needs_function(f"X, a list of {type(first).__name__}", kernel))


def needs_function(where: str, kernel: Any) -> str:
    """The message for objects without a kernel function."""
    return (
        f"{where}: kernel={kernel!r} needs vectors of numbers, not objects. Choose a kernel on objects "
        f"({', '.join([*ON_OBJECTS][:3])}, ...), or pass a function: kernel=f with f(A, B) -> matrix of shape "
        f"(len(A), len(B)). For text, {VECTORS_OF_TEXT}; files are read by apnc.open([...])."
    )


def _first_object(X: Any) -> Any:
    """The first item of a flat collection, else None."""
    flat = isinstance(X, (list, tuple)) or getattr(X, "ndim", 0) == 1
    if not flat or not len(X):
        return None
    return X.iloc[0] if hasattr(X, "iloc") else X[0]


def are_labels(init: Any, for_objects: bool) -> bool:
    """Whether ``init`` holds start labels; a list holds instances if these are objects."""
    if sparse.issparse(init) or hasattr(init, "columns") or (for_objects and isinstance(init, list)):
        return False
    given = np.asarray(init)
    return given.ndim == 1 and given.dtype.kind in "iu"


def read(estimator: Any, X: Any, sample_weight: Any = None, reset: bool = False) -> Source:
    """X as a source with the features of the fit; with ``reset``, the estimator learns its features from X."""
    if streams(estimator, X, sample_weight):
        if sample_weight is not None:
            raise ValueError(
                "sample_weight is for rows in memory; for a file, use apnc.open(..., weight_column='name')."
            )
        return read_source(estimator, X, reset)
    source = InMemory(read_rows(estimator, X, reset))
    source.weights = check_weights(sample_weight, source.n_rows or 0)
    names = getattr(estimator, "feature_names_in_", None)
    source.columns = None if names is None else tuple(names)
    return source


def streams(estimator: Any, X: Any, sample_weight: Any) -> bool:
    """Whether X is read in pieces; a memory map with weights or start labels counts as rows in memory."""
    if type(X) is np.ndarray or (estimator.kernel == "precomputed" and hasattr(X, "shape")):
        return False
    init = getattr(estimator, "init", "")
    labels = not isinstance(init, str) and are_labels(init, not isinstance(checked_kernel(estimator), str))
    beside = isinstance(X, np.memmap) and (sample_weight is not None or labels)
    return sources.is_source(X) and not beside


def checked_kernel(estimator: Any) -> Any:
    """The kernel of an estimator: the name of one on vectors, an object or a function."""
    return TABLE["kernel"].check(getattr(estimator, "kernel", "linear"))


def read_rows(estimator: Any, X: Any, reset: bool) -> Any:
    """X as rows for an engine: array, CSR, list of objects, or rows of a precomputed kernel."""
    kernel = checked_kernel(estimator)
    if are_objects(kernel, X):
        forget_features(estimator, reset)
        return as_objects(X, kernel)
    if kernel == "precomputed" and "_model" in vars(estimator) and not reset:
        n, given = estimator.n_features_in_, len(estimator.landmark_indices_)
        X = check_array(X, **AS_THEY_ARE)
        refuse_unusable(X)
        return as_new_given_rows(X, n, given, type(estimator).__name__)
    refuse_objects(kernel, X)
    names = None if reset else getattr(estimator, "feature_names_in_", None)
    X = frames.features(X, names) if is_frame(X) and kernel != "precomputed" else X
    try:
        X = validate_data(estimator, X, reset=reset, **AS_THEY_ARE)
    except OverflowError as error:
        raise SourceError(infinite("X", "a value")) from error
    refuse_unusable(X, getattr(estimator, "feature_names_in_", None))
    return as_given_kernel(X) if kernel == "precomputed" else as_vectors(X, kernel)


def refuse_unusable(X: Any, names: Any = None) -> None:
    """Refuse data without rows, without features, or with values that are not finite."""
    if not X.shape[0]:
        raise SourceError(no_rows("X"))
    if not X.shape[1]:
        raise SourceError(no_features("X", X.shape[0]))
    if all_finite(X):
        return
    source = InMemory(X)
    source.columns = None if names is None else tuple(names)
    try:
        finite(source, Piece(X, 0, X.shape[0], "X"), X, None)
    except MissingValuesError:
        refuse_missing(source, X.shape[0])


def read_instances(estimator: Any, instances: Any) -> Any:
    """Instances passed as a parameter, as rows for an engine; the estimator's features stay as they are."""
    if estimator.kernel == "precomputed":
        return GivenRows(as_csr(check_array(instances, accept_sparse="csr")))
    before = {name: value for name, value in vars(estimator).items() if name in FEATURES}
    try:
        return read_rows(estimator, instances, reset=True)
    finally:
        forget_features(estimator, reset=True)
        vars(estimator).update(before)


def forget_features(estimator: Any, reset: bool) -> None:
    """With ``reset``, drop the features of an earlier fit."""
    for stale in FEATURES if reset else ():
        estimator.__dict__.pop(stale, None)


def read_source(estimator: Any, data: Any, reset: bool) -> Source:
    """A path or an object as a source with the features of the fit."""
    kernel = checked_kernel(estimator)
    source = sources.open(data)
    if kernel == "precomputed":
        raise ValueError("kernel='precomputed' takes a matrix in memory, not a file: load it first.")
    if getattr(kernel, "takes", ANYTHING) in OBJECT_KINDS:
        source = source.of_objects(kernel)
    elif source.n_columns == 0:
        source.refuse_problem()
        if not callable(kernel):
            raise SourceError(needs_function(source.name, kernel))
    if source.remote and estimator.memory_limit is not None:
        raise ValueError(f"memory_limit applies to this machine only; {source.memory}.")
    forget_features(estimator, reset)
    source = source if reset else matching(estimator, source)
    if source.left_out:
        warn_left_out(source.name, source.left_out)
    return source


def matching(estimator: Any, source: Source) -> Source:
    """The source with the features of the fit: by name if both have names, else by number."""
    names, n = getattr(estimator, "feature_names_in_", None), getattr(estimator, "n_features_in_", 0)
    if names is not None and source.columns is not None:
        try:
            return source.select(list(names))
        except AbsentError as error:
            compare(estimator, source.name, error.there)
            raise
    source = source.with_columns(n) if n and source.n_columns else source
    if bool(n) != bool(source.n_columns):
        found, expected = _features(source.n_columns), _features(n)
        raise ValueError(
            f"{source.name} has {found}, but {type(estimator).__name__} is expecting {expected}."
        )
    if n:
        compare(estimator, source.name, source.columns, source.n_columns)
    return source


def compare(estimator: Any, where: str, names: Sequence[str] | None, n: int = 0) -> None:
    """Let scikit-learn compare the columns of a source with those of the fit; errors name the source."""
    if names is None:
        header: Any = np.empty((0, n))
    else:
        import pyarrow as pa

        header = pa.table([pa.array([], pa.float64())] * len(names), names=list(names))
    try:
        validate_data(estimator, header, reset=False, skip_check_array=True)
    except ValueError as error:
        raise SourceError(f"{where}: {error}") from error


def _features(n: int) -> str:
    return f"{n} features" if n else "objects (JSON lines)"


def as_vectors(X: Any, kernel: Any) -> Any:
    """Checked vectors in a type that the compiled loops support; CSR without duplicates."""
    if getattr(X, "dtype", None) == np.longdouble:
        X = X.astype(np.float64)
    if kernel == "chi2" and n_rows(X) and X.min() < 0:
        raise ValueError(f"kernel='chi2' needs features >= 0, found {X.min():.3g}.")
    return as_csr(X)
