"""Errors and warnings about a fit: what was found and what to do."""

import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, InconsistentVersionWarning

from apnc.embeddings import Coefficients
from apnc.embeddings.spectrum import SMALLER
from apnc.kernels import KernelChoice
from apnc.kernels.names import SQUARED
from apnc.sampling import Census
from apnc.settings import Settings, auto_landmarks
from apnc.sources.columns import about_left_out
from apnc.stored import largest
from apnc.version import __version__
from apnc.wording import told

#: The largest k(x, x) must be between these, so that squares of Y are within the range of float32.
LEAST_KERNEL, LARGEST_KERNEL = 1e-30, 1e30
#: The message if no rows are left to fit.
WEIGHTLESS = "Every row has weight zero or was skipped; at least one row must have a positive weight."
#: Packages that a warning's location skips.
BETWEEN = ("apnc", "contextlib", "numpy", "sklearn")


def refuse_range(diagonal: npt.NDArray[Any]) -> None:
    """Refuse kernel values whose square roots are out of range for float32, the type in which Y is stored."""
    found = float(np.abs(diagonal).max())
    if not found < LARGEST_KERNEL:
        raise ValueError(f"The kernel reaches values up to {found:.3g}, too large to compute with. {SMALLER}")
    if 0 < found < LEAST_KERNEL:
        raise ValueError(
            f"The kernel reaches values up to {found:.3g}, too small to compute with. Multiply the features by a "
            "constant, or set scale='minmax' or normalize_kernel=True."
        )


def refuse_magnitude(kernel: KernelChoice, samples: Iterable[Any], dtype: type) -> None:
    """Refuse features whose squares underflow or overflow the compute type."""
    if kernel.kernel not in SQUARED:
        return
    vectors = [rows.data if sparse.issparse(rows) else rows for rows in samples]
    found = max(largest(values.astype(np.float64)) for values in vectors)
    limits = np.finfo(dtype)
    low, high = float(np.sqrt(limits.tiny)), float(np.sqrt(limits.max))
    if kernel.kernel == "polynomial" and not kernel.coef0:
        # Nothing is added to the product before it is raised to a power.
        low **= 1 / max(1.0, kernel.degree)
    if found and not low <= found <= high:
        which = "small" if found < low else "large"
        raise ValueError(
            f"The features are too {which} to compute with: they reach {found:.3g}, and their squares are outside the "
            f"range of {np.dtype(dtype)}. Multiply them by a constant, or set scale='minmax'."
        )


def is_usable(gamma: float | None, dtype: type) -> bool:
    """Whether gamma is within the range of the compute type."""
    return gamma is None or 0 < gamma <= float(np.finfo(dtype).max) / 4


def refuse_gamma(gamma: float | None, self_tuned: bool, dtype: type) -> None:
    """Refuse a gamma outside the range of the compute type."""
    if is_usable(gamma, dtype):
        return
    reason = (
        "It was tuned from the data: the rows differ too little, or too much. Multiply the features by a constant, or "
        "set scale='minmax'."
        if self_tuned
        else "Choose another value."
    )
    raise ValueError(f"gamma={gamma:.3g} is outside the usable range of {np.dtype(dtype)}. {reason}")


def refuse_too_few(n_clusters: int, census: Census) -> None:
    """Refuse more clusters than there are rows with positive weight."""
    if not census.n_positive:
        raise ValueError(WEIGHTLESS)
    if n_clusters > census.n_positive:
        counted = (
            "" if census.n_positive == census.n_rows else f" of positive weight, of {census.n_rows} rows"
        )
        raise ValueError(
            f"n_clusters={n_clusters} needs at least {n_clusters} rows, got n_samples={census.n_positive}{counted}."
        )


def refuse_few_instances(n_clusters: int, least: int, asked: int, distinct: float) -> None:
    """Refuse to certify many clusters on a small sample of more instances."""
    if asked < least and asked < distinct:
        raise ValueError(
            f"n_rows={asked} is too small a sample for {n_clusters} clusters: certify needs at least {least} distinct "
            f"rows, or all that there are."
        )


def refuse_changed(counted: int, labelled: int) -> None:
    """Refuse data that changed between passes."""
    if counted != labelled:
        raise ValueError(
            f"The data changed while it was read: {counted:,} rows were counted at first, {labelled:,} at the end."
        )


def warn_left_out(name: str, left_out: Mapping[str, str]) -> None:
    """Warn about columns that were left out automatically."""
    _warn(about_left_out(name, left_out))


def warn_if_skipped(name: str, n_skipped: int) -> None:
    """Warn if rows with missing values were skipped."""
    if n_skipped:
        rows = (
            "1 row with missing values was"
            if n_skipped == 1
            else f"{n_skipped:,} rows with missing values were"
        )
        _warn(f"{name}: {rows} skipped (drop_null=True).")


def warn_if_capped(asked: int | str, distinct: int) -> None:
    """Warn if there are fewer instances than requested landmarks."""
    if isinstance(asked, int) and asked > distinct:
        _warn(f"n_landmarks={asked} is more than the {distinct} distinct instances; all {distinct} are used.")


def warn_if_shrunk(settings: Settings, n_distinct: float) -> None:
    """Warn if the memory limit leaves room for fewer landmarks than "auto" would choose."""
    wanted = auto_landmarks(n_distinct, settings.n_clusters, settings.embedding)
    used = settings.landmarks(n_distinct)
    if settings.n_landmarks == "auto" and used < wanted:
        _warn(
            f"The memory limit leaves room for {used} landmarks; without it, {wanted} would be used. Raise "
            "memory_limit, or set n_landmarks."
        )


#: Share of the spectrum that is negative above which the kernel may be a distance. A matrix of distances, or of minus
#: distances, has a zero diagonal, so that its positive and negative eigenvalues cancel: 0.5.
DISTANCES = 0.4
NOT_A_SIMILARITY = (
    " A kernel must be a similarity, larger for rows that are more alike. A distance d, or -d, is not one; "
    "exp(-d**2 / s**2) is, with a typical distance s."
)


def warn_if_indefinite(coefficients: Coefficients) -> None:
    """Warn if the kernel is indefinite, with the share of its spectrum that is negative, or zero."""
    if coefficients.negative > 0:
        _warn(
            f"The kernel is indefinite: {100 * coefficients.negative:.2g} % of its spectrum on the landmarks "
            f"is negative. Dropped rank: {coefficients.dropped} of {coefficients.n_landmarks} eigenvalues, "
            "those no larger than the most negative one."
            f"{NOT_A_SIMILARITY if coefficients.negative > DISTANCES else ''}"
        )
    elif coefficients.dropped == coefficients.n_landmarks > 1:
        _warn(f"The kernel cannot tell landmarks apart: its eigenvalues are all zero.{NOT_A_SIMILARITY}")


def warn_if_not_converged(converged: bool, max_iter: int) -> None:
    """Warn if the fit stopped at ``max_iter`` before it converged."""
    if not converged:
        iterations = "1 iteration" if max_iter == 1 else f"{max_iter:,} iterations"
        message = f"Not converged after {iterations}. Raise max_iter, or tol."
        _warn(message, ConvergenceWarning)


def warn_if_empty(counts: npt.NDArray[Any]) -> None:
    """Warn if some clusters are empty."""
    filled = int((counts > 0).sum())
    if filled < len(counts):
        _warn(
            f"Only {filled} of {len(counts)} clusters hold rows: the data has that few distinct "
            "embedded rows, or max_iter was too small to fill them."
        )


class OtherVersionWarning(InconsistentVersionWarning):
    """An estimator was pickled by another version of apnc."""

    def __str__(self) -> str:
        return (
            f"This {self.estimator_name} was pickled by apnc {self.original_sklearn_version}, and this is apnc "
            f"{self.current_sklearn_version}: it may fail, or give other results. Fit it again, or keep "
            "models with save(), whose files are checked when they are loaded."
        )


def warn_if_other_version(name: str, then: str) -> None:
    """Warn if an estimator was pickled by another version."""
    if then != __version__:
        _warn(
            OtherVersionWarning(
                estimator_name=name, current_sklearn_version=__version__, original_sklearn_version=then
            )
        )


def _warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line: the first one outside the packages of ``BETWEEN``."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message if isinstance(message, Warning) else told(message), category, stacklevel=level)
