"""What people use today, with their defaults where nothing else is said."""

import time
import warnings
from typing import Any

from apnc import KernelEmbedding, KernelKMeans
from benchmarks.paper.methods import POLYNOMIAL, Found, Method, Task, fit_apnc, fitted


def apnc_defaults(**options: Any) -> Method:
    """All defaults but the kernel and ``options``."""
    return lambda task: fit_apnc(
        KernelKMeans(task.k, **(task.kernel | options), random_state=task.seed), task.X
    )


def nystroem_k_means(tuned: bool) -> Method:
    """scikit-learn's two steps; ``tuned`` gives them l and gamma as ours chooses them, at no charge."""

    def run(task: Task) -> Found:
        from sklearn.cluster import KMeans
        from sklearn.kernel_approximation import Nystroem

        options = _tuned(task) if tuned else {}
        begin = time.perf_counter()
        nystroem = Nystroem(kernel=task.kernel["kernel"], random_state=task.seed, **options)
        Y = nystroem.fit_transform(task.X)
        embedded = time.perf_counter()
        found = fitted(KMeans(task.k, n_init=10, random_state=task.seed), Y)
        end = time.perf_counter()
        seconds = {"embed": embedded - begin, "cluster": end - embedded, "total": end - begin}
        return Found(found.labels, seconds, found.more)

    return run


def _tuned(task: Task) -> dict[str, Any]:
    chosen = KernelEmbedding(**task.kernel, random_state=task.seed).fit(task.X)
    gamma = {} if chosen.gamma_ is None else {"gamma": chosen.gamma_}
    return {"n_components": chosen.n_landmarks_, **gamma}


def spectral(task: Task) -> Found:
    from sklearn.cluster import SpectralClustering

    km = SpectralClustering(task.k, affinity="nearest_neighbors", n_jobs=-1, random_state=task.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Found(km.fit(task.X).labels_)


def mini_batch(task: Task) -> Found:
    from sklearn.cluster import MiniBatchKMeans

    return fitted(MiniBatchKMeans(task.k, n_init=10, random_state=task.seed), task.X)


def plain(task: Task) -> Found:
    from sklearn.cluster import KMeans

    return fitted(KMeans(task.k, n_init=10, random_state=task.seed), task.X)


def hdbscan(task: Task) -> Found:
    """Clusters of at least a twentieth of the mean class; noise counts as a cluster of its own."""
    from sklearn.cluster import HDBSCAN

    least = max(5, task.X.shape[0] // (20 * task.k))
    km = HDBSCAN(min_cluster_size=least, n_jobs=-1, copy=True).fit(task.X)
    return Found(km.labels_, more={"noise": float((km.labels_ < 0).mean())})


#: What docs/how-to/choosing.md says of images.
IMAGES = "apnc, normalised polynomial"
TODAY: dict[str, Method] = {
    "apnc": apnc_defaults(),
    "apnc, stable": apnc_defaults(embedding="stable"),
    IMAGES: apnc_defaults(**POLYNOMIAL, normalize_kernel=True),
    "Nystroem + KMeans": nystroem_k_means(tuned=False),
    "Nystroem + KMeans, tuned as apnc": nystroem_k_means(tuned=True),
    "SpectralClustering, neighbours": spectral,
    "MiniBatchKMeans": mini_batch,
    "KMeans": plain,
    "HDBSCAN": hdbscan,
}
