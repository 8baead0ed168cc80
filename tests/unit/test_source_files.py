"""Files of arrays, sparse matrices and JSON lines give the rows that numpy, scipy, scikit-learn and json read."""

import bz2
import gzip
import json
import zipfile
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import apnc
from apnc.sources.missing import refuse_missing
from apnc.sources.pieces import MissingValuesError, SourceError

open_npy, open_npz, open_svmlight, open_json = (
    partial(apnc.open, format=format) for format in ("npy", "npz", "svmlight", "jsonl")
)
LENGTHS = (1, 7, 1000)


def decoded(source, n_rows):
    """All rows that a source delivers; pieces must follow each other without gaps."""
    parts, expected = [], 0
    for piece in source.pieces(n_rows):
        assert piece.start == expected
        assert 1 <= piece.n_rows <= n_rows
        expected += piece.n_rows
        parts.append(source.decode(piece).rows)
    return parts


def dense(source, n_rows=7):
    parts = decoded(source, n_rows)
    for part in parts:
        assert part.dtype == source.dtype
    return np.concatenate([p.toarray() if sparse.issparse(p) else p for p in parts])


def objects(source, n_rows=7):
    return [item for part in decoded(source, n_rows) for item in part]


def kept(source, n_rows=7):
    """Numbers of the rows that are not skipped."""
    numbers = []
    for piece in source.pieces(n_rows):
        mine = source.decode(piece).kept
        numbers += (
            range(piece.start, piece.start + piece.n_rows) if mine is None else (piece.start + mine).tolist()
        )
    return numbers


def cut(path, n_bytes):
    path.write_bytes(path.read_bytes()[:-n_bytes])
    return path


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(50, 4))


@pytest.fixture
def csr():
    rows = sparse.random_array((50, 9), density=0.3, random_state=np.random.default_rng(0))
    # From a dense array: scipy 1.13 draws 64-bit indices, which scikit-learn does not write.
    return sparse.csr_array(rows.toarray())


def saved(tmp_path, array, name="rows.npy"):
    np.save(tmp_path / name, array)
    return tmp_path / name


def text_file(tmp_path, text, name="rows.svm"):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return tmp_path / name


# .npy


@pytest.mark.parametrize("n_rows", LENGTHS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(50, 4), (1, 4), (50, 1), (1, 1)])
def test_npy_rows(tmp_path, n_rows, order, shape):
    path = saved(tmp_path, np.asarray(np.random.default_rng(1).normal(size=shape), order=order))
    source = open_npy(path)
    for _ in range(2):
        np.testing.assert_array_equal(dense(source, n_rows), np.load(path))
    assert (source.n_rows, source.n_columns, source.held) == (*shape, shape[1])
    assert all(source.matrix(piece)[0].flags.c_contiguous for piece in source.pieces(n_rows))


@pytest.mark.parametrize(
    "dtype", ["f2", "f4", "f8", ">f4", ">f8", "i1", "u1", "i2", ">i2", "i4", "u8", ">i8", "?", "g"]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_types(tmp_path, table, dtype, order):
    path = saved(tmp_path, np.asarray(10 * abs(table), dtype=dtype, order=order))
    source = open_npy(path)
    assert source.dtype == (np.float64 if dtype == "g" else np.dtype(dtype).newbyteorder("="))
    assert source.dtype.isnative
    np.testing.assert_array_equal(dense(source), np.load(path).astype(source.dtype))


def test_npy_without_rows_has_no_pieces(tmp_path):
    source = open_npy(saved(tmp_path, np.empty((0, 3))))
    assert (list(source.pieces(7)), source.n_columns) == ([], 3)


def test_npy_may_be_longer_than_its_header_says(tmp_path, table):
    path = saved(tmp_path, table)
    path.write_bytes(path.read_bytes() + b"more")
    np.testing.assert_array_equal(dense(open_npy(path)), table)


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_cut_off(tmp_path, table, order):
    path = saved(tmp_path, np.asarray(table, order=order))
    source = open_npy(path)
    cut(path, 5 * 8)
    found = 48 if order == "C" else 45
    with pytest.raises(SourceError, match=rf"rows\.npy: .*promises 50 rows of 4 float64.*holds {found}\."):
        open_npy(path)
    with pytest.raises(SourceError, match=rf"promises 50 rows.*holds {found}\."):
        list(source.pieces(7))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(5), r"shape \(5,\).*reshape\(-1, 1\)"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\), expected \(rows, features\)"),
        (np.zeros((5, 0)), r"shape \(5, 0\)"),
        (np.zeros((2, 2), dtype=complex), "complex"),
        (np.array([[None]]), "Python objects.*unpickled"),
        (np.zeros((2, 2), dtype=[("a", "f8")]), "structured"),
        (np.zeros((2, 2), dtype=[("a", object)]), "Python objects"),
        (np.zeros((2, 2), dtype=[("中", "f8")]), "structured"),
        (np.array([["a"]]), "holds <U1; save numbers"),
        (np.zeros((2, 2), dtype="M8[s]"), "datetime64"),
    ],
)
@pytest.mark.filterwarnings("ignore:Stored array in format 3.0")
def test_npy_that_holds_no_rows_is_refused(tmp_path, array, message):
    with pytest.raises(SourceError, match=rf"rows\.npy: .*{message}"):
        open_npy(saved(tmp_path, array))


@pytest.mark.parametrize(
    "content", [b"", b"\x93NUMPY", b"\x93NUMPY\x01\x00\x76\x00{'descr'", b"PK\x03\x04" * 9]
)
def test_not_npy(tmp_path, content):
    (tmp_path / "rows.npy").write_bytes(content)
    with pytest.raises(SourceError, match=r"rows\.npy: not a \.npy file, or a damaged one"):
        open_npy(tmp_path / "rows.npy")


@pytest.mark.parametrize("open_source", [open_npy, open_npz, open_svmlight, open_json])
def test_no_such_file(tmp_path, open_source):
    with pytest.raises(FileNotFoundError, match=r"absent\.file"):
        open_source(tmp_path / "absent.file")


@pytest.mark.parametrize("order", ["C", "F"])
def test_memmap_is_read_from_its_file(tmp_path, table, order):
    mapped = np.memmap(tmp_path / "raw", dtype="f4", mode="w+", shape=table.shape, offset=24, order=order)
    mapped[:] = table
    source = apnc.open(mapped)
    np.testing.assert_array_equal(dense(source), table.astype("f4"))
    assert next(source.pieces(7)).where.startswith(str(tmp_path / "raw"))
    loaded = np.load(saved(tmp_path, np.asarray(table, order=order)), mmap_mode="r")
    np.testing.assert_array_equal(dense(apnc.open(loaded)), table)


def test_views_of_memmaps_and_private_ones(tmp_path, table):
    path = saved(tmp_path, table)
    for view in (
        lambda m: m[5:],
        lambda m: m[::-2],
        lambda m: m[:, 1:3],
        lambda m: m.T,
        lambda m: m.reshape(25, 8),
    ):
        np.testing.assert_array_equal(dense(apnc.open(view(np.load(path, mmap_mode="r")))), view(table))
    private = np.load(path, mmap_mode="c")
    private[3] = 1
    np.testing.assert_array_equal(dense(apnc.open(private)), np.asarray(private))
    deleted = np.load(path, mmap_mode="r")
    path.unlink()
    np.testing.assert_array_equal(dense(apnc.open(deleted)), table)
    with pytest.raises(SourceError, match=r"np\.memmap of .*reshape\(-1, 1\)"):
        apnc.open(deleted[0])


# Missing and infinite values, in every format of numbers


def npy_of(tmp_path, table, **options):
    return open_npy(saved(tmp_path, table), **options)


def npz_of(tmp_path, table, **options):
    sparse.save_npz(tmp_path / "rows.npz", sparse.csr_array(table))
    return open_npz(tmp_path / "rows.npz", **options)


def svmlight_of(tmp_path, table, **options):
    """By hand: scikit-learn does not write NaN."""
    rows = ("0 " + " ".join(f"{j}:{value}" for j, value in enumerate(row)) for row in table.tolist())
    return open_svmlight(text_file(tmp_path, "\n".join(rows)), **options)


NUMBERS = [npy_of, npz_of, svmlight_of]


@pytest.mark.parametrize("n_rows", LENGTHS)
@pytest.mark.parametrize("make", NUMBERS)
def test_missing_values(tmp_path, table, make, n_rows):
    table[[3, 3, 20], [0, 2, 2]] = np.nan
    source = make(tmp_path, table)
    with pytest.raises(MissingValuesError, match=r"rows\.(npy|npz|svm), (row|line) \d"):
        decoded(source, n_rows)
    missing = source.count_missing(n_rows)
    assert (missing.counts.tolist(), missing.rows) == ([1, 0, 2] + [0] * (len(missing.counts) - 3), 2)
    with pytest.raises(SourceError, match=r"3 missing values in 2 rows, in column 0 \(1\), column 2 \(2\)"):
        refuse_missing(source, n_rows)
    source = make(tmp_path, table, drop_null=True)
    expected = np.flatnonzero(~np.isnan(table).any(axis=1))
    np.testing.assert_array_equal(dense(source, n_rows), table[expected])
    assert kept(source, n_rows) == expected.tolist()


@pytest.mark.parametrize("make", NUMBERS)
def test_infinite_values_are_refused_always(tmp_path, table, make):
    table[20, 2] = -np.inf
    place = "line 21" if make is svmlight_of else "row 20"
    with pytest.raises(SourceError, match=rf"rows\.\w+, {place}: column 2 is infinite"):
        decoded(make(tmp_path, table, drop_null=True), 7)


@pytest.mark.parametrize("make", NUMBERS)
def test_pieces_say_where(tmp_path, table, make):
    where = [piece.where for piece in make(tmp_path, table).pieces(20)]
    suffixes = (
        [", line 1", ", line 21", ", line 41"] if make is svmlight_of else [", row 0", ", row 20", ", row 40"]
    )
    assert [place[place.rindex(", ") :] for place in where] == suffixes


# .npz


@pytest.mark.parametrize("n_rows", LENGTHS)
@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i8", "?"])
def test_npz_rows(tmp_path, csr, n_rows, compressed, kind, dtype):
    path = tmp_path / "rows.npz"
    sparse.save_npz(path, kind((10 * csr).astype(dtype)), compressed=compressed)
    source = open_npz(path)
    expected = sparse.load_npz(path)
    for _ in range(2):
        np.testing.assert_array_equal(dense(source, n_rows), expected.toarray())
    assert (source.n_rows, source.n_columns, source.dtype) == (50, 9, expected.dtype)
    assert source.held == -(-expected.nnz // 50)


def archive_of(path, csr, **changed):
    """A CSR archive with some members changed, or left out if None."""
    members = {
        "data": csr.data,
        "indices": csr.indices,
        "indptr": csr.indptr,
        "shape": csr.shape,
        "format": b"csr",
    }
    np.savez(path, **{name: array for name, array in (members | changed).items() if array is not None})
    return path


@pytest.mark.parametrize("n_rows", LENGTHS)
def test_npz_rows_are_canonical(tmp_path, n_rows):
    """Columns out of order and given twice, empty rows, values behind the last row, foreign byte order."""
    changed = {
        "data": np.array([1, 2, 4, 8, 16], dtype=">f8"),
        "indices": np.array([2, 0, 2, 1, 0], dtype=">u4"),
        "indptr": np.array([0, 0, 3, 3, 4], dtype=">i8"),
        "shape": (4, 3),
    }
    source = open_npz(archive_of(tmp_path / "rows.npz", sparse.csr_array((4, 3)), **changed))
    np.testing.assert_array_equal(dense(source, n_rows), [[0, 0, 0], [2, 0, 5], [0, 0, 0], [0, 8, 0]])
    for piece in source.pieces(n_rows):
        for _ in range(2):
            assert source.matrix(piece)[0].has_canonical_format


@pytest.mark.parametrize(("dtype", "delivered"), [("f2", "f4"), ("g", "f8")])
def test_npz_types_that_scipy_cannot_compute_with(tmp_path, csr, dtype, delivered):
    source = open_npz(archive_of(tmp_path / "rows.npz", csr, data=csr.data.astype(dtype)))
    assert source.dtype == delivered
    np.testing.assert_allclose(dense(source), csr.toarray(), rtol=1e-3)


def test_npz_without_rows_or_values(tmp_path):
    assert list(npz_of(tmp_path, np.empty((0, 3))).pieces(7)) == []
    np.testing.assert_array_equal(dense(npz_of(tmp_path, np.zeros((3, 2)))), np.zeros((3, 2)))
    np.testing.assert_array_equal(dense(npz_of(tmp_path, np.ones((1, 2)))), np.ones((1, 2)))


@pytest.mark.parametrize("kind", ["csc", "coo", "bsr", "dia"])
def test_npz_of_other_formats(tmp_path, csr, kind):
    sparse.save_npz(tmp_path / "rows.npz", csr.asformat(kind))
    with pytest.raises(SourceError, match=rf"rows\.npz: .*{kind.upper()} format.*tocsr\(\)"):
        open_npz(tmp_path / "rows.npz")


def test_npz_of_dense_arrays(tmp_path, table):
    np.savez(tmp_path / "rows.npz", X=table, y=table[:, 0])
    with pytest.raises(SourceError, match=r"rows\.npz: holds the arrays X, y, not a sparse matrix.*as \.npy"):
        open_npz(tmp_path / "rows.npz")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"indptr": None}, r"member indptr\.npy is missing"),
        ({"data": None}, r"member data\.npy is missing"),
        ({"indptr": np.arange(7)}, r"member indptr\.npy: 7 values .*expected 51 integers for 50 rows"),
        ({"indptr": np.linspace(0, 1, 51)}, r"member indptr\.npy: 51 values of float64"),
        (
            {"indptr": np.r_[np.arange(50), 3]},
            r"member indptr\.npy: must ascend from 0, but does not at row 49",
        ),
        ({"indptr": np.arange(51) + 1}, r"member indptr\.npy: must ascend from 0"),
        ({"data": np.ones(3)}, r"data\.npy has 3 values, indices\.npy 135, but indptr\.npy says 135"),
        ({"data": np.ones(135, dtype=complex)}, r"member data\.npy: holds complex"),
        ({"data": np.full(135, None)}, r"member data\.npy: holds Python objects"),
        ({"data": np.ones((135, 1))}, r"member data\.npy: has shape \(135, 1\)"),
        ({"indices": np.ones(135)}, r"member indices\.npy: column numbers must be integers, found float64"),
        ({"shape": (50,)}, r"has shape \(50,\)"),
        ({"shape": (50, 0)}, r"has shape \(50, 0\)"),
    ],
)
def test_npz_that_contradicts_itself(tmp_path, csr, changed, message):
    assert csr.nnz == 135
    with pytest.raises(SourceError, match=rf"rows\.npz.*{message}"):
        open_npz(archive_of(tmp_path / "rows.npz", csr, **changed))


@pytest.mark.parametrize("wrong", [-1, 9])
def test_npz_with_a_column_outside(tmp_path, csr, wrong):
    indices = csr.indices.copy()
    indices[csr.indptr[20]] = wrong
    source = open_npz(archive_of(tmp_path / "rows.npz", csr, indices=indices))
    found = "(column index values|indices) must be (>= 0|< 9).*damaged"
    with pytest.raises(SourceError, match=rf"rows\.npz, rows 14 to 20: {found}"):
        decoded(source, 7)


@pytest.mark.parametrize("member", ["data", "indices", "indptr"])
@pytest.mark.parametrize("compressed", [True, False])
def test_npz_with_damaged_bytes(tmp_path, csr, member, compressed):
    path = tmp_path / "rows.npz"
    sparse.save_npz(path, csr, compressed=compressed)
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(f"{member}.npy")
    content = bytearray(path.read_bytes())
    content[info.header_offset + 30 + len(info.filename) + info.compress_size * 3 // 4] ^= 1
    path.write_bytes(content)
    with pytest.raises(SourceError, match=rf"rows\.npz, member {member}\.npy: .*damaged"):
        decoded(open_npz(path), 7)


def test_npz_cut_off_or_something_else(tmp_path, csr):
    path = tmp_path / "rows.npz"
    sparse.save_npz(path, csr)
    source = open_npz(path)
    cut(path, 30)
    for attempt in (lambda: open_npz(path), lambda: list(source.pieces(7))):
        with pytest.raises(SourceError, match=r"rows\.npz: File is not a zip file.*cut off"):
            attempt()


# svmlight


@pytest.mark.parametrize("n_rows", LENGTHS)
@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2"])
def test_svmlight_rows(tmp_path, csr, n_rows, zero_based, suffix):
    path = tmp_path / f"rows.svm{suffix}"
    with {"": open, ".gz": gzip.open, ".bz2": bz2.open}[suffix](path, "wb") as file:
        dump_svmlight_file(
            csr, np.arange(50), file, zero_based=zero_based, comment="a: 1:2", query_id=np.arange(50)
        )
    source = open_svmlight(path)
    expected, _ = load_svmlight_file(str(path))
    for _ in range(2):
        np.testing.assert_array_equal(dense(source, n_rows), expected.toarray())
    assert (source.n_rows, source.n_columns, source.zero_based) == (*expected.shape, zero_based)
    assert source.dtype == expected.dtype


def test_svmlight_comments_labels_and_blank_lines(tmp_path):
    text = "# head\n\n1 qid:3 1:2 3:4 # 9:9\r\n-1\n \t\n1,2\t2:5\n2:7 3:0\n3 1:1e-3"
    source = open_svmlight(text_file(tmp_path, text))
    expected = [[2, 0, 4], [0, 0, 0], [0, 5, 0], [0, 7, 0], [1e-3, 0, 0]]
    for n_rows in LENGTHS:
        np.testing.assert_array_equal(dense(source, n_rows), expected)
    assert [piece.where[-6:] for piece in source.pieces(2)] == ["line 3", "line 6", "line 8"]


def test_svmlight_without_rows_or_values(tmp_path):
    source = open_svmlight(text_file(tmp_path, "# nothing\n"))
    assert (list(source.pieces(7)), source.n_rows, source.n_columns) == ([], 0, 1)
    np.testing.assert_array_equal(dense(open_svmlight(text_file(tmp_path, "1\n2\n"))), [[0.0], [0.0]])
    np.testing.assert_array_equal(dense(open_svmlight(text_file(tmp_path, "1 0:4"))), [[4.0]])


def test_svmlight_number_of_columns(tmp_path):
    path = text_file(tmp_path, "1 1:2 3:4\n")
    source = open_svmlight(path)
    assert source.n_columns == 3
    wide = source.with_columns(5)
    assert (wide.n_columns, source.n_columns) == (5, 3)
    np.testing.assert_array_equal(dense(wide), [[2, 0, 4, 0, 0]])
    np.testing.assert_array_equal(dense(open_svmlight(path).with_columns(4)), [[2, 0, 4, 0]])
    np.testing.assert_array_equal(dense(open_svmlight(path, zero_based=True)), [[0, 2, 0, 4]])
    for attempt in (lambda: source.with_columns(2), lambda: open_svmlight(path).with_columns(2)):
        with pytest.raises(
            SourceError, match=r"rows\.svm: the largest index is 3, counted from 1, .* 2 features"
        ):
            attempt()
    with pytest.raises(SourceError, match=r"largest index is 3, counted from 0, .* 3 features"):
        open_svmlight(path, zero_based=True).with_columns(3)


def test_svmlight_zero_based_must_fit(tmp_path):
    path = text_file(tmp_path, "1 1:2\n1 0:4\n")
    np.testing.assert_array_equal(dense(open_svmlight(path)), [[0, 2], [4, 0]])
    with pytest.raises(SourceError, match=r"rows\.svm: index 0 occurs, but zero_based=False"):
        open_svmlight(path, zero_based=False)
    with pytest.raises(ValueError, match="zero_based='maybe' must be"):
        open_svmlight(path, zero_based="maybe")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 3:1 2:1", "sorted and unique"),
        ("1 2:1 2:1", "sorted and unique"),
        ("1 -2:1", "Invalid index -2"),
        ("1 2:x", "could not convert"),
        ("1 2:", "could not convert"),
        ("label 2:1", "could not convert"),
        ("1 x:1", "invalid literal"),
        ("1 2:1 x", "invalid literal"),
        ("1 2:1 3 4:1", "a part has no colon"),
        ("1 99999999999:1", "too large"),
    ],
)
def test_svmlight_bad_line(tmp_path, line, message):
    path = text_file(tmp_path, "1 1:1\n# comment\n\n1 1:1\n" + line + "\n1 1:1\n")
    with pytest.raises(SourceError, match=rf"rows\.svm, line 5: .*{message}.*index:value"):
        decoded(open_svmlight(path), 7)


def test_cut_off_compressed_text(tmp_path):
    lines = "".join(f"1 1:{i}\n" for i in np.random.default_rng(0).integers(0, 10**9, size=5000))
    path = tmp_path / "rows.svm.gz"
    path.write_bytes(gzip.compress(lines.encode())[:-1000])
    with pytest.raises(SourceError, match=r"rows\.svm\.gz, after line \d+: .*cut off"):
        open_svmlight(path)


# JSON lines

VALUES = [
    {"id": i, "tags": ["a", "é" * i], "w": i / 2, "x": None if i % 4 == 3 else {"n": i}} for i in range(50)
]
TEXT = "".join(json.dumps(value) + "\n" for value in VALUES)


@pytest.mark.parametrize("n_rows", LENGTHS)
def test_json_values(tmp_path, n_rows):
    source = open_json(text_file(tmp_path, TEXT, "rows.jsonl"))
    for _ in range(2):
        assert objects(source, n_rows) == [json.loads(line) for line in TEXT.splitlines()]
    assert (source.n_columns, source.dtype) == (0, None)
    assert source.held > 0
    assert source.read_bytes >= 5 * len(TEXT) // 50


def test_json_values_of_any_kind(tmp_path):
    text = b'\xef\xbb\xbf1\n\n  \r\n"a"\r\n[1, {}]\n{"b": 2.5}\ntrue\n"\xc3\xa9"'
    source = open_json(text_file(tmp_path, text, "rows.jsonl"))
    assert objects(source) == [1, "a", [1, {}], {"b": 2.5}, True, "é"]
    assert [piece.where[-6:] for piece in source.pieces(2)] == ["line 1", "line 5", "line 7"]
    for text in (b"", b"\n", b"\xef\xbb\xbf"):
        assert objects(open_json(text_file(tmp_path, text, "rows.jsonl"))) == []


def zstd(content):
    return pa.compress(content, codec="zstd", asbytes=True)


@pytest.mark.parametrize(
    ("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".zst", zstd)]
)
def test_json_compressed(tmp_path, suffix, compress):
    path = tmp_path / f"rows.jsonl{suffix}"
    path.write_bytes(compress(TEXT.encode()))
    for data in (path, path.as_uri()):
        assert objects(open_json(data)) == VALUES
    cut(path, 200)
    for data in (path, path.as_uri()):
        with pytest.raises(SourceError, match=rf"rows\.jsonl{suffix}, .*cut off"):
            objects(open_json(data))


def folder_of(tmp_path):
    lines = TEXT.splitlines(keepends=True)
    (tmp_path / "b").mkdir()
    for name, part in {
        "a.jsonl": lines[:3],
        "b/1.jsonl": lines[3:4],
        "b/2.jsonl": [],
        "b/_SUCCESS": ["no"],
    }.items():
        (tmp_path / name).write_text("".join(part))
    (tmp_path / "c.ndjson.gz").write_bytes(gzip.compress("".join(lines[4:]).encode()))
    return tmp_path


@pytest.mark.parametrize("n_rows", LENGTHS)
def test_json_folder(tmp_path, n_rows):
    folder = folder_of(tmp_path)
    for data in (
        folder,
        str(folder),
        folder.as_uri(),
        [folder / "a.jsonl", folder / "b", folder / "c.ndjson.gz"],
    ):
        assert objects(open_json(data), n_rows) == VALUES
    assert (
        objects(open_json("", filesystem=pa.fs.SubTreeFileSystem(str(folder), pa.fs.LocalFileSystem())))
        == VALUES
    )
    (folder / "b" / "1.jsonl").write_text("{}\n\n{")
    with pytest.raises(SourceError, match=r"b/1\.jsonl, line 3: .*cut off"):
        objects(open_json(folder))


def test_json_folder_of_something_else(tmp_path):
    with pytest.raises(SourceError, match=r"there are no data files in this folder"):
        open_json(tmp_path)
    text_file(tmp_path, "1,2", "b.csv")
    text_file(tmp_path, "1", "a.jsonl")
    with pytest.raises(SourceError, match=r"two formats: .*a\.jsonl is jsonl, .*b\.csv is csv"):
        open_json(tmp_path)
    with pytest.raises(FileNotFoundError, match="absent: there is no such file or folder"):
        open_json((tmp_path / "absent").as_uri())


@pytest.mark.parametrize("n_rows", LENGTHS)
def test_json_fields_ids_and_weights(tmp_path, n_rows):
    path = text_file(tmp_path, TEXT, "rows.jsonl")
    source = open_json(path, object_field="tags", id_columns=["id", "w"], weight_column="w")
    assert objects(source, n_rows) == [value["tags"] for value in VALUES]
    weights = np.concatenate([source.decode(piece).weights for piece in source.pieces(n_rows)])
    np.testing.assert_array_equal(weights, [value["w"] for value in VALUES])
    ids = list(source.ids(n_rows))
    assert [i for part in ids for i in part["id"].to_pylist()] == list(range(50))
    assert [w for part in ids for w in part["w"].to_pylist()] == [value["w"] for value in VALUES]
    assert max(len(part["id"]) for part in ids) <= n_rows
    with pytest.raises(SourceError, match=r"rows\.jsonl has no id columns"):
        open_json(path).ids(n_rows)


@pytest.mark.parametrize("n_rows", LENGTHS)
def test_json_missing_instances(tmp_path, n_rows):
    path = text_file(tmp_path, TEXT + "null\n", "rows.jsonl")
    source = open_json(path, object_field="x")
    with pytest.raises(MissingValuesError, match=r"rows\.jsonl, line \d"):
        decoded(source, n_rows)
    with pytest.raises(SourceError, match=r"rows\.jsonl: 13 missing values in 13 rows, in x \(13\)"):
        refuse_missing(source, n_rows)
    source = open_json(path, object_field="x", id_columns=["id"], drop_null=True)
    there = [value for value in VALUES if value["x"] is not None]
    assert objects(source, n_rows) == [value["x"] for value in there]
    assert kept(source, n_rows) == [value["id"] for value in there]
    assert [i for part in source.ids(n_rows) for i in part["id"].to_pylist()] == [*range(50), None]


@pytest.mark.parametrize(
    ("first", "other", "found"),
    [
        (1, "x7", "text, but the first one is a whole number"),
        ("x7", 1, "a whole number, but the first one is text"),
        (1, 2.5, "a number, but the first one is a whole number"),
        (1, [1], "must be text or a number, found \\[1\\]"),
        (1, 1 << 63, "must be text or a number"),
    ],
)
def test_json_ids_that_change_their_type_are_named_on_the_first_pass(tmp_path, first, other, found):
    lines = [json.dumps({"id": value, "x": "a"}) for value in [None, first, first, other]]
    source = open_json(
        text_file(tmp_path, "\n".join(lines), "rows.jsonl"), object_field="x", id_columns=["id"]
    )
    with pytest.raises(SourceError, match=rf"rows\.jsonl, line 4: the id 'id' .*{found}"):
        decoded(source, 2)


def test_json_ids_that_are_null_at_first(tmp_path):
    lines = [json.dumps({"id": value}) for value in [*[None] * 9, 7]]
    source = open_json(text_file(tmp_path, "\n".join(lines), "rows.jsonl"), id_columns=["id"])
    assert {str(part["id"].type) for part in source.ids(3)} == {"int64"}
    lines = [json.dumps({"id": None})] * 5
    source = open_json(text_file(tmp_path, "\n".join(lines), "none.jsonl"), id_columns=["id"])
    assert {str(part["id"].type) for part in source.ids(3)} == {"string"}


def test_json_missing_weights(tmp_path):
    path = text_file(tmp_path, '{"w": 1}\n{"w": null}\n{"w": 2}\n', "rows.jsonl")
    missing = open_json(path, weight_column="w").count_missing(7)
    assert (missing.counts.tolist(), missing.rows) == ([0, 1], 1)
    source = open_json(path, weight_column="w", drop_null=True)
    part = source.decode(next(source.pieces(7)))
    assert (part.rows, part.weights.tolist(), part.kept.tolist()) == ([{"w": 1}, {"w": 2}], [1, 2], [0, 2])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": }', r"Expecting value at character 7\. A line must be one whole JSON value"),
        ("1 2", "Extra data at character 3"),
        ("[", "Expecting value"),
        ("NaN", "NaN is not a JSON value; write null"),
        ('{"a": [-Infinity]}', "-Infinity is not a JSON value"),
        (b'"\xff"', "can't decode byte 0xff"),
        pytest.param("[" * 100_000, "recursion", id="deep"),
        ('{"b": 1, "c": 2}', "no field 'a'; found 'b', 'c'"),
        ("{}", "no field 'a'; found none"),
        ("[1]", "no field 'a'; the value has no fields, since it is a list"),
        ('{"a": 1}', "no field 'w'; found 'a'"),
        ('{"a": 1, "w": -1}', "the weight -1 must be a finite number >= 0"),
        ('{"a": 1, "w": true}', "the weight True must"),
        ('{"a": 1, "w": "2"}', "the weight '2' must"),
        ('{"a": 1, "w": 1e999}', "the weight inf must"),
    ],
)
def test_json_bad_line(tmp_path, line, message):
    line = line if isinstance(line, bytes) else line.encode()
    good = b'{"a": 1, "w": 1}\n'
    path = text_file(tmp_path, good + b"\n" + good + line + b"\n" + good, "rows.jsonl")
    with pytest.raises(SourceError, match=rf"rows\.jsonl, line 4: .*{message}"):
        objects(open_json(path, object_field="a", weight_column="w"))


def test_json_fields_are_looked_for_before_any_work(tmp_path):
    path = text_file(tmp_path, TEXT, "rows.jsonl")
    for options in ({"object_field": "y"}, {"weight_column": "y"}, {"id_columns": ["y"]}):
        with pytest.raises(SourceError, match=r"rows\.jsonl, line 1: no field 'y'; found 'id', 'tags'"):
            open_json(path, **options)
