"""What is compared: each case prepares data once a process, and has several contestants that are timed on it.

A contestant is a function of the prepared data that returns the function to time; what that returns
(NMI, rates) joins the row.
"""

import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import data, evaluating, peaks, search, spark, streaming

Prepared = dict[str, Any]
Timed = Callable[[], dict[str, Any] | None]


@dataclass(frozen=True)
class Case:
    """A comparison; ``sizes`` holds the parameters of the full and of the smoke version."""

    title: str
    sizes: dict[str, dict[str, int]]
    prepare: Callable[..., Prepared]
    contestants: dict[str, Callable[[Prepared], Timed]]
    repetitions: int = 3


def sizes(smoke: dict[str, int], **full: int) -> dict[str, dict[str, int]]:
    return {"full": full, "smoke": full | smoke}


# Embedding


def prepare_embedding(n: int, d: int, l: int, m: int) -> Prepared:
    X = data.blobs(n, d, 20)
    return {"X": X, "l": l, "m": m, "flops": 2.0 * n * l * (d + m)}


def embed_apnc(p: Prepared) -> Timed:
    from apnc import KernelEmbedding

    embedding = KernelEmbedding(n_landmarks=p["l"], n_components=p["m"], random_state=0).fit(p["X"][:5000])
    embedding.transform(p["X"][:5000])

    def run() -> dict[str, Any]:
        embedding.transform(p["X"])
        return {"flops": p["flops"]}

    return run


def embed_chunks_apnc(p: Prepared) -> Timed:
    """Algorithm 1 as fit and predict run it, chunk after chunk, without one array for all of Y."""
    from apnc import KernelEmbedding
    from apnc.run.job import Job
    from apnc.sources import InMemory

    embedding = KernelEmbedding(n_landmarks=p["l"], n_components=p["m"], random_state=0).fit(p["X"][:5000])
    model = embedding._model.embedding
    job = Job(InMemory(p["X"]), peaks.n_threads(None))
    data_ = job.data(model.work_bytes(job.source.held, job.dtype))
    embedded = model.embed(data_.chunks, data_.dtype)
    embedded.reduce(streaming.rows_of, int.__add__)

    def run() -> dict[str, Any]:
        embedded.reduce(streaming.rows_of, int.__add__)
        return {"flops": p["flops"]}

    return run


def embed_sklearn(p: Prepared) -> Timed:
    from sklearn.kernel_approximation import Nystroem

    nystroem = Nystroem(gamma=1e-3, n_components=p["l"], random_state=0).fit(p["X"][:5000])
    return lambda: nystroem.transform(p["X"]) is None or {"flops": p["flops"]}


# One pass over Y


def prepare_pass(n: int, m: int, k: int, iterations: int) -> Prepared:
    Y = data.blobs(n, m, k)
    rng = np.random.default_rng(1)
    C = Y[rng.choice(n, k, replace=False)].astype(np.float64)
    return {"Y": Y, "C": C, "iterations": iterations, "elements": float(n) * m * k, "bytes": float(Y.nbytes)}


def chunks_of(Y: np.ndarray) -> Any:
    from apnc.engines.local import LocalChunks, n_threads, split

    ranges = split(len(Y), max(1, (1 << 22) // (4 * Y.shape[1])))
    return LocalChunks.of(Y, np.ones(len(Y)), ranges, n_threads(None))


def iterate(Y: Any, C: np.ndarray, e: Any, iterations: int, forget: bool = False) -> None:
    """Algorithm 2 without the re-seeding of empty clusters, which other libraries do in their own ways."""
    from apnc.clustering.lloyd import SumByNearest, update
    from apnc.discrepancy.nearest import PartialSums

    for _ in range(iterations):
        C = update(Y.reduce(SumByNearest(e.against(C)), PartialSums.__add__), C)
        for chunk in Y if forget else ():
            chunk.scratch.clear()


def pass_apnc(name: str, forget: bool = False) -> Callable[[Prepared], Timed]:
    """Assignments and updates, a pass; ``forget`` drops the scratch, so that every pass searches every row."""

    def contestant(p: Prepared) -> Timed:
        from apnc import discrepancy

        e = getattr(discrepancy, name)()
        with chunks_of(p["Y"][:2000]).cached() as small:
            iterate(small, p["C"], e, 3)
        p["keeping"] = chunks_of(p["Y"]).cached()
        Y = p["keeping"].__enter__()

        def run() -> dict[str, Any]:
            import time

            begin = time.perf_counter()
            iterate(Y, p["C"], e, p["iterations"], forget)
            seconds = (time.perf_counter() - begin) / p["iterations"]
            return {"seconds": seconds, "elements": p["elements"], "bytes": p["bytes"]}

        return run

    return contestant


def manhattan_sklearn(p: Prepared) -> Timed:
    from sklearn.metrics import pairwise_distances_argmin

    return lambda: (
        pairwise_distances_argmin(p["Y"], p["C"].astype(np.float32), metric="manhattan") is None or {}
    )


def manhattan_scipy(p: Prepared) -> Timed:
    from scipy.spatial.distance import cdist

    def run() -> None:
        for start in range(0, len(p["Y"]), 5000):
            cdist(p["Y"][start : start + 5000], p["C"], "cityblock").argmin(axis=1)

    return run


def euclidean_faiss(p: Prepared) -> Timed:
    import faiss

    n, m = p["Y"].shape

    def run() -> dict[str, Any]:
        import time

        options = {
            "niter": p["iterations"],
            "nredo": 1,
            "max_points_per_centroid": n,
            "min_points_per_centroid": 1,
        }
        kmeans = faiss.Kmeans(m, len(p["C"]), **options, seed=0)
        begin = time.perf_counter()
        kmeans.train(p["Y"], init_centroids=p["C"].astype(np.float32))
        return {"seconds": (time.perf_counter() - begin) / p["iterations"]}

    return run


def euclidean_sklearn(p: Prepared) -> Timed:
    from sklearn.cluster import KMeans

    def run() -> dict[str, Any]:
        import time

        start = p["C"].astype(np.float32)
        kmeans = KMeans(len(start), init=start, n_init=1, max_iter=p["iterations"], tol=0, algorithm="lloyd")
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kmeans.fit(p["Y"])
        return {"seconds": (time.perf_counter() - begin) / kmeans.n_iter_}

    return run


# Whole fits


def prepare_covtype(n: int, l: int, m: int, iterations: int, seeds: int = 1) -> Prepared:
    X, y, real = data.covtype(n)
    sizes = {"k": 7, "l": l, "m": m, "iterations": iterations, "seeds": seeds}
    return {"X": X, "y": y, "real_data": real, **sizes}


def prepare_generated(n: int, d: int, k: int, l: int, m: int, iterations: int) -> Prepared:
    X = data.blobs(n, d, k)
    return {"X": X, "y": None, "k": k, "l": l, "m": m, "iterations": iterations}


def gamma_of(p: Prepared) -> float:
    from apnc import KernelEmbedding

    return float(KernelEmbedding(n_landmarks=50, random_state=0).fit(p["X"][::50]).gamma_)


def score(p: Prepared, labels: np.ndarray) -> dict[str, Any]:
    if p["y"] is None:
        return {}
    from sklearn.metrics import normalized_mutual_info_score

    nmi = normalized_mutual_info_score(p["y"], labels, average_method="geometric")
    return {"nmi": round(100 * nmi, 2), "real_data": p["real_data"]}


def fit_apnc(
    embedding: str = "nystroem", dtype: type | None = None, **options: Any
) -> Callable[[Prepared], Timed]:
    def contestant(p: Prepared) -> Timed:
        import time

        from apnc import KernelKMeans

        km = KernelKMeans(
            p["k"],
            gamma=None,
            embedding=embedding,
            n_landmarks=p["l"],
            n_components=p["m"],
            max_iter=p["iterations"],
            tol=0.0,
            random_state=p["seed"],
            **({"init": "random", "n_init": 1} | options),
        )
        X = p["X"] if dtype is None else p["X"].astype(dtype)
        p.pop("X") if dtype is not None else None
        warnings.simplefilter("ignore")
        KernelKMeans(2, n_landmarks=20, embedding=embedding, random_state=0).fit(X[:500])

        def run() -> dict[str, Any]:
            begin = time.perf_counter()
            km.fit(X)
            seconds = time.perf_counter() - begin
            flops = 2.0 * len(X) * p["l"] * (X.shape[1] + km.n_components_)
            elements = float(len(X)) * p["k"] * km.n_components_ * (km.n_iter_ + 1)
            streamed = 4.0 * len(X) * km.n_components_ * (km.n_iter_ + 1)
            work = {"flops": flops, "elements": elements, "bytes": X.nbytes + streamed, "n_iter": km.n_iter_}
            return {"seconds": seconds, **work, **score(p, km.labels_)}

        return run

    return contestant


def fit_sklearn(kmeans: str = "KMeans", truncate: bool = False) -> Callable[[Prepared], Timed]:
    def contestant(p: Prepared) -> Timed:
        import time

        import sklearn.cluster
        from sklearn.decomposition import PCA
        from sklearn.kernel_approximation import Nystroem
        from sklearn.pipeline import make_pipeline

        steps: list[Any] = [Nystroem(gamma=gamma_of(p), n_components=p["l"], random_state=p["seed"])]
        if truncate:
            steps.append(PCA(p["m"], random_state=0))
        method = getattr(sklearn.cluster, kmeans)
        options = {"algorithm": "lloyd"} if kmeans == "KMeans" else {"batch_size": 4096}
        steps.append(
            method(
                p["k"],
                init="random",
                n_init=1,
                max_iter=p["iterations"],
                tol=0,
                random_state=p["seed"],
                **options,
            )
        )
        pipeline = make_pipeline(*steps)
        warnings.simplefilter("ignore")

        def run() -> dict[str, Any]:
            begin = time.perf_counter()
            labels = pipeline.fit_predict(p["X"])
            return {"seconds": time.perf_counter() - begin, **score(p, labels)}

        return run

    return contestant


def over_seeds(contestant: Callable[[Prepared], Timed]) -> Callable[[Prepared], Timed]:
    """The same fit from several seeds: mean NMI, its standard error, and all values."""

    def prepared(p: Prepared) -> Timed:
        def run() -> dict[str, Any]:
            runs = [contestant(p | {"seed": seed})() or {} for seed in range(p["seeds"])]
            values = [found["nmi"] for found in runs]
            error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
            found = {
                "nmi": round(float(np.mean(values)), 2),
                "nmi_error": round(error, 2),
                "nmi_values": values,
            }
            return {"seconds": sum(found["seconds"] for found in runs), **found}

        return run

    return prepared


def fit_exact(p: Prepared) -> Timed:
    gamma = gamma_of(p)

    def run() -> None:
        data.numpy_kernel_k_means(p["X"], p["k"], gamma, p["iterations"])

    return run


def prepare_row(n: int, d: int, l: int, repeat: int) -> Prepared:
    return {"X": np.random.default_rng(0).normal(size=(n, d)), "l": l, "repeat": repeat}


def predict_row(make: Callable[[Prepared], Any]) -> Callable[[Prepared], Timed]:
    """Median seconds of ``predict`` of one row."""

    def prepared(p: Prepared) -> Timed:
        model, row = make(p).fit(p["X"]), p["X"][:1]
        model.predict(row)

        def run() -> dict[str, Any]:
            taken = []
            for _ in range(p["repeat"]):
                begin = time.perf_counter()
                model.predict(row)
                taken.append(time.perf_counter() - begin)
            return {"seconds": float(np.median(taken))}

        return run

    return prepared


def row_apnc(p: Prepared) -> Any:
    from apnc import KernelKMeans

    return KernelKMeans(8, n_landmarks=p["l"], gamma=0.02, random_state=0)


def row_sklearn(p: Prepared) -> Any:
    from sklearn.cluster import KMeans
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    features = Nystroem(gamma=0.02, n_components=p["l"], random_state=0)
    return make_pipeline(features, KMeans(8, n_init=1, random_state=0))


def timed_import(statement: str) -> Callable[[Prepared], Timed]:
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"

    def run() -> dict[str, Any]:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return {"seconds": float(done.stdout)}

    def contestant(p: Prepared) -> Timed:
        run()
        return run

    return contestant


IMAGENET = {"n": 1_262_102, "d": 900, "k": 164, "l": 1500, "m": 500, "iterations": 20}
STREAM = {"d": 50, "k": 10, "l": 200, "m": 50, "iterations": 10}
SPARK = {"d": 50, "k": 20, "l": 500, "m": 200, "iterations": 20}
SMALL_FIT = {"n": 20_000, "l": 100, "m": 50, "iterations": 3}
KMEANS = {
    "apnc": pass_apnc("Euclidean"),
    "faiss": euclidean_faiss,
    "scikit-learn": euclidean_sklearn,
}
OVER_SEEDS = {
    "apnc": over_seeds(fit_apnc()),
    "apnc stable": over_seeds(fit_apnc("stable")),
    "scikit-learn Nystroem + KMeans": over_seeds(fit_sklearn()),
}

CASES = {
    "peaks": Case(
        "Peak rates of the machine",
        sizes({"seconds": 1}, seconds=4),
        peaks.prepare,
        {"sgemm": peaks.sgemm, "fp_add": peaks.fp_add, "bandwidth": peaks.bandwidth},
    ),
    "embed": Case(
        "Embedding, d=900 l=1500 m=500",
        sizes({"n": 4000, "d": 90, "l": 150, "m": 50}, n=40_000, d=900, l=1500, m=500),
        prepare_embedding,
        {
            "apnc": embed_chunks_apnc,
            "apnc, into one array": embed_apnc,
            "scikit-learn Nystroem": embed_sklearn,
        },
    ),
    "l1_pass": Case(
        "L1 pass, n=100,000 m=500 k=164",
        sizes({"n": 3000}, n=100_000, m=500, k=164, iterations=5),
        prepare_pass,
        {
            "apnc": pass_apnc("Manhattan"),
            "apnc, every row searched": pass_apnc("Manhattan", forget=True),
            "scikit-learn manhattan": manhattan_sklearn,
            "scipy cdist": manhattan_scipy,
        },
    ),
    "l2_pass_k164": Case(
        "L2 pass, n=200,000 m=500 k=164",
        sizes({"n": 3000}, n=200_000, m=500, k=164, iterations=10),
        prepare_pass,
        KMEANS,
    ),
    "l2_pass_k7": Case(
        "L2 pass, n=581,012 m=500 k=7",
        sizes({"n": 5000}, n=581_012, m=500, k=7, iterations=20),
        prepare_pass,
        KMEANS,
    ),
    "covtype_l500": Case(
        "CovType, l=500 m=500 k=7, 20 iterations",
        sizes(SMALL_FIT, n=581_012, l=500, m=500, iterations=20),
        prepare_covtype,
        {
            "apnc": fit_apnc(),
            "apnc stable": fit_apnc("stable"),
            "scikit-learn Nystroem + KMeans": fit_sklearn(),
            "scikit-learn Nystroem + MiniBatchKMeans": fit_sklearn("MiniBatchKMeans"),
        },
    ),
    "covtype_l1500": Case(
        "CovType, l=1500 m=500 k=7, 20 iterations",
        sizes(SMALL_FIT, n=581_012, l=1500, m=500, iterations=20),
        prepare_covtype,
        {
            "apnc": fit_apnc(),
            "apnc stable": fit_apnc("stable"),
            "scikit-learn Nystroem + KMeans": fit_sklearn(),
        },
    ),
    "covtype_nmi_l500": Case(
        "CovType, l=500: NMI over 12 seeds",
        sizes(SMALL_FIT | {"seeds": 2}, n=581_012, l=500, m=500, iterations=20, seeds=12),
        prepare_covtype,
        OVER_SEEDS,
        repetitions=1,
    ),
    "covtype_nmi_l1500": Case(
        "CovType, l=1500: NMI over 6 seeds",
        sizes(SMALL_FIT | {"seeds": 2}, n=581_012, l=1500, m=500, iterations=20, seeds=6),
        prepare_covtype,
        OVER_SEEDS,
        repetitions=1,
    ),
    "covtype_pca": Case(
        "CovType, l=1500, with scikit-learn's embedding truncated to m by PCA",
        sizes(SMALL_FIT, n=581_012, l=1500, m=500, iterations=20),
        prepare_covtype,
        {"apnc": fit_apnc(), "scikit-learn Nystroem + PCA + KMeans": fit_sklearn(truncate=True)},
        repetitions=1,
    ),
    "imagenet": Case(
        "Generated, 1,262,102 x 900, k=164 l=1500 m=500, 20 iterations",
        sizes(SMALL_FIT | {"d": 90, "k": 16}, **IMAGENET),
        prepare_generated,
        {"apnc": fit_apnc(), "apnc stable": fit_apnc("stable")},
    ),
    "float64": Case(
        "The same fit on float32 and float64 rows, 200,000 x 200, l=500 m=300 k=20",
        sizes(SMALL_FIT, n=200_000, d=200, k=20, l=500, m=300, iterations=20),
        prepare_generated,
        {"float32": fit_apnc(dtype=np.float32), "float64": fit_apnc(dtype=np.float64)},
    ),
    "restarts": Case(
        "Starts on the sample, 100,000 x 50, k=100: one start and ten",
        sizes(SMALL_FIT | {"k": 10}, n=100_000, d=50, k=100, l=500, m=300, iterations=20),
        prepare_generated,
        {
            "one k-means++ start": fit_apnc(init="k-means++"),
            "ten k-means++ starts": fit_apnc(init="k-means++", n_init=10),
        },
    ),
    "exact": Case(
        "Exact kernel k-means in numpy and l=300, 8,000 x 50, k=10",
        sizes({"n": 1000}, n=8000, d=50, k=10, l=300, m=300, iterations=20),
        prepare_generated,
        {"apnc": fit_apnc(), "numpy exact": fit_exact},
    ),
    "threads": Case(
        "One thread and two, 200,000 x 200, l=500 m=300 k=50",
        sizes(SMALL_FIT, n=200_000, d=200, k=50, l=500, m=300, iterations=20),
        prepare_generated,
        {"1 thread": fit_apnc(n_jobs=1), "2 threads": fit_apnc(n_jobs=2)},
    ),
    "stream_1m": Case(
        "Parquet, 1 M x 50 float64, l=200 m=50 k=10, limit 1 GB, Y in a file",
        sizes({"n": 20_000}, n=1_000_000, **STREAM),
        streaming.prepare,
        {"apnc, from the file": streaming.fit_spilled, "apnc, rows in memory": streaming.fit_in_memory},
    ),
    "stream_10m": Case(
        "Parquet, 10 M x 50 float64, the same",
        sizes({"n": 40_000}, n=10_000_000, **STREAM),
        streaming.prepare,
        {"apnc, from the file": streaming.fit_spilled},
    ),
    "overlap": Case(
        "One pass of Algorithm 1 over the Parquet file of 1 M rows",
        sizes({"n": 20_000}, n=1_000_000, **STREAM),
        streaming.prepare,
        {
            "apnc, reading and computing": streaming.embedding_pass(read=True, compute=True),
            "reading alone": streaming.embedding_pass(read=True, compute=False),
            "computing alone": streaming.embedding_pass(read=False, compute=True),
        },
    ),
    "spark": Case(
        "Spark on the same cores, Parquet, 1 M x 50 float64, l=500 m=200 k=20, 20 iterations",
        sizes({"n": 20_000, "l": 100, "m": 50, "iterations": 3}, n=1_000_000, **SPARK),
        spark.prepare,
        {
            "apnc, local engine": spark.fit_local,
            "apnc, Spark engine": spark.fit_spark,
            "Fourier features in a pandas UDF + MLlib KMeans": spark.fit_mllib(spark.fourier),
            "Nystroem features in a pandas UDF + MLlib KMeans": spark.fit_mllib(spark.nystroem),
            "MLlib KMeans on the rows": spark.fit_mllib(None),
        },
        repetitions=1,
    ),
    "plan_covtype": Case(
        "`apnc plan` and the fit it forecasts: CovType, k=7",
        sizes({"n": 5000}, n=581_012, d=54, k=7),
        streaming.prepare_file,
        {"apnc plan": streaming.planned, "apnc fit": streaming.fitted},
    ),
    "plan_generated": Case(
        "The same, generated 1 M x 100, k=10",
        sizes({"n": 5000}, n=1_000_000, d=100, k=10),
        streaming.prepare_file,
        {"apnc plan": streaming.planned, "apnc fit": streaming.fitted},
    ),
    "one_row": Case(
        "Predict one row, d=20 l=300 k=8",
        sizes({"n": 500, "l": 50, "repeat": 5}, n=20_000, d=20, l=300, repeat=300),
        prepare_row,
        {"apnc": predict_row(row_apnc), "scikit-learn Nystroem + KMeans": predict_row(row_sklearn)},
    ),
    "evaluate": Case(
        "Labels compared with a truth, 2,000,000 shuffled ids",
        sizes({"n": 20_000}, n=2_000_000),
        evaluating.prepare,
        evaluating.CONTESTANTS,
    ),
    "search": Case(
        "The 3 nearest landmarks of 70,000 x 784 rows, 2 threads",
        sizes({"n": 3000, "l": 100, "more": 300}, n=70_000, d=784, l=1000, more=10_000),
        search.prepare,
        search.CONTESTANTS,
    ),
    "import": Case(
        "Import",
        sizes({}, repeat=1),
        lambda repeat: {},
        {
            "import apnc": timed_import("import apnc"),
            "scikit-learn KMeans": timed_import("from sklearn.cluster import KMeans"),
        },
    ),
}
