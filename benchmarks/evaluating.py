"""Labels compared with a truth: two files of the same ids in different orders."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.streaming import Prepared, Timed, folder

K = 20


def prepare(n: int) -> Prepared:
    """Labels and truth with ids that are numbers or text, as Parquet and as CSV."""
    place = folder() / f"evaluate-{n}"
    if not place.exists():
        place.mkdir(parents=True)
        write(place, n)
    return {"folder": place}


def write(place: Path, n: int) -> None:
    import pyarrow as pa
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    truth = rng.integers(0, K, n)
    labels = np.where(rng.random(n) < 0.7, truth, rng.integers(0, K, n))
    numbers = pa.array(rng.permutation(10 * n)[:n])
    text = pa.array([f"row-{number}" for number in numbers.to_pylist()])
    for kind, ids in (("numbers", numbers), ("text", text)):
        for name, values in (("labels", labels), ("truth", truth)):
            table = pa.table({"id": ids, "label": values}).take(rng.permutation(n))
            parquet.write_table(table, place / f"{name}-{kind}.parquet")
            csv.write_csv(table, place / f"{name}-{kind}.csv")


def compared(name: str) -> Callable[[Prepared], Timed]:
    """Files called ``labels-`` and ``truth-`` name."""

    def contestant(p: Prepared) -> Timed:
        import pyarrow.csv
        import pyarrow.dataset
        import pyarrow.parquet  # noqa: F401

        from apnc.evaluation import compare

        def run() -> dict[str, Any]:
            found = compare(p["folder"] / f"labels-{name}", p["folder"] / f"truth-{name}")
            return {"n_rows": found.n_rows, "ari": found.ari}

        return run

    return contestant


def merged(p: Prepared) -> Timed:
    """What one would write with pandas and scikit-learn."""
    import pandas as pd
    from sklearn.metrics import adjusted_rand_score

    def run() -> dict[str, Any]:
        labels, truth = (
            pd.read_parquet(p["folder"] / f"{name}-text.parquet") for name in ("labels", "truth")
        )
        both = labels.merge(truth, on="id", validate="one_to_one")
        return {"n_rows": len(both), "ari": float(adjusted_rand_score(both.label_y, both.label_x))}

    return run


CONTESTANTS = {
    "apnc, numbers in Parquet": compared("numbers.parquet"),
    "apnc, text in Parquet": compared("text.parquet"),
    "apnc, numbers in CSV": compared("numbers.csv"),
    "apnc, text in CSV": compared("text.csv"),
    "pandas + scikit-learn, text in Parquet": merged,
}
