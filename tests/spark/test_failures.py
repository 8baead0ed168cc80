"""Executors and workers that die at any stage of a fit: the labels are the same; what always fails says why, once."""

import os
import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import apnc
from apnc import KernelKMeans
from apnc.clustering import lloyd
from apnc.engines.spark import chunks
from tests.spark.conftest import labels_of
from tests.spark.test_engine import in_sparks_cache, local_files, used

pytestmark = pytest.mark.spark_only("local", "cluster")
SETTINGS = {"n_clusters": 8, "n_landmarks": 60, "max_iter": 6, "tol": 0, "random_state": 0}


@pytest.fixture(scope="module")
def rows(blobs):
    return blobs[:20_000]


@pytest.fixture(scope="module")
def expected(rows):
    return KernelKMeans(**SETTINGS).fit(rows).labels_


class Once:
    """Kills the process that ``find`` names, when it is called for the ``nth`` time anywhere; then nothing more."""

    def __init__(self, folder, find, nth=1):
        self.folder, self.find, self.nth = str(folder), find, nth

    def __call__(self):
        calls = Path(self.folder, "calls")
        with open(calls, "a") as file:
            file.write("x")
        if calls.stat().st_size < self.nth:
            return
        try:
            os.close(os.open(Path(self.folder, "killed"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(self.find(), signal.SIGKILL)


def executor():
    """The Java process of the executor that this worker belongs to: parent of the daemon it was forked from."""
    daemon = os.getppid()
    return int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])


def killing(frame, once):
    """The frame with a column that calls ``once`` for every batch that is read from it."""

    @F.arrow_udf("double")
    def watched(values: pa.Array) -> pa.Array:
        once()
        return values

    return frame.withColumn("x0", watched("x0"))


class KillingSum(lloyd.SumByNearest):
    once = None

    def __call__(self, chunk):
        self.once()
        return super().__call__(chunk)


def check(km, frame, expected, tmp_path):
    assert (tmp_path / "killed").exists()
    np.testing.assert_array_equal(labels_of(km, frame), expected)


#: Batches of the source: four partitions of one batch, read once.
BATCHES = {"second": 2, "last": 4}
VICTIMS = {
    "executor": pytest.param(executor, marks=pytest.mark.spark_only("cluster")),
    "python worker": os.getpid,
}


@pytest.mark.parametrize("find", VICTIMS.values(), ids=VICTIMS)
@pytest.mark.parametrize("batch", BATCHES)
def test_killed_while_the_data_is_read(frame_of, rows, expected, tmp_path, find, batch):
    frame = frame_of(rows).persist()
    watched = killing(frame, Once(tmp_path, find, BATCHES[batch]))
    km = KernelKMeans(**SETTINGS).fit(apnc.sources.open(watched, exclude=["id"]))
    check(km, frame, expected, tmp_path)
    frame.unpersist()


@pytest.mark.parametrize("find", VICTIMS.values(), ids=VICTIMS)
def test_killed_in_an_iteration(frame_of, rows, expected, tmp_path, find, monkeypatch):
    frame = frame_of(rows)
    killer = type("Killing", (KillingSum,), {"once": Once(tmp_path, find, 10)})
    monkeypatch.setattr(lloyd, "SumByNearest", killer)
    km = KernelKMeans(**SETTINGS).fit(apnc.sources.open(frame, exclude=["id"]))
    check(km, frame, expected, tmp_path)


class LosesFiles(lloyd.SumByNearest):
    """All kept files vanish in the third iteration."""

    once = None

    def __call__(self, chunk):
        calls = Path(self.once, "calls")
        with open(calls, "a") as file:
            file.write("x")
        if calls.stat().st_size >= 10 and not Path(self.once, "killed").exists():
            Path(self.once, "killed").touch()
            for path in local_files(os.environ["SPARK_LOCAL_DIRS"].split(",")):
                path.unlink(missing_ok=True)
        return super().__call__(chunk)


def test_files_lost_in_an_iteration(frame_of, rows, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(lloyd, "SumByNearest", type("Loses", (LosesFiles,), {"once": str(tmp_path)}))
    frame = frame_of(rows)
    km = KernelKMeans(**SETTINGS).fit(apnc.sources.open(frame, exclude=["id"]))
    check(km, frame, expected, tmp_path)


def test_cached_blocks_lost_in_an_iteration(spark, frame_of, rows, expected, monkeypatch):
    """The index leaves Spark's cache; its rows are computed again, and the files with them."""
    context, lost = spark.sparkContext, []

    def drop(n_iter, *_):
        if n_iter == 2:
            for rdd in list(context._jsc.getPersistentRDDs().values()):
                context._jsc.sc().unpersistRDD(rdd.id(), True)
                lost.append(rdd.id())
        return False

    plain = lloyd.lloyd
    monkeypatch.setattr("apnc.pipeline.lloyd", lambda *given: plain(*given[:5], drop))
    frame = frame_of(rows)
    km = KernelKMeans(**SETTINGS).fit(apnc.sources.open(frame, exclude=["id"]))
    assert lost
    np.testing.assert_array_equal(labels_of(km, frame), expected)


def broken_on_workers(A, B):
    from pyspark import TaskContext

    if TaskContext.get() is not None:
        raise KeyError("a table that is not there")
    return A @ B.T


class CountedFullDisk:
    def __init__(self, path):
        self.calls = str(path)

    def __call__(self, chunk):
        with open(self.calls, "a") as file:
            file.write("x")
        raise OSError(28, "No space left on device")


class FullDisk(lloyd.SumByNearest):
    def __call__(self, chunk):
        raise OSError(28, "No space left on device")


def check_nothing_is_left(spark, source, **options):
    where, held = used(source.chunks(1000)), in_sparks_cache(spark)
    try:
        KernelKMeans(**SETTINGS, **options).fit(source)
    finally:
        assert in_sparks_cache(spark) == held
        assert not local_files(where)


def test_a_kernel_that_always_fails_says_why(spark, frame_of, rows):
    source = apnc.sources.open(frame_of(rows), exclude=["id"])
    with pytest.raises(ValueError, match=r"^The kernel broken_on_workers failed.*a table that is not there"):
        check_nothing_is_left(spark, source, kernel=broken_on_workers)


def test_what_failed_is_not_computed_again_to_clean_up(spark, frame_of, rows, tmp_path, monkeypatch):
    """Calls are compared around the cleaning alone: how often Spark tries before is its own affair."""
    calls, around, held = tmp_path / "calls", [], in_sparks_cache(spark)
    release = chunks.Index.release

    def counted_release(index):
        around.append(calls.stat().st_size)
        release(index)
        around.append(calls.stat().st_size)

    monkeypatch.setattr(chunks.Index, "release", counted_release)
    source = apnc.sources.open(frame_of(rows, 1), exclude=["id"])
    with (
        pytest.raises(RuntimeError, match="No space left"),
        source.chunks(10**6).map(CountedFullDisk(calls)).cached(),
    ):
        pass
    before, after = around
    assert 1 <= before == after
    assert in_sparks_cache(spark) == held


def test_a_machine_that_always_fails_says_why(spark, frame_of, rows, monkeypatch):
    monkeypatch.setattr(lloyd, "SumByNearest", FullDisk)
    source = apnc.sources.open(frame_of(rows), exclude=["id"])
    message = r"^The Spark job failed: OSError: \[Errno 28\] No space left on device$"
    with pytest.raises(RuntimeError, match=message):
        check_nothing_is_left(spark, source)
