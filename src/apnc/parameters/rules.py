"""Parameters and rules for their values: words, bounded numbers, objects, and sizes in bytes."""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np

#: Names that other libraries use for ours.
SYNONYMS = {
    "gaussian": "rbf",
    "poly": "polynomial",
    "neural": "sigmoid",
    "tanh": "sigmoid",
    "kmeans++": "k-means++",
}
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
UNITS |= {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
SMALLEST = float(np.finfo(np.float64).min)


@dataclass(frozen=True)
class Rule:
    """A rule for a value: called with a name for messages and the value, it returns the value or raises ValueError.

    Attributes
    ----------
    expected : the text after "must be" in error messages.
    words : valid strings; with ``named``, the error for an unknown one suggests the nearest.
    number : type of valid numbers, ``int`` or ``float``; None: numbers are invalid.
    low, above : the smallest valid number, and whether it is itself excluded.
    high : the largest valid number.
    objects : types whose instances are valid.
    accepts : whether any other value is valid.
    read : makes a value of any other string; with it, strings describe values.

    """

    expected: str
    words: tuple[str, ...] = ()
    named: bool = False
    number: type | None = None
    low: float = SMALLEST
    above: bool = False
    high: float = -SMALLEST
    objects: tuple[type, ...] = ()
    accepts: Callable[[Any], bool] = lambda value: False
    read: Callable[[str], Any] | None = None

    def __call__(self, name: str, value: Any) -> Any:
        if isinstance(value, str):
            if value in self.words:
                return value
            if self.read is not None:
                return self.read(value)
            if self.named:
                raise ValueError(unknown(name, value, self.words))
        elif self.number is not None and isinstance(value, Real) and not isinstance(value, bool):
            whole = self.number is float or isinstance(value, Integral)
            if whole and self.low <= float(value) <= self.high and not (self.above and value == self.low):
                return int(value) if isinstance(value, Integral) and self.number is int else value
        if isinstance(value, self.objects) or self.accepts(value):
            return value
        hint = " Pass an instance, not the class." if isinstance(value, type) else ""
        raise ValueError(f"{name}={value!r} must be {self.expected}.{hint}")


@dataclass(frozen=True)
class Parameter:
    """A row of the table.

    Attributes
    ----------
    name, default : as in the signature of the estimator.
    types : JSON types that a model file may store; values of other types are not stored.
    rule : called with a name for messages and the value; returns the checked value or raises ValueError.
    meaning : a sentence for help texts and the Spark documentation.
    panel : panel of the command line's help; None: not an option.
    metavar : name of the value in the help.
    words : valid words, for completion.
    flag : short form of the option, such as -k.
    spark : name of the Spark Param; None: Spark has none. By default the name in camel case.
    defaults : by interface ("command line", "spark"), where they differ from ``default``.

    """

    name: str
    default: Any
    types: tuple[type, ...]
    rule: Callable[[str, Any], Any]
    meaning: str
    panel: str | None = None
    metavar: str = "NUMBER"
    words: tuple[str, ...] = ()
    flag: str = ""
    spark: str | None = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.spark == "":
            first, *rest = self.name.split("_")
            object.__setattr__(self, "spark", first + "".join(map(str.capitalize, rest)))

    @property
    def option(self) -> str:
        """The command-line option."""
        return f"--{self.name.replace('_', '-')}"

    def check(self, value: Any, called: str | None = None) -> Any:
        """The checked value; ``called`` is its name in messages."""
        return self.rule(called or self.name, value)

    def default_on(self, surface: str) -> Any:
        """The default on the command line or on Spark."""
        return self.defaults.get(surface, self.default)


def unknown(name: str, value: str, known: Iterable[str]) -> str:
    """The error message for an unknown name, with the nearest and all known names."""
    known = list(known)
    plain = SYNONYMS.get(value.lower(), value.lower())
    nearest = difflib.get_close_matches(plain, known, n=1, cutoff=0.5)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    return f"{name}={value!r} is unknown.{hint} Known: {', '.join(known)}."


def known_name(name: str, value: str, known: Iterable[str]) -> str:
    """``value`` if it is known, else an error that suggests the nearest."""
    if value not in known:
        raise ValueError(unknown(name, value, known))
    return value


NONE = type(None)
positive_integer = Rule("a positive integer", number=int, low=1)
links_or_auto = Rule(
    "an integer >= 2 (one landmark links nothing) or 'auto'", words=("auto",), number=int, low=2
)
size_or_auto = Rule("a positive integer or 'auto'", words=("auto",), number=int, low=1)
non_negative = Rule("a number >= 0", number=float, low=0)
positive = Rule("a positive number", number=float, low=0, above=True)
finite = Rule("a finite number", number=float)
true_false_or_auto = Rule(
    "True, False or 'auto'", words=("auto",), number=int, low=0, high=1, objects=(bool, np.bool_)
)
arguments = Rule("a dict or None", objects=(dict, NONE))
verbosity = Rule("an integer >= 0", number=int, low=0, objects=(bool, np.bool_))
seed_or_state = Rule(
    "an integer from 0 to 2**32 - 1, a RandomState or None",
    number=int,
    low=0,
    high=2**32 - 1,
    objects=(np.random.RandomState, NONE),
    accepts=lambda value: value is np.random,
)
thread_count = Rule(
    "an integer other than 0; by default all cores are used",
    objects=(NONE,),
    accepts=lambda value: isinstance(value, Integral) and not isinstance(value, bool) and value != 0,
)
shares = Rule(
    "a list of numbers >= 0 with a positive sum",
    objects=(NONE,),
    accepts=lambda value: (
        isinstance(value, list | tuple | np.ndarray)
        and all(isinstance(share, Real) and float(share) >= 0 for share in value)
        and bool(0 < sum(value) < np.inf)
    ),
)


def memory_size(name: str, value: Any) -> Any:
    """A size that ``parse_bytes`` accepts, or None."""
    if value is not None:
        parse_bytes(value, name)
    return value


def parse_bytes(limit: str | int | float, name: str = "memory_limit") -> int:
    """Convert ``"2GB"``, ``"512MiB"`` or a number of bytes to an integer."""
    given = str(int(limit)) if isinstance(limit, int | float) and 0 <= limit < float("inf") else limit
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]i?)?b?\s*", given, re.I) if isinstance(given, str) else None
    try:
        amount = float(found[1]) * UNITS[(found[2] or "").lower()] if found else 0.0
    except ValueError:
        amount = 0.0
    if amount < 1:
        raise ValueError(f"{name}={limit!r} must be a size such as '2GB' or '512MiB', or a number of bytes.")
    if amount < UNITS["m"]:
        raise ValueError(f"{name}={limit!r} is {amount:g} bytes. Add a unit: 4GB, 512MB.")
    return int(amount)
