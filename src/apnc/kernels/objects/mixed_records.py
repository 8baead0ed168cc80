"""A kernel on records: objects with fields of several kinds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from apnc.kernels.family import RECORDS, BadObjectError
from apnc.kernels.objects.features import FeatureKernel, Features
from apnc.kernels.objects.fields import Field
from apnc.kernels.objects.learned import Learned
from apnc.kernels.objects.sequences import described
from apnc.stored import require, stored
from apnc.typing import Array
from apnc.wording import some

HOW = "Name fields as Record({'age': Number(), 'plan': Category()})"


@stored
@dataclass(frozen=True, repr=False)
class Record(FeatureKernel):
    """Records compared by the inner product of the features of all their fields.

    Takes dicts, and the rows of frames and tables. Numbers and dates are standardised, categories have a feature each,
    texts are tf-idf of norm 1; means, deviations and how rare words are, are learned from a sample.
    ``Record(...).rbf()`` is the radial kernel on the same features, ``normalized(Record(...))`` their cosine.

    A missing value (None, NaN, NaT, empty text, or a field that a record lacks) contributes nothing: a number counts as
    the mean, a category differs from all others, a text shares no word. A record without any value is similar to
    nothing.

    Parameters
    ----------
    fields : the fields that count, by name; all others are ignored.
    learned : of each field, after a fit.

    """

    takes: ClassVar[str] = RECORDS
    normalize: ClassVar[bool] = False  # type: ignore[misc]
    fields: Mapping[str, Field] = field(hash=False)
    learned: tuple[Learned, ...] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        self.check()
        object.__setattr__(self, "fields", dict(self.fields))

    @classmethod
    def of(cls, fields: Mapping[str, Field] | None = None, /, **named: Field) -> "Record":
        """A record of named fields; a mapping has those whose names are not words."""
        require(fields is None or isinstance(fields, Mapping), f"{fields!r:.40} is not a named field. {HOW}")
        return cls({**(fields or {}), **named})

    def __repr__(self) -> str:
        return f"Record({dict(self.fields)!r})"

    def check(self) -> None:
        """Require fields, and if anything was learned, something for each that suits it."""
        require(isinstance(self.fields, Mapping) and self.fields, f"a record needs fields. {HOW}")
        for name, kind in self.fields.items():
            require(isinstance(name, str), f"the field {name!r:.40} must be named by text")
            require(
                isinstance(kind, Field),
                f"the field {name!r:.40} is {kind!r:.40}, expected Number(), Category(), Date() or Text(). {HOW}",
            )
        if self.learned is not None:
            require(len(self.learned) == len(self.fields), "learned has another number of fields")
            for kind, found in zip(self.fields.values(), self.learned, strict=True):
                require(isinstance(found, kind.learns), f"a {kind!r} cannot use a {type(found).__name__}")

    @property
    def tunable(self) -> bool:  # type: ignore[override]
        """Whether nothing has been learned yet."""
        return self.learned is None

    @property
    def asked(self) -> "Record":
        """Without what was learned."""
        return replace(self, learned=None)

    def tuned(self, rows: Any, weights: Array) -> "Record":
        """Learn about every field from a sample of records; what was learned before stays."""
        if self.learned is not None:
            return self
        return replace(self, learned=tuple(self._learned(rows, weights)))

    def _learned(self, rows: Sequence[Mapping[str, Any]], weights: Array) -> Iterator[Learned]:
        for name, kind in self.fields.items():
            there, values = _values(rows, name)
            if not values:
                found = [other for other in self.fields if any(other in row for row in rows)]
                raise ValueError(
                    f"No row of the sample has a value in the field {name!r:.60}; of the kernel's fields they have "
                    f"{some(found) or 'none'}. Correct its name, or leave it out."
                )
            try:
                yield kind.learned(values, weights[there])
            except ValueError as error:
                raise ValueError(f"The field {name!r:.60}: {error}.") from error

    def read(self, objects: Any) -> list[dict[str, Any]]:
        """Dicts of the kernel's fields without the missing ones."""
        return [self._read(position, item) for position, item in enumerate(objects)]

    def _read(self, position: int, item: Any) -> dict[str, Any]:
        if not isinstance(item, Mapping):
            expected = f"expected a dict with the fields {some(list(self.fields), 5)}"
            raise BadObjectError(position, f"found {described(item)}, {expected}.")
        found = {}
        for name, kind in self.fields.items():
            value = item.get(name)
            if is_missing(value):
                continue
            try:
                found[name] = kind.read(value)
            except ValueError as error:
                raise BadObjectError(position, f"the field {name!r:.60}: {error}") from error
        return found

    def check_landmarks(self, landmarks: Any) -> None:
        """Require records in the form that the kernel reads; other kernels in a sum may read other fields."""
        require(isinstance(landmarks, list), "landmarks of Record must be records")
        read = self.read(landmarks)
        own = [{name: row[name] for name in self.fields if name in row} for row in landmarks]
        require(read == own, "landmarks are not as Record reads objects")

    def shown(self, item: Any) -> str:
        """The values by name."""
        shown = (f"{name}={kind.shown(item[name])}" for name, kind in self.fields.items() if name in item)
        return ", ".join(shown)

    def features(self, objects: Sequence[Any]) -> Features:
        """Those of all fields, each times the root of its weight."""
        if self.learned is None:
            raise ValueError(
                "This Record has learned nothing from data yet: fit an estimator with it, or use its tuned(records, "
                "weights)."
            )
        owners, ids, values = [], [], []
        for (name, kind), learned in zip(self.fields.items(), self.learned, strict=True):
            there, present = _values(objects, name)
            if present:
                found = kind.features(name, present, learned)
                owners.append(np.repeat(there, np.diff(found.starts)))
                ids.append(found.ids)
                values.append(found.values * np.sqrt(kind.weight))
        return _joined(owners, ids, values, len(objects))


def _values(rows: Sequence[Mapping[str, Any]], name: str) -> tuple[Array, list[Any]]:
    """Which records have a field, and their values."""
    there = [i for i, row in enumerate(rows) if name in row]
    return np.array(there, dtype=np.int64), [rows[i][name] for i in there]


def _joined(owners: list[Array], ids: list[Array], values: list[Array], n: int) -> Features:
    """Features of several fields by record."""
    if not owners:
        return Features(np.empty(0, np.int32), np.empty(0), np.zeros(n + 1, dtype=np.int64))
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(owner, minlength=n)))
    return Features.counted(np.concatenate(ids)[order], starts, np.concatenate(values)[order])


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT, the NA of pandas, or empty text, as in CSV."""
    if value is None or isinstance(value, str):
        return not value
    try:
        # Only what is missing differs from itself.
        return bool(value != value)
    except (TypeError, ValueError, ArithmeticError):
        return type(value).__name__ == "NAType"
