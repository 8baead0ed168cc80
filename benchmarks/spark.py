"""The Spark engine on this machine's cores: against the local engine, and against what Spark users write today."""

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.streaming import PART, Prepared, Timed, estimator, folder

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "6g",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.files.maxPartitionBytes": "64m",
}


def prepare(n: int, d: int, k: int, l: int, m: int, iterations: int) -> Prepared:
    """Overlapping Gaussian clusters in a Parquet file, with the cluster that each row was drawn from."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder() / f"spark-{n}-{d}-{k}.parquet"
    if not path.exists():
        folder().mkdir(exist_ok=True)
        centers = np.random.default_rng(0).normal(size=(k, d))
        rng = np.random.default_rng(1)
        y = rng.integers(0, k, n)
        X = centers[y] + rng.normal(scale=1.5, size=(n, d))
        columns = {f"x{j}": X[:, j] for j in range(d)} | {"truth": y}
        pq.write_table(pa.table(columns), path, row_group_size=PART, use_dictionary=False)
    return {"path": path, "n": n, "d": d, "k": k, "l": l, "m": m, "iterations": iterations}


def session() -> Any:
    from pyspark.sql import SparkSession

    warnings.simplefilter("ignore")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def frame_of(p: Prepared, spark: Any) -> Any:
    return spark.read.parquet(str(p["path"]))


def features(p: Prepared) -> list[str]:
    return [f"x{j}" for j in range(p["d"])]


@contextmanager
def passes() -> Iterator[dict[str, float]]:
    """Seconds of an iteration, on any engine."""
    from apnc import pipeline

    plain, found = pipeline.lloyd, {}

    def timed(*given: Any) -> Any:
        begin = time.perf_counter()
        result = plain(*given)
        found["pass_seconds"] = (time.perf_counter() - begin) / result.n_iter
        return result

    pipeline.lloyd = timed
    try:
        yield found
    finally:
        pipeline.lloyd = plain


def fit_local(p: Prepared) -> Timed:
    """From the same file."""
    from apnc import sources

    source = sources.open(p["path"], exclude=["truth"])
    estimator(p | {"l": 20, "m": 10, "iterations": 1}).fit(source)

    def run() -> dict[str, Any]:
        import pyarrow.parquet as pq

        with passes() as found:
            begin = time.perf_counter()
            km = estimator(p).fit(source)
            seconds = time.perf_counter() - begin
        truth = pq.read_table(p["path"], columns=["truth"])["truth"].to_numpy()
        return {"seconds": seconds, "nmi": nmi(truth, km.labels_), "n_iter": km.n_iter_, **found}

    return run


def fit_spark(p: Prepared) -> Timed:
    """The same estimator on a DataFrame."""
    from apnc import sources

    frame = frame_of(p, session())
    source = sources.open(frame, columns=features(p))
    estimator(p | {"l": 20, "m": 10, "iterations": 1}).fit(source)

    def run() -> dict[str, Any]:
        with passes() as found:
            begin = time.perf_counter()
            km = estimator(p).fit(source)
            seconds = time.perf_counter() - begin
        labelled = km.predict(source)
        return {"seconds": seconds, "nmi": compared(labelled, "label"), "n_iter": km.n_iter_, **found}

    return run


def fit_mllib(transformer: Callable[[Prepared, np.ndarray], Any] | None) -> Callable[[Prepared], Timed]:
    """MLlib's KMeans on the rows, or on features that a scikit-learn transformer makes of them in a pandas UDF."""

    def contestant(p: Prepared) -> Timed:
        from pyspark.ml.clustering import KMeans
        from pyspark.ml.feature import VectorAssembler

        frame = frame_of(p, session())

        def run() -> dict[str, Any]:
            begin = time.perf_counter()
            if transformer is None:
                prepared = VectorAssembler(inputCols=features(p), outputCol="features").transform(frame)
            else:
                prepared = transformed(p, frame, transformer)
            prepared = prepared.select("features", "truth").persist()
            km = KMeans(k=p["k"], maxIter=p["iterations"], tol=0.0, seed=0, initMode="random").fit(prepared)
            seconds = time.perf_counter() - begin
            labelled = km.transform(prepared)
            return {"seconds": seconds, "nmi": compared(labelled, "prediction")}

        return run

    return contestant


def transformed(p: Prepared, frame: Any, transformer: Callable[[Prepared, np.ndarray], Any]) -> Any:
    """The frame with a vector column ``features``, made by a transformer that is fitted on a sample."""
    import pandas as pd
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import functions as F

    sample = frame.select(*features(p)).sample(5000 / p["n"] if p["n"] > 5000 else 1.0, seed=0).toPandas()
    fitted = transformer(p, sample.to_numpy())

    @F.pandas_udf("array<double>")
    def embed(columns: pd.DataFrame) -> pd.Series:
        return pd.Series(list(fitted.transform(columns.to_numpy())))

    return frame.select(array_to_vector(embed(F.struct(*features(p)))).alias("features"), "truth")


def fourier(p: Prepared, sample: np.ndarray) -> Any:
    from sklearn.kernel_approximation import RBFSampler

    return RBFSampler(gamma=gamma(sample), n_components=p["m"], random_state=0).fit(sample)


def nystroem(p: Prepared, sample: np.ndarray) -> Any:
    from sklearn.kernel_approximation import Nystroem

    return Nystroem(gamma=gamma(sample), n_components=p["l"], random_state=0).fit(sample)


def gamma(sample: np.ndarray) -> float:
    """Mean distance, as apnc tunes it."""
    from scipy.spatial.distance import pdist

    return float(1 / (2 * pdist(sample[:1000]).mean() ** 2))


def nmi(truth: np.ndarray, labels: np.ndarray) -> float:
    from sklearn.metrics import normalized_mutual_info_score

    return round(100 * normalized_mutual_info_score(truth, labels, average_method="geometric"), 2)


def compared(labelled: Any, column: str) -> float:
    """NMI of a column of labels with ``truth``."""
    cells = labelled.groupBy("truth", column).count().toPandas()
    return nmi(np.repeat(cells["truth"], cells["count"]), np.repeat(cells[column], cells["count"]))
