"""Look up rows of a file by their ids."""

import functools
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from apnc.evaluation.label_files import BATCH_ROWS, LabelFile
from apnc.typing import Array

#: The odd multiplier of splitmix64, and masks for the first 0 to 8 bytes of a word.
FACTOR = np.uint64(0xBF58476D1CE4E5B9)
FIRST_BYTES = np.array([256**n - 1 for n in range(9)], np.uint64)


class Index:
    """Looks up rows of a file by their ids: a search among sorted hashes, confirmed by comparing the ids.

    On 2,000,000 ids, ``pyarrow.Table.join`` took several times as long, and dictionaries of both files half as long
    again and more memory.

    Attributes
    ----------
    rows : all rows of the file, as an Arrow table.

    """

    def __init__(self, file: LabelFile, ids: Sequence[str]):
        self.rows, self._ids = file.whole(ids), ids
        for self._seed in count():
            hashes = self._hashes(self.rows)
            self._order = np.argsort(hashes)
            self._hashed = hashes[self._order]
            twins = np.flatnonzero(self._hashed[1:] == self._hashed[:-1])
            one, two = self._order[twins], self._order[twins + 1]
            refuse_repeated(file, self.rows, ids, one[self._are(one, self.rows.take(two))])
            if not len(twins):
                break

    def find(self, table: Any) -> Array:
        """For each row of ``table``, the row of the file with the same ids; -1 if there is none."""
        hashes = self._hashes(table)
        # Searching for sorted hashes is several times faster.
        order = np.argsort(hashes)
        places = np.searchsorted(self._hashed[:-1], hashes[order])
        rows = np.empty(len(table), np.int64)
        rows[order] = self._order[places]
        return np.where(self._are(rows, table), rows, -1)

    def _are(self, rows: Array, table: Any) -> Array:
        """Whether ``rows`` of the file have the same ids as the rows of ``table``."""
        import pyarrow.compute as pc

        same = [pc.equal(self.rows[name].take(rows), table[name]).to_numpy() for name in self._ids]
        return np.logical_and.reduce(same)

    def _hashes(self, table: Any) -> Array:
        hashes = []
        for batch in table.select(self._ids).to_batches(max_chunksize=BATCH_ROWS):
            begin = np.full(len(batch), self._seed, np.uint64)
            hashes.append(functools.reduce(_mixed, batch.columns, begin))
        return np.concatenate(hashes)


def refuse_repeated(file: LabelFile, rows: Any, ids: Sequence[str], repeated: Array) -> None:
    """Refuse ids that occur twice; ``repeated`` are the positions in ``rows`` of such ids."""
    if len(repeated):
        raise ValueError(
            f"{file.name}: two rows have the same {', '.join(ids)}: {named(rows, ids, repeated[0])}. Rows are matched "
            "by it, so it must be unique: leave one of them out, or rename the column in one file."
        )


def named(table: Any, ids: Sequence[str], row: int) -> str:
    """The ids of a row, for messages."""
    return ", ".join(str(table[name][int(row)]) for name in ids)


def _mixed(hashes: Array, texts: Any) -> Array:
    """Hashes of shape (n,), uint64, with the bytes of an Arrow array of text mixed in, eight at a time."""
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset :][: len(texts) + 1]
    content = memoryview(texts.buffers()[2] or b"")[offsets[0] : offsets[-1]].tobytes() + bytes(8)
    words = np.ndarray(len(content) - 7, "<u8", content, strides=1)
    rows, places, left = np.arange(len(texts)), offsets[:-1] - offsets[0], np.diff(offsets)
    hashes = hashes ^ (left.astype(np.uint64) * FACTOR)
    while len(rows):
        mixed = (hashes[rows] ^ (words[places] & FIRST_BYTES[np.minimum(left, 8)])) * FACTOR
        hashes[rows] = mixed ^ (mixed >> np.uint64(29))
        more = left > 8
        rows, places, left = rows[more], places[more] + 8, left[more] - 8
    return hashes
