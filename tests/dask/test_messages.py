"""What is said of bad and odd rows on Dask is what is said of them in frames and files; where they are is named."""

import numpy as np
import pandas as pd
import pytest

from apnc import KernelKMeans, sources
from tests.contract.messages import CASES, GOOD, arrow_of, said_of


@pytest.fixture
def make(threads):
    import dask.dataframe as dd

    def of(columns):
        table = arrow_of(columns or GOOD).to_pandas(types_mapper=pd.ArrowDtype)
        return dd.from_pandas(table[list(columns)], npartitions=1)

    return of


@pytest.mark.filterwarnings("ignore:residual_")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.remote])
def test_one_sentence(name, make):
    assert CASES[name].says in said_of(CASES[name], make, "dask")


def spoiled(value, **columns):
    """100 rows in four partitions, of which row 2 of the third has this value in ``a``."""
    import dask.dataframe as dd

    data = {"key": [f"k{i}" for i in range(100)], "a": np.arange(100.0), "b": np.ones(100)} | columns
    data["a"][52] = value
    return dd.from_pandas(pd.DataFrame(data), npartitions=4)


BAD = {"NaN": (np.nan, "a"), "infinity": (-np.inf, "a is infinite")}


@pytest.mark.parametrize("ids", [(), ("key",)])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_is_located(client, name, ids):
    value, says = BAD[name]
    source = sources.open(spoiled(value), columns=["a", "b"], id_columns=ids)
    shown = r" \(key='k52'\)" if ids else ""
    with pytest.raises(ValueError, match=rf"the Dask DataFrame, partition 2, row 2{shown}: {says}"):
        KernelKMeans(2).fit(source)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_is_located_by_a_prediction(client, make, name):
    value, says = BAD[name]
    km = KernelKMeans(2, random_state=0).fit(make(GOOD))
    labelled = km.predict(sources.open(spoiled(value), columns=["a", "b"], id_columns=["key"]))
    with pytest.raises(ValueError, match=rf"the Dask DataFrame, partition 2, row 2 \(key='k52'\): {says}"):
        labelled.compute()


@pytest.mark.parametrize("weight", [-1.0, np.nan])
def test_a_bad_weight_is_located(client, weight):
    frame = spoiled(52.0, w=[1.0] * 52 + [weight] + [1.0] * 47)
    with pytest.raises(ValueError, match=r"partition 2, row 2 \(key='k52'\): the weight"):
        KernelKMeans(2).fit(sources.open(frame, weight_column="w", id_columns=["key"]))


def test_bad_rows_of_arrays_and_bags(client):
    import dask.array as da
    import dask.bag as db

    X = np.arange(200.0).reshape(100, 2)
    X[52, 1] = np.inf
    with pytest.raises(ValueError, match="the Dask array, partition 2, row 2: column 1 is infinite"):
        KernelKMeans(2).fit(da.from_array(X, chunks=(25, 2)))
    X[[52, 99], 1] = np.nan
    says = r"the Dask array: 2 missing values in 2 rows, in column 1 \(2\)\..*isnan.* partition 2, row 2: column 1"
    with pytest.raises(ValueError, match=says):
        KernelKMeans(2).fit(da.from_array(X, chunks=(25, 2)))
    bag = db.from_sequence([*["ab"] * 9, None, "cd"], npartitions=2)
    with pytest.raises(
        ValueError, match=r"1 missing value .*bag\.filter.* the Dask bag, partition 1, row 3: the object"
    ):
        KernelKMeans(2, kernel="spectrum").fit(bag)
    bag = db.from_sequence([*["ab"] * 9, 7, "cd"], npartitions=2)
    with pytest.raises(ValueError, match=r"the Dask bag, partition 1, row 3: .*found int"):
        KernelKMeans(2, kernel="spectrum").fit(bag)


def test_what_is_not_a_collection_of_rows(threads):
    import dask
    import dask.array as da
    import dask.bag as db
    import dask.dataframe as dd

    frame = dd.from_pandas(pd.DataFrame(GOOD), npartitions=1)
    cases = {
        r"A Dask Series is not a collection of rows.*to_frame": frame.a,
        r"A Dask Delayed is not a collection of rows": dask.delayed(list)(),
        r"has shape \(4,\), expected \(rows, features\)": da.ones(4),
        r"holds complex numbers": da.ones((4, 2), dtype=complex),
    }
    for says, data in cases.items():
        with pytest.raises(ValueError, match=says):
            KernelKMeans(2).fit(data)
    with pytest.raises(ValueError, match=r"columns= cannot be used with a Dask array.*from_dask_array"):
        sources.open(da.ones((4, 2)), columns=["a"])
    with pytest.raises(ValueError, match=r"object_field= cannot be used with a Dask bag.*to_dataframe"):
        sources.open(db.from_sequence("ab"), object_field="a")
    with pytest.raises(ValueError, match="kernel='rbf' needs vectors"):
        KernelKMeans(2).fit(db.from_sequence("ab"))


def test_what_cannot_be_done_on_dask(threads, tmp_path):
    import dask.array as da

    x = da.from_array(np.arange(40.0).reshape(20, 2), chunks=(5, 2))
    with pytest.raises(ValueError, match="memory_limit of the cluster's workers"):
        KernelKMeans(3, memory_limit="1GB").fit(x)
    with pytest.raises(ValueError, match="On Dask the result is a dask array; write it with"):
        KernelKMeans(3).fit(x, to=tmp_path / "l.parquet")
    with pytest.raises(ValueError, match="plan is for fits on this machine, not on Dask"):
        KernelKMeans(3).plan(x)
    with pytest.raises(ValueError, match="weight_column"):
        KernelKMeans(3).fit(x, sample_weight=np.ones(20))
    with pytest.raises(ValueError, match="drop_null= cannot be used with a Dask collection"):
        sources.open(x, drop_null=True)
    km = KernelKMeans(3, random_state=0).fit(x)
    with pytest.raises(AttributeError, match=r"labels_ is not available after fitting on Dask; predict\(X\)"):
        km.labels_  # noqa: B018
    assert KernelKMeans(3, random_state=0).fit_predict(x).shape == (20,)


def test_partitions_of_other_types(threads):
    """Numbers are converted; what cannot be is named."""
    import dask
    import dask.dataframe as dd

    def of(second):
        parts = [dask.delayed(pd.DataFrame)({"a": values}) for values in ([1.0, 2.0, 8.0], second)]
        return dd.from_delayed(parts, meta={"a": "f8"}, verify_meta=False)

    found = KernelKMeans(2, random_state=0).fit(of([9, 1, 2]))
    assert sorted(found.cluster_sizes_) == [2, 4]
    with pytest.raises(ValueError, match=r"partition 1: column 'a' is not of type double.*astype"):
        KernelKMeans(2).fit(of(["x", "y", "z"]))


def test_odd_names_of_columns(threads):
    import dask.dataframe as dd

    X = np.random.default_rng(0).normal(size=(200, 3)) + 4 * (np.arange(200) % 2)[:, None]
    here = KernelKMeans(2, random_state=0).fit(X)
    for names in (["a`b", "e f", ""], [0, 1, 2]):
        frame = dd.from_pandas(pd.DataFrame(X, columns=names), npartitions=3)
        found = KernelKMeans(2, random_state=0).fit(frame).predict(frame).compute()
        np.testing.assert_array_equal(found["label"], here.labels_)
        assert list(found.columns) == [*names, "label"]
