"""SIGKILL at random moments of a fit and a choice with a checkpoint, which are run again until they are done."""

import random
import signal
import subprocess
from pathlib import Path

from tests.torture.commands import contents
from tests.torture.family import Attack, BrokenError, require
from tests.torture.whole_runs import OLD, Command, Whole, whole

ROWS = 30_000
KEPT = "kept"
WRITTEN = ("--model", "out.apnc", "--labels", "labels.parquet", "--checkpoint", KEPT, "--quiet")
FIT = ("fit", "rows.npy", "-k", "12", "--n-landmarks", "200", "--tol", "0")
LONG, SHORT = ("--max-iter", "40"), ("--max-iter", "3")
GRAPH = ("--method", "spectral")
#: Commands: in memory, with Y read from the checkpoint in every pass, many labels to write, a graph, and choices.
WORDS = {
    "in memory": (*FIT, *LONG, *WRITTEN),
    "spilled": (*FIT, *LONG, *WRITTEN, "--memory-limit", "430MB", "--n-components", "180"),
    "text labels": (*FIT, *SHORT, "--model", "out.apnc", "--labels", "labels.csv", *WRITTEN[4:]),
    "graph": ("fit", "rows.npy", *GRAPH, "-k", "5", "--n-landmarks", "500", *WRITTEN),
    "choose": ("choose", "rows.npy", "--n-landmarks", "100", "--k-max", "6", *WRITTEN),
    "choose a graph": ("choose", "rows.npy", *GRAPH, "--n-landmarks", "300", "--k-max", "6", *WRITTEN),
}
COMMANDS = {kind: Command(words, ROWS) for kind, words in WORDS.items()}
#: Kills of one run at most; then it is left alone.
MOST = 3


def case(seed: int, folder: Path) -> str:
    """Kill and go on, at most ``MOST`` times, then to the end."""
    rng = random.Random(seed)
    kind = rng.choice(list(COMMANDS))
    command, undisturbed = COMMANDS[kind], whole(COMMANDS[kind])
    command.prepare(folder)
    delays, killed = [], 0
    try:
        for _ in range(rng.randint(1, MOST)):
            delays.append(rng.uniform(0, 1.05 * undisturbed.seconds))
            killed += kill(command, folder, delays[-1])
            judge_outputs(folder, undisturbed)
        command.finish(folder)
        judge_end(folder, undisturbed)
    except BrokenError as error:
        moments = ", ".join(f"{delay:.2f}" for delay in delays)
        raise BrokenError(f"{kind}, killed after {moments} s: {error}") from None
    return f"{kind}: the same bytes after {killed} kills"


def kill(command: Command, folder: Path, delay: float) -> bool:
    """Start a command and kill it after ``delay`` seconds; whether it was still running."""
    process = command.start(folder)
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
