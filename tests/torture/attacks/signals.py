"""SIGTERM, SIGHUP and SIGINT at random moments of a fit and a choice."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

from tests.torture.commands import contents
from tests.torture.family import Attack, BrokenError, require
from tests.torture.whole_runs import OLD, Command, Whole, whole

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
ROWS = 60_000
WRITTEN = ("--model", "out.apnc", "--labels", "labels.parquet")
FIT = ("fit", "rows.npy", "-k", "12", "--n-landmarks", "300", "--tol", "0", "--max-iter", "60", *WRITTEN)
#: Commands: in memory, with Y in a temporary file, and a choice.
WORDS = {
    "in memory": FIT,
    "spilled": (*FIT, "--memory-limit", "430MB", "--n-components", "250"),
    "choose": ("choose", "rows.npy", "--n-landmarks", "200", "--k-max", "5", *WRITTEN),
}
COMMANDS = {kind: Command(words, ROWS) for kind, words in WORDS.items()}


def catches(process: subprocess.Popen[bytes], number: int) -> bool:
    """Whether the program has set its own handler of a signal; before that nobody can leave a message."""
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    except OSError:
        return False
    mask = next((line.split()[1] for line in lines if line.startswith("SigCgt")), "0")
    return bool(int(mask, 16) >> (number - 1) & 1)


def case(seed: int, folder: Path) -> str:
    """One run, one signal."""
    rng = random.Random(seed)
    kind, number = rng.choice(list(COMMANDS)), SIGNALS[seed % len(SIGNALS)]
    command, undisturbed = COMMANDS[kind], whole(COMMANDS[kind])
    command.prepare(folder)
    process = command.start(folder)
    delay = rng.uniform(0, 1.05 * undisturbed.seconds)
    time.sleep(delay)
    # Python itself catches SIGINT from early on, so SIGTERM tells for all.
    ready = catches(process, signal.SIGTERM)
    if process.poll() is None:
        os.kill(process.pid, number)
    _, err = process.communicate()
    try:
        return (
            f"{number.name}: {judged(process.returncode, err.decode(), number, ready, undisturbed, folder)}"
        )
    except BrokenError as error:
        raise BrokenError(f"{kind}, {number.name} after {delay:.2f} s: {error}") from None


def judged(code: int, err: str, number: int, ready: bool, undisturbed: Whole, folder: Path) -> str:
    found = contents(folder)
    odd = set(found) - {"rows.npy", *undisturbed.outputs}
    require(not odd, f"left behind: {sorted(odd)}, exit {code}: {err[-300:]!r}")
    for name in undisturbed.outputs:
        require(
            found[name] in (OLD, undisturbed.outputs[name]),
            f"{name} is neither old nor complete, exit {code}",
        )
    if code == 0:
        return "finished first"
    if all(found[name] != OLD for name in undisturbed.outputs) and code in (128 + number, -number):
        return "while leaving"
    if not ready:
        return "before start-up"
    require(code in (128 + number, -number), f"exit {code}: {err[-500:]!r}")
    require("Traceback" not in err, f"a traceback: {err[-500:]!r}")
    last = (err.splitlines() or [""])[-1]
    require(last.startswith("apnc: ") and last.isprintable(), f"no message: {err[-300:]!r}")
    return "message, nothing left"


ATTACK = Attack(
    name="signals",
    what="SIGTERM, SIGHUP and SIGINT at random moments of `apnc fit`, in memory and spilled, and of `apnc choose`",
    holds="a message, exit code 128 + n, nothing left behind, an older output kept or replaced as a whole",
    full=200,
    case=case,
    share=(2, 5, 8),
    order=2,
)
