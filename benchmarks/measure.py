"""One measurement: a fresh process runs one contestant of one case and prints a JSON line.

python -m benchmarks.measure CASE CONTESTANT SIZE SEED

With ALL as the contestant, all of a case run one after the other: to see that they run, not how fast.
"""

import json
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any

ALL = "ALL"


class PeakMemory:
    """Peak resident memory of this process while the context is open, by sampling /proc."""

    def __enter__(self) -> "PeakMemory":
        self.before = resident_bytes()
        self.peak = self.before
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.02):
            self.peak = max(self.peak, resident_bytes())


def resident_bytes() -> int:
    """Resident memory now; its all-time peak where /proc is missing."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return pages * resource.getpagesize()


def measure(case_name: str, contestant: str, size: str, seed: str = "0") -> dict[str, Any]:
    """Prepare, run once, and report seconds, memory and whatever the contestant returns."""
    from benchmarks.cases import CASES

    case = CASES[case_name]
    prepared = case.prepare(**case.sizes[size]) | {"seed": int(seed)}
    run = case.contestants[contestant](prepared)
    with PeakMemory() as memory:
        begin, cpu = time.perf_counter(), time.process_time()
        found = run() or {}
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    measured = {"seconds": found.pop("seconds", seconds), "cpu_seconds": cpu, "peak_bytes": memory.peak}
    return {**measured, **found}


def main() -> None:
    case, contestant, *rest = sys.argv[1:5]
    if contestant != ALL:
        print(json.dumps(measure(case, contestant, *rest)))
        return
    from benchmarks.cases import CASES

    for name in CASES[case].contestants:
        print(json.dumps({"contestant": name, **measure(case, name, *rest)}))


if __name__ == "__main__":
    main()
