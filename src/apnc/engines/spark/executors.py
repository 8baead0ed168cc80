"""Executors of a session: Spark waits for lost ones forever, a fit does not."""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

from apnc.engines.spark.losses import SparkError, is_connect

#: Seconds without any executor after which work is given up: clusters may take minutes to replace machines.
PATIENCE = 600.0
#: Seconds between two looks.
PERIOD = 1.0


def there_and_lost(frame: Any) -> tuple[int, int]:
    """How many executors there are, and how many were lost; the driver counts as one, as it does in Spark's lists."""
    if is_connect(frame):
        return 1, 0
    known = frame.sparkSession.sparkContext._jsc.sc().statusStore()
    there: int = known.executorList(True).size()
    return there, known.executorList(False).size() - there


def all_lost(frame: Any) -> bool:
    """Whether a cluster that had executors has none; never if it adds them on demand."""
    there, lost = there_and_lost(frame)
    if there > 1 or not lost:
        return False
    on_demand = frame.sparkSession.sparkContext.getConf().get("spark.dynamicAllocation.enabled", "false")
    return bool(on_demand != "true")


@contextmanager
def not_forever(frame: Any) -> Iterator[None]:
    """Cancel jobs that run here once all executors have been lost for ``PATIENCE`` seconds."""
    if is_connect(frame):
        yield
        return
    context, tag, ended, gave_up = (
        frame.sparkSession.sparkContext,
        f"apnc-{uuid.uuid4().hex}",
        Event(),
        Event(),
    )

    def watch() -> None:
        since = time.monotonic()
        # A session that does not answer fails its jobs by itself.
        with suppress(Exception):
            while not ended.wait(PERIOD):
                since = since if all_lost(frame) else time.monotonic()
                if time.monotonic() - since > PATIENCE:
                    gave_up.set()
                    context.cancelJobsWithTag(tag)
                    return

    watcher = Thread(target=watch, daemon=True)
    context.addJobTag(tag)
    watcher.start()
    try:
        yield
    except Exception as error:
        if not gave_up.is_set():
            raise
        raise SparkError(
            f"Spark has lost all executors, and had none for {PATIENCE:.0f} seconds. Start workers again or a new "
            "session, and repeat the work."
        ) from error
    finally:
        ended.set()
        # A session that was stopped has no tags.
        with suppress(Exception):
            context.removeJobTag(tag)
