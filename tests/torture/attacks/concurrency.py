"""Threads, processes, and machines that fail: each scene in a process of its own, which must come to an end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from benchmarks.run import ROOT
from tests.torture.commands import environment
from tests.torture.family import Attack, BrokenError, require
from tests.torture.scenes import PATIENCE, SCENES

NAMES = tuple(SCENES)


def case(seed: int, folder: Path) -> str:
    """One scene."""
    name = NAMES[seed % len(NAMES)]
    command = [
        sys.executable,
        "-X",
        "faulthandler",
        "-m",
        "tests.torture.scenes",
        name,
        str(seed),
        str(folder),
    ]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            out, err = process.communicate(timeout=2 * PATIENCE)
        except subprocess.TimeoutExpired:
            end_group(process.pid)
            raise BrokenError(f"{name}: no end within {2 * PATIENCE} s") from None
    require(process.returncode == 0, f"{name}: exit {process.returncode}: {err[-2500:]}")
    return f"{name}: {out.splitlines()[-1]}"


def end_group(leader: int) -> None:
    """End a scene with all its children."""
    os.killpg(leader, signal.SIGKILL)


ATTACK = Attack(
    name="concurrency",
    what=(
        "Threads, forked and spawned processes, a fork while another thread fits, GridSearchCV with n_jobs=2, no home, "
        "no space for a spill, a full disk, closed pipes, input that vanishes, grows or shrinks"
    ),
    holds="right results or a clear error, and an end",
    full=200,
    case=case,
    share=tuple(range(len(NAMES))),
    patience=2400.0,
    order=7,
)
