"""Files larger than the memory that is allowed: generated Parquet, clustered within a limit."""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Prepared = dict[str, Any]
Timed = Callable[[], dict[str, Any] | None]

LIMIT = "1GB"
#: Rows written at a time; also rows of a row group.
PART = 100_000


def folder() -> Path:
    """Generated files are kept between the processes of a run; ``benchmarks.run`` removes them at its end."""
    return Path(os.environ.get("APNC_BENCH_FILES", tempfile.gettempdir())) / "apnc-bench"


def prepare(n: int, d: int, k: int, l: int, m: int, iterations: int) -> Prepared:
    path = folder() / f"blobs-{n}-{d}-{k}.parquet"
    if not path.exists():
        subprocess.run(
            [sys.executable, "-m", "benchmarks.streaming", str(path), str(n), str(d), str(k)], check=True
        )
    return {"path": path, "n": n, "k": k, "l": l, "m": m, "iterations": iterations}


def write(path: Path, n: int, d: int, k: int) -> None:
    """Overlapping Gaussian clusters, float64, in row groups of ``PART`` rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(exist_ok=True)
    centers = np.random.default_rng(0).normal(size=(k, d))
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(d)])
    with pq.ParquetWriter(path.with_suffix(".part"), schema, use_dictionary=False) as writer:
        for start in range(0, n, PART):
            rng = np.random.default_rng([1, start])
            size = min(PART, n - start)
            X = rng.normal(size=(size, d)) + centers[rng.integers(0, k, size)]
            writer.write_table(pa.table({f"x{j}": X[:, j] for j in range(d)}, schema=schema))
    path.with_suffix(".part").rename(path)


def estimator(p: Prepared, **options: Any) -> Any:
    from apnc import KernelKMeans

    warnings.simplefilter("ignore")
    sizes = {"n_landmarks": p["l"], "n_components": p["m"], "max_iter": p["iterations"], "tol": 0.0}
    return KernelKMeans(p["k"], gamma=None, **sizes, n_init=1, random_state=0, **options)


def fingerprint(labels: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(labels)).hexdigest()[:16]


def fit_spilled(p: Prepared) -> Timed:
    """Within the limit, and all of Y in the temporary file, so that both sizes do the same work."""
    from apnc.run.job import Job

    warm_up(p)
    Job.room = lambda job, sizes: 0.0

    def run() -> dict[str, Any]:
        begin = time.perf_counter()
        km = estimator(p, memory_limit=LIMIT).fit(p["path"])
        seconds = time.perf_counter() - begin
        return {"seconds": seconds, "n_rows": p["n"], "labels": fingerprint(km.labels_), "n_iter": km.n_iter_}

    return run


def fit_in_memory(p: Prepared) -> Timed:
    import pyarrow.parquet as pq

    warm_up(p)
    X = np.column_stack([column.to_numpy() for column in pq.read_table(p["path"]).columns])

    def run() -> dict[str, Any]:
        km = estimator(p).fit(X)
        return {"n_rows": p["n"], "labels": fingerprint(km.labels_), "n_iter": km.n_iter_}

    return run


def warm_up(p: Prepared) -> None:
    """Load compiled loops and pyarrow before anything is measured."""
    import pyarrow.parquet as pq

    head = next(pq.ParquetFile(p["path"]).iter_batches(batch_size=2000)).to_pandas().to_numpy()
    estimator(p | {"l": 20, "m": 10}).fit(head)


def embedding_pass(read: bool, compute: bool) -> Callable[[Prepared], Timed]:
    """Algorithm 1 over the file; without ``compute`` rows are only read, without ``read`` they are in memory."""

    def contestant(p: Prepared) -> Timed:
        from apnc.run.budget import Budget
        from apnc.run.job import Job
        from apnc.sources import open as open_source

        km = estimator(p).fit(p["path"])
        model = km._model.embedding
        job = Job(open_source(p["path"]), 2, Budget.now(LIMIT))
        data = job.data(model.work_bytes(job.source.held, job.dtype))
        chunks = data.chunks
        held = [] if read else list(chunks)

        def run() -> None:
            source = type(chunks)(held, chunks.threads) if not read else chunks
            embedded = model.embed(source, data.dtype) if compute else source
            embedded.reduce(rows_of, int.__add__)

        return run

    return contestant


def prepare_file(n: int, d: int, k: int) -> Prepared:
    """Rows in a ``.npy`` file: CovType where d is its number of features, else generated ones."""
    from benchmarks import data

    folder().mkdir(exist_ok=True)
    path = folder() / f"rows-{n}-{d}-{k}.npy"
    if not path.exists():
        np.save(path, data.covtype(n)[0] if d == 54 else data.blobs(n, d, k))
    return {"path": path, "k": k}


def planned(p: Prepared) -> Timed:
    """What ``plan`` says that the fit takes."""

    def run() -> dict[str, Any]:
        from apnc import KernelKMeans

        found = KernelKMeans(p["k"], random_state=0).plan(p["path"])
        return {"seconds": sum(found.seconds.values()), "peak_bytes": found.peak_bytes}

    return run


def fitted(p: Prepared) -> Timed:
    """What it then takes."""

    def run() -> dict[str, Any]:
        from apnc import KernelKMeans

        warnings.simplefilter("ignore")
        km = KernelKMeans(p["k"], random_state=0)
        begin = time.perf_counter()
        km.fit(p["path"])
        return {"seconds": time.perf_counter() - begin, "n_iter": km.n_iter_}

    return run


def rows_of(chunk: Any) -> int:
    return len(chunk.weights)


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:5]))
