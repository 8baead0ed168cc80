"""Details of Spark sessions: the workers' interpreter, shipping functions to them, and collecting results."""

import hashlib
import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from apnc.engines.spark.executors import not_forever
from apnc.engines.spark.losses import is_connect, told_plainly
from apnc.temporary import temporary_folder

#: Functions of more bytes are sent to a Connect server once, as a file, instead of in every plan.
LARGE = 1 << 20
#: Held while a session's interpreter for functions is replaced.
CHOOSING = Lock()
#: Held while a session's adaptive execution is switched off; what it was, and how many jobs need it off, by session.
PLANNING = Lock()
ADAPTIVE: dict[int, tuple[str, int]] = {}
ADAPTIVE_SETTING = "spark.sql.adaptive.enabled"


@contextmanager
def on_drivers_python(frame: Any) -> Iterator[None]:
    """Functions created here run on the driver's interpreter, unless PYSPARK_PYTHON or the session names one.

    One thread at a time, so that concurrent fits do not undo each other's setting.
    """
    if is_connect(frame):
        yield
        return
    context = frame.sparkSession.sparkContext
    chosen = "PYSPARK_PYTHON" in os.environ or context.getConf().get("spark.pyspark.python")
    with CHOOSING:
        before = context.pythonExec
        context.pythonExec = before if chosen else sys.executable
        try:
            yield
        finally:
            context.pythonExec = before


@contextmanager
def as_written(frame: Any) -> Iterator[None]:
    """Jobs run here are planned once, as they are written, without Spark's adaptive execution."""
    session = frame.sparkSession
    with told_plainly(frame), PLANNING:
        # Concurrent fits share the setting; the last one to end restores it.
        before, running = ADAPTIVE.get(id(session)) or (session.conf.get(ADAPTIVE_SETTING), 0)
        session.conf.set(ADAPTIVE_SETTING, "false")
        ADAPTIVE[id(session)] = before, running + 1
    try:
        yield
    finally:
        with PLANNING:
            before, running = ADAPTIVE.pop(id(session))
            if running > 1:
                ADAPTIVE[id(session)] = before, running - 1
            else:
                # A session that was stopped has no settings.
                with suppress(Exception):
                    session.conf.set(ADAPTIVE_SETTING, before)


def shipped(frame: Any, task: Any) -> Any:
    """A task that can be part of a plan; on Connect, a large one is uploaded as a file first."""
    if not is_connect(frame):
        return task
    from pyspark import cloudpickle

    packed = cloudpickle.dumps(task)
    if len(packed) < LARGE:
        return task
    name = f"apnc-{hashlib.sha256(packed).hexdigest()}.task"
    with temporary_folder() as folder:
        path = folder / name
        path.write_bytes(packed)
        frame.sparkSession.addArtifact(str(path), file=True)
    return Shipped(name)


@dataclass(frozen=True)
class Shipped:
    """A task in a file that Spark has distributed to the workers."""

    name: str

    def run(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Run the task itself."""
        return _fetched(self.name).run(batches)


# Spark reuses its workers: a task is unpickled once per worker, not once per partition.
@lru_cache(1)
def _fetched(name: str) -> Any:
    from pyspark import SparkFiles

    return pickle.loads(Path(SparkFiles.get(name)).read_bytes())


def collected(frame: Any) -> Any:
    """A small DataFrame as an Arrow table."""
    with told_plainly(frame), not_forever(frame):
        return frame.toArrow()
