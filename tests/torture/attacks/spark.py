"""Spark on a standalone cluster that loses processes, files, jobs and connections while it fits."""

import atexit
import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.run import ROOT
from tests.torture.commands import environment
from tests.torture.family import Attack, BrokenError, require

#: Seconds of a case after which it is taken for hanging: it takes some 20 on a machine that has nothing else to do.
LIMIT = 1800.0


@cache
def missing() -> str | None:
    """What Spark would need, if anything."""
    from tests.spark.conftest import missing as needed

    return needed()


class Cluster:
    """A process with a cluster, which answers seeds with outcomes; all its processes end together."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="torture-cluster-")
        place = Path(self.folder.name)
        (place / "tmp").mkdir()
        self.log = open(place / "log", "w+b")  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.torture.spark_scenes", str(place)], cwd=ROOT,
            env=environment(TMPDIR=str(place / "tmp"), PYSPARK_PYTHON=sys.executable),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, start_new_session=True,
        )  # fmt: skip

    def answer(self, seed: int) -> dict[str, Any]:
        """How the case of a seed ended."""
        process, until = self.process, time.monotonic() + LIMIT
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{seed}\n".encode())
        process.stdin.flush()
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            while ready.select(max(0.0, until - time.monotonic())):
                line = process.stdout.readline().decode()
                if line.startswith("answer "):
                    return dict(json.loads(line.removeprefix("answer ")))
                if not line:
                    return {"failure": f"the process ended: {self.said()}", "anew": "process"}
        process.send_signal(signal.SIGUSR1)
        time.sleep(1)
        return {"failure": f"no end within {LIMIT:.0f} s: {self.said()}", "anew": "process"}

    def said(self) -> str:
        self.log.seek(0)
        return self.log.read()[-2500:].decode(errors="replace")

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.log.close()
        self.folder.cleanup()


_running: list[Cluster] = []


def end_all() -> None:
    while _running:
        _running.pop().end()


atexit.register(end_all)


def case(seed: int, folder: Path) -> str:
    """One case on the cluster of this process."""
    if not _running:
        _running.append(Cluster())
    found = _running[0].answer(seed)
    if found["anew"] == "process":
        end_all()
    if "failure" in found:
        raise BrokenError(found["failure"])
    require(found["outcome"], "no outcome")
    return str(found["outcome"])


ATTACK = Attack(
    name="spark",
    what=(
        "Fits on a standalone Spark cluster of two workers: executors, Python workers and daemons killed, a worker or "
        "both lost, the driver killed, connections closed, kept files and local folders deleted, jobs cancelled, the "
        "session stopped, in every stage; empty partitions, and a frame repartitioned while it is cached"
    ),
    holds=(
        "the labels of an undisturbed fit, or one clear error; nothing left in the executors' folders or in Spark's "
        "cache; and the next fit of the session right"
    ),
    full=60,
    case=case,
    share=(0, 3),
    patience=2400.0,
    order=8,
    missing=missing,
)
