"""Signals and lost readers: a line, the exit code 128 + n, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from apnc import KernelKMeans
from apnc.cli.app import app

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "apnc.cli"]
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
#: Where there is a file "slow", says that it is at work and then waits until there is a file "go".
KERNEL = """
import os, sys, time
import numpy as np

def patient(A, B):
    if os.path.exists("slow") and len(A) * len(B) > 500:
        print("at work", file=sys.stderr, flush=True)
        while not os.path.exists("go"):
            time.sleep(0.01)
    return np.asarray(A) @ np.asarray(B).T
"""
ROWS = np.random.default_rng(0).normal(size=(3000, 3))
FIT = ["fit", "rows.npy", "-k", "2", "--kernel", "sigkernels:patient", "--n-landmarks", "20"]
USE = ["m.apnc", "rows.npy", "--trust", "sigkernels:patient"]
COMMANDS = {
    "fit": [*FIT, "--labels", "l.csv", "--model", "n.apnc"],
    "choose": ["choose", "rows.npy", "--kernel", "sigkernels:patient", "--labels", "l.csv"],
    "plan": ["plan", *FIT[1:]],
    "predict": ["predict", *USE, "--labels", "l.csv"],
    "embed": ["embed", *USE, "--out", "l.npy"],
    "describe": ["describe", *USE],
    "certify": ["certify", *USE],
    "report": ["report", *USE, "--out", "l.html"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Rows, a kernel and a model, and a folder for temporary files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    Path("tmp").mkdir()
    np.save("rows.npy", ROWS)
    Path("sigkernels.py").write_text(KERNEL)
    return tmp_path


@pytest.fixture
def model(folder):
    done = CliRunner().invoke(app, [*FIT, "--model", "m.apnc", "--quiet"])
    assert done.exit_code == 0, done.output
    return folder


def heeding_signals():
    """As if the tests themselves did not run under nohup, nor in the background of a shell, which ignores SIGINT."""
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def process(*words, path=(), **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*path, str(ROOT / "src")]), "TERM": "dumb"}
    return subprocess.Popen(
        [*COMMAND, *words],
        env=environment,
        **{"stderr": subprocess.PIPE, "text": True, "preexec_fn": heeding_signals, **options},
    )


def at_work(*words, **options):
    """A process that has come to its kernel; all files that it finds are listed."""
    Path("slow").touch()
    started = process(*words, **options)
    while "at work" not in (line := started.stderr.readline()):
        assert line, started.wait()
    return started


def everything():
    return {str(path) for path in Path.cwd().rglob("*") if "__pycache__" not in path.parts}


def check_ended(started, number):
    error = started.stderr.read()
    started.stderr.close()
    assert started.wait() == 128 + number, error
    assert "Traceback" not in error
    name = "" if number == signal.SIGINT else f" by {number.name}"
    assert error.splitlines()[-1] == f"apnc: interrupted{name}"


#: All signals for two commands; the others end in the same place.
ENDED = [(name, number) for name in COMMANDS for number in SIGNALS if name in ("fit", "predict")]
ENDED += [(name, signal.SIGTERM) for name in COMMANDS if name not in ("fit", "predict")]


@pytest.mark.parametrize(("command", "number"), ENDED)
def test_a_signal_leaves_nothing(model, command, number):
    Path("slow").touch()
    before = everything()
    started = at_work(*COMMANDS[command], stdout=subprocess.DEVNULL)
    started.send_signal(number)
    # The workers end with their chunk.
    Path("go").touch()
    check_ended(started, number)
    Path("go").unlink()
    assert everything() == before


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_while_the_program_starts(folder, number):
    """Its imports take seconds; one of them never ends here."""
    (folder / "early").mkdir()
    (folder / "early" / "typer.py").write_text(
        "import sys, time\nprint('at work', file=sys.stderr, flush=True)\nwhile True: time.sleep(0.01)\n"
    )
    started = process("fit", path=[str(folder / "early")])
    assert started.stderr.readline() == "at work\n"
    started.send_signal(number)
    check_ended(started, number)


def test_a_second_signal_does_not_wait(model):
    """The kernel never ends, so the clean-up would not either."""
    before = {*everything(), str(model / "slow")}
    started = at_work(*COMMANDS["predict"], stdout=subprocess.DEVNULL)
    assert everything() > before, "there is a temporary file"
    while started.poll() is None:
        started.send_signal(signal.SIGTERM)
        time.sleep(0.02)
    check_ended(started, signal.SIGTERM)
    assert everything() == before


def ignoring_hangups():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def test_what_nohup_ignores_stays_ignored(model):
    started = at_work(*COMMANDS["fit"], stdout=subprocess.DEVNULL, preexec_fn=ignoring_hangups)
    started.send_signal(signal.SIGHUP)
    Path("go").touch()
    assert "Traceback" not in started.stderr.read()
    started.stderr.close()
    assert started.wait() == 0
    assert Path("l.csv").exists()


SWALLOWED = """
import os, signal
from apnc.cli.signals import Signals

class Swallows:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)

with Signals().installed().raising():
    Swallows()
    print("lost")
"""


def test_a_signal_in_a_destructor_is_not_lost():
    done = subprocess.run(
        [sys.executable, "-c", SWALLOWED],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "apnc: interrupted by SIGTERM\n")


def test_an_error_that_a_signal_has_become_is_no_error(model, monkeypatch):
    """As when a library reads from a callback of ours."""
    from apnc.cli import failures

    run = failures.Run(False, 0.0, failures.Signals())
    run.signals.received = signal.SIGTERM
    assert failures.report(ValueError("callback failed"), run) == 143


def test_the_library_leaves_signals_alone(model):
    before = [signal.getsignal(number) for number in SIGNALS], sys.unraisablehook
    KernelKMeans(2, random_state=0).fit(ROWS)
    CliRunner().invoke(app, ["inspect", "m.apnc"])
    assert ([signal.getsignal(number) for number in SIGNALS], sys.unraisablehook) == before


@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_failure(folder, closed):
    words = ["sh", "-c", f'"$@" {closed}', "sh", *COMMAND, *FIT, "--labels", "l.csv"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    lines = Path("l.csv").read_text().splitlines()
    assert lines[0] == '"row","label"'
    assert len(lines) == 3001


def test_a_reader_of_progress_that_leaves_is_no_failure(folder):
    started = at_work(*FIT, "--labels", "l.csv", stdout=subprocess.PIPE)
    started.stderr.close()
    Path("go").touch()
    assert "converged" in started.stdout.read()
    started.stdout.close()
    assert started.wait() == 0
    assert Path("l.csv").exists()
