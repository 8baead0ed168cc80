"""What cannot be computed again: one error says what was lost and what to do, and keeps Spark's own as its cause."""

import subprocess
import sys
import threading
import time
from threading import Event

import numpy as np
import pytest

from apnc import KernelKMeans, sources
from apnc.engines.spark import executors
from apnc.engines.spark.losses import SparkError, reason_of, told_plainly
from apnc.progress import Progress
from tests.spark.conftest import MODE
from tests.spark.test_engine import in_sparks_cache, local_files, used

REPORTS = {
    "An error occurred while calling o2112.getResult.\n: org.apache.spark.SparkException: Exception thrown in "
    "awaitResult: \n\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:56)\nCaused by: "
    "org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 5.0 failed 4 times, most "
    "recent failure: Lost task 1.3 in stage 5.0 (TID 20) (127.0.0.1 executor 5): ExecutorLostFailure (executor 5 "
    "exited caused by one of the running tasks) Reason: worker lost: Not receiving heartbeat for 60 seconds\nDriver "
    "stacktrace:\n\tat org.apache": "The Spark job failed: it lost executors again and again (worker lost: Not "
    "receiving heartbeat for 60 seconds). Check their logs and their memory (spark.executor.memory, "
    "spark.executor.memoryOverhead), and repeat the work.",
    "An error occurred while calling o99.getResult.\n: org.apache.spark.SparkException: Job 7 cancelled as part of "
    "cancellation of all jobs\n\tat org": "The Spark job was cancelled. Nothing was kept of this work: start it again.",
    "An error occurred while calling o7.getResult.\n: java.util.concurrent.ExecutionException: boom\n\tat java.base\n"
    "Caused by: java.io.IOException: Failed to create local dir in /x\n\tat org": "The Spark job failed: Failed to "
    "create local dir in /x",
    "Job aborted: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)": "The Spark job "
    "failed: its Python workers died again and again. Most often they lack memory: raise "
    "spark.executor.memoryOverhead, or use fewer cores for each executor; the executors' logs tell more.",
}  # fmt: skip


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_comes_down_to_a_sentence(report):
    assert reason_of(report) == REPORTS[report]


class AtStage(Progress):
    def __init__(self, name, act):
        self.name, self.act = name, act

    def stage(self, name, *_, **__):
        if name == self.name:
            self.act()


@pytest.mark.spark_only("local", "cluster")
def test_a_cancelled_job_is_named_and_leaves_nothing(spark, frame_of, blobs):
    context, source = spark.sparkContext, sources.open(frame_of(blobs[:5000]), exclude=["id"])
    where, held = used(source.chunks(1000)), in_sparks_cache(spark)

    def cancel_one():
        while not context.statusTracker().getActiveJobsIds():
            time.sleep(0.001)
        context.cancelAllJobs()

    watch = AtStage("embedding", threading.Thread(target=cancel_one).start)
    with pytest.raises(SparkError, match=r"^The Spark job was cancelled\. Nothing was kept") as raised:
        KernelKMeans(4, random_state=0).fit(source, progress=watch)
    assert raised.value.__cause__ is not None
    assert in_sparks_cache(spark) == held
    assert not local_files(where)


LOST_SESSION = """
import sys, warnings
import numpy as np, pandas as pd
import apnc, apnc.spark
from apnc.progress import Progress

warnings.simplefilter("ignore")
spark = apnc.spark.session("local[2]", **{"spark.ui.enabled": "false", "spark.log.level": "OFF"})
frame = spark.createDataFrame(pd.DataFrame(np.random.default_rng(0).normal(size=(500, 2)), columns=["a", "b"]))
context = spark.sparkContext
ways = {"stopped": spark.stop, "driver": lambda: (context._gateway.proc.kill(), context._gateway.proc.wait())}

class Ending(Progress):
    def stage(self, name, *_, **__):
        if name == sys.argv[2]:
            ways[sys.argv[1]]()

for progress in (Ending(), Progress()):
    try:
        apnc.KernelKMeans(2, n_landmarks=20, random_state=0).fit(frame, progress=progress)
    except Exception as error:
        print(type(error).__name__, error.__cause__ is not None, str(error).replace(chr(10), " "))
"""


LOST = {
    "stopped": "The Spark session was stopped while it was needed. Start a session, create the DataFrame again",
    "driver": "The connection to the Spark driver was lost",
}


@pytest.mark.spark_only("local")
@pytest.mark.parametrize(
    ("way", "stage"),
    [("stopped", "sampling"), ("stopped", "clustering"), ("driver", "embedding"), ("driver", "clustering")],
)
def test_a_lost_session_is_named(way, stage):
    """By the fit that loses it, and by one that begins without it."""
    done = subprocess.run(
        [sys.executable, "-c", LOST_SESSION, way, stage],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done.stderr[-2000:]
    assert all(line.startswith(f"SparkError True {LOST[way]}") for line in lines), lines
    assert "Py4J" not in done.stdout


class Context:
    """Stands in for a context whose job goes on until it is cancelled."""

    def __init__(self):
        self.tags, self.cancelled = [], Event()

    def addJobTag(self, tag):
        self.tags.append(tag)

    removeJobTag = addJobTag

    def cancelJobsWithTag(self, tag):
        assert self.tags == [tag]
        self.cancelled.set()

    def run(self):
        self.cancelled.wait()
        raise ValueError("cancelled")


class Frame:
    def __init__(self):
        self.sparkSession = self
        self.sparkContext = Context()


def test_work_without_executors_is_given_up(monkeypatch):
    monkeypatch.setattr(executors, "all_lost", lambda frame: True)
    monkeypatch.setattr(executors, "PERIOD", 0.01)
    monkeypatch.setattr(executors, "PATIENCE", 0.05)
    frame = Frame()
    says = r"^Spark has lost all executors, and had none for 0 seconds\. Start workers again or a new session"
    with pytest.raises(SparkError, match=says), told_plainly(frame), executors.not_forever(frame):
        frame.sparkContext.run()
    assert len(frame.sparkContext.tags) == 2


def test_executors_are_counted(spark, frame_of):
    frame = frame_of(np.ones((3, 2)))
    there, lost = executors.there_and_lost(frame)
    assert there >= (2 if MODE == "cluster" else 1)
    assert lost == 0 or MODE == "cluster"
    assert not executors.all_lost(frame)
