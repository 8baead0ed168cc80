"""A Spark session as APNC_SPARK says: local (two threads, default), cluster (standalone, two workers) or connect."""

import os
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from tests.contract import suite

MODE = os.environ.get("APNC_SPARK", "local")
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.executor.memory": "1g",
    "spark.cores.max": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def pytest_collection_modifyitems(items):
    why = missing()
    mine = [item for item in items if Path(__file__).parent in Path(item.fspath).parents]
    for item in mine:
        only = item.get_closest_marker("spark_only")
        if why:
            item.add_marker(pytest.mark.skip(reason=why))
        elif only and MODE not in only.args:
            item.add_marker(pytest.mark.skip(reason=f"for APNC_SPARK={' or '.join(only.args)}"))


def missing():
    """What Spark would need, if anything."""
    try:
        from apnc.engines.spark.launching import check_java
        from apnc.spark import JavaMissingError

        check_java()
    except (ImportError, JavaMissingError) as error:
        return str(error)
    return None


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    from pyspark import cloudpickle

    import apnc.spark

    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    for module in (suite, *(sys.modules[name] for name in sys.modules if name.startswith("tests.spark."))):
        cloudpickle.register_pickle_by_value(module)
    if MODE == "cluster":
        with standalone(tmp_path_factory.mktemp("cluster")) as url:
            yield from quiet(apnc.spark.session(url, **SETTINGS))
    elif MODE == "connect":
        yield from quiet(apnc.spark.session(**SETTINGS, **{"spark.remote": "local[2]"}))
    else:
        yield from quiet(apnc.spark.session("local[2,4]", **SETTINGS))


def quiet(session):
    if MODE != "connect":
        session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


class standalone:
    """A master and two workers of one core each, on loopback."""

    def __init__(self, folder):
        self.folder, self.processes, self.url = folder, [], ""

    def __enter__(self):
        port = free_port()
        self.url = f"spark://127.0.0.1:{port}"
        self._start("Master", self.folder, "--port", str(port))
        wait_for(port)
        for _ in range(2):
            self.add_worker()
        return self.url

    def add_worker(self):
        """One more worker, with local folders of its own; its process and these folders."""
        number = len(self.processes) - 1
        local = self.folder / f"local-{number}"
        local.mkdir()
        work = str(self.folder / f"worker-{number}")
        return self._start("Worker", local, "-c", "1", "-m", "2g", "-d", work, self.url), local

    def _start(self, role, local, *options):
        import pyspark

        home = Path(pyspark.__file__).parent
        env = os.environ | {
            "SPARK_HOME": str(home),
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_LOCAL_DIRS": str(local),
        }
        command = [home / "bin/spark-class", f"org.apache.spark.deploy.{role.lower()}.{role}"]
        log = open(self.folder / f"{role}-{len(self.processes)}.log", "w")  # noqa: SIM115
        arguments = [*command, "--host", "127.0.0.1", "--webui-port", "0", *options]
        self.processes.append(subprocess.Popen(arguments, env=env, stdout=log, stderr=log))
        return self.processes[-1]

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(timeout=30)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"nothing answers on port {port}")


@pytest.fixture
def frame_of(spark):
    """A DataFrame of numeric columns x0, x1, ... and id, in so many partitions, in order."""
    import pandas as pd

    def make(X, n_partitions=4, **columns):
        table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(
            id=np.arange(len(X)), **columns
        )
        frame = spark.createDataFrame(table)
        return frame.repartitionByRange(n_partitions, "id") if n_partitions else frame

    return make


@pytest.fixture(scope="session")
def blobs():
    """100,000 rows of float64 in clusters that touch."""
    from sklearn.datasets import make_blobs

    return make_blobs(100_000, n_features=6, centers=8, cluster_std=2.5, random_state=0)[0]


def labels_of(model, frame):
    """Labels in the order of ids."""
    return model.predict(frame).select("id", "label").toPandas().sort_values("id").label.to_numpy()
