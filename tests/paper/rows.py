"""Rows as a whole run of all tables would leave them."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.paper.tables import TABLES

CONTEXT = {"when": "2026-01-01", "cores": 2, "machine": "x", "python": "3.11", "versions": {"apnc": "0"}}


def scored(
    method: str,
    values: list[float],
    table: str = "table2",
    dataset: str = "rcv1",
    kernel: str = "rbf",
    size: int | None = 500,
) -> list[dict[str, Any]]:
    """A row for each NMI of one cell."""
    base = {"table": table, "dataset": dataset, "kernel": kernel, "method": method, "rows": None}
    return [base | {"l": size, "seed": seed, "nmi": nmi, "seconds": 1.0} for seed, nmi in enumerate(values)]


def made_up_rows() -> Iterator[dict[str, Any]]:
    """A row for each run of each table, with numbers that tell where they come from."""
    rng = np.random.default_rng(0)
    for name, table in TABLES.items():
        for cell in table.cells(name):
            for seed in cell.seeds:
                made_up = {
                    "nmi": rng.normal(50, 2),
                    "nmi_max": 49.0,
                    "ari": 40.0,
                    "accuracy": 60.0,
                    "seconds": 3.0,
                    "embed_seconds": 2.0,
                }
                made_up |= {"cluster_seconds": 1.0, "peak_bytes": 5e8, "n": 1000, "k": 7, "residual": 0.25}
                made_up |= {"generated": False, "seed": seed, "filled": 6}
                yield {**cell.described, **made_up, **CONTEXT}
