"""Features of objects by hash: counted, and multiplied with those of the landmarks."""

import numpy as np

from apnc.loops.compiled import FAST, compiled
from apnc.loops.hashing import _GOLDEN, _mix

#: Bits of a feature's hash.
BITS = 30
_DROPPED = np.uint64(64 - BITS)
#: Marks before the first and after the last letter; beyond all of Unicode.
_BEGIN, _END = np.uint64(0x110001), np.uint64(0x110002)


@compiled(inline="always")
def feature_of(h):  # type: ignore[no-untyped-def]
    """The feature of a 64-bit hash."""
    return np.int32(_mix(h) >> _DROPPED)


@compiled(inline="always")
def follow(h, code):  # type: ignore[no-untyped-def]
    """The hash of a sequence that is one code longer."""
    return _mix(h ^ code) + _GOLDEN


@compiled()
def hash_runs(codes, starts):  # type: ignore[no-untyped-def]
    """A 64-bit hash of each run of codes."""
    hashes = np.empty(starts.size - 1, dtype=np.uint64)
    for i in range(starts.size - 1):
        h = _GOLDEN
        for p in range(starts[i], starts[i + 1]):
            h = follow(h, np.uint64(codes[p]))
        hashes[i] = _mix(h)
    return hashes


@compiled()
def features_of(hashes):  # type: ignore[no-untyped-def]
    """The feature of each 64-bit hash."""
    features = np.empty(hashes.size, dtype=np.int32)
    for i in range(hashes.size):
        features[i] = feature_of(hashes[i])
    return features


@compiled()
def ngrams(codes, starts, shortest, longest, positional, ends):  # type: ignore[no-untyped-def]
    """Features of all runs of ``shortest`` to ``longest`` codes in each sequence, with their first position if asked.

    With ``ends``, a sequence begins and ends with a mark.
    """
    n, more = starts.size - 1, 2 if ends else 0
    firsts = np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        size, total = starts[i + 1] - starts[i] + more, 0
        for length in range(shortest, longest + 1):
            total += max(0, size - length + 1)
        firsts[i + 1] = firsts[i] + total
    features = np.empty(firsts[n], dtype=np.int32)
    p = 0
    for i in range(n):
        begin, size = starts[i], starts[i + 1] - starts[i] + more
        for first in range(size):
            h = _mix(np.uint64(first + 1) * _GOLDEN) if positional else _GOLDEN
            for place in range(first, min(first + longest, size)):
                if ends and place == 0:
                    code = _BEGIN
                elif ends and place == size - 1:
                    code = _END
                else:
                    code = np.uint64(codes[begin + place - more // 2])
                h = follow(h, code)
                if place - first + 1 >= shortest:
                    features[p] = feature_of(h)
                    p += 1
    return features, firsts


@compiled()
def summed(features, values, starts):  # type: ignore[no-untyped-def]
    """Every feature of an object once, with the sum of its values; the order is that of first occurrence."""
    n, most = starts.size - 1, np.int64(1)
    for i in range(n):
        most = max(most, starts[i + 1] - starts[i])
    size = np.int64(2)
    while size < 2 * most:
        size *= 2
    keys = np.empty(size, dtype=np.int32)
    places = np.empty(size, dtype=np.int64)
    owner = np.full(size, -1, dtype=np.int64)
    once, sums = np.empty_like(features), np.empty(features.size, dtype=np.float64)
    firsts = np.zeros(n + 1, dtype=np.int64)
    end = 0
    for i in range(n):
        for p in range(starts[i], starts[i + 1]):
            slot = features[p] & (size - 1)
            while owner[slot] == i and keys[slot] != features[p]:
                slot = (slot + 1) & (size - 1)
            if owner[slot] != i:
                owner[slot], keys[slot], places[slot] = i, features[p], end
                once[end], sums[end] = features[p], 0.0
                end += 1
            sums[places[slot]] += values[p]
        firsts[i + 1] = end
    return once[:end].copy(), sums[:end].copy(), firsts


@compiled()
def table_of(distinct):  # type: ignore[no-untyped-def]
    """A hash table with the place of each of the distinct features: keys, -1 where empty, and places."""
    size = np.int64(2)
    while size < 2 * distinct.size:
        size *= 2
    keys = np.full(size, -1, dtype=np.int32)
    places = np.zeros(size, dtype=np.int32)
    for place in range(distinct.size):
        slot = distinct[place] & (size - 1)
        while keys[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        keys[slot], places[slot] = distinct[place], place
    return keys, places


@compiled(inline="always")
def _place(feature, keys, places):  # type: ignore[no-untyped-def]
    slot = feature & (keys.size - 1)
    while keys[slot] != feature:
        if keys[slot] < 0:
            return np.int32(-1)
        slot = (slot + 1) & (keys.size - 1)
    return places[slot]


@compiled(fastmath=FAST)
def products(features, values, starts, keys, places, firsts, which, posted, out):  # type: ignore[no-untyped-def]
    """``out[i, j]``: inner product of object i with landmark j; ``which`` and ``posted`` list landmarks by feature."""
    for i in range(starts.size - 1):
        for j in range(out.shape[1]):
            out[i, j] = 0
        for p in range(starts[i], starts[i + 1]):
            place = _place(features[p], keys, places)
            if place >= 0:
                value = values[p]
                for r in range(firsts[place], firsts[place + 1]):
                    out[i, which[r]] += value * posted[r]


@compiled(fastmath=FAST)
def minima(features, values, starts, keys, places, firsts, which, posted, out):  # type: ignore[no-untyped-def]
    """``out[i, j]``: sum over features of the smaller value of object i and landmark j."""
    for i in range(starts.size - 1):
        for j in range(out.shape[1]):
            out[i, j] = 0
        for p in range(starts[i], starts[i + 1]):
            place = _place(features[p], keys, places)
            if place >= 0:
                value = values[p]
                for r in range(firsts[place], firsts[place + 1]):
                    out[i, which[r]] += min(value, posted[r])
