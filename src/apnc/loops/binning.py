"""Weights of rows by cluster and bin."""

from apnc.loops.compiled import compiled


@compiled()
def add_by_bin(labels, codes, weights, shift, lowest, out):  # type: ignore[no-untyped-def]
    """Add each weight at its cluster and bin: the leading bits of its code, less ``lowest``, within the bins."""
    last = out.shape[1] - 1
    for i in range(labels.size):
        place = (codes[i] >> shift) - lowest
        out[labels[i], min(max(place, 0), last)] += weights[i]
