"""The machine's own limits, measured in the same run as everything else."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from apnc.engines.local import n_threads


def prepare(seconds: int) -> dict[str, Any]:
    return {"seconds": seconds}


def best_rate(work: Callable[[], float], seconds: float) -> float:
    """The best amount a second over some repetitions."""
    work()
    best, until = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        begin = time.perf_counter()
        amount = work()
        best = max(best, amount / (time.perf_counter() - begin))
    return best


def sgemm(p: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    """Float32 products of large square matrices, one on each thread or one on all."""
    from threadpoolctl import threadpool_limits

    size, threads = 2048, n_threads(None)
    A, B = (np.random.default_rng(i).random((size, size), dtype=np.float32) for i in range(2))
    outs = [np.empty((size, size), dtype=np.float32) for _ in range(threads)]

    def together() -> float:
        np.matmul(A, B, out=outs[0])
        return 2.0 * size**3

    def apart() -> float:
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda out: np.matmul(A, B, out=out), outs))
        return 2.0 * size**3 * threads

    return lambda: {"rate": max(best_rate(together, p["seconds"] / 2), best_rate(apart, p["seconds"] / 2))}


def fp_add(p: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    """Float32 additions a second, from registers: independent chains on every thread."""
    from numba import njit

    @njit(nogil=True, fastmath={"contract"})
    def chains(n, start):  # type: ignore[no-untyped-def]
        lanes = np.empty(96, dtype=np.float32)
        lanes[:] = start
        step = np.float32(start * 0.5)
        for _ in range(n):
            for j in range(96):
                lanes[j] += step
        return lanes.sum()

    threads, n = n_threads(None), 4_000_000
    chains(10, 1.0)

    def work() -> float:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(chains, [n] * threads, [1.0] * threads))
        return 96.0 * n * threads

    return lambda: {"rate": best_rate(work, p["seconds"])}


def bandwidth(p: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    """Bytes read a second: sums of arrays far larger than the cache, on every thread."""
    threads = n_threads(None)
    parts = [np.ones(60_000_000, dtype=np.float32) for _ in range(threads)]

    def work() -> float:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(np.max, parts))
        return float(sum(part.nbytes for part in parts))

    return lambda: {"rate": best_rate(work, p["seconds"])}
