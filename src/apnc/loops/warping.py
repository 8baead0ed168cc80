"""Dynamic time warping of many pairs of series, by antidiagonals: the values of one do not depend on each other."""

import numpy as np

from apnc.loops.compiled import FAST, compiled


@compiled(fastmath=FAST)
def squared_warps(values, starts, backward, firsts, channels, band, out):  # type: ignore[no-untyped-def]
    """``out[i, j]``: the smallest sum of squared differences over all ways to align series i with landmark j.

    ``values``: series one after the other, each as an array of shape (channels, length); ``starts``: where they begin,
    in steps of time. ``backward`` and ``firsts``: the same of the landmarks, with time reversed. ``band``: how far an
    alignment may leave the diagonal, as a share of the longer length; 1: as far as it likes.
    """
    most = np.int64(0)
    for i in range(starts.size - 1):
        most = max(most, starts[i + 1] - starts[i])
    room = np.empty((4, most + 2), dtype=np.float64)
    for i in range(starts.size - 1):
        x = values[channels * starts[i] : channels * starts[i + 1]]
        for j in range(firsts.size - 1):
            y = backward[channels * firsts[j] : channels * firsts[j + 1]]
            out[i, j] = _squared_warp(x, y, channels, band, room)


@compiled(fastmath=FAST)
def _squared_warp(x, y, channels, band, room):  # type: ignore[no-untyped-def]
    """One pair. ``room``: three antidiagonals, where step i of x is at i + 1, and the costs of one."""
    n, m = x.size // channels, y.size // channels
    radius = max(np.int64(1), np.int64(band * max(n, m) + 0.5))
    # Step i of x meets steps i - left to i + right of y: the Sakoe-Chiba band, from corner to corner.
    left, right = radius + max(0, n - m), radius + max(0, m - n)
    before, last, now, costs = room[0], room[1], room[2], room[3]
    before[0], last[0], last[1] = 0.0, np.inf, np.inf
    for d in range(n + m - 1):
        low = max(0, d - m + 1, (d - right + 1) // 2)
        high = min(n - 1, d, (d + left) // 2)
        size, shift = high - low + 1, m - 1 - d + low
        _differences(x, y, channels, low, shift, size, costs)
        a, b, c, e = (
            before[low : low + size],
            last[low : low + size],
            last[low + 1 : high + 2],
            now[low + 1 : high + 2],
        )
        for p in range(size):
            e[p] = costs[p] + min(a[p], min(b[p], c[p]))
        # Antidiagonals shift by one step at most, so nothing beyond these two is read.
        now[low], now[high + 2] = np.inf, np.inf
        before, last, now = last, now, before
    return last[n]


@compiled(fastmath=FAST, inline="always")
def _differences(x, y, channels, low, shift, size, costs):  # type: ignore[no-untyped-def]
    """Squared differences along an antidiagonal, summed over the channels."""
    n, m = x.size // channels, y.size // channels
    for channel in range(channels):
        u = x[channel * n + low : channel * n + low + size]
        v = y[channel * m + shift : channel * m + shift + size]
        if channel == 0:
            for p in range(size):
                costs[p] = (u[p] - v[p]) * (u[p] - v[p])
        else:
            for p in range(size):
                costs[p] += (u[p] - v[p]) * (u[p] - v[p])
