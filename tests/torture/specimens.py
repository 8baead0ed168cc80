"""Small sound files of every format, which attacks damage."""

import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from apnc import KernelKMeans

N_ROWS, N_CLUSTERS = 60, 3
NAMES = ("a", "b", "c")
#: Kernel of the specimens of objects.
KERNEL = "tests.torture.specimens:shared_letters"
#: Data files by format; each holds the same number of rows.
DATA = ("rows.npy", "rows.npz", "rows.csv", "rows.tsv", "rows.parquet", "rows.arrow", "rows.svmlight")
OBJECTS = "words.jsonl"
LABELS = ("labels.csv", "labels.parquet", "labels.npy", "labels.npz")
MODEL, CONFIG = "model.apnc", "options.toml"


def shared_letters(A, B):
    """A kernel on strings, or on the JSON of other objects."""
    letters = [[set(str(item)) for item in items] for items in (A, B)]
    return np.array([[len(a & b) for b in letters[1]] for a in letters[0]], dtype=float)


def rows() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.random(size=(N_ROWS, len(NAMES))) + 3 * (np.arange(N_ROWS) % N_CLUSTERS)[:, None]


def words() -> list[str]:
    rng = np.random.default_rng(1)
    return ["".join(rng.choice(list("abcdefgh"), 5)) for _ in range(N_ROWS)]


def graphs() -> list[dict[str, Any]]:
    """Paths and rings of a few labelled nodes."""
    found = []
    for i in range(N_ROWS):
        n = 4 + i % 5
        ring = [[n - 1, 0]] if i % 2 else []
        labels = ["CNO"[(i + j) % 3] for j in range(n)]
        found.append({"n": n, "node_labels": labels, "edges": [[j, j + 1] for j in range(n - 1)] + ring})
    return found


def series() -> list[list[float]]:
    return [np.sin(np.arange(8 + i % 7) * (1 + i % 3)).round(3).tolist() for i in range(N_ROWS)]


def baskets() -> list[list[str]]:
    return [sorted(set(word)) for word in words()]


def customers() -> list[dict[str, Any]]:
    plans = ("basic", "team", None)
    return [
        {
            "age": 20.0 + i % 30,
            "plan": plans[i % 3],
            "joined": f"2024-01-{1 + i % 28:02}",
            "note": f"{word} {word[:2]}",
        }
        for i, word in enumerate(words())
    ]


#: Objects by the kernel that takes them.
ON_OBJECTS: dict[str, Callable[[], list[Any]]] = {
    "spectrum(1, 2, ends=true)": words,
    "jaccard": baskets,
    "weisfeiler_lehman(2)": graphs,
    "shortest_path": graphs,
    "time_warp(band=0.5)": series,
    "record(age=number, plan=category, joined=date, note=text)": customers,
    "2 * spectrum(1, 1) + edit_similarity.rbf()": words,
}


def write_data(folder: Path) -> None:
    X = rows()
    table = pa.table({"key": np.arange(N_ROWS) * 7, **{name: X[:, j] for j, name in enumerate(NAMES)}})
    np.save(folder / "rows.npy", X)
    sparse.save_npz(folder / "rows.npz", sparse.csr_array(X * (X > 1)))
    pyarrow.csv.write_csv(table, folder / "rows.csv")
    tabs = pyarrow.csv.WriteOptions(delimiter="\t")
    pyarrow.csv.write_csv(table, folder / "rows.tsv", tabs)
    pq.write_table(table, folder / "rows.parquet", row_group_size=25)
    pyarrow.feather.write_feather(table, folder / "rows.arrow", compression="uncompressed")
    dump_svmlight_file(X * (X > 1), np.zeros(N_ROWS), str(folder / "rows.svmlight"))
    (folder / OBJECTS).write_text("".join(f'"{word}"\n' for word in words()))


def write_labels(folder: Path) -> None:
    labels = np.arange(N_ROWS, dtype=np.int32) % N_CLUSTERS
    table = pa.table({"key": np.arange(N_ROWS) * 7, "label": labels})
    pyarrow.csv.write_csv(table, folder / "labels.csv")
    pq.write_table(table, folder / "labels.parquet")
    np.save(folder / "labels.npy", labels)
    np.savez(folder / "labels.npz", label=labels)


def write_config(folder: Path) -> None:
    (folder / CONFIG).write_text(
        '# options of a fit\nn-clusters = 3\nmax-iter = 50\nkernel = "rbf"\ngamma = 0.5\n'
        'id-columns = ["key"]\nquiet = true\ntol = 1e-3\nscale = "minmax"\nmemory-limit = "2GB"\n'
    )


@cache
def sound() -> dict[str, bytes]:
    """The bytes of each file by name."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder)
        write_labels(folder)
        write_config(folder)
        KernelKMeans(N_CLUSTERS, random_state=0).fit(rows()).save(folder / MODEL)
        KernelKMeans(N_CLUSTERS, kernel=shared_letters, random_state=0).fit(words()).save(
            folder / "words.apnc"
        )
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def members(data: Path) -> dict[str, bytes]:
    """The members of a zip."""
    with zipfile.ZipFile(data) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}
