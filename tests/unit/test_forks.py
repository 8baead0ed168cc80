"""Forks while chunks are at work on other threads: neither the fork nor the new process may wait for ever."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from apnc import KernelKMeans
from apnc.engines import blas
from apnc.engines.local import LocalChunks, split
from apnc.forking import acquire_locks
from apnc.progress import Progress
from tests.unit.test_threads import forks, in_thread, until, until_it_waits

#: Seconds after which a forked process that hangs is ended.
BOUND = 300
N_CHUNKS = 8
X = np.random.default_rng(0).normal(size=(3000, 5))


def chunks(step, **options):
    ranges = split(N_CHUNKS, 1)
    return LocalChunks.of(np.zeros((N_CHUNKS, 1)), np.ones(N_CHUNKS), ranges, 2, **options).map(step)


def same(chunk):
    return chunk


def fit():
    return KernelKMeans(2, n_landmarks=20, random_state=0).fit(X).labels_


@pytest.fixture
def in_time(monkeypatch):
    """No fork has lost its patience."""
    ready = []

    def acquire():
        ready.append(blas._use.may_be_forked())
        acquire_locks()

    monkeypatch.setattr(blas, "acquire_locks", acquire)
    yield
    assert ready
    assert all(ready)


def test_a_fork_waits_for_a_chunk_at_work():
    """Else a lock that BLAS holds just then would be locked for ever in the new process."""
    begun, go, happened = threading.Event(), threading.Event(), []

    def step(chunk):
        begun.set()
        go.wait()
        return chunk

    at_work = in_thread(lambda: list(chunks(step)))
    begun.wait()
    fork = in_thread(lambda: (forks(lambda: None), happened.append("forked")))
    until_it_waits(fork, happened)
    happened.append("released")
    go.set()
    for thread in (at_work, fork):
        thread.join()
    assert happened == ["released", "forked"]


def test_a_thread_that_waits_for_its_chunks_holds_up_no_fork(in_time):
    """The chunks wait for the fork, so the fork must not wait for that thread."""
    begun, go = threading.Event(), threading.Event()

    def step(chunk):
        begun.set()
        go.wait()
        return chunk

    def work():
        with blas.computing():
            list(chunks(step))

    at_work = in_thread(work)
    begun.wait()
    fork = in_thread(lambda: forks(lambda: None))
    until_it_waits(fork, [])
    go.set()
    for thread in (at_work, fork):
        thread.join()


def test_a_loop_that_ends_early_holds_up_no_fork(in_time):
    """It waits for a chunk that waits for the fork."""
    begun, go, end = threading.Event(), threading.Event(), threading.Event()

    def step(chunk):
        return chunk if chunk.index == 0 or go.wait() else None

    def work():
        with blas.computing():
            loop = iter(chunks(step))
            next(loop)
            begun.set()
            end.wait()
            loop.close()

    at_work = in_thread(work)
    begun.wait()
    with blas.computing():
        fork = in_thread(lambda: forks(lambda: None))
        until_it_waits(fork, [])
        go.set()
        until(lambda: len(blas._use.changed._waiters) >= 2)
        end.set()
    for thread in (at_work, fork):
        thread.join()


def test_a_loop_over_chunks_may_fork(in_time):
    for _ in chunks(same):
        assert forks(lambda: X.T @ X, BOUND) == 0


def test_a_loop_over_chunks_may_wait_for_a_fork_in_its_listener(in_time):
    told = []

    def listener(n_rows):
        if not told:
            in_thread(lambda: forks(lambda: None)).join()
        told.append(n_rows)

    with blas.computing():
        list(chunks(same, progress=listener))
    assert len(told) == N_CHUNKS


def test_a_listener_may_wait_for_a_fork_in_each_iteration(in_time):
    class Forking(Progress):
        def iteration(self, *_, **__):
            in_thread(lambda: forks(lambda: None)).join()
            return False

    KernelKMeans(2, n_landmarks=20, max_iter=1, random_state=0).fit(X, progress=Forking())


def test_chunks_that_fork_do_not_wait_for_each_other(in_time):
    together = threading.Barrier(2)

    def step(chunk):
        together.wait()
        assert forks(lambda: None, BOUND) == 0
        return chunk

    assert len(list(chunks(step))) == N_CHUNKS


def test_forks_beside_a_thread_that_fits(in_time):
    expected, stop = fit(), threading.Event()

    def busy():
        while not stop.is_set():
            fit()

    def child():
        assert np.array_equal(fit(), expected)

    thread = in_thread(busy)
    try:
        assert [forks(child, BOUND) for _ in range(5)] == [0] * 5
    finally:
        stop.set()
        thread.join()


#: The first import is that of the hooks of forks.
SUBMITS = """
from apnc.engines import blas
import os, threading
from concurrent.futures import ThreadPoolExecutor

def fork():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)

blas.PATIENCE = 3600
with blas.computing():
    thread = threading.Thread(target=fork)
    thread.start()
    while not blas._use.forking:
        pass
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
thread.join()
"""


def test_work_that_a_fork_waits_for_may_start_threads():
    """The fork must not hold the lock of thread pools meanwhile."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", SUBMITS], check=True, timeout=BOUND)
