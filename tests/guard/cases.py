"""Fits whose labels and inertia are kept in ``fingerprints.npz``: kernels, embeddings, sources, weights, starts.

``python -m tests.guard.cases`` writes the file anew. That is a change of behaviour: it gets a commit of its own that
says why.
"""

import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits, make_moons

from apnc import (
    EnsembleEmbedding,
    KernelEmbedding,
    KernelKMeans,
    SpectralClustering,
    StableEmbedding,
    sources,
)

STORED = Path(__file__).with_name("fingerprints.npz")
NAMES = [f"x{j}" for j in range(64)]


def digits(dtype=np.float64):
    return (load_digits().data[:900] / 16.0).astype(dtype)


def blobs(dtype=np.float64):
    rng = np.random.default_rng(7)
    return (rng.normal(size=(700, 5)) + 4 * rng.integers(0, 3, size=(700, 1))).astype(dtype)


def words():
    rng = np.random.default_rng(5)
    letters = np.array(list("abcdefgh"))
    return ["".join(rng.choice(letters[3 * (i % 2) : 3 * (i % 2) + 5], 6)) for i in range(300)]


def weights(n):
    return np.random.default_rng(2).integers(0, 4, size=n).astype(float)


def shared_letters(A, B):
    return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)


def dot_plus_one(A, B):
    return A @ B.T + 1.0


def labelled(X, sample_weight=None, n_clusters=6, **options):
    settings = {"gamma": None, "n_landmarks": 90, "n_components": 60, "max_iter": 25, "random_state": 4}
    km = KernelKMeans(n_clusters, **(settings | options)).fit(X, sample_weight=sample_weight)
    return km.labels_, km.inertia_


def spectral(X, sample_weight=None, n_clusters=6, **options):
    km = SpectralClustering(n_clusters, **({"random_state": 4} | options))
    return km.fit(X, sample_weight=sample_weight).labels_, km.inertia_


def moons():
    return make_moons(900, noise=0.08, random_state=3)[0]


def embedded(X, **options):
    """An embedding alone: its rows by sign, and their sum of squares."""
    Y = KernelEmbedding(
        **({"n_landmarks": 50, "n_components": 3, "random_state": 4} | options)
    ).fit_transform(X)
    return (np.median(Y, axis=0) < Y) @ (1 << np.arange(3)), float((Y**2).sum())


def predicted(X, **options):
    settings = {"gamma": None, "n_landmarks": 90, "n_components": 60, "max_iter": 25, "random_state": 4}
    half = len(X) // 2
    km = KernelKMeans(6, **(settings | options)).fit(X[:half])
    return km.predict(X[half:]), float((km.transform(X[half:]) ** 2).sum())


def from_file(name, write, X=None, **request):
    def fit(folder):
        path = folder / name
        write(path, digits() if X is None else X())
        return labelled(sources.open(path, **request) if request else path, scale=None)

    return fit


def as_table(path, X):
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    table = pa.table({name: X[:, j] for j, name in enumerate(NAMES[: X.shape[1]])})
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pq.write_table(table, path, row_group_size=111)


def weighted_table(path, X):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: X[:, j] for j, name in enumerate(NAMES[: X.shape[1]])}
    pq.write_table(pa.table({"key": np.arange(len(X)), **columns, "w": weights(len(X))}), path)


def as_svmlight(path, X):
    from sklearn.datasets import dump_svmlight_file

    dump_svmlight_file(X, np.zeros(len(X)), str(path))


def json_words(folder):
    path = folder / "words.jsonl"
    path.write_text("".join(json.dumps({"word": word}) + "\n" for word in words()))
    return labelled(
        sources.open(path, object_field="word"), kernel=shared_letters, n_clusters=3, normalize_kernel=True
    )


def given_matrix(folder):
    X = blobs()
    return labelled(X @ X.T + 1.0, kernel="precomputed", n_clusters=3)


def instances(folder):
    X = digits()
    return labelled(X, init=X[:6])


CASES = {
    "linear": lambda _: labelled(digits(), kernel="linear"),
    "rbf": lambda _: labelled(digits()),
    "rbf gamma": lambda _: labelled(digits(), gamma=0.05),
    "rbf local": lambda _: labelled(digits(), gamma="local"),
    "polynomial": lambda _: labelled(digits(), kernel="polynomial", degree=2),
    "polynomial normalised": lambda _: labelled(digits(), kernel="polynomial", normalize_kernel=True),
    "sigmoid": lambda _: labelled(digits(), kernel="sigmoid", gamma=0.0045, coef0=0.11),
    "laplacian": lambda _: labelled(digits(), kernel="laplacian"),
    "cosine": lambda _: labelled(digits(), kernel="cosine"),
    "cosine, rows as they are": lambda _: labelled(digits(), kernel="cosine", normalize_kernel=False),
    "chi2": lambda _: labelled(digits(), kernel="chi2"),
    "function on vectors": lambda _: labelled(digits(), kernel=dot_plus_one),
    "function on words": lambda _: labelled(words(), kernel=shared_letters, n_clusters=3),
    "words normalised": lambda _: labelled(
        words(), kernel=shared_letters, n_clusters=3, normalize_kernel=True
    ),
    "precomputed": given_matrix,
    "stable": lambda _: labelled(digits(), embedding="stable"),
    "stable subsets": lambda _: labelled(digits(), embedding=StableEmbedding(subset_size=0.2)),
    "ensemble": lambda _: labelled(digits(), embedding="ensemble"),
    "ensemble of two": lambda _: labelled(digits(), embedding=EnsembleEmbedding(2, [1, 3])),
    "all defaults": lambda _: labelled(
        digits(), gamma="auto", n_landmarks="auto", n_components="auto", max_iter=300
    ),
    "500 components": lambda _: labelled(digits(), n_landmarks="auto", n_components=500, max_iter=300),
    "one start": lambda _: labelled(digits(), n_init=1),
    "random": lambda _: labelled(digits(), init="random"),
    "random partition": lambda _: labelled(digits(), init="random-partition"),
    "start labels": lambda _: labelled(digits(), init=np.arange(900) % 6),
    "start instances": instances,
    "weights": lambda _: labelled(digits(), weights(900)),
    "weights, stable": lambda _: labelled(digits(), weights(900), embedding="stable"),
    "weights, laplacian": lambda _: labelled(blobs(), weights(700), kernel="laplacian", n_clusters=3),
    "minmax": lambda _: labelled(blobs() * [1, 10, 100, 1, 1], scale="minmax", n_clusters=3),
    "standard": lambda _: labelled(
        blobs() * [1, 10, 100, 1, 1], weights(700), scale="standard", n_clusters=3
    ),
    "unit": lambda _: labelled(blobs(), scale="unit", n_clusters=3),
    "csr": lambda _: labelled(sparse.csr_matrix(np.where(digits() > 0.6, digits(), 0))),
    "csr cosine": lambda _: labelled(
        sparse.csr_array(np.where(digits() > 0.6, digits(), 0)), kernel="cosine", normalize_kernel=True
    ),
    "integers": lambda _: labelled((digits() * 16).astype(np.int64)),
    "npy": from_file("x.npy", np.save),
    "parquet": from_file("x.parquet", as_table),
    "parquet, weights": from_file("x.parquet", weighted_table, id_columns=["key"], weight_column="w"),
    "csv": from_file("x.csv", as_table),
    "svmlight": from_file("x.svm", as_svmlight),
    "npz": from_file("x.npz", lambda path, X: sparse.save_npz(path, sparse.csr_matrix(X))),
    "json lines": json_words,
    "predicted": lambda _: predicted(digits()),
    "predicted, stable": lambda _: predicted(digits(), embedding="stable"),
    "embedding": lambda _: embedded(digits()),
    "float32": lambda _: labelled(digits(np.float32)),
    "float32 stable": lambda _: labelled(digits(np.float32), embedding="stable"),
    "float32 polynomial": lambda _: labelled(digits(np.float32), kernel="polynomial", degree=5),
    "float32 blobs": lambda _: labelled(blobs(np.float32), n_clusters=3),
    "float32 npy": from_file("x.npy", np.save, lambda: digits(np.float32)),
    "float32 csr": lambda _: labelled(
        sparse.csr_matrix(np.where(digits() > 0.6, digits(), 0), dtype=np.float32)
    ),
    "small integers": lambda _: labelled((digits() * 16).astype(np.uint8)),
    "spectral": lambda _: spectral(digits()),
    "spectral moons": lambda _: spectral(moons(), n_clusters=2, n_nearest=4),
    "spectral, weights": lambda _: spectral(blobs(), weights(700), n_clusters=3, n_landmarks=150),
    "spectral rbf": lambda _: spectral(digits(), kernel="rbf"),
    "spectral csr cosine": lambda _: spectral(
        sparse.csr_array(np.where(digits() > 0.6, digits(), 0)), kernel="cosine"
    ),
    "spectral on words": lambda _: spectral(words(), kernel=shared_letters, n_clusters=2),
}
#: Cases whose rows are computed in float32, by name.
NARROW = {name for name in CASES if name.startswith("float32") or name == "small integers"}
#: Cases whose neighbours are tied (words differ by whole letters): rounding breaks the ties, so that the processor
#: decides the graph, and the partition is the same everywhere but for a word in a hundred.
TIED = {"spectral on words"}
#: Cases that Spark repeats on a DataFrame of the same rows: options of the fit.
ON_SPARK = {
    "rbf": {},
    "stable": {"embedding": "stable"},
    "ensemble": {"embedding": "ensemble"},
    "polynomial normalised": {"kernel": "polynomial", "normalize_kernel": True},
    "random partition": {"init": "random-partition"},
}


def fingerprints():
    found = {}
    for name, fit in CASES.items():
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
            labels, inertia = fit(Path(folder))
        found[f"{name}/labels"] = np.asarray(labels, dtype=np.int8)
        found[f"{name}/inertia"] = np.float64(inertia)
    return found


if __name__ == "__main__":
    np.savez_compressed(STORED, **fingerprints())
