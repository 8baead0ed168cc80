"""One cell in a process of its own: prints a line when it is ready, then a row for each run.

python -m benchmarks.paper.cell '{"table": ..., ...}' [--fetch]
"""

import json
import os
import resource
import sys
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.measure import PeakMemory
from benchmarks.paper.datasets import SOURCES, Dataset
from benchmarks.paper.methods import KERNELS, Found, Task
from benchmarks.paper.spectral import EVOC
from benchmarks.paper.tables import TABLES, Cell

#: Share of the machine's memory that a run may address, so that it fails instead of the machine.
MEMORY_SHARE = 0.85
#: Rows of the run that loads libraries and compiled loops before anything is measured; some have loops of their own
#: for more rows.
WARM_UP_ROWS = 400
MORE_WARM_UP_ROWS = {EVOC: 4000, f"{EVOC}, k given": 4000}


def limit_memory() -> None:
    most = int(MEMORY_SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def task_of(cell: Cell, data: Dataset, seed: int) -> Task:
    return Task(data.X, data.k, KERNELS[cell.kernel], cell.l, cell.m, cell.max_iter, seed)


def warm_up(cell: Cell, data: Dataset) -> None:
    """The same method on a few rows; what it says is of no interest."""
    rows = MORE_WARM_UP_ROWS.get(cell.method, WARM_UP_ROWS)
    few = Dataset(data.X[:rows], None, min(data.k, 5))
    small = Task(few.X, few.k, KERNELS[cell.kernel], 20, 20, 2, 0)
    try:
        run(cell, small)
    except Exception as error:
        print(f"warm-up: {error}", file=sys.stderr)
    forget()


def forget() -> None:
    """Drop what the warm-up left for later runs."""
    from apnc.baselines import psc
    from benchmarks.paper.methods import Once

    if isinstance(psc.neighbour_similarity, Once):
        psc.neighbour_similarity = psc.neighbour_similarity.function


def run(cell: Cell, task: Task) -> Found:
    return TABLES[cell.table].methods[cell.method](task)


def measured(cell: Cell, data: Dataset, seed: int) -> dict[str, Any]:
    """A row; a failure is one too."""
    task = task_of(cell, data, seed)
    begin, cpu = time.perf_counter(), time.process_time()
    try:
        with PeakMemory() as memory:
            found = run(cell, task)
            elapsed, cpu = time.perf_counter() - begin, time.process_time() - cpu
    except Exception as error:
        return {"seed": seed, "failed": f"{type(error).__name__}: {error}"[:300]}
    seconds = found.seconds
    total = seconds.get("total", elapsed + seconds.get("shared", 0.0))
    return {
        "seed": seed,
        "n": int(task.X.shape[0]),
        "k": task.k,
        **scores(data.y, found),
        "seconds": round(total, 4),
        "embed_seconds": rounded(seconds.get("embed")),
        "cluster_seconds": rounded(seconds.get("cluster")),
        "cpu_seconds": round(cpu, 4),
        "peak_bytes": memory.peak,
        "generated": data.y is None,
        **found.more,
    }


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def scores(y: np.ndarray | None, found: Found) -> dict[str, float]:
    """NMI (geometric, and by the larger entropy), ARI and matched accuracy in percent; nothing without classes."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    if y is None:
        return {}
    labels, y = found.labels, y if found.rows is None else y[found.rows]
    measured = {
        "nmi": normalized_mutual_info_score(y, labels, average_method="geometric"),
        "nmi_max": normalized_mutual_info_score(y, labels, average_method="max"),
        "ari": adjusted_rand_score(y, labels),
        "accuracy": accuracy(y, labels),
    }
    return {name: round(100 * float(value), 3) for name, value in measured.items()}


def accuracy(y: np.ndarray, labels: np.ndarray) -> float:
    """Share of rows in the class matched to their cluster, under the best one-to-one matching."""
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics.cluster import contingency_matrix

    counts = contingency_matrix(y, labels)
    return counts[linear_sum_assignment(counts, maximize=True)].sum() / len(y)


def main() -> None:
    given = json.loads(sys.argv[1])
    cell = Cell(**{**given, "seeds": tuple(given["seeds"])})
    warnings.simplefilter("ignore")
    limit_memory()
    data = SOURCES[cell.dataset].load(cell.rows, "--fetch" in sys.argv)
    warm_up(cell, data)
    print(json.dumps({"ready": True}), flush=True)
    for seed in cell.seeds:
        print(json.dumps(measured(cell, data, seed)), flush=True)


if __name__ == "__main__":
    main()
