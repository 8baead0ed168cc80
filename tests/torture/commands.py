"""Run a command, here or in a process of its own, and judge how it ended."""

import io
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

from apnc.estimators.saving import read
from apnc.persistence import NoFunctions, is_model_file
from benchmarks.run import ROOT
from tests.torture.family import require

COMMAND = (sys.executable, "-m", "apnc.cli")
#: Characters of a reason at most.
LONGEST = 400
#: Exit codes of a command that ended as it should: success, bad input, not converged with --strict.
SUCCESS, REFUSED, NOT_CONVERGED = 0, 2, 3


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


def environment(**more: str) -> dict[str, str]:
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return {**os.environ, "PYTHONPATH": paths, "TERM": "dumb", **more}


def run_apart(words: Sequence[str], folder: Path, stdin: bytes = b"") -> Ended:
    """In a process of its own."""
    done = subprocess.run(
        [*COMMAND, *words], cwd=folder, env=environment(), input=stdin, capture_output=True, check=False
    )
    return Ended(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def run_here(words: Sequence[str], folder: Path, stdin: bytes = b"") -> Ended:
    """In this process."""
    from apnc.cli.app import app

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace") for _ in range(2))
    with inside(folder), redirect_stdout(out), redirect_stderr(err), given(stdin):
        try:
            app(list(words), prog_name="apnc")
            code: object = 0
        except SystemExit as end:
            code = end.code
    texts = [stream.seek(0) or stream.read() for stream in (out, err)]
    return Ended(code if isinstance(code, int) else -1, *texts)


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def given(stdin: bytes) -> Iterator[None]:
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin))
    try:
        yield
    finally:
        sys.stdin = before


def judge(ended: Ended) -> str:
    """The outcome: success, or one line that says what was wrong."""
    shown = f"exit {ended.code}: {ended.err[-600:]!r}"
    require("Traceback" not in ended.err, f"a traceback, {shown}")
    require(ended.code in (SUCCESS, REFUSED, NOT_CONVERGED), shown)
    lines = ended.err.splitlines()
    odd = next((line for line in lines if not line.isprintable()), None)
    require(odd is None, f"not printable, {shown}")
    require(all(len(line.removeprefix("apnc: ")) <= LONGEST for line in lines), f"a long line, {shown}")
    if ended.code != REFUSED:
        return "success" if ended.code == SUCCESS else "not converged"
    if not ended.err and ended.out:
        return "help"
    reasons = [line for line in lines if line.startswith("apnc: ") and not line.startswith("apnc: warning: ")]
    require(len(reasons) == 1, f"{len(reasons)} reasons, {shown}")
    require(
        lines[-1] == reasons[0] and len(reasons[0]) > len("apnc: ") + 10, f"no reason at the end, {shown}"
    )
    return "refused"


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def judge_files(folder: Path, before: dict[str, bytes]) -> None:
    """What was there is unchanged; what is new is complete and has the name that was asked for."""
    after = contents(folder)
    for name, data in before.items():
        require(name in after, f"{name} is gone")
        if after[name] != data:
            readable(folder / name)
    for name in set(after) - set(before):
        require(not Path(name).name.startswith("."), f"{name} was left behind")
        readable(folder / name)


def readable(path: Path) -> None:
    """A file that a command has written can be read as a whole; any name may be a model's."""
    if is_model_file(path):
        read(path, NoFunctions())
        return
    try:
        READERS["".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix](path)
    except Exception as error:
        require(False, f"{path.name} was written and cannot be read: {type(error).__name__}: {error}")


def read_page(path: Path) -> None:
    if not path.read_text().rstrip().endswith("</html>"):
        raise ValueError("it has no end")


READERS = {
    ".csv": pyarrow.csv.read_csv,
    ".csv.gz": pyarrow.csv.read_csv,
    ".parquet": pq.read_table,
    ".arrow": pyarrow.feather.read_table,
    ".feather": pyarrow.feather.read_table,
    ".npy": np.load,
    ".html": read_page,
}
