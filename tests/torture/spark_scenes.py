"""Fits on a standalone cluster that is disturbed, case by case, in a process of its own.

python -m tests.torture.spark_scenes FOLDER    answers each line SEED with one line: how the case ended
"""

import faulthandler
import json
import os
import random
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np

import apnc
import apnc.spark
from apnc.engines.spark import executors
from apnc.progress import Progress
from tests.spark.conftest import SETTINGS, standalone
from tests.torture.family import BrokenError, require
from tests.torture.spark_disturbing import DISTURBANCES, breakable, ours

N_ROWS = 2000
NAMES = tuple(DISTURBANCES)
METHODS: dict[str, Callable[[], Any]] = {
    "kernel": lambda: apnc.KernelKMeans(4, n_landmarks=40, max_iter=4, tol=0, random_state=0),
    "spectral": lambda: apnc.SpectralClustering(4, n_landmarks=60, max_iter=4, random_state=0),
}
STAGES = {
    "kernel": ("sampling", "coefficients", "starting", "embedding", "clustering", "labels"),
    "spectral": (
        "sampling", "landmarks", "neighbours", "coefficients", "starting", "embedding", "clustering", "labels",
    ),
}  # fmt: skip
PARTITIONS = ("four", "mostly empty", "one row alone", "cached")
#: Seconds without executors after which a disturbed fit gives up here, and within which files of a session that ended
#: must go.
PATIENCE, CLEANED = 20.0, 300.0
#: Characters of an error at most, and what none may show.
LONGEST = 1500
RAW = ("Py4J", "py4j", "An error occurred while calling", "org.apache", "\tat ", "Traceback", "SQLSTATE")


@cache
def rows() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(size=(N_ROWS, 4)) + 4 * rng.integers(0, 4, size=(N_ROWS, 1))


@cache
def expected(method: str) -> np.ndarray:
    """Labels of a fit on this machine, which those on Spark equal."""
    return METHODS[method]().fit(rows()).labels_


class At(Progress):
    """Does something some seconds after a stage begins, on a thread of its own; at once if that is no time."""

    def __init__(self, stage: str, seconds: float, act: Callable[[], None]) -> None:
        self.name, self.seconds, self.act = stage, seconds, act
        self.thread: threading.Thread | None = None

    def stage(self, name: str, *_: Any, **__: Any) -> None:
        if name != self.name or self.thread is not None:
            return
        self.thread = threading.Thread(target=self.later, daemon=True)
        self.thread.start()
        if not self.seconds:
            self.thread.join()

    def later(self) -> None:
        time.sleep(self.seconds)
        try:
            self.act()
        except Exception:
            # The fit may have ended meanwhile, and with it what was to be disturbed.
            traceback.print_exc()


class Scene:
    """A cluster of two workers with a session, used for one case after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cluster = standalone(folder)
        self.cluster.__enter__()
        made = self.cluster.processes[1:]
        self.workers = [(process, folder / f"local-{number}") for number, process in enumerate(made)]
        self.spark: Any = None
        self.frame: Any = None
        self.others: list[Any] = []
        self.begin()

    def begin(self) -> None:
        """A session."""
        settings = {**SETTINGS, "spark.local.dir": str(self.folder / "driver"), "spark.log.level": "OFF"}
        self.spark = apnc.spark.session(self.cluster.url, **settings)

    def complete(self) -> None:
        """Two workers again."""
        while len(self.workers) < 2:
            self.workers.append(self.cluster.add_worker())

    def rows_in(self, partitions: str) -> Any:
        """The rows as a frame."""
        import pandas as pd

        table = pd.DataFrame(rows(), columns=[f"x{j}" for j in range(4)]).assign(id=np.arange(N_ROWS))
        frame = self.spark.createDataFrame(table)
        if partitions == "mostly empty":
            return (
                frame.repartitionByRange(3, "id")
                .union(frame.where("id < 0").repartition(20))
                .repartition(24, "id")
            )
        if partitions == "one row alone":
            first = frame.where("id = 0").coalesce(1)
            return first.union(frame.where("id > 0").repartitionByRange(3, "id"))
        frame = frame.repartitionByRange(4, "id")
        if partitions == "cached":
            # In Spark's cache from the first job on, not from persist() on.
            frame.persist().count()
        return frame

    def cached(self) -> int:
        return int(self.spark.sparkContext._jsc.getPersistentRDDs().size())


def fit(scene: Scene, method: str, frame: Any, progress: Progress | None = None) -> np.ndarray:
    """Labels of all rows by a model that was fitted on Spark; they are computed here, where nothing can be lost."""
    source = apnc.open(frame, id_columns=["id"])
    more = {} if progress is None else {"progress": progress}
    return METHODS[method]().fit(source, **more).predict(rows())


def require_clear(error: BaseException) -> None:
    """One error of ours that a person can read."""
    said = str(error)
    shown = f"{type(error).__name__}: {said[:600]!r}"
    require(isinstance(error, (ValueError, RuntimeError)), shown)
    require(type(error).__module__.startswith("apnc."), f"not an error of apnc's, {shown}")
    require(15 < len(said) <= LONGEST and said.replace("\n", " ").isprintable(), shown)
    raw = [text for text in RAW if text in said]
    require(not raw, f"{raw} in {shown}")
    require(error.__cause__ is not None, f"without its cause, {shown}")


def left_in(scene: Scene) -> list[Path]:
    return [path for _, local in scene.workers for path in ours(local)]


def local_folders(batches: Any) -> Any:
    import pyarrow as pa

    for _ in batches:
        pass
    yield pa.RecordBatch.from_pydict({"folder": os.environ["SPARK_LOCAL_DIRS"].split(",")})


def require_none_with_the_living(scene: Scene) -> bool:
    """No files of ours in the folders of executors that live; whether there are any in those of dead ones.

    An executor that was killed leaves its folder to the worker, which removes it with the session; we do it earlier if
    a successor has come in time.
    """
    if not left_in(scene):
        return False
    tasks = scene.spark.range(0, 64, 1, 64).mapInArrow(local_folders, "folder string")
    living = {Path(row.folder) for row in tasks.distinct().collect()}
    left = [path for path in left_in(scene) if path.parent in living]
    require(not left, f"left with executors that live: {[path.name for path in left]}")
    return True


def require_clean(scene: Scene) -> None:
    """Nothing of ours in the local folders of workers that live, nor in the folder for temporary files."""
    until = time.monotonic() + CLEANED
    while left := left_in(scene):
        if time.monotonic() > until:
            raise BrokenError(f"left behind: {[str(path.relative_to(scene.folder)) for path in left]}")
        time.sleep(0.1)
    temporary = [path.name for path in (scene.folder / "tmp").glob("*apnc*")]
    require(not temporary, f"left behind: {temporary}")


def disturbed(scene: Scene, method: str, progress: At) -> str:
    """The disturbed fit: the right labels or a clear error."""
    executors.PATIENCE = PATIENCE
    try:
        found = fit(scene, method, scene.frame, progress)
    except Exception as error:
        traceback.print_exc()
        require_clear(error)
        return "clear error"
    finally:
        # Workers that were started again may take longer to come.
        executors.PATIENCE = CLEANED
        if progress.thread is not None:
            progress.thread.join()
    require(np.array_equal(found, expected(method)), "other labels")
    return "same labels"


def case(scene: Scene, seed: int) -> tuple[str, str]:
    """One case: how it ended, and what must be started anew."""
    rng = random.Random(seed)
    name = NAMES[seed % len(NAMES)]
    act, anew = DISTURBANCES[name]
    method = rng.choice(tuple(METHODS))
    stage, seconds = rng.choice(STAGES[method]), rng.choice((0.0, rng.uniform(0, 2)))
    partitions = "cached" if name.startswith("repartitioned") else rng.choice(PARTITIONS)
    if name == "odd partitions":
        partitions = PARTITIONS[1 + seed // len(NAMES) % 2]
    print(
        f"case {seed}: {name}, {method}, {stage} + {seconds:.2f} s, {partitions}", file=sys.stderr, flush=True
    )
    (scene.folder / "armed").unlink(missing_ok=True)
    scene.frame = scene.rows_in(partitions)
    if name == "worker's sockets closed":
        scene.frame = breakable(scene.frame, scene.folder)
    try:
        before = scene.cached()
        outcome = disturbed(scene, method, At(stage, seconds, lambda: act(scene, rng)))
        if not anew:
            require(scene.cached() <= before, "a frame of ours is still cached")
            scene.complete()
            waits = require_none_with_the_living(scene)
            scene.frame.unpersist()
            again = fit(scene, "kernel", scene.rows_in("four"))
            require(np.array_equal(again, expected("kernel")), "other labels afterwards")
            anew = "session" if waits else ""
        if anew == "session":
            scene.spark.stop()
        require_clean(scene)
    except BrokenError as error:
        raise BrokenError(f"{name}, {method}, {stage} + {seconds:.2f} s, {partitions}: {error}") from error
    return f"{name}: {outcome}", anew


def answer(scene: Scene, seed: int) -> dict[str, Any]:
    """How a case ended; after a failure the parent starts all processes anew."""
    try:
        outcome, anew = case(scene, seed)
    except BrokenError as error:
        return {"failure": str(error), "anew": "process"}
    except Exception:
        return {"failure": "".join(traceback.format_exc().splitlines(True)[-8:]), "anew": "process"}
    while scene.others:
        scene.others.pop().unpersist()
    if anew == "session":
        scene.begin()
    return {"outcome": outcome, "anew": anew}


def questions() -> Queue[int]:
    """Seeds as they arrive; when the parent is gone, so is this process with all that it has started."""
    asked: Queue[int] = Queue()

    def listen() -> None:
        for line in sys.stdin:
            asked.put(int(line))
        os.killpg(os.getpgid(0), signal.SIGKILL)

    threading.Thread(target=listen, daemon=True).start()
    return asked


def main() -> None:

    folder = Path(sys.argv[1])
    warnings.simplefilter("ignore")
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    asked, scene = questions(), Scene(folder)
    while True:
        found = answer(scene, asked.get())
        print("answer", json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
