"""Compare two files of labels row by row, matched by ids or by order."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from apnc.engines.spill import read_ahead
from apnc.evaluation.counting import Tally
from apnc.evaluation.label_files import LabelFile
from apnc.evaluation.matching import Index, named, refuse_repeated
from apnc.evaluation.measures import Comparison


def compare(labels: Any, truth: Any) -> Comparison:
    """Compare two files of labels.

    The labels are in the column ``label``, or else in the last one. Rows are matched by the other columns that both
    files share (including ``row``), or by order if there are none. Memory: the contingency table; with ids, also
    those of ``truth``.

    Parameters
    ----------
    labels, truth : paths of tables (Parquet, Arrow, CSV, TSV), of one-dimensional ``.npy`` arrays, or of ``.npz``
        archives, whose only array, or the one called label, labels, y, truth, target or classes, is held in memory.

    """
    found, true = LabelFile.open(labels), LabelFile.open(truth)
    ids = tuple(name for name in found.others if name in true.others)
    tally = Tally(found, true)
    surplus = _by_ids(found, true, ids, tally) if ids else _by_order(found, true, tally)
    return tally.comparison(ids, *surplus)


def _by_order(found: LabelFile, true: LabelFile, tally: Tally) -> tuple[int, int]:
    """Match rows by position; both files must have the same number of rows."""
    n_found, n_true = 0, 0
    none: Any = ()
    for one, two in zip_longest(found.read(), true.read(), fillvalue=none):
        n_found, n_true = n_found + len(one), n_true + len(two)
        if len(one) == len(two):
            tally.add(one[found.column], two[true.column])
    if n_found != n_true:
        raise ValueError(
            f"{found.name} has {n_found:,} rows and {true.name} has {n_true:,}. They have no id column in common, so "
            "rows can be matched only by their order, which needs the same number of rows."
        )
    if not n_found:
        raise ValueError(f"{found.name} and {true.name} have no rows.")
    return 0, 0


def _by_ids(found: LabelFile, true: LabelFile, ids: Sequence[str], tally: Tally) -> tuple[int, int]:
    """Match rows by ids; return how many rows of each file have no match."""
    index = Index(true, ids)
    truth, classes = index.rows, index.rows[true.column].dictionary_encode()
    partners = np.full(len(truth), -1)
    n_labels, sample = 0, "no rows"
    for piece, rows in read_ahead((piece, index.find(piece)) for piece in found.read(ids)):
        is_there = rows >= 0
        rows, own = rows[is_there], np.flatnonzero(is_there) + n_labels
        taken = partners[rows] >= 0
        partners[rows] = own
        refuse_repeated(found, truth, ids, rows[taken | (partners[rows] != own)])
        tally.add(piece[found.column].filter(is_there), classes.take(rows))
        n_labels, sample = n_labels + len(piece), named(piece, ids, 0)
    n_matched = int((partners >= 0).sum())
    if not n_matched:
        raise ValueError(
            f"No row of {found.name} is in {true.name}: their {', '.join(ids)} have no value in common "
            f"(for example {sample} and {named(truth, ids, 0)})."
        )
    return n_labels - n_matched, len(truth) - n_matched
