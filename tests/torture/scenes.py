"""Scenes of concurrency and of failing machines, each in a process of its own.

python -m tests.torture.scenes NAME SEED FOLDER    prints what happened; exit code 0 if that is right
"""

import faulthandler
import multiprocessing
import os
import random
import shlex
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import apnc
from apnc.progress import Progress
from tests.torture.commands import COMMAND, Ended, contents, environment, judge
from tests.torture.family import require

#: Seconds after which a scene of a few seconds is taken for a deadlock.
PATIENCE = 600
#: Rows of a fit here, and of one whose Y does not fit in the memory that its limit leaves.
N_ROWS, SPILLED = 4000, 250_000


def rows(seed: int, n: int = N_ROWS) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 5)) + 4 * rng.integers(0, 4, size=(n, 1))


def estimator(seed: int) -> Any:
    """One of several estimators."""
    options: tuple[dict[str, Any], ...] = (
        {"kernel": "rbf"}, {"kernel": "laplacian", "embedding": "stable"}, {"kernel": "polynomial"},
        {"kernel": "linear", "embedding": "ensemble"}, {"kernel": "rbf", "n_jobs": 1},
    )  # fmt: skip
    if seed % 6 == 5:
        return apnc.SpectralClustering(4, n_landmarks=150, random_state=seed)
    return apnc.KernelKMeans(4, n_landmarks=150, max_iter=20, random_state=seed, **options[seed % 6])


def labels_of(seed: int) -> np.ndarray:
    """The labels of a fit; a module-level function, which other processes can import."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator(seed).fit(rows(seed)).labels_


def seeds_of(rng: random.Random, n: int) -> list[int]:
    return [rng.randrange(1000) for _ in range(n)]


def require_same(found: Any, seeds: list[int]) -> str:
    for labels, seed in zip(found, seeds, strict=True):
        require(np.array_equal(labels, labels_of(seed)), f"labels of seed {seed} differ")
    return "right results"


# Threads and processes


def threads(rng: random.Random, folder: Path) -> str:
    """Fits on several threads at once, and predictions of one estimator."""
    seeds = seeds_of(rng, rng.randrange(2, 7))
    shared = estimator(seeds[0]).fit(rows(seeds[0]))
    with ThreadPoolExecutor(len(seeds)) as pool:
        found = list(pool.map(labels_of, seeds))
        predicted = list(pool.map(lambda _: shared.predict(rows(seeds[0])), range(4)))
    require(all(np.array_equal(shared.labels_, one) for one in predicted), "predictions on threads differ")
    return require_same(found, seeds)


def processes(method: str) -> Callable[[random.Random, Path], str]:
    """Fits in processes of a pool, after a fit in this one has started threads."""

    def scene(rng: random.Random, folder: Path) -> str:
        seeds = seeds_of(rng, rng.randrange(2, 4))
        labels_of(seeds[0])
        with multiprocessing.get_context(method).Pool(2) as pool:
            found = pool.map(labels_of, seeds)
        return require_same(found, seeds)

    return scene


def fork_while_fitting(rng: random.Random, folder: Path) -> str:
    """A child is forked while another thread fits; both must get done."""
    seeds, stop = seeds_of(rng, 3), threading.Event()
    labels_of(seeds[0])
    busy = threading.Thread(target=lambda: fit_until(stop, seeds[0]))
    busy.start()
    children = []
    for number, seed in enumerate(seeds):
        time.sleep(rng.uniform(0, 0.3))
        if (child := os.fork()) == 0:
            tell_where_it_hangs()
            np.save(folder / f"{number}.npy", labels_of(seed))
            os._exit(0)
        children.append(child)
    codes = [os.waitpid(child, 0)[1] for child in children]
    stop.set()
    busy.join()
    require(codes == [0] * len(children), f"children ended with {codes}")
    return require_same([np.load(folder / f"{number}.npy") for number in range(len(seeds))], seeds)


def fit_until(stop: threading.Event, seed: int) -> None:
    while not stop.is_set():
        labels_of(seed)


def grid(rng: random.Random, folder: Path) -> str:
    """A search on two processes finds what one process finds."""
    from sklearn.model_selection import GridSearchCV

    X = rows(rng.randrange(1000), 600)
    choices = {"gamma": [0.01, 0.1, 1.0], "n_clusters": [2, 4]}
    found = [
        GridSearchCV(apnc.KernelKMeans(random_state=0), choices, cv=2, n_jobs=n_jobs).fit(X)
        for n_jobs in (2, 1)
    ]
    scores = [search.cv_results_["mean_test_score"] for search in found]
    # Sums of float32 are rounded as the number of threads cuts the rows.
    require(np.allclose(*scores, rtol=1e-6), f"scores differ: {scores}")
    require(found[0].best_params_ == found[1].best_params_, "another choice")
    return "right results"


# The machine

FIT = (
    "fit",
    "rows.npy",
    "-k",
    "4",
    "--n-landmarks",
    "150",
    "--model",
    "out.apnc",
    "--labels",
    "labels.parquet",
)
OUTPUTS = {"out.apnc", "labels.parquet"}


def command(
    folder: Path, words: tuple[str, ...], wrapper: tuple[str, ...] = (), told: dict[str, str] | None = None
) -> Ended:
    """A command in a folder, with temporary files in ``tmp``."""
    (folder / "tmp").mkdir(exist_ok=True)
    env = environment(TMPDIR=str(folder / "tmp")) | (told or {})
    done = subprocess.run([*wrapper, *COMMAND, *words], cwd=folder, env=env, capture_output=True, check=False)
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def require_whole(folder: Path, ended: Ended) -> str:
    """Success with both outputs, or a refusal with nothing half done."""
    outcome, found = judge(ended), set(contents(folder)) - {"rows.npy"}
    require(found <= OUTPUTS, f"left behind: {found - OUTPUTS}")
    require(outcome != "success" or found == OUTPUTS, f"success, but only {found}")
    return {"success": "right results", "refused": "clear error"}.get(outcome, outcome)


def read_only_home(rng: random.Random, folder: Path) -> str:
    """No home, no cache folder; now and then no place for compiled loops either."""
    nowhere = "/dev/null/home"
    told = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "XDG_CONFIG_HOME": nowhere, "MPLCONFIGDIR": nowhere}
    told |= {"NUMBA_CACHE_DIR": nowhere} if rng.random() < 0.1 else {}
    np.save(folder / "rows.npy", rows(0, 60_000))
    outcome = require_whole(folder, command(folder, FIT, told=told))
    require(outcome == "right results", outcome)
    return outcome


LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
os.execv(sys.argv[2], sys.argv[2:])
"""


def limited(size: int) -> tuple[str, ...]:
    """A wrapper that lets no file grow beyond a size."""
    return (sys.executable, "-c", LIMITED, str(size))


def no_space_to_spill(rng: random.Random, folder: Path) -> str:
    """Too little space for the temporary file of a spill: a small file system, or a limit of file sizes."""
    size = rng.choice((0, 4096, 1 << 16, 1 << 20, 5 << 20))
    words = (*FIT, "--memory-limit", "450MB", "--n-components", "150", "--max-iter", "5")
    place = folder / "tmp"
    place.mkdir()
    np.save(folder / "rows.npy", rows(0, SPILLED))
    if rng.random() < 0.5 and mounted(place, max(size, 4096)):
        try:
            ended = command(folder, words)
        finally:
            subprocess.run(["umount", str(place)], check=True)
    else:
        ended = command(folder, words, wrapper=limited(size))
    outcome = require_whole(folder, ended)
    require(outcome == "clear error" and "TMPDIR" in ended.err, f"{outcome}: {ended.err!r}")
    return outcome


def full_disk(rng: random.Random, folder: Path) -> str:
    """Too little space for the outputs."""
    np.save(folder / "rows.npy", rows(0, 60_000))
    return require_whole(folder, command(folder, FIT, wrapper=limited(rng.choice((0, 100, 5000, 40_000)))))


def mounted(place: Path, size: int) -> bool:
    """A small file system, where this process may mount one."""
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def closed_pipes(rng: random.Random, folder: Path) -> str:
    """Standard streams that are closed, or whose reader goes away."""
    how = rng.choice(
        ("<&-", ">&-", "2>&-", "| true", "2>&1 | head -c 1", "<&- >&- 2>&-", "> /dev/full", "2> /dev/full")
    )
    np.save(folder / "rows.npy", rows(0, 20_000))
    told = environment(TMPDIR=str(folder))
    words = (*COMMAND, *FIT, *rng.choice(((), ("--json",))))
    script = f"{shlex.join(words)} {how}; echo ${{PIPESTATUS[0]}} > code"
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=told, check=False, capture_output=True)
    code, said = int((folder / "code").read_text()), done.stderr.decode()
    (folder / "code").unlink()
    require("Traceback" not in said, f"{how}: {said[-500:]}")
    found = set(contents(folder)) - {"rows.npy"}
    require(found <= OUTPUTS and (code != 0 or found == OUTPUTS), f"{how}: exit {code} with {sorted(found)}")
    require(code in (0, 2, 141, -13), f"{how}: exit {code}, {said[-500:]}")
    return "right results" if code == 0 else "clear error"


# Input that changes


class Disturbing(Progress):
    """Does something when a stage begins."""

    def __init__(self, number: int, act: Callable[[], None]) -> None:
        self.number, self.act, self.seen = number, act, 0

    def stage(self, *_: Any, **__: Any) -> None:
        self.seen += 1
        if self.seen == self.number:
            self.act()


def changing_input(rng: random.Random, folder: Path) -> str:
    """Rows vanish, grow or shrink while a file is read."""
    kind, way = (
        rng.choice(("npy", "csv", "parquet", "jsonl")),
        rng.choice(("vanish", "grow", "grow", "shrink", "replace")),
    )
    seed, stage = rng.randrange(1000), rng.randrange(1, 8)
    path = folder / f"rows.{kind}"
    write(path, rows(seed))
    other = folder / f"other.{kind}"
    write(other, np.concatenate([rows(seed), rows(seed + 1, 500)]) if way == "grow" else rows(seed + 1, 700))
    change = {
        "vanish": lambda: path.unlink(missing_ok=True),
        "grow": lambda: path.write_bytes(other.read_bytes()),
        "shrink": lambda: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
        "replace": lambda: os.replace(other, path),
    }[way]
    said = f"{kind} {way} at stage {stage}"
    km = apnc.KernelKMeans(
        4, n_landmarks=150, max_iter=20, random_state=0, **({"kernel": lengths} if kind == "jsonl" else {})
    )
    before = km.get_params()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = km.fit(path, progress=Disturbing(stage, change)).labels_
    except (ValueError, OSError) as error:
        require(len(str(error)) > 15, f"{said}: {error!r}")
        return "clear error"
    # Rows that are there when the first pass begins count.
    grown = way == "grow" and stage == 1 and len(labels) == N_ROWS + 500
    require(grown or len(labels) == N_ROWS, f"{said}: {len(labels)} labels of {N_ROWS} rows")
    require(km.get_params() == before, said)
    if not grown:
        write(path, rows(seed))
    same = np.array_equal(labels, km.fit(path).labels_)
    require(same, f"{said}: other labels without a word")
    return "right results"


def lengths(A: Any, B: Any) -> np.ndarray:
    a, b = (np.array([row[0] for row in part]) for part in (A, B))
    return np.exp(-0.1 * (a[:, None] - b[None]) ** 2)


def write(path: Path, X: np.ndarray) -> None:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    table = pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})
    if path.suffix == ".npy":
        np.save(path, X)
    elif path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=500)
    else:
        path.write_text("".join(f"{list(row)}\n" for row in X.tolist()))


SCENES: dict[str, Callable[[random.Random, Path], str]] = {
    "threads": threads,
    "forked": processes("fork"),
    "spawned": processes("spawn"),
    "fork while fitting": fork_while_fitting,
    "grid": grid,
    "read-only home": read_only_home,
    "no space for a spill": no_space_to_spill,
    "full disk": full_disk,
    "closed pipes": closed_pipes,
    "changing input": changing_input,
}


def tell_where_it_hangs() -> None:
    """Show all threads and exit if this process does not come to an end; a fork needs a watch of its own."""
    # Not dump_traceback_later: in a forked process it waits for ever for a thread of the parent.
    faulthandler.register(signal.SIGALRM, all_threads=True, chain=True)
    signal.alarm(PATIENCE)


def main() -> None:
    name, seed, folder = sys.argv[1:]
    # Python warns of any fork of a process with threads; these forks are the attack.
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    tell_where_it_hangs()
    print(SCENES[name](random.Random(int(seed)), Path(folder)))


if __name__ == "__main__":
    main()
