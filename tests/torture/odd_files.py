"""Data files that are sound by their format and odd by their content."""

import io
import json
import random
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

CELLS = (
    "1", "-1", "0", "1.5", "1e308", "-1e308", "1e-320", "nan", "NaN", "inf", "", " ", "NA", "null", "x", "é", "true",
    "2024-01-01", '"a,b"', '""', "\x1b[31m", "9223372036854775807", "18446744073709551616", "1e400", "0x10", "1,5",
    "'", "\u202e", "a\tb", "=1+1", "٣",
)  # fmt: skip
HEADERS = ("a", "a", "b", "", " ", "label", "key", "a b", "é", "\x1b[2J", "`", "weight", "1", "x" * 300)
DTYPES = (
    "f2",
    "f4",
    "f8",
    ">f8",
    "f16",
    "c16",
    "i1",
    "u8",
    "i8",
    "?",
    "S3",
    "U2",
    "M8[s]",
    "O",
    "V4",
    "i4,f8",
)


def csv(rng: random.Random) -> bytes:
    width, n = rng.randrange(1, 6), rng.choice((0, 1, 2, 5, 40))
    separator = rng.choice((",", ",", "\t", ";", "|", "  "))
    end = rng.choice(("\n", "\r\n", "\r"))
    lines = [separator.join(rng.choice(HEADERS) for _ in range(width))]
    plain = rng.random()
    for _ in range(n):
        cells = [str(rng.gauss(0, 1)) if rng.random() < plain else rng.choice(CELLS) for _ in range(width)]
        lines.append(separator.join(cells[: rng.choice((width, width, width, width, 1))]))
    return (rng.choice(("", "", "\ufeff", "\n")) + end.join(lines) + rng.choice((end, ""))).encode()


def npy(rng: random.Random) -> bytes:
    shape = rng.choice(((), (0,), (7,), (0, 3), (9, 0), (9, 3), (40, 2), (4, 2, 2), (1, 1)))
    out = io.BytesIO()
    values = np.zeros(shape, dtype=np.dtype(rng.choice(DTYPES)))
    if values.dtype.kind in "fiu" and values.size:
        pool = np.array(
            [0, 1, 2, 3, 5, *rng.choices((np.nan, np.inf, 1e300, -1, 1e-310), k=rng.randrange(3))]
        )
        with np.errstate(all="ignore"):
            values = np.asarray(rng.choices(pool.tolist(), k=values.size)).reshape(shape).astype(values.dtype)
    np.save(out, values, allow_pickle=True)
    data = out.getvalue()
    if rng.random() < 0.4:
        sizes = ((10**12, 3), (-1, 3), (2**63, 2), (True, 2), (9, 3, 1), (1 << 40,), (10**30, 10**30))
        header = repr({"descr": "<f8", "fortran_order": False, "shape": rng.choice(sizes)}).encode() + b"\n"
        data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + rng.randbytes(72)
    return data


def npz(rng: random.Random) -> bytes:
    n, d, stored = 20, 5, 40
    parts = {
        "data": np.ones(stored),
        "indices": np.arange(stored, dtype=np.int32) % d,
        "indptr": np.arange(0, stored + 1, 2, dtype=np.int32),
        "shape": np.array([n, d]),
        "format": np.array(b"csr"),
    }
    for _ in range(rng.randrange(3)):
        name = rng.choice(list(parts) or ["data"])
        odd = [np.array([]), np.array([2**40, 3]), np.array([-1, -5]), np.array("csc"), np.array(1), np.eye(3),
               np.array([1, "x"], dtype=object), np.full(stored, np.nan), np.full(stored, 10**9), None]  # fmt: skip
        chosen = rng.choice(odd)
        parts.pop(name, None)
        if chosen is not None:
            parts[name] = chosen
    out = io.BytesIO()
    rng.choice((np.savez, np.savez_compressed))(out, **parts)
    return out.getvalue()


def svmlight(rng: random.Random) -> bytes:
    pairs = ("1:1", "2:0.5", "3:nan", "0:1", "-1:2", "2:", ":3", "1:1", "9999999:1", "99999999999999999999:1", "a:b",
             "qid:3", "# end", "1e3:2", "4:1e400", "\x1b[31m:1")  # fmt: skip
    odd = rng.random() * 0.3
    lines = []
    for _ in range(rng.choice((0, 1, 3, 30))):
        own = [rng.choice(pairs) if rng.random() < odd else f"{j}:{rng.random():.3f}" for j in range(1, 5)]
        lines.append(" ".join([rng.choice(("0", "1", "-1", "x", "")), *own]))
    return "\n".join(lines).encode()


def jsonl(rng: random.Random) -> bytes:
    odd = ("{}", "[]", "null", "1e999", "NaN", '"\\ud800"', '{"a": 1, "a": 2}', "[" * 5000, '"' + "x" * 9000 + '"',
           "9" * 6000, '{"text": 3}', "", " ", '"\x1b"', "'a'", '{"text": "b"}', "true", '"a" "b"')  # fmt: skip
    share = rng.random() * 0.3
    lines = [
        rng.choice(odd) if rng.random() < share else json.dumps(f"word{i}")
        for i in range(rng.choice((0, 1, 30)))
    ]
    return "\n".join(lines).encode()


def table(rng: random.Random) -> pa.Table:
    n = rng.choice((0, 1, 2, 40))
    makers: tuple[Callable[[], pa.Array], ...] = (
        lambda: pa.array([rng.gauss(0, 1) for _ in range(n)]),
        lambda: pa.array([rng.gauss(0, 1) for _ in range(n)], type=pa.float32()),
        lambda: pa.array([rng.randrange(-5, 5) for _ in range(n)], type=pa.int8()),
        lambda: pa.array([rng.choice((None, 1.5)) for _ in range(n)], type=pa.float64()),
        lambda: pa.array([rng.choice((float("nan"), float("inf"), 1e300)) for _ in range(n)]),
        lambda: pa.nulls(n),
        lambda: pa.array(["x"] * n),
        lambda: pa.array(["x"] * n).dictionary_encode(),
        lambda: pa.array([[1.0, 2.0]] * n),
        lambda: pa.array([[1.0] * (i % 3) for i in range(n)]),
        lambda: pa.array([{"p": 1}] * n),
        lambda: pa.array([True] * n),
        lambda: pa.array([2**63] * n, type=pa.uint64()),
        lambda: pa.array([0] * n, type=pa.timestamp("ns")),
        lambda: pa.array([1] * n).cast(pa.decimal128(30, 2)),
        lambda: pa.array([b"\x1b"] * n),
        lambda: pa.array([1.0] * n, type=pa.float16()),
    )
    columns = [rng.choice((makers[0], rng.choice(makers)))() for _ in range(rng.randrange(0, 5))]
    return pa.table(columns, names=[rng.choice(HEADERS) for _ in columns])


def parquet(rng: random.Random) -> bytes:
    out = io.BytesIO()
    pq.write_table(table(rng), out)
    return out.getvalue()


def arrow(rng: random.Random) -> bytes:
    out = io.BytesIO()
    pyarrow.feather.write_feather(table(rng), out)
    return out.getvalue()


#: Makers by the ending of the file.
ODD: dict[str, Callable[[random.Random], bytes]] = {
    ".csv": csv, ".tsv": csv, ".npy": npy, ".npz": npz, ".svmlight": svmlight, ".jsonl": jsonl, ".parquet": parquet,
    ".arrow": arrow,
}  # fmt: skip
