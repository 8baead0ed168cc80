"""Two files of labels compared: measures as scikit-learn has them, rows matched by ids or by order."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather
from pyarrow import parquet as pq
from sklearn import metrics

from apnc.evaluation import compare, count_rows, files


def write(path, **columns):
    table = pa.table(columns)
    writers = {".parquet": pq.write_table, ".csv": csv.write_csv, ".feather": feather.write_feather}
    writers[path.suffix](table, str(path))
    return path


def random_labels(n, k, c, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, c, n)
    return np.where(rng.random(n) < 0.6, y % k, rng.integers(0, k, n)), y


def purity(labels, y):
    return metrics.cluster.contingency_matrix(y, labels).max(axis=0).sum() / len(y)


CASES = {
    "usual": random_labels(1000, 4, 5),
    "many": random_labels(3000, 30, 7, seed=1),
    "equal": (np.arange(60) % 3, np.arange(60) % 3),
    "one cluster": (np.zeros(50, int), np.arange(50) % 4),
    "one class": (np.arange(50) % 4, np.zeros(50, int)),
    "one of each": (np.zeros(9, int), np.zeros(9, int)),
    "independent": (np.tile([0, 1], 50), np.repeat([0, 1], 50)),
    "all apart": (np.arange(20), np.zeros(20, int)),
    "each its own": (np.arange(20), np.arange(20)[::-1]),
    "one row": (np.array([3]), np.array([5])),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".feather"])
def test_measures_are_those_of_scikit_learn(case, suffix, tmp_path):
    labels, y = CASES[case]
    rows = np.arange(len(y))
    found = compare(
        write(tmp_path / f"labels{suffix}", row=rows, label=labels),
        write(tmp_path / f"truth{suffix}", truth=[f"class {v}" for v in y]),
    )
    nmi = metrics.normalized_mutual_info_score
    assert found.n_rows == len(y)
    assert found.nmi_geometric == pytest.approx(nmi(y, labels, average_method="geometric"))
    assert found.nmi_arithmetic == pytest.approx(nmi(y, labels))
    assert found.ari == pytest.approx(metrics.adjusted_rand_score(y, labels))
    assert found.purity == pytest.approx(purity(labels, y))
    expected = metrics.homogeneity_completeness_v_measure(y, labels)
    assert [found.homogeneity, found.completeness, found.v_measure] == pytest.approx(expected, abs=1e-12)


def test_the_table_is_in_the_order_of_numbers(tmp_path):
    labels, y = np.array([10, 9, 2, 10]), np.array(["b", "a", "a", "b"])
    found = compare(write(tmp_path / "l.csv", label=labels), write(tmp_path / "t.csv", klass=y))
    assert found.clusters == ("2", "9", "10")
    assert found.classes == ("a", "b")
    assert found.table.tolist() == [[1, 0], [1, 0], [0, 2]]


def test_pieces_of_different_lengths_meet(tmp_path, monkeypatch):
    labels, y = random_labels(5000, 6, 6)
    one, two = tmp_path / "l.parquet", tmp_path / "t.parquet"
    pq.write_table(pa.table({"label": labels}), one, row_group_size=700)
    pq.write_table(pa.table({"label": y}), two, row_group_size=333)
    monkeypatch.setattr(files, "PIECE_ROWS", 97)
    assert compare(one, two).ari == pytest.approx(metrics.adjusted_rand_score(y, labels))


def test_rows_are_matched_by_ids_in_any_order_and_format(tmp_path):
    labels, y = random_labels(2000, 4, 4)
    key = np.arange(2000)
    shuffled = np.random.default_rng(1).permutation(2000)
    one = write(tmp_path / "l.parquet", key=key, label=labels)
    two = write(tmp_path / "t.csv", klass=y[shuffled], key=key[shuffled])
    found = compare(one, write(tmp_path / "t2.csv", key=key[shuffled], klass=y[shuffled]))
    assert found.ids == ("key",)
    assert found.ari == pytest.approx(metrics.adjusted_rand_score(y, labels))
    assert compare(one, two).classes != found.classes, "the last column is the truth, whatever its name"


def test_row_is_an_id_too_and_several_columns_are_one(tmp_path):
    labels, y = random_labels(300, 3, 3)
    rows = np.arange(300)[::-1]
    one = write(tmp_path / "l.csv", row=np.arange(300), label=labels)
    two = write(tmp_path / "t.csv", row=rows, label=y[rows])
    assert compare(one, two).ari == pytest.approx(metrics.adjusted_rand_score(y, labels))
    pair = {"a": np.arange(300) // 10, "b": np.arange(300) % 10}
    one = write(tmp_path / "l2.csv", **pair, label=labels)
    two = write(tmp_path / "t2.parquet", **{k: v[rows] for k, v in pair.items()}, label=y[rows])
    found = compare(one, two)
    assert found.ids == ("a", "b")
    assert found.ari == pytest.approx(metrics.adjusted_rand_score(y, labels))


def test_rows_without_a_partner_are_counted_and_left_out(tmp_path):
    one = write(tmp_path / "l.csv", id=["a", "b", "c"], label=[0, 1, 2])
    two = write(tmp_path / "t.csv", id=["b", "c", "d", "e"], label=["x", "y", "z", "z"])
    found = compare(one, two)
    assert (found.n_rows, found.n_only_labels, found.n_only_truth) == (2, 1, 2)
    assert found.clusters == ("1", "2")
    assert found.classes == ("x", "y")


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool, str])
def test_a_truth_may_be_an_array(dtype, tmp_path):
    labels, y = random_labels(500, 2, 2)
    np.save(tmp_path / "t.npy", y.astype(dtype))
    one = write(tmp_path / "l.csv", row=np.arange(500), label=labels)
    assert compare(one, tmp_path / "t.npy").ari == pytest.approx(metrics.adjusted_rand_score(y, labels))


@pytest.mark.parametrize(
    ("labels", "truth", "message"),
    [
        ({"label": [0, 1]}, {"label": [0, 1, 1]}, "has 2 rows and .* has 3"),
        ({"row": [0, 1], "label": [0, None]}, {"label": [0, 1]}, "without a label"),
        ({"id": [1, 2], "label": [0, 1]}, {"id": [3, 4], "label": [0, 1]}, "no value in common.*1 and 3"),
        ({"id": [1, 2], "label": [0, 1]}, {"id": [1, 1], "label": [0, 1]}, "the same id, so they cannot"),
        ({"id": [1, 1], "label": [0, 1]}, {"id": [1, 2], "label": [0, 1]}, "two rows have the same id: 1"),
    ],
)
def test_what_cannot_be_compared_is_said(labels, truth, message, tmp_path):
    one, two = write(tmp_path / "l.csv", **labels), write(tmp_path / "t.csv", **truth)
    with pytest.raises(ValueError, match=message):
        compare(one, two)


def test_what_is_no_file_of_labels_is_said(tmp_path):
    one = write(tmp_path / "l.csv", label=[0, 1])
    np.save(tmp_path / "flat.npy", np.zeros((2, 2)))
    with pytest.raises(ValueError, match="shape \\(2, 2\\)"):
        compare(one, tmp_path / "flat.npy")
    (tmp_path / "t.jsonl").write_text("1\n2\n")
    with pytest.raises(ValueError, match="not from jsonl"):
        compare(one, tmp_path / "t.jsonl")
    with pytest.raises(FileNotFoundError):
        compare(one, tmp_path / "none.csv")
    pq.write_table(pa.table({"label": [[1], [2]]}), tmp_path / "lists.parquet")
    with pytest.raises(ValueError, match="neither labels nor ids"):
        compare(one, tmp_path / "lists.parquet")


def test_a_column_of_measurements_is_no_label(tmp_path, monkeypatch):
    monkeypatch.setattr("apnc.evaluation.counting.MOST_LABELS", 10)
    one = write(tmp_path / "l.csv", label=np.arange(20))
    with pytest.raises(ValueError, match="more than 10 different values"):
        compare(one, one)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".feather"])
def test_rows_are_counted(suffix, tmp_path):
    assert count_rows(write(tmp_path / f"l{suffix}", row=np.arange(123), label=np.zeros(123, int))) == 123
