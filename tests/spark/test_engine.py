"""The engine contract, and what is particular to Spark: nothing stays behind, lost work is done again."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from apnc.engines.local import Layout
from apnc.engines.outcomes import Outcome, join
from apnc.engines.spark.chunks import FAN, SparkChunks, levels_for
from apnc.engines.spark.tasks import Forget
from apnc.sources import open as open_source
from tests.contract.suite import *  # noqa: F403
from tests.contract.suite import Counted, doubled, indices, size, table, total
from tests.spark.conftest import MODE

EMPTY_AT_BOTH_ENDS = "empty partitions"


@pytest.fixture(params=[1, 7, EMPTY_AT_BOTH_ENDS])
def case(request, frame_of):
    rows, weights = table()
    return chunks_of(frame_of, request.param), rows, weights


def chunks_of(frame_of, n_partitions=4):
    rows, weights = table()
    if n_partitions == EMPTY_AT_BOTH_ENDS:
        nothing = frame_of(rows[:1], 2, w=weights[:1]).where("id < 0")
        frame = nothing.union(frame_of(rows, 3, w=weights)).union(nothing)
    else:
        frame = frame_of(rows, n_partitions, w=weights)
    source = open_source(frame, columns=["x0", "x1", "x2"], weight_column="w")
    chunks = source.data(Layout(work_bytes=8, threads=1, chunk_bytes=300)).chunks
    assert isinstance(chunks, SparkChunks)
    return chunks


def test_many_partial_results_are_combined_in_a_tree(frame_of):
    rows, weights = table()
    with chunks_of(frame_of, FAN + 8).cached() as kept:
        assert kept.rows.levels == 1
        np.testing.assert_allclose(kept.reduce(total, np.add), weights @ rows)
        order = kept.reduce(indices, list.__add__)
        assert order == sorted(order)
        assert len(order) >= FAN + 8


def test_chunks_are_no_larger_than_asked_for(frame_of):
    assert 1 <= chunks_of(frame_of).reduce(size, max) <= 10


def test_rows_are_not_looped_over(frame_of):
    with pytest.raises(TypeError, match="stay on the executors"):
        list(chunks_of(frame_of))


def test_no_rows(frame_of):
    frame = frame_of(np.ones((3, 2))).where("id < 0")
    with pytest.raises(ValueError, match="no rows"):
        open_source(frame, columns=["x0"]).data(Layout(8, 1)).chunks.reduce(size, int.__add__)


def test_few_partial_results_reach_the_driver():
    assert [levels_for(n) for n in (1, FAN, FAN + 1, FAN**2, FAN**2 + 1, 10 * FAN**2)] == [0, 0, 1, 1, 2, 2]


def test_outcomes_are_joined_in_order():
    parts = [Outcome(([1],)), Outcome(lost=(7,)), Outcome(([2],)), Outcome(errors=(ValueError("x"),))]
    whole = join(parts, list.__add__)
    assert (whole.values, whole.lost, len(whole.errors)) == (([1, 2],), (7,), 1)


def local_files(spark_folder_of):
    """Files that were kept in executors' local folders."""
    return sorted(path for folder in spark_folder_of for path in Path(folder).rglob("apnc-*/*.npy"))


def folders(chunk):
    return os.environ["SPARK_LOCAL_DIRS"].split(",")


def used(chunks):
    return set(chunks.reduce(folders, list.__add__))


def in_sparks_cache(spark):
    return spark.sparkContext._jsc.getPersistentRDDs().size()


def test_nothing_stays_behind(spark, frame_of):
    before = 0 if MODE == "connect" else in_sparks_cache(spark)
    chunks = chunks_of(frame_of)
    with chunks.cached() as kept:
        where = used(kept)
        assert len(local_files(where)) == 4
    assert not local_files(where)
    if MODE != "connect":
        assert in_sparks_cache(spark) == before


def test_files_of_an_executor_that_died_are_removed_by_its_successor(tmp_path, monkeypatch):
    """Each has a folder of its own; other runs keep their files."""
    paths = [tmp_path / place / run for place in ("blockmgr-1", "blockmgr-2") for run in ("apnc-a", "apnc-b")]
    for path in paths:
        path.mkdir(parents=True)
        (path / "0-0.npy").touch()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "blockmgr-2"))
    assert list(Forget("a").run(iter([]))) == []
    assert [path for path in paths if path.exists()] == [paths[1], paths[3]]


class Fails:
    def __call__(self, chunk):
        if chunk.rows[-1, -1] > 200:
            raise ZeroDivisionError("a kernel that fails")
        return chunk


def test_nothing_stays_behind_after_a_failure(spark, frame_of):
    before = 0 if MODE == "connect" else in_sparks_cache(spark)
    where = used(chunks_of(frame_of))
    with (
        pytest.raises(ZeroDivisionError, match="a kernel that fails"),
        chunks_of(frame_of).map(Fails()).cached(),
    ):
        pass
    assert not local_files(where)
    if MODE != "connect":
        assert in_sparks_cache(spark) == before


def test_lost_files_are_made_again(frame_of, tmp_path):
    rows, weights = table()
    notes = tmp_path / "calls"
    with chunks_of(frame_of).map(Counted(notes)).cached() as kept:
        once = len(notes.read_text())
        local_files(used(kept))[1].unlink()
        np.testing.assert_allclose(kept.reduce(total, np.add), weights @ (2 * rows))
        assert len(notes.read_text()) == 2 * once
        np.testing.assert_allclose(kept.reduce(total, np.add), weights @ (2 * rows))
        assert len(notes.read_text()) == 2 * once


def test_lost_files_that_others_are_made_from_are_made_again(frame_of, tmp_path):
    rows, weights = table()
    notes = tmp_path / "calls"
    with chunks_of(frame_of).map(Counted(notes)).cached() as first:
        once = len(notes.read_text())
        local_files(used(first))[1].unlink()
        with first.map(doubled).cached() as kept:
            np.testing.assert_allclose(kept.reduce(total, np.add), weights @ (4 * rows))
        assert len(notes.read_text()) == 2 * once


def test_a_task_that_ran_elsewhere_is_tried_again(frame_of, tmp_path, monkeypatch):
    """Its file is not there at first; what the other partitions gave is not computed twice."""
    rows, weights = table()
    notes = tmp_path / "calls"
    with chunks_of(frame_of).cached() as kept:
        path = local_files(used(kept))[2]
        hidden = path.rename(tmp_path / "hidden.npy")
        run = SparkChunks._outcome

        def back_after_the_first(self, frame, fold):
            outcome = run(self, frame, fold)
            if hidden.exists():
                assert len(outcome.lost) == 1
                hidden.rename(path)
            return outcome

        monkeypatch.setattr(SparkChunks, "_outcome", back_after_the_first)
        found = kept.map(Counted(notes)).reduce(total, np.add)
        np.testing.assert_allclose(found, weights @ (2 * rows))
        assert len(notes.read_text()) == kept.reduce(one, int.__add__)


def one(chunk):
    return 1


def blas_threads(chunk):
    from threadpoolctl import threadpool_info

    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)


def test_blas_is_held_to_the_cores_of_a_task(frame_of):
    assert chunks_of(frame_of).reduce(blas_threads, max) == 1


def test_threads_of_a_task_follow_its_cores(monkeypatch):
    from types import SimpleNamespace

    from apnc.engines.spark import tasks as spark_tasks

    context = SimpleNamespace(partitionId=lambda: 5, cpus=lambda: 3)
    monkeypatch.setattr(spark_tasks, "_context", lambda: context)
    work = spark_tasks.Work(lambda batches: iter([(5, iter(batches))]), ())
    assert list(work.outcomes([1, 2], lambda position, chunks: (position, chunks.threads))) == [
        (5, Outcome(((5, 3),)))
    ]


class LargeTotal:
    """A function of some megabytes, as one with many landmarks is."""

    def __init__(self):
        self.ballast = np.random.default_rng(0).random(1 << 18)

    def __call__(self, chunk):
        return total(chunk) + 0 * self.ballast[0]


def test_large_functions_reach_the_workers(frame_of):
    rows, weights = table()
    assert len(pickle.dumps(LargeTotal().ballast)) > 1 << 20
    np.testing.assert_allclose(chunks_of(frame_of).reduce(LargeTotal(), np.add), weights @ rows)


def test_a_python_without_apnc_is_named():
    from apnc.engines.spark.losses import reason_of

    assert "PYSPARK_PYTHON" in reason_of("...\nModuleNotFoundError: No module named 'apnc'\n SQLSTATE")
    assert reason_of("Traceback\n  File x\nOSError: [Errno 28] No space left\n") == (
        "The Spark job failed: OSError: [Errno 28] No space left"
    )


@pytest.mark.spark_only("local", "cluster")
def test_the_sessions_planning_is_restored_by_the_last_of_several_jobs(spark):
    from apnc.engines.spark.session import ADAPTIVE_SETTING, as_written

    frame, before = spark.range(1), spark.conf.get(ADAPTIVE_SETTING)
    one, two = as_written(frame), as_written(frame)
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    assert spark.conf.get(ADAPTIVE_SETTING) == "false"
    two.__exit__(None, None, None)
    assert spark.conf.get(ADAPTIVE_SETTING) == before
