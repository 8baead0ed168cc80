"""Commands that attacks disturb, and the same commands left alone."""

import signal
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.torture.commands import COMMAND, environment
from tests.torture.family import require

OLD = b"an older output"


def heeding_signals() -> None:
    """As if the attack itself did not run under nohup, nor in the background of a shell, which ignores SIGINT."""
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


@dataclass(frozen=True)
class Command:
    """A command on ``rows.npy`` of so many rows; it writes a model and labels where older ones lie."""

    words: tuple[str, ...]
    n_rows: int

    @property
    def outputs(self) -> tuple[str, ...]:
        """The files that it writes."""
        return tuple(self.words[self.words.index(option) + 1] for option in ("--model", "--labels"))

    def prepare(self, folder: Path) -> None:
        """The rows, older outputs, and a folder for temporary files."""
        (folder / "tmp").mkdir()
        X = np.random.default_rng(0).normal(size=(self.n_rows, 8))
        np.save(folder / "rows.npy", (X + 3 * (np.arange(self.n_rows) % 5)[:, None]).astype(np.float32))
        for name in self.outputs:
            (folder / name).write_bytes(OLD)

    def start(self, folder: Path) -> subprocess.Popen[bytes]:
        """The command at a fixed time of creation, with its temporary files below the folder."""
        told = environment(TMPDIR=str(folder / "tmp"), SOURCE_DATE_EPOCH="1700000000")
        return subprocess.Popen(
            [*COMMAND, *self.words],
            cwd=folder,
            env=told,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=heeding_signals,
        )

    def finish(self, folder: Path) -> None:
        """Run to the end."""
        process = self.start(folder)
        _, err = process.communicate()
        require(process.returncode == 0, f"exit {process.returncode}: {err.decode()[-500:]!r}")


@dataclass(frozen=True)
class Whole:
    """A run that nobody disturbs."""

    seconds: float
    outputs: dict[str, bytes]


@cache
def whole(command: Command) -> Whole:
    """The run of a command from beginning to end."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        command.prepare(folder)
        begin = time.perf_counter()
        command.finish(folder)
        seconds = time.perf_counter() - begin
        return Whole(seconds, {name: (folder / name).read_bytes() for name in command.outputs})
