"""SIGKILL at random moments of a fit and a choice with a checkpoint, which are run again until they are done."""

import random
import signal
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.torture.commands import COMMAND, contents, environment
from tests.torture.family import Attack, BrokenError, require

OUTPUTS = ("out.apnc", "labels.parquet")
OLD = b"an older output"
KEPT = "kept"
WRITTEN = ("--model", OUTPUTS[0], "--labels", OUTPUTS[1], "--checkpoint", KEPT)
FIT = ("fit", "rows.npy", "-k", "12", "--n-landmarks", "200", "--tol", "0", "--max-iter", "40", *WRITTEN)
#: Commands: in memory, with Y read from the checkpoint in every pass, many labels to write, a graph, and choices.
COMMANDS = {
    "in memory": FIT,
    "spilled": (*FIT, "--memory-limit", "430MB", "--n-components", "180"),
    "text labels": (*FIT[:-4], "--labels", "labels.csv", "--checkpoint", KEPT, "--max-iter", "3"),
    "graph": ("fit", "rows.npy", "--method", "spectral", "-k", "5", "--n-landmarks", "500", *WRITTEN),
    "choose": ("choose", "rows.npy", "--n-landmarks", "100", "--k-max", "6", *WRITTEN),
    "choose a graph": (
        "choose",
        "rows.npy",
        "--method",
        "spectral",
        "--n-landmarks",
        "300",
        "--k-max",
        "6",
        *WRITTEN,
    ),
}
#: Kills of one run at most; then it is left alone.
MOST = 3


def outputs_of(kind: str) -> tuple[str, ...]:
    """The files that a command writes."""
    words = COMMANDS[kind]
    return tuple(words[words.index(option) + 1] for option in ("--model", "--labels"))


def prepare(folder: Path, kind: str) -> None:
    """Rows, older outputs, and a folder for temporary files."""
    (folder / "tmp").mkdir()
    X = np.random.default_rng(0).normal(size=(30_000, 8)) + 3 * (np.arange(30_000) % 5)[:, None]
    np.save(folder / "rows.npy", X.astype(np.float32))
    # The time of a file is part of what data is known by: it must not depend on the case.
    for name in outputs_of(kind):
        (folder / name).write_bytes(OLD)


def start(words: tuple[str, ...], folder: Path) -> subprocess.Popen[bytes]:
    """The command, at a fixed time of creation."""
    told = environment(TMPDIR=str(folder / "tmp"), SOURCE_DATE_EPOCH="1700000000")
    return subprocess.Popen(
        [*COMMAND, *words, "--quiet"], cwd=folder, env=told, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


@dataclass(frozen=True)
class Whole:
    """A run that nobody disturbs."""

    seconds: float
    outputs: dict[str, bytes]


@cache
def whole(kind: str) -> Whole:
    """The run of a command from beginning to end."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, kind)
        begin = time.perf_counter()
        finish(kind, folder)
        seconds = time.perf_counter() - begin
        return Whole(seconds, {name: (folder / name).read_bytes() for name in outputs_of(kind)})


def finish(kind: str, folder: Path) -> None:
    """Run a command to its end."""
    process = start(COMMANDS[kind], folder)
    _, err = process.communicate()
    require(process.returncode == 0, f"exit {process.returncode}: {err.decode()[-500:]!r}")


def case(seed: int, folder: Path) -> str:
    """Kill and go on, at most ``MOST`` times, then to the end."""
    rng = random.Random(seed)
    kind = rng.choice(list(COMMANDS))
    undisturbed = whole(kind)
    prepare(folder, kind)
    delays, killed = [], 0
    try:
        for _ in range(rng.randint(1, MOST)):
            delays.append(rng.uniform(0, 1.05 * undisturbed.seconds))
            killed += kill(kind, folder, delays[-1])
            judge_outputs(folder, undisturbed)
        finish(kind, folder)
        judge_end(folder, undisturbed)
    except BrokenError as error:
        moments = ", ".join(f"{delay:.2f}" for delay in delays)
        raise BrokenError(f"{kind}, killed after {moments} s: {error}") from None
    return f"{kind}: the same bytes after {killed} kills"


def kill(kind: str, folder: Path, delay: float) -> bool:
    """Start a command and kill it after ``delay`` seconds; whether it was still running."""
    process = start(COMMANDS[kind], folder)
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    _, err = process.communicate()
    killed = process.returncode == -signal.SIGKILL
    require(killed or process.returncode == 0, f"exit {process.returncode}: {err.decode()[-500:]!r}")
    return killed


def judge_outputs(folder: Path, undisturbed: Whole) -> None:
    """Outputs are the old ones or complete."""
    for name, complete in undisturbed.outputs.items():
        require((folder / name).exists(), f"{name} is lost")
        require((folder / name).read_bytes() in (OLD, complete), f"{name} is neither old nor complete")


def judge_end(folder: Path, undisturbed: Whole) -> None:
    """The same bytes as without a kill, and nothing else."""
    found = contents(folder)
    for name, complete in undisturbed.outputs.items():
        require(found.pop(name) == complete, f"{name} differs from that of an undisturbed run")
    odd = sorted(set(found) - {"rows.npy"})
    require(not odd and not (folder / KEPT).exists(), f"left behind: {odd}")


ATTACK = Attack(
    name="kill",
    what=(
        "SIGKILL of `apnc fit` and `apnc choose` with `--checkpoint` at random moments, start-up included: in memory, "
        "spilled, while writing; run again, and killed again, until done"
    ),
    holds=(
        "labels and model byte for byte those of an undisturbed run; no partial file under a final name; an older "
        "output never lost; nothing left after the last success"
    ),
    full=500,
    case=case,
    share=(0, 1, 2, 3),
    order=1,
)
