"""Run cases in batches, each in a process of its own, so that a crash or a hang costs one case.

python -m tests.torture.running ATTACK FILE SECONDS SEED...    a batch: one line in FILE for each case
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.run import ROOT
from tests.torture.family import Attack, BrokenError, attacks
from tests.torture.rows import Case

FAILED = "failed"
#: Lines of a traceback that a row keeps.
KEPT_LINES = 6


def judged(attack: Attack, seed: int, judge_time: bool = True) -> Case:
    """One case, timed."""
    begin, cpu = time.perf_counter(), time.process_time()
    failure = None
    with tempfile.TemporaryDirectory(prefix=f"torture-{attack.name}-") as folder:
        try:
            outcome = attack.case(seed, Path(folder))
        except BrokenError as error:
            outcome, failure = FAILED, str(error)
        except Exception:
            outcome, failure = FAILED, "\n".join(traceback.format_exc().splitlines()[-KEPT_LINES:])
    seconds, used = time.perf_counter() - begin, time.process_time() - cpu
    allowed = attack.cpu_seconds if judge_time else None
    if failure is None and allowed is not None and used > allowed:
        outcome, failure = FAILED, f"{used:.0f} s of processor time"
    return Case(seed, outcome, seconds, used, None if failure is None else without_paths(failure, folder))


def without_paths(text: str, *folders: str) -> str:
    """A reason without the folders of this machine."""
    for place in (*folders, str(ROOT), sys.prefix, sys.base_prefix, tempfile.gettempdir()):
        text = text.replace(place, "...")
    return text


def batch(attack: Attack, seeds: Sequence[int], out: Path, seconds: float) -> None:
    """Cases one after the other until the time is up; one line for each as it ends."""
    until = time.perf_counter() + seconds
    with open(out, "a") as file:
        for seed in seeds:
            if time.perf_counter() > until:
                return
            file.write(json.dumps(asdict(judged(attack, seed))) + "\n")
            file.flush()


def cases(attack: Attack, seeds: Sequence[int], seconds: float) -> Iterator[Case]:
    """Cases as they end; a process that dies or hangs is a failure of the case it was at."""
    left, until = list(seeds), time.perf_counter() + seconds
    while left and (rest := until - time.perf_counter()) > 0:
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            out = Path(folder) / "cases.jsonl"
            out.touch()
            command = [sys.executable, "-m", __name__, attack.name, str(out), str(rest), *map(str, left)]
            log = open(Path(folder) / "log", "w+b")  # noqa: SIM115
            with log, subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log) as process:
                reason = waited(process, out, attack.patience)
                log.seek(0)
                said = log.read()[-2000:].decode(errors="replace")
            done = [Case(**json.loads(line)) for line in out.read_text().splitlines()]
        yield from done
        left = left[len(done) :]
        if reason is None:
            return
        if left:
            yield Case(left.pop(0), FAILED, 0.0, 0.0, without_paths(f"{reason} {said}".strip()))


def waited(process: subprocess.Popen[bytes], out: Path, patience: float) -> str | None:
    """Wait for a batch; why it did not end by itself, or None."""
    size, since = 0, time.monotonic()
    while process.poll() is None:
        time.sleep(0.05)
        if (now := out.stat().st_size) != size:
            size, since = now, time.monotonic()
        elif time.monotonic() - since > patience:
            process.kill()
            process.wait()
            return f"nothing happened for {patience:.0f} s."
    return None if process.returncode == 0 else f"the process ended with {process.returncode}."


def main() -> None:
    name, out, seconds, *seeds = sys.argv[1:]
    os.environ.setdefault("TERM", "dumb")
    batch(attacks()[name], [int(seed) for seed in seeds], Path(out), float(seconds))


if __name__ == "__main__":
    main()
