"""Threads and forks: BLAS is limited on every thread that fits, and a fork waits instead of locking up for ever."""

import os
import signal
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import ThreadpoolController

from apnc import KernelKMeans, pipeline
from apnc.caching import cached_property
from apnc.engines import blas
from apnc.forking import acquire_locks, release_locks

ROOT = Path(__file__).parents[2]
#: Only a deadlock takes so long, however busy the machine is.
FOREVER = 900
X = np.random.default_rng(0).normal(size=(3000, 5))


def blas_threads():
    return {found["num_threads"] for found in ThreadpoolController().info() if found["user_api"] == "blas"}


several = pytest.mark.skipif(max(blas_threads()) < 2, reason="BLAS has one thread here")


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def seen_by_workers():
    """The number of threads of BLAS while chunks are at work."""
    seen, caller = set(), threading.get_ident()

    def kernel(A, B):
        if threading.get_ident() != caller:
            seen.update(blas_threads())
        return A @ B.T

    KernelKMeans(2, kernel=kernel, n_landmarks=20, random_state=0).fit(X)
    return seen


@several
def test_blas_is_limited_on_every_thread_that_fits():
    before, found = blas_threads(), [seen_by_workers()]
    for _ in range(2):
        in_thread(lambda: found.append(seen_by_workers())).join()
    assert found == [{1}] * 3
    assert blas_threads() == before


@several
def test_the_last_of_overlapping_limits_restores_the_first_setting():
    before, entered, leave = blas_threads(), threading.Event(), threading.Event()

    def other():
        with blas.one_thread():
            entered.set()
            leave.wait()

    thread = in_thread(other)
    entered.wait()
    with blas.one_thread():
        leave.set()
        thread.join()
        assert blas_threads() == {1}
    assert blas_threads() == before


def forks(child, seconds=FOREVER):
    """Fork, run ``child`` in the new process and return its exit code; a process that hangs is ended at last."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(seconds)
        try:
            child()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def until_it_waits(fork, happened):
    """Until a fork waits for BLAS, or has failed to wait."""
    until(lambda: happened or blas._use.changed._waiters or not fork.is_alive())


def until(condition):
    end = time.monotonic() + FOREVER
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.mark.parametrize("held", ["BLAS", "one thread of BLAS", "the compiler"])
def test_a_fork_waits_for_what_it_must_not_interrupt(held):
    from numba.core.compiler_lock import global_compiler_lock

    import apnc.loops.compiled  # noqa: F401

    contexts = {
        "BLAS": blas.computing(),
        "one thread of BLAS": blas.one_thread(),
        "the compiler": global_compiler_lock,
    }
    happened = []
    with contexts[held]:
        thread = in_thread(lambda: (forks(lambda: None), happened.append("forked")))
        until(lambda: blas._use.forking or happened)
        if held != "the compiler":
            until_it_waits(thread, happened)
        happened.append("released")
    thread.join()
    assert happened == ["released", "forked"]


def test_work_begins_after_a_fork_that_waits():
    """Otherwise forks might wait for ever where there is always some work."""
    release, happened = threading.Event(), []

    def first():
        with blas.computing():
            release.wait()

    def second():
        with blas.computing():
            happened.append("begun")

    one = in_thread(first)
    until(lambda: blas._use.computing)
    fork = in_thread(lambda: forks(lambda: None))
    until(lambda: blas._use.forking)
    other = in_thread(second)
    happened.append("released")
    release.set()
    for thread in (one, fork, other):
        thread.join()
    assert happened == ["released", "begun"]


def test_a_fork_in_a_fit_does_not_wait_for_itself():
    with blas.computing():
        assert forks(lambda: KernelKMeans(2, n_landmarks=20, random_state=0).fit(X)) == 0


@several
def test_a_forked_process_has_no_limits_of_threads_that_it_has_not():
    before, entered, leave = blas_threads(), threading.Event(), threading.Event()

    def other():
        with blas.limited():
            entered.set()
            leave.wait()

    def child():
        assert blas_threads() == before
        with blas.one_thread():
            assert blas_threads() == {1}

    thread = in_thread(other)
    entered.wait()
    assert forks(child) == 0
    leave.set()
    thread.join()


def test_stages_that_compute_on_the_driver_are_known_to_forks(monkeypatch):
    """Those on the driver; in passes over the rows, the chunks on each worker are known."""
    seen = {}

    def seeing(stage):
        def run(fit):
            seen[stage.name] = threading.get_ident() in blas._use.computing
            return stage.run(fit)

        return replace(stage, run=run)

    monkeypatch.setattr("apnc.pipeline.STAGES", [seeing(stage) for stage in pipeline.STAGES])
    before = set(blas._use.computing)
    KernelKMeans(2, random_state=0).fit(X)
    assert seen == {
        "sampling": False,
        "coefficients": True,
        "starting": True,
        "embedding": False,
        "clustering": True,
        "labels": False,
    }
    assert set(blas._use.computing) == before


def test_locks_are_released_as_they_were_acquired():
    acquire_locks()
    release_locks()
    in_thread(lambda: (acquire_locks(), release_locks())).join()


class Slow:
    begun, go = threading.Event(), threading.Event()

    def __init__(self, waits):
        self.waits = waits

    @cached_property
    def value(self):
        """What is computed."""
        if self.waits:
            self.begun.set()
            self.go.wait()
        return object()


def test_values_that_are_computed_once_wait_for_no_other_object():
    slow = Slow(True)
    found = []
    threads = [in_thread(lambda: found.append(slow.value)) for _ in range(2)]
    slow.begun.wait()
    assert Slow(False).value
    assert forks(lambda: Slow(False).value) == 0
    slow.waits = False
    assert forks(lambda: slow.value) == 0
    slow.go.set()
    for thread in threads:
        thread.join()
    assert found[0] is found[1] is slow.value
    assert Slow.value.__doc__ == "What is computed."


def test_a_process_forked_after_a_fit_of_sparse_rows():
    """Which would hang if the fit had used threads of OpenMP."""
    fit = partial(
        KernelKMeans(2, kernel="laplacian", n_landmarks=20, random_state=0).fit, sparse.csr_array(X)
    )
    fit()
    assert forks(fit) == 0
