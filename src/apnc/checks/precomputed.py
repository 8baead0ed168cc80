"""Precomputed kernel matrices: rows of the fit, and new ones."""

from typing import Any

import numpy as np

from apnc.rows import GivenRows, as_csr, n_columns
from apnc.sources import Source


def as_given_kernel(X: Any) -> GivenRows:
    """A square kernel matrix with its row numbers."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"kernel='precomputed' needs a square matrix to fit, got shape {X.shape}.")
    if X.shape[0] > 1 and not X.diagonal().any() and X.max() > 0:
        raise ValueError(
            "kernel='precomputed' needs similarities, but the diagonal is zero: these look like distances. "
            "Convert them to similarities, for example with exp(-gamma * D**2)."
        )
    return GivenRows(as_csr(X), np.arange(X.shape[0]))


def refuse_other_matrix(source: Source) -> None:
    """Refuse rows of a precomputed kernel other than the fitted matrix, between which no kernel values are known."""
    rows = getattr(source, "rows", None)
    if isinstance(rows, GivenRows) and rows.numbers is None:
        n = n_columns(rows)
        raise ValueError(
            f"A precomputed kernel is certified with the fitted matrix, kernel values of all instances with all "
            f"instances; X has shape {(len(rows), n)}."
        )


def as_new_given_rows(X: Any, n: int, n_landmarks: int, estimator: str) -> GivenRows:
    """Kernel values of new instances against all instances or against the landmarks."""
    if X.shape[1] not in (n, n_landmarks):
        raise ValueError(
            f"X has {X.shape[1]} features, but {estimator} is expecting {n} features as input (kernel values "
            f"against all fitted instances), or {n_landmarks} (against landmark_indices_)."
        )
    # Rows of a square matrix may be the fitted instances themselves; only certify relies on that, and checks it.
    return GivenRows(as_csr(X), np.arange(n) if X.shape == (n, n) else None)
