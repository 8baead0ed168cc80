"""Words of texts by hash."""

import numpy as np

from apnc.loops.compiled import compiled
from apnc.loops.hashed_features import feature_of, follow


@compiled()
def features_within(salt, hashes):  # type: ignore[no-untyped-def]
    """The feature of each 64-bit hash; another one for every ``salt``."""
    features = np.empty(hashes.size, dtype=np.int32)
    for i in range(hashes.size):
        features[i] = feature_of(follow(salt, hashes[i]))
    return features


@compiled()
def words_within(salt, codes, starts, in_words):  # type: ignore[no-untyped-def]
    """Features of the words of each text, and where each text's begin.

    ``in_words`` says for every code point whether it is part of a word; all others separate words.
    """
    n = starts.size - 1
    firsts = np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        total, inside = 0, False
        for p in range(starts[i], starts[i + 1]):
            total += in_words[codes[p]] and not inside
            inside = in_words[codes[p]]
        firsts[i + 1] = firsts[i] + total
    features = np.empty(firsts[n], dtype=np.int32)
    end = 0
    for i in range(n):
        inside, h = False, salt
        for p in range(starts[i], starts[i + 1]):
            if in_words[codes[p]]:
                h = follow(h if inside else salt, np.uint64(codes[p]))
                inside = True
            elif inside:
                features[end] = feature_of(h)
                end, inside = end + 1, False
        if inside:
            features[end] = feature_of(h)
            end += 1
    return features, firsts
