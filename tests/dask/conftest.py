"""A cluster of two processes of one thread each, on loopback; some tests use this process's threads instead."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest


def pytest_collection_modifyitems(items):
    why = missing()
    for item in items:
        if why and Path(__file__).parent in Path(item.fspath).parents:
            item.add_marker(pytest.mark.skip(reason=why))


def missing():
    """What Dask would need, if anything."""
    absent = [name for name in ("dask", "distributed", "pandas", "pyarrow") if find_spec(name) is None]
    return f"{', '.join(absent)} missing" if absent else None


@pytest.fixture(scope="session")
def client():
    from distributed import Client, LocalCluster

    from apnc.engines.dask.commands import QUIET

    with LocalCluster(n_workers=2, threads_per_worker=1, **QUIET) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def threads():
    """Dask's own threads instead of a cluster."""
    import dask

    with dask.config.set(scheduler="threads"):
        yield


@pytest.fixture
def frame_of(client):
    """A dataframe of numeric columns x0, x1, ... and id, in so many partitions, in order."""
    import dask.dataframe as dd
    import pandas as pd

    def make(X, n_partitions=4, **columns):
        names = [f"x{j}" for j in range(X.shape[1])]
        table = pd.DataFrame(X, columns=names).assign(id=np.arange(len(X)), **columns)
        return dd.from_pandas(table, npartitions=n_partitions)

    return make


@pytest.fixture
def array_of(client):
    """An array in so many blocks of rows."""
    import dask.array as da

    def make(X, n_blocks=4):
        return da.from_array(X, chunks=(-(-len(X) // n_blocks), X.shape[1]))

    return make


@pytest.fixture(scope="session")
def blobs():
    """20,000 rows of float64 in clusters that touch."""
    from sklearn.datasets import make_blobs

    return make_blobs(20_000, n_features=6, centers=8, cluster_std=2.5, random_state=0)[0]


def labels_of(model, frame):
    """Labels in the order of ids."""
    return model.predict(frame)[["id", "label"]].compute().sort_values("id").label.to_numpy()
