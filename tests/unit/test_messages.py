"""The same is said of the same rows, whatever holds them; tests/spark/test_messages.py has the same for Spark."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from apnc import KernelEmbedding, KernelKMeans, sources
from tests.contract import messages
from tests.contract.messages import CASES, GOOD, A, B, made, said_of, sentence


@pytest.mark.filterwarnings("ignore:residual_")
@pytest.mark.parametrize(("name", "way"), [(name, way) for name, case in CASES.items() for way in case.ways])
def test_one_sentence(name, way, tmp_path):
    said = said_of(CASES[name], lambda columns: made(way, columns, tmp_path), way)
    assert sentence(CASES[name], way) in said
    assert "HistGradientBoosting" not in said


def test_there_are_at_least_twenty():
    assert len(CASES) >= 20


@pytest.mark.parametrize("way", messages.ALL)
def test_what_is_left_out_does_not_count(way, tmp_path):
    odd = {
        "Unnamed: 0": [0, 1, 2, 3],
        "a": A,
        "town": list("wxyz"),
        "flag": [True, False, True, False],
        "b": B,
    }
    km = KernelKMeans(2, random_state=0)
    with pytest.warns(UserWarning, match="2 columns are not features: 'Unnamed: 0' .*, 'town'"):
        km.fit(made(way, odd, tmp_path))
    assert list(km.feature_names_in_) == ["a", "flag", "b"]
    X = np.c_[A, [1.0, 0, 1, 0], B]
    np.testing.assert_array_equal(km.labels_, KernelKMeans(2, random_state=0).fit(X).labels_)
    np.testing.assert_array_equal(km.predict(made(way, odd, tmp_path)), km.labels_)


@pytest.mark.parametrize("way", messages.FRAMES)
def test_lists_in_frames_are_rows(way, tmp_path):
    rows = [[a, b] for a, b in zip(A, B, strict=True)]
    km = KernelKMeans(2, random_state=0).fit(made(way, {"v": rows}, tmp_path))
    assert list(km.feature_names_in_) == ["v[0]", "v[1]"]
    np.testing.assert_array_equal(km.labels_, KernelKMeans(2, random_state=0).fit(np.array(rows)).labels_)
    np.testing.assert_array_equal(km.predict(made("parquet", {"v": rows}, tmp_path)), km.labels_)
    np.testing.assert_array_equal(km.predict(made(way, {"v": rows}, tmp_path)), km.labels_)


@pytest.mark.parametrize("way", messages.FRAMES)
def test_a_missing_list_is_missing_values(way, tmp_path):
    lists = made(way, {"v": [[1.0, 2.0], None, [3.0, 4.0], [5.0, 6.0]]}, tmp_path)
    with pytest.raises(ValueError, match=r"2 missing values in 1 row, in v\[0\] \(1\), v\[1\] \(1\)"):
        KernelKMeans(2).fit(lists)


@pytest.mark.parametrize("way", messages.ALL)
def test_more_columns_than_those_of_the_fit_are_passed_over(way, tmp_path):
    km = KernelKMeans(2, random_state=0).fit(made(way, GOOD, tmp_path))
    more = {"a": A, "x": B, "b": B, "t": list("wxyz")}
    np.testing.assert_array_equal(km.predict(made(way, more, tmp_path)), km.labels_)


def test_files_are_read_in_any_order_and_frames_in_that_of_the_fit(tmp_path):
    """Which is what scikit-learn asks of frames."""
    km = KernelKMeans(2, random_state=0).fit(pd.DataFrame(GOOD))
    other = {"b": B, "a": A}
    for way in messages.FILES:
        np.testing.assert_array_equal(km.predict(made(way, other, tmp_path)), km.labels_)
    for way in messages.FRAMES:
        with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
            km.predict(made(way, other, tmp_path))


def test_a_nameless_first_column_of_csv_is_an_index(tmp_path):
    pd.DataFrame(GOOD).to_csv(tmp_path / "x.csv")
    with pytest.warns(UserWarning, match=r"1 column is not a feature: '' \(an index\)"):
        km = KernelKMeans(2, random_state=0).fit(tmp_path / "x.csv")
    assert list(km.feature_names_in_) == ["a", "b"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "columns",
    [
        {"id": [3, 1, 2, 9]},
        {"number": [1, 2, 3, 4]},
        {"index": [0.5, 1.5, 3.5, 2.5]},
        {"humid": [1, 2, 3, 4]},
    ],
    ids=lambda columns: next(iter(columns)),
)
@pytest.mark.parametrize("way", messages.ALL)
def test_what_is_no_index_is_a_feature(way, columns, tmp_path):
    km = KernelEmbedding(random_state=0).fit(made(way, GOOD | columns, tmp_path))
    assert list(km.feature_names_in_) == ["a", "b", *columns]


@pytest.mark.filterwarnings("error")
def test_who_says_so_is_not_warned(tmp_path):
    path = made("parquet", GOOD | {"id": [0, 1, 2, 3], "t": list("wxyz")}, tmp_path)
    for options in ({"exclude": ["id", "t"]}, {"id_columns": ["id", "t"]}, {"columns": ["a", "b"]}):
        assert KernelKMeans(2).fit(sources.open(path, **options)).n_features_in_ == 2
    assert KernelKMeans(2).fit(sources.open(path, columns=["id", "a"])).n_features_in_ == 2


def test_the_index_of_a_frame_in_parquet_is_no_column(tmp_path):
    pd.DataFrame(GOOD, index=[4, 5, 6, 7]).to_parquet(tmp_path / "x.parquet")
    assert sources.open(tmp_path / "x.parquet").left_out == {}


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1, 2, 3], "a2": [4, 5, 6]}).set_axis(["a", "a"], axis=1),
        messages.pa.table([[1, 2, 3], [4, 5, 6]], names=["a", "a"]),
    ],
    ids=["pandas", "arrow"],
)
def test_columns_of_one_name(frame):
    with pytest.raises(ValueError, match=r"several columns with the name 'a'\. Rename or drop all but one"):
        KernelKMeans(2).fit(frame)


def test_columns_of_one_name_in_csv(tmp_path):
    (tmp_path / "x.csv").write_text("a,a\n1,2\n3,4\n")
    with pytest.raises(ValueError, match=r"several columns with the name 'a'\. Rename or drop all but one"):
        KernelKMeans(2).fit(tmp_path / "x.csv")


@pytest.mark.parametrize("kernel", ["cosine", "rbf"])
@pytest.mark.parametrize("container", [list, np.array, pd.Series, "jsonl"])
def test_text_is_told_of_vectors(kernel, container, tmp_path):
    words = ["one", "two", "three"]
    says = (
        f"kernel='{kernel}' needs vectors of numbers, not objects. Choose a kernel on objects (spectrum, ",
        "f(A, B) -> matrix of shape (len(A), len(B)). For text, scikit-learn's TfidfVectorizer makes vectors",
    )
    data = tmp_path / "words.jsonl"
    data.write_text("\n".join(map(json.dumps, words)))
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        KernelKMeans(2, kernel=kernel).fit(data if container == "jsonl" else container(words))
    assert all(part in str(raised.value) for part in says)


def test_numbers_beyond_float64(tmp_path):
    says = "is infinite, or too large for float64. Remove or clip it."
    (tmp_path / "x.csv").write_text(f"a,b\n1,2\n1{'0' * 400},3\n4,5\n")
    for data in (tmp_path / "x.csv", pd.DataFrame({"a": [1, 10**400, 3]}, dtype=object)):
        with pytest.raises(ValueError) as raised:  # noqa: PT011
            KernelKMeans(2).fit(data)
        assert says in str(raised.value)


@pytest.mark.parametrize("way", messages.ALL)
def test_decimals_are_numbers(way, tmp_path):
    from decimal import Decimal

    exact = {"a": [Decimal(10**20) * int(a) for a in A], "b": B}
    km = KernelKMeans(2, random_state=0).fit(made(way, exact, tmp_path))
    assert km.n_features_in_ == 2
    X = np.c_[1e20 * np.array(A), B]
    np.testing.assert_array_equal(km.labels_, KernelKMeans(2, random_state=0).fit(X).labels_)


def test_a_frame_of_polars_with_objects():
    frame = pl.DataFrame({"a": A, "o": pl.Series([object()] * 4, dtype=pl.Object)})
    with pytest.warns(UserWarning, match=r"1 column is not a feature: 'o' \(values of several types\)"):
        KernelKMeans(2).fit(frame)
