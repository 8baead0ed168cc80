"""A kernel on time series of unequal length."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from apnc.kernels.bandwidth import mean_length
from apnc.kernels.family import BadObjectError, Kernel, KernelRows
from apnc.kernels.objects.features import ObjectKernel
from apnc.kernels.objects.sequences import described, starts_of
from apnc.kernels.radial import TUNING_PAIRS, gamma_of
from apnc.rows import n_rows
from apnc.stored import require, stored
from apnc.typing import Array

EXPECTED = "a list of numbers, or a list of equally long lists with one number for each channel"
#: Numbers of this size and beyond cannot be squared and added up.
LARGEST = 1e100
#: Values of a series that are shown.
SHOWN = 3


@stored
@dataclass(frozen=True)
class TimeWarp(ObjectKernel):
    """exp(-gamma d^2), where d is dynamic time warping: the root of the sum of squares along the best alignment.

    Takes lists of numbers and 1-D arrays, of any length; for several channels, lists of equally long lists and arrays
    of shape (length, channels). It is not positive semi-definite, and k(x, x) = 1.

    Parameters
    ----------
    band : how far an alignment may leave the diagonal (Sakoe-Chiba), as a share of the longer length: 0.1 keeps events
        within a tenth of it, and is faster. None: without limit.
    gamma : None derives it from the mean distance in a sample, as for the kernel rbf on vectors.

    Series are compared as they are: scale them first if only their shape matters.

    """

    pairwise: ClassVar[bool] = True
    pieces: ClassVar[int] = 32
    band: float | None = None
    gamma: float | None = None
    #: Whether gamma was None before it was tuned.
    found: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Require a share and a width."""
        require(_is_number(self.band, 1.0), f"band={self.band!r:.40}: expected None or a share in (0, 1]")
        wide = _is_number(self.gamma, np.finfo(float).max)
        require(wide, f"gamma={self.gamma!r:.40}: expected None or a positive number")

    @property
    def tunable(self) -> bool:  # type: ignore[override]
        """Whether gamma is not known yet."""
        return self.gamma is None

    @property
    def same_diagonal(self) -> float | None:
        """It is 1."""
        return 1.0

    @property
    def asked(self) -> Kernel:
        """Without a gamma that was tuned."""
        return TimeWarp(self.band) if self.found else self

    def read(self, objects: Any) -> list[Any]:
        """Lists of numbers, or of lists with one number for each channel; all have as many channels as the first."""
        found = [_series(position, item) for position, item in enumerate(objects)]
        for position, item in enumerate(found):
            if _channels(item) != _channels(found[0]):
                raise BadObjectError(
                    position,
                    f"found {_counted(_channels(item), 'channel')}, expected {_channels(found[0])} as in the series "
                    "before.",
                )
        return found

    def tuned(self, rows: Any, weights: Array) -> Kernel:
        """Gamma from the mean distance in a sample."""
        if self.gamma is not None:
            return self
        some = self.read(rows[:TUNING_PAIRS])
        length = mean_length(np.sqrt(self._squares(some)(some)), weights[:TUNING_PAIRS])
        return replace(self, gamma=gamma_of(length), found=True)

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """exp(-gamma d^2), in float64 on the calling thread."""
        if self.gamma is None:
            raise ValueError("This kernel has no gamma yet: pass one, or fit an estimator with it.")
        squares, gamma = self._squares(landmarks), self.gamma

        def rows(X: Any, room: Array | None) -> Array:
            K = squares(X)
            K *= -gamma
            return np.exp(K, out=K if room is None else room, casting="same_kind").astype(dtype, copy=False)

        return KernelRows(rows)

    def _squares(self, landmarks: Sequence[Any]) -> Any:
        """A function of series: their squared distances to the landmarks, shape (n, l)."""
        from apnc.loops.warping import squared_warps

        channels, band = _channels(landmarks[0]), 1.0 if self.band is None else self.band
        backward, firsts = _packed([item[::-1] for item in landmarks]), starts_of(landmarks)

        def squares(series: Sequence[Any]) -> Array:
            for item in series:
                if _channels(item) != channels:
                    raise ValueError(
                        f"A series of {self.shown(item)} does not match the landmarks, which have "
                        f"{_counted(channels, 'channel')}."
                    )
            out = np.empty((len(series), len(landmarks)))
            squared_warps(_packed(series), starts_of(series), backward, firsts, channels, band, out)
            return out

        return squares

    def diagonal(self, rows: Any) -> Array:
        """It is 1."""
        return np.ones(n_rows(rows))

    def work_bytes(self, held: int, n_landmarks: int, dtype: type) -> int:
        """Squared distances in float64, and values in the compute type."""
        return super().work_bytes(held, n_landmarks, dtype) + 8 * n_landmarks

    def shown(self, item: Any) -> str:
        """Number of values, their range, and the first of them."""
        values, channels = np.asarray(item, dtype=np.float64), _channels(item)
        of = f" of {channels} channels" if channels > 1 else ""
        first = ", ".join(_short(value) for value in values[:SHOWN])
        more = ", ..." if len(values) > SHOWN else ""
        between = f"from {values.min():.3g} to {values.max():.3g}"
        return f"{_counted(len(values), 'value')}{of} {between}: {first}{more}"


def _is_number(value: Any, most: float) -> bool:
    return value is None or (
        isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= most
    )


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _short(value: Any) -> str:
    """A value, or those of all channels."""
    return f"{value:.3g}" if np.ndim(value) == 0 else f"({', '.join(f'{one:.3g}' for one in value)})"


def _channels(item: Sequence[Any]) -> int:
    return len(item[0]) if isinstance(item[0], list) else 1


def _packed(series: Sequence[Any]) -> Array:
    """All values in a row, of each series channel after channel."""
    return np.concatenate([np.asarray(item, dtype=np.float64).T.ravel() for item in series])


def _series(position: int, item: Any) -> list[Any]:
    """A list of floats, or of lists of floats; a single channel is not a list."""
    values = _array(position, item)
    if not values.size or values.ndim > 2:
        what = f"{values.ndim} dimensions" if values.size else "an empty series"
        raise BadObjectError(position, f"found {what}, expected {EXPECTED}.")
    if values.dtype.kind not in "fiu":
        raise BadObjectError(position, f"found {_odd(item)} in a series, expected {EXPECTED}.")
    numbers = (values[:, 0] if values.shape[1:] == (1,) else values).astype(np.float64)
    _check_range(position, numbers)
    plain: list[Any] = numbers.tolist()
    return plain


def _array(position: int, item: Any) -> Array:
    """A list, a tuple or an array as an array of at least one dimension."""
    try:
        if isinstance(item, list | tuple) or (hasattr(item, "__array__") and np.ndim(item)):
            return np.asarray(item)
    except ValueError:
        raise BadObjectError(
            position, f"found numbers of channels that differ, expected {EXPECTED}."
        ) from None
    raise BadObjectError(position, f"found {described(item)}, expected {EXPECTED}.")


def _odd(item: Any) -> str:
    """The first value that is not a number, in words."""
    values = np.asarray(item, dtype=object).ravel().tolist()
    numbers = (int, float, np.integer, np.floating)
    odd = (value for value in values if not isinstance(value, numbers) or isinstance(value, bool))
    return described(next(odd, values[0]))


def _check_range(position: int, numbers: Array) -> None:
    """Refuse missing values, and those that cannot be squared."""
    # Written so that NaN is wrong too.
    wrong = np.flatnonzero(~(np.abs(numbers) < LARGEST).reshape(len(numbers), -1).all(axis=1))
    if not len(wrong):
        return
    place = int(wrong[0])
    if np.isfinite(numbers[place]).all():
        reason = f"expected numbers below {LARGEST:g} in size: scale the series"
    else:
        reason = "expected finite numbers: fill the gap, or leave the step out, as lengths may differ"
    raise BadObjectError(position, f"found {_short(numbers[place])} at step {place} of a series, {reason}.")
