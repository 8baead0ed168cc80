"""Weights of rows by cluster and bin."""

from apnc.loops.compiled import compiled


@compiled()
def find_cells(labels, codes, shift, lowest, n_bins, out):  # type: ignore[no-untyped-def]
    """Cluster and bin of each row as one number; the bin is the leading bits of its code, less ``lowest``, clipped."""
    for i in range(labels.size):
        place = (codes[i] >> shift) - lowest
        out[i] = labels[i] * n_bins + min(max(place, 0), n_bins - 1)


@compiled()
def add_at(cells, weights, out):  # type: ignore[no-untyped-def]
    """Add each weight at its cell."""
    for i in range(cells.size):
        out[cells[i]] += weights[i]
