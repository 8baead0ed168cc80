"""Two files of labels, row by row: matched by ids, or by their order."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from apnc.evaluation.counting import Codes, Tally
from apnc.evaluation.files import LabelFile
from apnc.evaluation.measures import Comparison
from apnc.typing import Array


def compare(labels: Any, truth: Any) -> Comparison:
    """Compare two files of labels.

    The labels are the column ``label``, or the last one. Rows are matched by the other columns that both files have,
    ``row`` too; without any by their order. Memory: the contingency table; with ids, those of ``truth``.

    Parameters
    ----------
    labels, truth : paths of tables (Parquet, Arrow, CSV, TSV) or of one-dimensional ``.npy`` arrays.

    """
    found, true = LabelFile.open(labels), LabelFile.open(truth)
    ids = tuple(name for name in found.others if name in true.others)
    tally = Tally(Codes(found), Codes(true))
    surplus = _by_ids(found, true, ids, tally) if ids else _by_order(found, true, tally)
    return tally.comparison(ids, *surplus)


def _by_order(found: LabelFile, true: LabelFile, tally: Tally) -> tuple[int, int]:
    """Rows of the same number belong together; both files must have the same number of rows."""
    one = Stream(tally.clusters.of(columns[-1]) for columns in found.read([]))
    two = Stream(tally.classes.of(columns[-1]) for columns in true.read([]))
    while n := min(one.held(), two.held()):
        tally.add(one.take(n), two.take(n))
    if one.held() or two.held():
        raise ValueError(
            f"{found.name} has {one.length():,} rows and {true.name} has {two.length():,}. They have no id column in "
            "common, so rows can be matched only by their order, which needs the same number of rows."
        )
    if not one.length():
        raise ValueError(f"{found.name} and {true.name} have no rows.")
    return 0, 0


class Stream:
    """Numbers that come in pieces of any length."""

    def __init__(self, pieces: Iterator[Array]):
        self._pieces = pieces
        self._held: Array = np.empty(0, np.int64)
        self._taken = 0

    def held(self) -> int:
        """How many are at hand; 0 at the end."""
        while not len(self._held):
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._held = piece
        return len(self._held)

    def take(self, n: int) -> Array:
        """The next ``n``, of those at hand."""
        taken, self._held = self._held[:n], self._held[n:]
        self._taken += n
        return taken

    def length(self) -> int:
        """How many there are in all; reads on to the end."""
        while n := self.held():
            self.take(n)
        return self._taken


def _by_ids(found: LabelFile, true: LabelFile, ids: Sequence[str], tally: Tally) -> tuple[int, int]:
    """Rows of the same ids belong together; returns how many of either file have no partner."""
    classes, n_true = _classes_by_id(true, ids, tally)
    matched = np.zeros(n_true, dtype=bool)
    n_labels, sample = 0, ""
    for columns in found.read(ids):
        keys = _keys(columns[:-1])
        places = np.array([classes.get(key, (-1, -1)) for key in keys], np.int64).reshape(-1, 2)
        is_there = places[:, 0] >= 0
        _refuse_repeated(found, ids, keys, places[:, 0], matched)
        tally.add(tally.clusters.of(columns[-1])[is_there], places[is_there, 1])
        n_labels, sample = n_labels + len(keys), sample or str(keys[0] if keys else "")
    if not matched.any():
        other = str(next(iter(classes), "none"))
        raise ValueError(
            f"No row of {found.name} is in {true.name}: their {', '.join(ids)} have no value in common "
            f"(for example {sample} and {other})."
        )
    n_matched = int(matched.sum())
    return n_labels - n_matched, n_true - n_matched


def _classes_by_id(
    true: LabelFile, ids: Sequence[str], tally: Tally
) -> tuple[dict[Any, tuple[int, int]], int]:
    """Number of the row and number of the class of each id."""
    classes: dict[Any, tuple[int, int]] = {}
    n_rows = 0
    for columns in true.read(ids):
        keys = _keys(columns[:-1])
        rows = range(n_rows, n_rows + len(keys))
        classes.update(zip(keys, zip(rows, tally.classes.of(columns[-1]).tolist(), strict=True), strict=True))
        n_rows += len(keys)
        if len(classes) != n_rows:
            raise ValueError(
                f"{true.name}: rows before row {n_rows:,} have the same {', '.join(ids)}, so they cannot be matched."
            )
    return classes, n_rows


def _refuse_repeated(
    found: LabelFile, ids: Sequence[str], keys: list[Any], places: Array, matched: Array
) -> None:
    """Mark rows as matched; each may be once."""
    there = places[places >= 0]
    twice = np.concatenate([there[matched[there]], _repeated(there)])
    if len(twice):
        key = keys[int(np.flatnonzero(places == twice[0])[-1])]
        raise ValueError(f"{found.name}: two rows have the same {', '.join(ids)}: {key}.")
    matched[there] = True


def _repeated(values: Array) -> Array:
    once, counts = np.unique(values, return_counts=True)
    return once[counts > 1]


def _keys(columns: Sequence[Any]) -> list[Any]:
    """Ids of rows; a text, or a tuple where there are several columns."""
    lists = [column.to_pylist() for column in columns]
    return lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))
