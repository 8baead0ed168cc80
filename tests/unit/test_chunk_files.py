"""Files of chunks: they come back as they were, and a changed one is never used."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from apnc.engines.chunk_files import ChunkFolder, sound_chunk, write_chunk
from apnc.engines.contract import Chunk, RowRange, SourceRows
from apnc.engines.local import LocalChunks, split

TYPES = st.sampled_from([np.float32, np.float64, np.int32])


@st.composite
def chunks(draw):
    n, m = draw(st.integers(0, 20)), draw(st.integers(1, 5))
    rows = draw(arrays.arrays(draw(TYPES), (n, m)))
    start = draw(st.integers(0, 10**12))
    carry = draw(
        st.sampled_from(
            [
                RowRange(start, start + n),
                SourceRows(start, start + n),
                SourceRows(start, start + 2 * n, np.arange(n) * 2),
            ]
        )
    )
    return Chunk(draw(st.integers(0, 10**9)), rows, np.arange(n) / 7, carry)


def same(one, two):
    assert (one.index, type(one.carry), one.carry[:2]) == (two.index, type(two.carry), two.carry[:2])
    assert one.rows.dtype == two.rows.dtype
    np.testing.assert_array_equal(one.rows, two.rows)
    np.testing.assert_array_equal(one.weights, two.weights)
    kept = [getattr(chunk.carry, "kept", None) for chunk in (one, two)]
    assert (kept[0] is None) == (kept[1] is None)
    np.testing.assert_array_equal(*kept)


@given(chunk=chunks())
def test_a_chunk_comes_back(tmp_path_factory, chunk):
    folder = tmp_path_factory.mktemp("chunks")
    ChunkFolder(folder).save(chunk)
    again = ChunkFolder(folder)
    assert chunk.index in again
    assert not again.damaged
    same(again.load(chunk.index), chunk)


@given(chunk=chunks(), data=st.data())
def test_a_changed_file_is_not_sound(tmp_path_factory, chunk, data):
    path = tmp_path_factory.mktemp("chunk") / "one"
    with open(path, "wb") as file:
        write_chunk(file, chunk)
    content = bytearray(path.read_bytes())
    assert sound_chunk(path, chunk.index) is not None
    assert not sound_chunk(path, chunk.index + 1)
    where = data.draw(st.integers(0, len(content) - 1))
    content[where] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    assert not sound_chunk(path, chunk.index)


@pytest.mark.parametrize(
    "header",
    [
        b'{"index": 0, "rows": ["object", 1], "carry": ["RowRange", 0, 1], "kept": false}',
        b'{"index": 0, "rows": ["float64", 1000000000000], "carry": ["RowRange", 0, 1], "kept": false}',
        b'{"index": 0, "rows": ["float64", -1], "carry": ["RowRange", 0, 1], "kept": false}',
        b'{"index": 0, "rows": ["float64"], "carry": ["RowRange", 0, 1], "kept": false}',
        b'{"index": 0, "rows": ["float64", 1], "carry": ["RowRange", 0], "kept": false}',
        b'{"index": 0, "rows": ["float64", 1, 1], "carry": ["RowRange", 0, 2], "kept": false}',
        b'{"index": 0, "rows": ["float64", 1, 1], "carry": ["RowRange", 0, 9007199254740992], "kept": false}',
        b'{"index": true, "rows": ["float64", 1, 1], "carry": ["RowRange", 0, 1], "kept": false}',
        b'{"index": 0, "rows": ["float64", 0, 1000000000000000000000], "carry": ["RowRange", 0, 0], "kept": false}',
        b"[]",
        b"not JSON",
        b"[" * 4000,
    ],
)
def test_descriptions_are_checked_even_if_the_checksum_is_right(tmp_path, header):
    import hashlib

    from apnc.engines.chunk_files import MAGIC

    rest = header + b"\n" + bytes(16)
    path = tmp_path / "one"
    path.write_bytes(MAGIC + hashlib.blake2b(rest).hexdigest().encode() + b"\n" + rest)
    assert not sound_chunk(path, 0)


def test_only_missing_chunks_are_computed(tmp_path):
    X, computed = np.arange(40.0).reshape(20, 2), []

    def doubled(chunk):
        computed.append(chunk.index)
        return chunk.with_rows(chunk.rows * 2)

    def kept():
        store = ChunkFolder(tmp_path / "kept")
        rows = LocalChunks.of(X, np.ones(20), split(20, 5), 2, store=store)
        with rows.map(doubled).cached() as found:
            return [chunk.rows for chunk in found]

    first = kept()
    assert sorted(computed) == [0, 1, 2, 3]
    (tmp_path / "kept" / "00000002.chunk").unlink()
    computed.clear()
    np.testing.assert_array_equal(kept(), first)
    assert computed == [2]
    computed.clear()
    np.testing.assert_array_equal(kept(), first)
    assert not computed


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("apnc.engines.chunk_files.write_chunk", full)
    with pytest.raises(OSError, match=r"No space left on device\. Free some space"):
        ChunkFolder(tmp_path / "kept").save(Chunk(0, np.ones((1, 1)), np.ones(1), RowRange(0, 1)))
    assert not list((tmp_path / "kept").iterdir())
