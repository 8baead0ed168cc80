"""Bad and odd rows, and the one sentence said of each wherever they are: in arrays, frames, files, on engines."""

import datetime
from dataclasses import dataclass, field
from operator import methodcaller

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from apnc import KernelKMeans, sources

A, B = [1.0, 2.0, 8.0, 9.0], [5.0, 5.0, 1.0, 1.0]
GOOD = {"a": A, "b": B}
DAYS = [datetime.date(2024, 1, day) for day in (1, 2, 3, 4)]
FRAMES, FILES, TABLES = ("pandas", "polars"), ("parquet", "csv"), ("arrow", "parquet", "csv")
ALL = (*FRAMES, *TABLES)
#: How lazy results are computed.
LAZY = {"spark": methodcaller("count"), "dask": methodcaller("compute")}
FILL = " Null and NaN are missing: fill them in, leave the columns out, or skip those rows: "
LEFT_OUT = (
    " To use one, encode it as numbers, or name the features in columns=[...] (--columns). To leave it out without "
    "this warning: exclude=[...] (--exclude), id_columns=[...] (--id-columns), or drop(columns=[...]) of a frame in "
    "memory."
)
UNEQUAL = "column 'v' holds 3 values, but 2 in the first row. All lengths must be equal."
WEIGHT = " must be a finite number >= 0. Correct it, or leave the row out."


@dataclass(frozen=True)
class Case:
    """Rows and what is said of them.

    Attributes
    ----------
    columns : of the table, by name.
    says : the sentence.
    ways : in which rows can be like that, besides other engines.
    options : of the estimator.
    opened : what ``sources.open`` is told.
    warns : it is a warning.
    good : columns of a fit that went before; then it is said by ``predict``.
    remote : whether rows on other engines can be like that.

    """

    columns: dict
    says: str
    ways: tuple = ALL
    options: dict = field(default_factory=dict)
    opened: dict = field(default_factory=dict)
    warns: bool = False
    good: dict | None = None
    remote: bool = True


def left_out(*listed):
    verb = "1 column is not a feature" if len(listed) == 1 else f"{len(listed)} columns are not features"
    return f"{verb}: {', '.join(listed)}.{LEFT_OUT}"


def warned(columns, *listed, **more):
    return Case(GOOD | columns, left_out(*listed), warns=True, **more)


def absent(**opened):
    says = "there is no column 'bb'. Did you mean 'b'? Columns: a (double), b (double)."
    return Case(GOOD, says, TABLES, opened=opened)


def weighted(weights, says, ways=(*ALL, "array")):
    return Case(GOOD | {"w": weights}, says, ways, opened={"weight_column": "w"})


def matched(columns, says):
    prefix = "The feature names should match those that were passed during fit.\n"
    return Case(columns, prefix + says, good=GOOD)


CASES = {
    "NaN": Case(
        {"a": [1.0, np.nan, 8.0, 9.0], "b": B}, f"1 missing value in 1 row, in a (1).{FILL}", (*ALL, "array")
    ),
    "null": Case(
        {"a": [1.0, None, None, 9.0], "b": B}, f"2 missing values in 2 rows, in a (2).{FILL}", (*ALL, "array")
    ),
    "infinity": Case(
        {"a": [1.0, np.inf, 8.0, 9.0], "b": B},
        "a is infinite, or too large for float64. Remove or clip it.",
        (*ALL, "array"),
    ),
    "text": warned({"town": list("wxyz")}, "'town' (text)"),
    "text and dates": warned({"town": list("wxyz"), "day": DAYS}, "'town' (text)", "'day' (dates or times)"),
    "dates": warned({"day": DAYS}, "'day' (dates or times)"),
    "several types": warned(
        {"m": [1, "x", 2.5, None]}, "'m' (values of several types)", ways=("pandas",), remote=False
    ),
    "records": warned(
        {"r": [{"x": 1}, {"x": 2}, {"x": 3}, {"x": 4}]},
        "'r' (nested values)",
        ways=(*FRAMES, "arrow", "parquet"),
    ),
    "index of pandas": warned({"Unnamed: 0": [7, 2, 5, 1]}, "'Unnamed: 0' (an index)"),
    "stored index": warned({"__index_level_0__": [7, 2, 5, 1]}, "'__index_level_0__' (an index)"),
    "ids that count": warned({"user_id": [1, 2, 3, 4]}, "'user_id' (an index)"),
    "only text": Case(
        {"t": list("wxyz")},
        "there is no numeric column to use as a feature: 0 feature(s) while a minimum of 1 is required. "
        "Columns: t (text). For text, scikit-learn's TfidfVectorizer makes vectors.",
    ),
    "no rows": Case(
        {"a": np.empty(0), "b": np.empty(0)},
        "there are no rows: 0 sample(s) while a minimum of 1 is required.",
        (*ALL, "array"),
    ),
    "no columns": Case(
        {},
        "there is no numeric column to use as a feature: 0 feature(s)",
        ("pandas", "array", "arrow"),
    ),
    "too few rows": Case(
        GOOD, "n_clusters=9 needs at least 9 rows, got n_samples=4.", (*ALL, "array"), {"n_clusters": 9}
    ),
    "negative features": Case(
        {"a": [-1.0, 2, 3, 4]},
        "kernel='chi2' needs features >= 0, found -1.",
        (*ALL, "array"),
        {"kernel": "chi2"},
    ),
    "negative weight": weighted([1.0, -1.0, 1.0, 1.0], f"the weight -1{WEIGHT}"),
    "infinite weight": weighted([1.0, np.inf, 1.0, 1.0], f"the weight inf{WEIGHT}"),
    "NaN weight": weighted([1.0, np.nan, 1.0, 1.0], f"1 missing value in 1 row, in the weights (1).{FILL}"),
    "zero weights": weighted(
        [0.0] * 4, "Every row has weight zero or was skipped; at least one row must have a positive weight."
    ),
    "unknown weight": absent(weight_column="bb"),
    "unknown feature": absent(columns=["a", "bb"]),
    "unknown exclusion": absent(exclude=["bb"]),
    "unknown id": absent(id_columns=["bb"]),
    "features of text": Case(
        GOOD | {"t": list("wxyz")},
        "column 't' is of type string, which is not numeric. Columns: a (double), b (double), t (string).",
        TABLES,
        opened={"columns": ["a", "t"]},
    ),
    "lists of unequal length": Case(
        {"v": [[1.0, 2.0], [1.0, 2.0, 3.0]] * 2}, UNEQUAL, (*FRAMES, "arrow", "parquet")
    ),
    "lists beside numbers": Case(
        {"v": [[1.0, 2.0]] * 4, "a": A},
        "column 'v' holds lists of numbers, beside columns of numbers ('a', ...). Choose the features: "
        "columns=['v'], or exclude=['v'].",
        (*FRAMES, "arrow", "parquet"),
    ),
    "predict without a feature": matched({"a": A}, "Feature names seen at fit time, yet now missing:\n- b\n"),
    "predict with other names": matched(
        {"a": A, "c": B, "t": list("wxyz")},
        "Feature names unseen at fit time:\n- c\n- t\nFeature names seen at fit time, yet now missing:\n- b\n",
    ),
    "predict with text alone": Case(
        {"t": list("wxyz")}, "there is no numeric column to use as a feature: 0 feature(s)", good=GOOD
    ),
    "predict with fewer, without names": Case(
        {"a": A},
        "X has 1 features, but KernelKMeans is expecting 2 features as input.",
        ("array", "npy"),
        good=GOOD,
        remote=False,
    ),
}


def pandas_of(columns):
    return pd.DataFrame(columns) if columns else pd.DataFrame(index=range(3))


def arrow_of(columns):
    if not columns:
        return pa.table({"x": [1, 2, 3]}).select([])
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def array_of(columns):
    return pandas_of(columns).to_numpy(dtype=float)


def made(way, columns, folder):
    """The rows in one of the ways."""
    if way in ("pandas", "array"):
        return {"pandas": pandas_of, "array": array_of}[way](columns)
    if way == "polars":
        return pl.DataFrame(columns, strict=False)
    path = folder / f"rows.{way}"
    if way == "npy":
        np.save(path, array_of(columns))
    elif way == "parquet":
        pq.write_table(arrow_of(columns), path)
    elif way == "csv":
        pyarrow.csv.write_csv(arrow_of(columns), path)
    return arrow_of(columns) if way == "arrow" else path


def said_of(case, make, way):
    """What is said of a case, with ``make(columns)`` for its rows."""
    km = KernelKMeans(**({"n_clusters": 2, "n_landmarks": 3, "random_state": 0} | case.options))
    if case.good is not None:
        km.fit(make(case.good))
    columns, weights = case.columns, None
    if way in (*FRAMES, "array") and "w" in columns:
        columns = {name: values for name, values in columns.items() if name != "w"}
        weights = case.columns["w"]

    def work():
        X = make(columns)
        if case.opened and way not in (*FRAMES, "array"):
            X = sources.open(X, **case.opened)
        if case.good is not None:
            found = km.predict(X)
            return LAZY[way](found) if way in LAZY else found
        return km.fit(X, sample_weight=weights)

    if case.warns:
        with pytest.warns(UserWarning, match="not (a )?feature") as caught:
            work()
        return "\n".join(str(warning.message) for warning in caught)
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        work()
    return str(raised.value)


def sentence(case, way):
    """What is said; arrays have no names of columns."""
    if way not in ("array", "npy"):
        return case.says
    return case.says.replace("in a (", "in column 0 (").replace("a is infinite", "column 0 is infinite")
