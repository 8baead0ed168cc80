"""Which columns of a table are features: one rule for frames, files and Spark, with its messages."""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from apnc.sources.pieces import SourceError
from apnc.wording import some

#: Kinds of columns that can be features, and names of some other kinds.
NUMBER, LIST = "number", "list of numbers"
TEXT, CATEGORIES, TIMES, MIXED, NESTED, NOTHING = (
    "text",
    "categories",
    "dates or times",
    "values of several types",
    "nested values",
    "no values",
)
#: Why a numeric column is not a feature.
INDEX = "an index"
#: Names that pandas writes for an index, whatever its values; and names of an index if its values count the rows.
OF_PANDAS = re.compile(r"Unnamed: 0|__index_level_\d+__")
LIKE_INDEX = re.compile(
    r"(row|record|line|sample)[ _.-]?(index|idx|id|no|nr|num|number)|(.*[ _.-])?(index|idx|id|key)|row|level_\d+|pk",
    re.IGNORECASE,
)
#: Advice for text.
VECTORS_OF_TEXT = "scikit-learn's TfidfVectorizer makes vectors"
#: Number of first values that decide whether a column counts the rows, and the least number that can.
HEAD, LEAST = 1000, 3


@dataclass(frozen=True)
class Column:
    """A column, as input of the rule.

    Attributes
    ----------
    name : name for messages.
    kind : ``NUMBER``, ``LIST``, or a name for what else it holds.
    first : returns its first values, ``HEAD`` or more if there are as many; called for numeric columns only.

    """

    name: str
    kind: str
    first: Callable[[], Any] = list


@dataclass(frozen=True)
class Chosen:
    """Features of a table.

    Attributes
    ----------
    features : names, in order; only one if it holds lists.
    left_out : columns that are neither features nor given another use, and why.
    problem : why the choice is unclear, or there is none; else empty.

    """

    features: tuple[str, ...]
    left_out: dict[str, str] = field(default_factory=dict)
    problem: str = ""


def choose(where: str, columns: Sequence[Column], taken: Iterable[Any] = ()) -> Chosen:
    """Features by default: all numeric columns except an index, or else the only column of lists of numbers."""
    taken, names = set(taken), [column.name for column in columns]
    free = [column for column in columns if column.name not in taken]
    # Whether these are an index is read from their values, which a name must tell apart.
    refuse_twice(where, names, [c.name for c in free if c.kind == NUMBER and LIKE_INDEX.fullmatch(c.name)])
    left_out = {
        column.name: why
        for column in free
        if (why := _why_not(column, column is columns[0])) and (column.name or why != NOTHING)
    }
    numbers = tuple(c.name for c in free if c.kind == NUMBER and c.name not in left_out)
    lists = tuple(c.name for c in free if c.kind == LIST)
    if not numbers and len(lists) != 1:
        # Not an error yet: rows may still be records, whose fields need not be numbers.
        return Chosen((), left_out, no_features(where, columns=columns))
    refuse_twice(where, names, numbers or lists)
    return Chosen(numbers or lists, left_out, _unclear(where, numbers, lists))


def _why_not(column: Column, is_first: bool) -> str:
    """Why a column is not a feature; empty if it may be one."""
    if column.kind != NUMBER:
        return "" if column.kind == LIST else column.kind
    if OF_PANDAS.fullmatch(column.name) or (is_first and not column.name):
        return INDEX
    return INDEX if LIKE_INDEX.fullmatch(column.name) and _counts(column.first()) else ""


def _counts(values: Any) -> bool:
    """Whether each value is one more than the previous one."""
    first = np.asarray(values, dtype=np.float64)[:HEAD]
    return len(first) >= LEAST and bool((np.diff(first) == 1).all())


def _unclear(where: str, numbers: Sequence[str], lists: Sequence[str]) -> str:
    """The problem with numeric columns beside columns of lists: only the user knows which are the features."""
    if not (numbers and lists):
        return ""
    return (
        f"{where}: column {lists[0]!r} holds lists of numbers, beside columns of numbers ({numbers[0]!r}, ...). "
        f"Choose the features: columns=[{lists[0]!r}], or exclude=[{lists[0]!r}]."
    )


def about_left_out(where: str, left_out: Mapping[str, str]) -> str:
    """The warning about columns that are not features."""
    listed = some([f"{name!r} ({why})" for name, why in left_out.items()])
    verb = "1 column is not a feature" if len(left_out) == 1 else f"{len(left_out)} columns are not features"
    return (
        f"{where}: {verb}: {listed}. To use one, encode it as numbers, or name the features in columns=[...] "
        "(--columns). To leave it out without this warning: exclude=[...] (--exclude), id_columns=[...] "
        "(--id-columns), or drop(columns=[...]) of a frame in memory."
    )


def no_features(where: str, n_rows: int | None = None, columns: Sequence[Column] = ()) -> str:
    """The message for data without features."""
    shape = "" if n_rows is None else f" (shape=({n_rows}, 0))"
    found = f" Columns: {described([(column.name, column.kind) for column in columns])}." if columns else ""
    text = any(column.kind == TEXT for column in columns)
    hint = f" For text, {VECTORS_OF_TEXT}." if text else ""
    return (
        f"{where}: there is no numeric column to use as a feature: 0 feature(s){shape} while a minimum of 1 is "
        f"required.{found}{hint}"
    )


def no_rows(where: str) -> str:
    """The message for data without rows."""
    return f"{where}: there are no rows: 0 sample(s) while a minimum of 1 is required."


def unequal(where: str, name: str, length: int, width: int) -> str:
    """The message for lists or vectors of different lengths."""
    return f"{where}: column {name!r} holds {length} values, but {width} in the first row. All lengths must be equal."


def empty_lists(where: str, name: str) -> str:
    """The message for a column of lists without any values."""
    return f"{where}: column {name!r} holds no list with values. Leave it out with exclude=[{name!r}]."


def expanded(name: str, width: int) -> tuple[str, ...]:
    """Names of the features in a column of lists."""
    return tuple(f"{name}[{j}]" for j in range(width))


def refuse_twice(where: str, there: Iterable[str], names: Iterable[str]) -> None:
    """Refuse names that several columns share."""
    times = Counter(there)
    twice = next((name for name in names if times[name] > 1), None)
    if twice is not None:
        raise SourceError(
            f"{where}: there are several columns with the name {twice!r}. Rename or drop all but one."
        )


def absent(where: str, names: Sequence[str], columns: Sequence[tuple[str, Any]]) -> str:
    """The message for columns that a table lacks."""
    nearest = difflib.get_close_matches(names[0], [name for name, _ in columns], n=1)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    missing = some([repr(name) for name in names], 30)
    return f"{where}: there is no column {missing}.{hint} Columns: {described(columns)}."


def described(columns: Sequence[tuple[str, Any]]) -> str:
    """Columns with their types."""
    return some([f"{name} ({type_})" for name, type_ in columns], 30)
