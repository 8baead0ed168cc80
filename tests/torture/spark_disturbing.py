"""What a cluster of Spark suffers: processes killed, folders deleted, jobs cancelled, connections closed."""

import contextlib
import os
import random
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def children_of(parents: set[int]) -> set[int]:
    return {
        int(entry) for entry in os.listdir("/proc") if entry.isdigit() and parent_of(int(entry)) in parents
    }


def executors(scene: Any) -> set[int]:
    """Java processes that the workers have started as executors."""
    workers = {process.pid for process, _ in scene.workers}
    return {pid for pid in children_of(workers) if "CoarseGrainedExecutorBackend" in command_of(pid)}


def daemons(scene: Any) -> set[int]:
    return {pid for pid in children_of(executors(scene)) if "pyspark.daemon" in command_of(pid)}


def kill_one(rng: random.Random, pids: set[int]) -> None:
    for pid in rng.sample(sorted(pids), min(1, len(pids))):
        kill(pid)


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_executor(scene: Any, rng: random.Random) -> None:
    kill_one(rng, executors(scene))


def kill_python_worker(scene: Any, rng: random.Random) -> None:
    kill_one(rng, children_of(daemons(scene)) or daemons(scene))


def kill_python_daemon(scene: Any, rng: random.Random) -> None:
    kill_one(rng, daemons(scene))


def ours(local: Path) -> Iterator[Path]:
    """Folders of ours below a worker's local folders."""
    return (path for path in local.rglob("apnc-*") if path.is_dir())


def delete_kept(scene: Any, rng: random.Random) -> None:
    for _, local in scene.workers:
        for folder in list(ours(local)):
            shutil.rmtree(folder, ignore_errors=True)


def delete_local(scene: Any, rng: random.Random) -> None:
    """All that the executors of one worker have in its local folders, Spark's own files included."""
    _, local = rng.choice(scene.workers)
    for folder in local.glob("spark-*"):
        shutil.rmtree(folder, ignore_errors=True)


def cancel(scene: Any, rng: random.Random) -> None:
    scene.spark.sparkContext.cancelAllJobs()


def stop(scene: Any, rng: random.Random) -> None:
    scene.spark.stop()


def kill_worker(scene: Any, rng: random.Random) -> None:
    """A machine that is gone for good: worker and executor at once."""
    victim = rng.choice(scene.workers)
    scene.workers.remove(victim)
    for pid in (*children_of({victim[0].pid}), victim[0].pid):
        kill(pid)


def kill_both(scene: Any, rng: random.Random) -> None:
    for _ in list(scene.workers):
        kill_worker(scene, rng)


def replace_both(scene: Any, rng: random.Random) -> None:
    kill_both(scene, rng)
    scene.complete()


def close_worker_sockets(scene: Any, rng: random.Random) -> None:
    """The next Python worker that reads rows of the frame loses its connections."""
    (scene.folder / "armed").touch()


def close_gateway(scene: Any, rng: random.Random) -> None:
    """The driver's connections to its Java process break; new ones can be made."""
    scene.spark.sparkContext._gateway.close(keep_callback_server=True, close_callback_server_connections=True)


def kill_driver(scene: Any, rng: random.Random) -> None:
    kill(scene.spark.sparkContext._gateway.proc.pid)


def repartition(scene: Any, rng: random.Random) -> None:
    """The user's cached frame leaves the cache, and one with other partitions enters it."""
    scene.frame.unpersist()
    scene.others.append(scene.frame.repartition(rng.randrange(1, 9)).persist())
    scene.others[-1].count()


def nothing(scene: Any, rng: random.Random) -> None:
    """Odd partitions are enough."""


def disarmed(folder: str) -> Callable[[], None]:
    """A function for Python workers: the first one that calls it after the file was made shuts its sockets down."""

    def check() -> None:
        try:
            os.unlink(os.path.join(folder, "armed"))
        except FileNotFoundError:
            return
        for name in os.listdir("/proc/self/fd"):
            if os.path.exists(path := f"/proc/self/fd/{name}") or os.path.islink(path):
                break_socket(int(name), path)

    return check


def break_socket(number: int, path: str) -> None:
    try:
        if os.readlink(path).startswith("socket:"):
            socket.socket(fileno=os.dup(number)).shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def breakable(frame: Any, folder: Path) -> Any:
    """The frame with a column that Python workers compute, which lose their connections once ``armed`` is there."""
    from pyspark.sql.functions import arrow_udf

    check = disarmed(str(folder))

    @arrow_udf("double")
    def watched(values: pa.Array) -> pa.Array:
        check()
        return values

    return frame.withColumn("x0", watched("x0"))


#: What is done, and what a scene must do after it: start the session anew, all processes, or nothing.
DISTURBANCES: dict[str, tuple[Callable[[Any, random.Random], None], str]] = {
    "executor killed": (kill_executor, ""),
    "python worker killed": (kill_python_worker, ""),
    "kept files deleted": (delete_kept, ""),
    "job cancelled": (cancel, ""),
    "worker lost": (kill_worker, ""),
    "python daemon killed": (kill_python_daemon, ""),
    "worker's sockets closed": (close_worker_sockets, ""),
    "repartitioned while cached": (repartition, ""),
    "odd partitions": (nothing, ""),
    "both workers replaced": (replace_both, ""),
    "both workers lost": (kill_both, ""),
    "local folders deleted": (delete_local, "session"),
    "session stopped": (stop, "session"),
    "gateway's sockets closed": (close_gateway, "process"),
    "driver killed": (kill_driver, "process"),
}
