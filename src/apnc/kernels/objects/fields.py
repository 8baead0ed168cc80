"""Fields of records: how their values are read, what is learned about them, and the features that they become."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Any, ClassVar

import numpy as np

from apnc.kernels.objects.features import Features
from apnc.kernels.objects.learned import Learned, Nothing, Rarity, Spread
from apnc.kernels.objects.sequences import described, letter_codes, token_codes
from apnc.stored import require, stored
from apnc.typing import Array

#: Characters of a value in a record that is shown.
SHOWN = 40
#: A whole number with a fraction of zeros.
WHOLE = re.compile(r"(-?\d+)\.0+")
MICROSECONDS_A_DAY = 86_400e6


@dataclass(frozen=True, repr=False)
class Field(ABC):
    """A field of a record.

    Parameters
    ----------
    weight : how much the field's similarity counts, > 0.

    """

    weight: float = 1.0
    learns: ClassVar[type[Learned]]
    #: Whether delimited text is read as it stands, instead of as the numbers that it looks like.
    verbatim: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Require a positive weight."""
        number = type(self.weight) in (int, float)
        require(
            number and 0 < self.weight < math.inf, f"weight={self.weight!r:.40} must be a positive number"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.weight == 1 else f'weight={self.weight!r}'})"

    @abstractmethod
    def read(self, value: Any) -> Any:
        """A value that is not missing, in a plain form; a ValueError says what was found and what is expected."""

    @abstractmethod
    def learned(self, values: Sequence[Any], weights: Array) -> Learned:
        """What follows from the values in a sample, and the records' weights."""

    @abstractmethod
    def features(self, name: str, values: Sequence[Any], learned: Any) -> Features:
        """Features of values, before they are weighted."""

    def shown(self, value: Any) -> str:
        """A value in a few words."""
        text = " ".join(str(value).split())
        return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


class Measured(Field):
    """A field whose values are numbers, or become some: standardised, one feature."""

    learns = Spread

    @abstractmethod
    def numbers(self, values: Sequence[Any]) -> Array:
        """Values as float64."""

    def learned(self, values: Sequence[Any], weights: Array) -> Spread:
        """Mean and deviation."""
        return Spread.of(self.numbers(values), weights)

    def features(self, name: str, values: Sequence[Any], learned: Spread) -> Features:
        """The standardised value."""
        from apnc.loops.hashed_features import features_of

        ids = np.repeat(features_of(salt_of(name)), len(values))
        return Features(ids, learned.standardised(self.numbers(values)), np.arange(len(values) + 1))


@stored
@dataclass(frozen=True, repr=False)
class Number(Measured):
    """A number, standardised by mean and standard deviation of a sample of the rows; true is 1, false 0."""

    verbatim = False

    def read(self, value: Any) -> float:
        """A finite number."""
        if not isinstance(value, int | float | np.integer | np.floating | np.bool_ | Decimal):
            hint = " A field of text is a Category or a Text." if isinstance(value, str) else ""
            raise ValueError(f"found {described(value)}, expected a number.{hint}")
        number = _as_float(value)
        if not math.isfinite(number):
            raise ValueError(f"found {described(value)}, which is infinite, or too large for float64.")
        return number

    def numbers(self, values: Sequence[Any]) -> Array:
        """As they are."""
        return np.fromiter(values, np.float64, len(values))

    def shown(self, value: Any) -> str:
        """With a few digits."""
        return f"{value:.6g}"


@stored
@dataclass(frozen=True, repr=False)
class Date(Measured):
    """A date or time, standardised like a number.

    Text is read in the ISO format, such as 2024-03-01 or 2024-03-01T18:30; dates and times of Python, NumPy and pandas
    are taken too. A time without a zone is in UTC. For a number of days or seconds use ``Number``.
    """

    def read(self, value: Any) -> str:
        """ISO text in UTC; without the time if that is midnight."""
        try:
            return _iso(_moment(value))
        except (ValueError, OverflowError) as error:
            hint = " For numbers of days or seconds use Number." if isinstance(value, int | float) else ""
            raise ValueError(
                f"found {described(value)}, expected a date such as 2024-03-01 or 2024-03-01T18:30.{hint}"
            ) from error

    def numbers(self, values: Sequence[Any]) -> Array:
        """Days since 1970."""
        return np.array(values, dtype="datetime64[us]").astype(np.int64) / MICROSECONDS_A_DAY


@stored
@dataclass(frozen=True, repr=False)
class Category(Field):
    """One of several values, equal or not: text, a number, true or false.

    Values are compared as text, so that a category is the same in every format: 1, 1.0, "1" and "1.0" are equal, and so
    are True, "True" and "true"; "01" is another category.
    """

    learns = Nothing

    def read(self, value: Any) -> str:
        """As text."""
        value = value.item() if isinstance(value, np.generic) else value
        infinite = isinstance(value, float) and math.isinf(value)
        if infinite or not isinstance(value, str | int | float | Decimal):
            hint = " A date is a Date." if isinstance(value, date) else ""
            raise ValueError(f"found {described(value)}, expected text, a number, true or false.{hint}")
        text = str(value)
        if text in ("True", "False"):
            return text.lower()
        whole = WHOLE.fullmatch(text)
        return whole[1] if whole else text

    def learned(self, values: Sequence[Any], weights: Array) -> Nothing:
        """Nothing."""
        return Nothing()

    def features(self, name: str, values: Sequence[Any], learned: Nothing) -> Features:
        """One feature for each different value, 1."""
        from apnc.loops.words import features_within

        hashes, _ = token_codes([values])
        ids = features_within(salt_of(name)[0], hashes)
        return Features(ids, np.ones(len(values)), np.arange(len(values) + 1))


@stored
@dataclass(frozen=True, repr=False)
class Text(Field):
    """Text as its words, whose order does not matter: tf-idf, scaled to norm 1.

    Words are runs of letters and digits, in lower case. How rare they are is learned from a sample of the rows, as
    ln((1 + n) / (1 + n_with)) + 1 for n rows of which n_with have the word; one that the sample lacks has n_with = 0.
    Text without words contributes nothing.
    """

    learns = Rarity

    def read(self, value: Any) -> str:
        """Text."""
        if not isinstance(value, str):
            raise ValueError(f"found {described(value)}, expected text.")
        return str(value)

    def learned(self, values: Sequence[Any], weights: Array) -> Rarity:
        """Inverse document frequencies."""
        found, n = _words(values), len(values)
        owners = np.repeat(np.arange(n), np.diff(found.starts))
        words, places = np.unique(found.ids, return_inverse=True)
        having = np.bincount(places, (weights * n / weights.sum())[owners], len(words))
        return Rarity(words.astype(np.int32), np.log((1 + n) / (1 + having)) + 1, math.log(1 + n) + 1)

    def features(self, name: str, values: Sequence[Any], learned: Rarity) -> Features:
        """Counts times rarity, scaled to norm 1."""
        from apnc.loops.words import features_within

        counted = _words(values)
        weighed = counted.values * learned.of(counted.ids)
        norms = np.sqrt(Features(counted.ids, weighed, counted.starts).sums(weighed**2))
        unit = weighed / np.repeat(norms, np.diff(counted.starts))
        return Features(
            features_within(salt_of(name)[0], counted.ids.astype(np.uint64)), unit, counted.starts
        )


def _words(texts: Sequence[str]) -> Features:
    """Words by hash, with their number."""
    from apnc.loops.words import words_within

    codes, starts = letter_codes([text.lower() for text in texts])
    return Features.counted(*words_within(salt_of("")[0], codes, starts, _in_words()))


@cache
def _in_words() -> Array:
    """For every code point, whether it is a letter or a digit."""
    return np.char.isalnum(np.arange(0x110000, dtype=np.uint32).view("U1"))


@cache
def salt_of(name: str) -> Array:
    """A hash of a field's name, of shape (1,)."""
    from apnc.loops.hashed_features import hash_runs

    return hash_runs(*letter_codes([name]))


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except (OverflowError, ValueError):  # the latter for a signalling NaN
        return math.inf


def _moment(value: Any) -> date:
    """A date or time of the standard library."""
    if isinstance(value, str):
        return datetime.fromisoformat(value.strip())
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if not isinstance(value, date):
        raise ValueError(f"{value!r:.40} is not a date")
    return value


def _iso(moment: date) -> str:
    if not isinstance(moment, datetime):
        return moment.isoformat()
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    # Not the method of a subclass: that of pandas adds nanoseconds.
    return datetime.isoformat(moment).removesuffix("T00:00:00")
