"""Memory limits: random sizes, sources and limits, each in a process of its own."""

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from apnc.run.budget import parse_bytes
from benchmarks.run import ROOT
from tests.torture.commands import environment
from tests.torture.family import Attack, require
from tests.torture.one_fit import pieces

#: Numbers in a file at most, 1.6 GB of float64 in memory, and in files of text, which take long to write.
LARGEST, LARGEST_TEXT = 200_000_000, 12_000_000
MOST_ROWS = 5_000_000
#: What the peak may exceed the limit by: the larger of a share and a constant.
SHARE, CONSTANT = 0.05, 40_000_000
PROPOSED = re.compile(r"n_landmarks=(\d+), n_components=(\d+) would fit")
ENOUGH = re.compile(r"needs at least ([\d.]+[MG]B)")


def asked(rng: random.Random, small: bool) -> dict[str, Any]:
    """One fit."""
    kind = rng.choice(("npy", "npy", "parquet", "parquet", "arrow", "csv", "npz", "svmlight", "array"))
    d = rng.choice((2, 5, 10, 20, 50, 200))
    most = LARGEST_TEXT if kind in ("csv", "svmlight") else LARGEST
    n = int(min(10 ** rng.uniform(3.5, 6.7), MOST_ROWS, most // d))
    n = min(n, 200_000 // d) if small else n
    method = rng.choice(("kernel", "kernel", "kernel", "spectral", "embedding"))
    landmarks = rng.choice(("auto", "auto", 50, 200, 500, 1500))
    components = rng.choice(("auto", "auto", 20, 100, 300))
    return {
        "kind": kind, "n": n, "d": d, "dtype": rng.choice(("f4", "f8")), "method": method,
        "limit": f"{rng.choice((380, 420, 450, 480, 500, 550, 600, 700, 800, 1000, 1500, 2500))}MB",
        "n_landmarks": min(landmarks, n) if landmarks != "auto" else landmarks,
        "n_components": components, "n_clusters": rng.choice((2, 5, 20, 100)),
        "kernel": rng.choice(("rbf", "rbf", "linear", "polynomial", "cosine")),
        "embedding": rng.choice(("nystroem", "nystroem", "stable", "ensemble")),
        "to": rng.choice((True, False)), "seed": rng.randrange(1 << 30),
    }  # fmt: skip


def write(path: Path, fit: dict[str, Any]) -> None:
    """The file of a fit."""
    parts = pieces(fit["n"], fit["d"], fit["dtype"], fit["seed"])
    {"npy": write_npy, "parquet": write_table, "arrow": write_table, "csv": write_table, "npz": write_sparse,
     "svmlight": write_svmlight}[fit["kind"]](path, parts, fit)  # fmt: skip


def write_npy(path: Path, parts: Any, fit: dict[str, Any]) -> None:
    out = np.lib.format.open_memmap(path, "w+", dtype=fit["dtype"], shape=(fit["n"], fit["d"]))
    start = 0
    for part in parts:
        out[start : start + len(part)] = part
        start += len(part)


def write_table(path: Path, parts: Any, fit: dict[str, Any]) -> None:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    kind = {"f4": pa.float32(), "f8": pa.float64()}[fit["dtype"]]
    schema = pa.schema([(f"x{j}", kind) for j in range(fit["d"])])
    open_writer = {"parquet": pq.ParquetWriter, "arrow": pa.ipc.new_file, "csv": pyarrow.csv.CSVWriter}
    with open_writer[fit["kind"]](str(path), schema) as writer:
        for part in parts:
            writer.write_table(pa.table([part[:, j] for j in range(part.shape[1])], schema=schema))


def write_sparse(path: Path, parts: Any, fit: dict[str, Any]) -> None:
    from scipy import sparse

    rows = [sparse.csr_array(part * (part > 2.5)) for part in parts]
    sparse.save_npz(path, sparse.csr_array(sparse.vstack(rows)), compressed=False)


def write_svmlight(path: Path, parts: Any, fit: dict[str, Any]) -> None:
    with open(path, "w") as file:
        for part in parts:
            for row in part:
                file.write("0 " + " ".join(f"{j + 1}:{value:.4g}" for j, value in enumerate(row)) + "\n")


def run(fit: dict[str, Any], path: Path) -> dict[str, Any]:
    """One fit in a process of its own: its peak, or why it was refused."""
    command = [sys.executable, "-m", "tests.torture.one_fit", json.dumps({**fit, "path": str(path)})]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    require(done.returncode == 0, f"exit {done.returncode}: {done.stderr[-700:]}")
    return json.loads(done.stdout.splitlines()[-1])


def case(seed: int, folder: Path) -> str:
    """A fit keeps its limit, or is refused and named sizes that do."""
    fit = asked(random.Random(seed), small=seed < 0)
    path = folder / f"rows.{fit['kind']}"
    if fit["kind"] != "array":
        write(path, fit)
    found = run(fit, path)
    if "peak" in found:
        require_kept(fit, found["peak"])
        return "kept"
    return refused(fit, path, found["refused"])


def require_kept(fit: dict[str, Any], peak: int) -> None:
    limit = parse_bytes(fit["limit"])
    allowed = limit + max(SHARE * limit, CONSTANT)
    require(peak <= allowed, f"{fit}: peak {peak:,}, allowed {allowed:,.0f}")


def refused(fit: dict[str, Any], path: Path, reason: str) -> str:
    """The sizes that the refusal names are tried, or the limit if no sizes would do."""
    sizes, enough = PROPOSED.search(reason), ENOUGH.search(reason)
    require(enough, f"{fit}: refused for another reason: {reason}")
    if sizes:
        again = {**fit, "n_landmarks": int(sizes[1]), "n_components": int(sizes[2])}
        outcome = "refused, the sizes it names fit"
    else:
        again = {**fit, "limit": enough[1]}
        outcome = "refused, the limit it names is kept"
    found = run(again, path)
    require("peak" in found, f"{again}: refused again: {found.get('refused')} (before: {reason})")
    require_kept(again, found["peak"])
    return outcome


ATTACK = Attack(
    name="memory",
    what="Random sizes up to 5 million rows, sources and limits; each fit in a process of its own",
    holds=(
        "the peak of resident memory is within the limit plus the larger of 5 % and 40 MB, or the fit is refused "
        "beforehand and the sizes (or the limit) that the refusal names do"
    ),
    full=60,
    case=case,
    share=(-1, -2, -3),
    patience=3600.0,
    order=6,
)
