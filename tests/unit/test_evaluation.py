"""Two files of labels compared: measures as scikit-learn has them, rows matched by ids or by order."""

import itertools
import math
import pickle
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv, feather
from pyarrow import parquet as pq
from scipy.optimize import linear_sum_assignment
from sklearn import metrics

from apnc.evaluation import Comparison, compare, count_rows, label_files, matching, measures


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


def accuracy(labels, y):
    table = metrics.cluster.contingency_matrix(y, labels)
    return table[linear_sum_assignment(table, maximize=True)].sum() / len(y)


def comparison(labels, y):
    """Of two lists in memory."""
    clusters, classes = sorted(set(labels)), sorted(set(y))
    cells = Counter(zip(map(clusters.index, labels), map(classes.index, y), strict=True))
    cluster_of, class_of = np.array(list(cells)).T
    names = tuple(map(str, clusters)), tuple(map(str, classes))
    return Comparison(*names, cluster_of, class_of, np.array(list(cells.values())))


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
    assert found.nmi_max == pytest.approx(nmi(y, labels, average_method="max"))
    assert found.ari == pytest.approx(metrics.adjusted_rand_score(y, labels))
    assert found.accuracy == pytest.approx(accuracy(labels, y))
    assert found.purity == pytest.approx(purity(labels, y))
    expected = metrics.homogeneity_completeness_v_measure(y, labels)
    assert [found.homogeneity, found.completeness, found.v_measure] == pytest.approx(expected, abs=1e-12)


PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=60)


@given(PAIRS, st.booleans())
def test_measures_of_any_labels(pairs, swapped):
    labels, y = zip(*pairs, strict=True)
    labels, y = (y, labels) if swapped else (labels, y)
    found = comparison(labels, y)
    nmi = metrics.normalized_mutual_info_score
    for name in ("geometric", "arithmetic", "max"):
        expected = nmi(y, labels, average_method=name)
        assert getattr(found, f"nmi_{name}") == pytest.approx(expected, abs=1e-9)
    assert found.ari == pytest.approx(metrics.adjusted_rand_score(y, labels))
    assert found.nmi_max <= found.nmi_arithmetic + 1e-12
    assert found.nmi_arithmetic <= found.nmi_geometric + 1e-12


@given(PAIRS, st.booleans())
def test_accuracy_is_that_of_the_best_of_all_matchings(pairs, swapped):
    labels, y = zip(*pairs, strict=True)
    labels, y = (y, labels) if swapped else (labels, y)
    found = comparison(labels, y)
    table = found.table if len(found.clusters) <= len(found.classes) else found.table.T
    matchings = itertools.permutations(range(table.shape[1]), table.shape[0])
    assert found.accuracy == max(table[range(len(chosen)), chosen].sum() for chosen in matchings) / len(pairs)
    assert found.accuracy <= found.purity + 1e-12


def test_too_many_clusters_and_classes_are_not_matched(monkeypatch):
    monkeypatch.setattr(measures, "MOST_MATCHED", 3)
    assert comparison([0, 1, 2, 3], [0, 1, 2, 2]).accuracy == 1.0 - 1 / 4
    assert math.isnan(comparison([0, 1, 2, 3], [0, 1, 2, 3]).accuracy)


def test_the_rand_index_is_exact_for_counts_whose_squares_overflow():
    half = 3_000_000_000
    cells = np.array([half, 1, 1, half])
    found = Comparison(("0", "1"), ("a", "b"), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), cells)
    assert found.ari == pytest.approx(1, abs=1e-8)
    assert found.accuracy == half / (half + 1)


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
    monkeypatch.setattr(label_files, "PIECE_ROWS", 97)
    assert [len(piece) for piece in label_files.LabelFile.open(one).read()] == [97] * 51 + [53]
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


IDS = st.text("a1\0é-", max_size=20)


@pytest.mark.parametrize("columns", [1, 2])
@given(data=st.data())
def test_rows_are_found_by_any_ids(columns, data, tmp_path_factory):
    rows = st.lists(st.tuples(*[IDS] * columns), min_size=1, max_size=30, unique=True)
    truth, labels = data.draw(rows), data.draw(rows)
    folder = tmp_path_factory.mktemp("ids")
    names = ["one", "two"][:columns]
    tables = [
        {**dict(zip(names, zip(*keys, strict=True), strict=True)), "label": list(map(repr, keys))}
        for keys in (labels, truth)
    ]
    files_ = [
        write(folder / name, **table) for name, table in zip(["l.parquet", "t.parquet"], tables, strict=True)
    ]
    common = set(truth) & set(labels)
    if not common:
        with pytest.raises(ValueError, match="no value in common"):
            compare(*files_)
        return
    found = compare(*files_)
    assert found.clusters == found.classes == tuple(sorted(map(repr, common)))
    assert found.table.tolist() == np.eye(len(common)).tolist()
    assert (found.n_only_labels, found.n_only_truth) == (len(labels) - len(common), len(truth) - len(common))


def test_ids_of_the_same_hash_are_told_apart(tmp_path, monkeypatch):
    """The first hash is the same for many ids, a second one for none."""
    mixed = matching._mixed

    def weak(hashes, texts):
        return mixed(hashes, texts) % np.uint64(3) if not hashes.any() else mixed(hashes, texts)

    monkeypatch.setattr(matching, "_mixed", weak)
    labels, y = random_labels(50, 4, 4)
    key = [f"row {i}" for i in range(50)]
    index = matching.Index(
        label_files.LabelFile.open(write(tmp_path / "t.parquet", key=key, label=y)), ["key"]
    )
    assert index._seed == 1
    assert index.find(
        pa.table({"key": pa.array(["row 7", "none", "row 49"], pa.large_string())})
    ).tolist() == [7, -1, 49]
    two = write(tmp_path / "two.parquet", key=[*key, "row 8"], label=[*y, 0])
    with pytest.raises(ValueError, match="two rows have the same key: row 8"):
        compare(write(tmp_path / "l.parquet", key=key, label=labels), two)


def test_an_id_of_which_the_hash_alone_is_there_is_not_found(tmp_path, monkeypatch):
    monkeypatch.setattr(matching, "_mixed", lambda hashes, texts: np.zeros(len(texts), np.uint64))
    one, two = (
        write(tmp_path / "l.csv", id=["a", "b"], label=[0, 1]),
        write(tmp_path / "t.csv", id=["b"], label=[1]),
    )
    found = compare(one, two)
    assert (found.clusters, found.n_only_labels) == (("1",), 1)


def test_missing_ids_are_empty_ones(tmp_path):
    one = write(tmp_path / "l.parquet", a=[1, 1, 2], b=["x", None, "x"], label=[0, 1, 2])
    two = write(tmp_path / "t.csv", a=[2, 1, 1], b=["x", "", "x"], label=[20, 10, 0])
    assert compare(one, two).table.tolist() == np.eye(3).tolist()


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


def test_a_truth_may_be_in_an_archive(tmp_path):
    labels, y = random_labels(500, 4, 4)
    one, path = write(tmp_path / "l.csv", row=np.arange(500), label=labels), tmp_path / "t.npz"
    expected = pytest.approx(metrics.adjusted_rand_score(y, labels))
    np.savez(path, y)
    assert compare(one, path).ari == expected
    for name in label_files.ARRAYS:
        np.savez_compressed(path, X=np.zeros((500, 2)), **{name: y.astype(">i4")})
        assert compare(one, path).ari == expected
    assert compare(path, one).ari == expected


def test_an_archive_without_clear_labels_is_said(tmp_path):
    one, path = write(tmp_path / "l.csv", label=[0, 1]), tmp_path / "t.npz"
    for arrays in ({"X": [0, 1], "rows": [1, 2]}, {"y": [0, 1], "labels": [0, 1]}, {}):
        np.savez(path, **arrays)
        listed = ", ".join(arrays) or "\\(none\\)"
        with pytest.raises(ValueError, match=rf"t.npz: holds the arrays {listed}, .* numpy.save"):
            compare(one, path)
    np.savez(path, y=np.zeros((2, 2), int))
    with pytest.raises(ValueError, match=r"t.npz, array y: .* got int64 of shape \(2, 2\)"):
        compare(one, path)
    np.savez(path, y=np.arange(1000))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"t.npz: .* damaged or cut off"):
        compare(one, path)


class Trap:
    """Unpickling it is noticed."""

    def __reduce__(self):
        return (pytest.fail, ("it was unpickled",))


@pytest.mark.parametrize("name", ["t.npy", "t.npz"])
def test_objects_are_not_unpickled(name, tmp_path):
    one, objects = write(tmp_path / "l.csv", label=[0]), np.array([Trap()], dtype=object)
    (np.save if name == "t.npy" else np.savez)(tmp_path / name, objects)
    with pytest.raises(ValueError, match=rf"{name}.*: labels must be whole numbers or text .* got object"):
        compare(one, tmp_path / name)
    (tmp_path / name).write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ValueError, match=name):
        compare(one, tmp_path / name)


@pytest.mark.parametrize("content", ["id\rx,label\n1,2\n", "id,label\r1,2\r"])
def test_a_lone_carriage_return_in_the_first_line_is_said(content, tmp_path):
    (tmp_path / "l.csv").write_bytes(content.encode())
    with pytest.raises(
        ValueError, match=r"l.csv: the first line has a carriage return .* Save the file with Unix"
    ):
        compare(tmp_path / "l.csv", tmp_path / "l.csv")


@pytest.mark.parametrize("n_rows", [1, 2])
def test_an_id_of_two_pieces_is_refused(n_rows, tmp_path, monkeypatch):
    monkeypatch.setattr(label_files, "PIECE_ROWS", n_rows)
    one = write(tmp_path / "l.csv", id=[1, 2, 3, 2], label=[0, 1, 1, 0])
    with pytest.raises(ValueError, match=r"l.csv: two rows have the same id: 2. .* leave one of them out"):
        compare(one, write(tmp_path / "t.csv", id=[1, 2, 3], label=[0, 1, 1]))


@pytest.mark.parametrize(
    ("labels", "truth", "message"),
    [
        ({"label": [0, 1]}, {"label": [0, 1, 1]}, "has 2 rows and .* has 3"),
        ({"row": [0, 1], "label": [0, None]}, {"label": [0, 1]}, "without a label"),
        ({"id": [1, 2], "label": [0, 1]}, {"id": [3, 4], "label": [0, 1]}, "no value in common.*1 and 3"),
        ({"id": [], "label": []}, {"id": [3, 4], "label": [0, 1]}, "in common .*no rows and 3"),
        ({"id": [3, 4], "label": [0, 1]}, {"id": [], "label": []}, "t.csv has no rows"),
        ({"label": []}, {"label": []}, "l.csv and .*t.csv have no rows"),
        (
            {"id": [1, 2], "label": [0, 1]},
            {"id": [1, 1], "label": [0, 1]},
            "t.csv: two rows have the same id: 1",
        ),
        (
            {"id": [1, 1], "label": [0, 1]},
            {"id": [1, 2], "label": [0, 1]},
            "l.csv: two rows have the same id: 1",
        ),
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
    with pytest.raises(ValueError, match="cannot be used as labels or ids"):
        compare(one, tmp_path / "lists.parquet")


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_each_column_is_there_once(suffix, tmp_path):
    two = tmp_path / f"two{suffix}"
    writer = pq.write_table if suffix == ".parquet" else csv.write_csv
    writer(pa.table([[1], [2], [3]], names=["id", "id", "label"]), two)
    with pytest.raises(ValueError, match="2 columns are called 'id'"):
        compare(two, two)
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder / f"a{suffix}", id=[1], label=[0])
    write(folder / f"b{suffix}", id=[1], other=[0])
    with pytest.raises(ValueError, match=rf"b{suffix}: there is no column 'label'"):
        compare(folder, folder)


def test_a_column_of_measurements_is_no_label(tmp_path, monkeypatch):
    monkeypatch.setattr("apnc.evaluation.counting.MOST_LABELS", 10)
    one = write(tmp_path / "l.csv", label=np.arange(20))
    with pytest.raises(ValueError, match="more than 10 distinct values"):
        compare(one, one)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".feather"])
def test_rows_are_counted(suffix, tmp_path):
    assert count_rows(write(tmp_path / f"l{suffix}", row=np.arange(123), label=np.zeros(123, int))) == 123
