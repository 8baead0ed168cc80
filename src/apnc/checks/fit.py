"""Refusals and warnings about a fit: what was found and what to do."""

import sys
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from apnc.embeddings import Coefficients
from apnc.model import EmbeddingModel
from apnc.sampling import Census
from apnc.settings import Settings, auto_landmarks

#: k(x, x) must stay below this, so that squares of Y fit float32.
LARGEST_KERNEL = 1e30
#: Up to this residual an embedding needs no advice; above it clusters do not if half of the landmarks lose no more than
#: this share of what they explain (docs/decisions/20-residual.md).
HIGH_RESIDUAL, HIGH_LOSS = 0.3, 0.1
#: Packages whose lines a warning does not point at.
BETWEEN = ("apnc", "contextlib", "sklearn")


def refuse_overflow(diagonal: npt.NDArray[Any]) -> None:
    """Y is stored as float32: squared distances must stay within it."""
    largest = float(np.abs(diagonal).max())
    if not largest < LARGEST_KERNEL:
        raise ValueError(
            f"The kernel reaches values up to {largest:.3g}, too large to compute with. Scale the features "
            "(for example to [0, 1]), lower degree or gamma, or set normalize_kernel=True."
        )


def refuse_too_few(n_clusters: int, census: Census) -> None:
    """k clusters need k rows that count."""
    if not census.n_positive:
        raise ValueError(
            "Every row has weight 0 or was skipped; at least one row must have a positive weight."
        )
    if n_clusters > census.n_positive:
        counted = (
            "" if census.n_positive == census.n_rows else f" of positive weight, of {census.n_rows} rows"
        )
        raise ValueError(
            f"n_clusters={n_clusters} needs at least {n_clusters} rows, got n_samples={census.n_positive}{counted}."
        )


def refuse_changed(counted: int, labelled: int) -> None:
    """A file must stay as it is while it is read several times."""
    if counted != labelled:
        raise ValueError(
            f"The data changed while it was read: {counted:,} rows were counted at first, {labelled:,} at the end."
        )


def warn_if_skipped(name: str, n_skipped: int) -> None:
    """Say how many rows had missing values."""
    if n_skipped:
        rows = (
            "1 row with missing values was"
            if n_skipped == 1
            else f"{n_skipped:,} rows with missing values were"
        )
        _warn(f"{name}: {rows} skipped (drop_null=True).")


def warn_if_capped(asked: int | str, distinct: int) -> None:
    """Say that there are fewer instances than landmarks asked for."""
    if isinstance(asked, int) and asked > distinct:
        _warn(f"n_landmarks={asked} is more than the {distinct} distinct instances; all {distinct} are used.")


def warn_if_shrunk(settings: Settings, n_distinct: float) -> None:
    """Say that the memory limit leaves room for fewer landmarks than "auto" would take."""
    wanted, used = auto_landmarks(n_distinct, settings.n_clusters), settings.auto_landmarks(n_distinct)
    if settings.n_landmarks == "auto" and used < wanted:
        _warn(
            f"The memory limit leaves room for {used} landmarks, where {wanted} would be taken without it. Raise "
            "memory_limit, or set n_landmarks."
        )


def warn_if_indefinite(coefficients: Coefficients) -> None:
    """Say once how much of an indefinite kernel's spectrum was left out."""
    if coefficients.negative > 0:
        _warn(
            f"The kernel is indefinite: {100 * coefficients.negative:.2g} % of its spectrum on the landmarks "
            f"is negative. Dropped rank: {coefficients.dropped} of {coefficients.n_landmarks} eigenvalues, "
            "those no larger than the most negative one."
        )


def advise_on_residual(model: EmbeddingModel, loss: float = np.inf) -> None:
    """Say so when the landmarks span too little of the data, and what of it would help.

    ``loss`` is the share of what clusters explain that half of the landmarks would lose; of an embedding alone there is
    none to go by.
    """
    kernel, more = model.kernel, loss > HIGH_LOSS
    if model.residual <= HIGH_RESIDUAL or not (more or kernel.has_width):
        return
    seen = (
        f"; with half of them, clusters of a sample explain {100 * loss:.0f} % less"
        if more and loss < np.inf
        else ""
    )
    advice = [f"raise n_landmarks (now {model.coefficients.n_landmarks})"] if more else []
    advice += [f"use a smaller gamma (now {kernel.gamma:.3g})"] if kernel.has_width else []
    does_not = "" if more else "; more landmarks would change little"
    _warn(
        f"residual_={model.residual:.2f}: the landmarks miss that share of the kernel's variance{seen}. "
        f"{', or '.join(advice).capitalize()}{does_not}."
    )


def warn_if_not_converged(converged: bool, max_iter: int) -> None:
    """Say that the iterations ran out."""
    if not converged:
        iterations = "1 iteration" if max_iter == 1 else f"{max_iter:,} iterations"
        message = f"Not converged after {iterations}. Raise max_iter, or tol."
        _warn(message, ConvergenceWarning)


def warn_if_empty(counts: npt.NDArray[Any]) -> None:
    """Say that some clusters hold no rows."""
    filled = int((counts > 0).sum())
    if filled < len(counts):
        _warn(
            f"Only {filled} of {len(counts)} clusters hold rows: the data has that few distinct "
            "embedded rows, or max_iter was too small to fill them."
        )


def _warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that led here: outside this package, and outside what calls parts of it in between."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
