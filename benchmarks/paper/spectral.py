"""Spectral clustering of neighbour graphs: ours, the landmark methods, and what people use for connected shapes."""

import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from apnc import SpectralClustering, baselines
from benchmarks.paper.methods import Found, Method, StageClock, Task, fitted, psc
from benchmarks.paper.today import apnc_defaults, plain
from benchmarks.paper.today import spectral as neighbours

#: Memory that a fit from a file may use.
MEMORY_LIMIT = "4GB"
#: Components that documents are reduced to for a method that takes no sparse rows.
SVD_COMPONENTS = 100
#: Neighbours by which HDBSCAN measures density; its default, the least size of a cluster, takes all memory here.
DENSITY_NEIGHBOURS = 10


def estimator(task: Task, **options: Any) -> SpectralClustering:
    """All defaults but ``options``; documents are compared by their angle, all other rows by distance."""
    kernel = task.kernel if task.kernel["kernel"] == "cosine" else {}
    # A warm-up has too few rows for the landmarks of a run.
    sizes = {} if task.l is None else {"n_landmarks": task.l}
    return SpectralClustering(task.k, **(kernel | options | sizes), random_state=task.seed)


def facts(km: SpectralClustering) -> dict[str, Any]:
    return {
        "n_iter": int(km.n_iter_),
        "l_used": int(km.n_landmarks_),
        "m_used": int(km.n_components_),
        "pieces": int(km.n_connected_components_),
    }


def spectral(**options: Any) -> Method:
    def run(task: Task) -> Found:
        km, clock = estimator(task, **options), StageClock()
        km.fit(task.X, progress=clock)
        return Found(km.labels_, clock.parts, facts(km))

    return run


def other_half(task: Task) -> Found:
    """A fit on half of the rows, drawn by the seed, and labels of those that it has not seen."""
    order = np.random.default_rng(task.seed).permutation(task.X.shape[0])
    seen, other = (np.sort(half) for half in np.array_split(order, 2))
    X, new = task.X[seen], task.X[other]
    begin = time.perf_counter()
    km = estimator(task).fit(X)
    between = time.perf_counter()
    labels = km.predict(new)
    end = time.perf_counter()
    more = facts(km) | {"predict_seconds": round(end - between, 4)}
    return Found(labels, {"total": end - begin}, more, rows=other)


def from_file(task: Task) -> Found:
    """A fit of a .npy file with labels to a Parquet file, both on disk; only the fit takes time."""
    from pyarrow import parquet

    with tempfile.TemporaryDirectory() as folder:
        rows, labels = Path(folder) / "rows.npy", Path(folder) / "labels.parquet"
        np.save(rows, task.X)
        km, clock = estimator(task, memory_limit=MEMORY_LIMIT), StageClock()
        begin = time.perf_counter()
        km.fit(rows, to=labels, progress=clock)
        seconds = clock.parts | {"total": time.perf_counter() - begin}
        more = facts(km) | {"memory_limit": MEMORY_LIMIT}
        return Found(parquet.read_table(labels)["label"].to_numpy(), seconds, more)


def landmark_graph(method: type) -> Method:
    """With the authors' numbers of landmarks and neighbours."""

    def run(task: Task) -> Found:
        sizes = {} if task.l is None else {"n_landmarks": task.l}
        return fitted(method(task.k, **sizes, **task.shared), task.X)

    return run


def with_noise(labels: np.ndarray) -> Found:
    """Noise is one cluster; the row says how large it is, and how many others there are."""
    noise = labels < 0
    more = {"noise": round(float(noise.mean()), 4), "clusters": len(np.unique(labels[~noise]))}
    return Found(np.where(noise, -1, labels), more=more)


def hdbscan(task: Task) -> Found:
    """Clusters of at least a twentieth of the mean class."""
    from sklearn.cluster import HDBSCAN

    least = max(5, task.X.shape[0] // (20 * task.k))
    km = HDBSCAN(min_cluster_size=least, min_samples=DENSITY_NEIGHBOURS, n_jobs=-1, copy=True)
    return with_noise(km.fit(task.X).labels_)


def evoc(k_given: bool) -> Method:
    """Without a seed, which would make it slower; documents as components of an SVD, whose seconds count."""

    def run(task: Task) -> Found:
        from evoc import EVoC
        from sklearn.decomposition import TruncatedSVD

        options = {"approx_n_clusters": task.k} if k_given else {}
        X = task.X
        if sparse.issparse(X):
            X = TruncatedSVD(SVD_COMPONENTS, random_state=task.seed).fit_transform(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return with_noise(EVoC(**options).fit_predict(np.ascontiguousarray(X)))

    return run


SPECTRAL, HALF, FROM_FILE = (
    "apnc spectral",
    "apnc spectral, predict the other half",
    "apnc spectral, from a file",
)
L1000, L10000, NEAREST20 = (f"{SPECTRAL}, {what}" for what in ("l = 1000", "l = 10,000", "20 nearest"))
USPEC, EVOC, HDBSCAN = "U-SPEC", "EVoC", "HDBSCAN"
OURS: dict[str, Method] = {
    SPECTRAL: spectral(),
    L1000: spectral(n_landmarks=1000),
    L10000: spectral(n_landmarks=10_000),
    NEAREST20: spectral(n_nearest=20),
    HALF: other_half,
    FROM_FILE: from_file,
    "apnc": apnc_defaults(),
}
OTHERS: dict[str, Method] = {
    "LSC-K": landmark_graph(baselines.LandmarkSpectralClustering),
    USPEC: landmark_graph(baselines.UltraScalableSpectralClustering),
    "SpectralClustering, neighbours": neighbours,
    "PSC": psc,
    "KMeans": plain,
    HDBSCAN: hdbscan,
    EVOC: evoc(k_given=False),
    f"{EVOC}, k given": evoc(k_given=True),
}
GRAPHS: dict[str, Method] = OURS | OTHERS
