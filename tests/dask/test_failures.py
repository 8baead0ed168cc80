"""Workers that die at any stage of a fit, and what is spilled: the labels are the same."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from apnc import KernelKMeans
from apnc.clustering import lloyd

SETTINGS = {"n_clusters": 8, "n_landmarks": 60, "max_iter": 6, "tol": 0, "random_state": 0}


@pytest.fixture(scope="module")
def expected(blobs):
    return KernelKMeans(**SETTINGS).fit(blobs).labels_


class Once:
    """Kills the process that calls it for the ``nth`` time anywhere; then nothing more."""

    def __init__(self, folder, nth):
        self.folder, self.nth = str(folder), nth

    def __call__(self, block):
        calls = Path(self.folder, "calls")
        with open(calls, "a") as file:
            file.write("x")
        if calls.stat().st_size >= self.nth:
            try:
                os.close(os.open(Path(self.folder, "killed"), os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return block
            os.kill(os.getpid(), signal.SIGKILL)
        return block


#: Blocks read before: five each for looking at keys, rows and embedding.
STAGES = {"keys": 2, "embedding": 13}


@pytest.mark.parametrize("stage", STAGES)
def test_killed_while_the_data_is_read(array_of, blobs, expected, tmp_path, stage):
    x = array_of(blobs, 5)
    watched = x.map_blocks(Once(tmp_path, STAGES[stage]), dtype=x.dtype, meta=x._meta)
    km = KernelKMeans(**SETTINGS).fit(watched)
    assert (tmp_path / "killed").exists()
    np.testing.assert_array_equal(km.predict(x), expected)


class KillingSum(lloyd.SumByNearest):
    once = None

    def __call__(self, chunk):
        self.once(chunk)
        return super().__call__(chunk)


def test_killed_in_an_iteration(array_of, blobs, expected, tmp_path, monkeypatch):
    killer = type("Killing", (KillingSum,), {"once": Once(tmp_path, 12)})
    monkeypatch.setattr(lloyd, "SumByNearest", killer)
    km = KernelKMeans(**SETTINGS).fit(array_of(blobs, 5))
    assert (tmp_path / "killed").exists()
    np.testing.assert_array_equal(km.predict(array_of(blobs, 5)), expected)


def test_spilled_chunks(blobs, expected):
    """Of the embedding, hardly anything fits in the memory that a worker may use before it spills."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    limits = {f"distributed.worker.memory.{name}": False for name in ("spill", "pause", "terminate")}
    settings = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
    with (
        dask.config.set(limits | {"distributed.worker.memory.target": 0.01}),
        LocalCluster(n_workers=1, processes=False, memory_limit="100MB", **settings) as cluster,
        Client(cluster),
    ):
        x = da.from_array(blobs, chunks=(4000, 6))
        spilled = []

        def look(n_iter, *_):
            (worker,) = cluster.workers.values()
            spilled.append(len(worker.data.slow))
            return False

        plain = lloyd.lloyd
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("apnc.pipeline.lloyd", lambda *given: plain(*given[:5], look))
            km = KernelKMeans(**SETTINGS).fit(x)
        assert max(spilled) >= 3
        np.testing.assert_array_equal(km.predict(x), expected)
