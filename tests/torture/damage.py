"""Damage to bytes and text, drawn at random."""

import random
from collections.abc import Callable

#: Pieces that readers stumble over: numbers at the edges of types, control characters, separators, quotes.
NASTY = (
    b"\x00", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff\xff\xff\xff\xff", b"\x80", b"\r", b"\n", b"\r\n", b"\n\n\n",
    b"\xef\xbb\xbf", b"\xff\xfe", b"\x1b[31m\x1b]0;owned\x07", b",,,,,", b'"', b"'", b'"""', b"\t", b";", b"#", b"\\",
    b"nan", b"inf", b"-inf", b"1e999", b"-1", b"99999999999999999999", b"1_000", b"0x1F", b"1,5", b"true", b"null",
    b"\xe2\x80\xae", b"\xf0\x9f\x92\xa5", b"\xc3\x28", b"{", b"}", b"[", b"]", b"[" * 2000, b"a" * 5000, b"=", b":",
    b"4294967296:1", b"-3:1", b"__import__('os')", b"PAR1", b"ARROW1", b"PK\x03\x04", b"\x93NUMPY", b"2024-01-01",
)  # fmt: skip

Damage = Callable[[bytearray, random.Random], None]


def place(data: bytearray, rng: random.Random) -> int:
    """A position: headers and footers decide how files are read, so they are hit more often."""
    n = max(1, len(data))
    return rng.choice((rng.randrange(n), rng.randrange(min(n, 128)), n - 1 - rng.randrange(min(n, 128))))


def flip(data: bytearray, rng: random.Random) -> None:
    if data:
        data[place(data, rng)] ^= 1 << rng.randrange(8)


def overwrite(data: bytearray, rng: random.Random) -> None:
    start = place(data, rng)
    data[start : start + rng.randrange(1, 9)] = rng.randbytes(rng.randrange(1, 9))


def insert_nasty(data: bytearray, rng: random.Random) -> None:
    start = place(data, rng)
    data[start:start] = rng.choice(NASTY)


def replace_nasty(data: bytearray, rng: random.Random) -> None:
    start, piece = place(data, rng), rng.choice(NASTY)
    data[start : start + len(piece)] = piece


def cut(data: bytearray, rng: random.Random) -> None:
    del data[place(data, rng) :]


def drop(data: bytearray, rng: random.Random) -> None:
    start = place(data, rng)
    del data[start : start + rng.randrange(1, 200)]


def repeat(data: bytearray, rng: random.Random) -> None:
    start = place(data, rng)
    piece = bytes(data[start : start + rng.randrange(1, 300)])
    data[start:start] = piece * rng.choice((1, 2, 50))


def swap_lines(data: bytearray, rng: random.Random) -> None:
    lines = bytes(data).split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    data[:] = b"\n".join(lines)


def replace_token(data: bytearray, rng: random.Random) -> None:
    """A value of a line of text becomes something nasty."""
    lines = bytes(data).split(b"\n")
    i = rng.choice((0, rng.randrange(len(lines))))
    separator = next((s for s in (b",", b"\t", b" ", b"=") if s in lines[i]), b",")
    values = lines[i].split(separator)
    values[rng.randrange(len(values))] = rng.choice(NASTY)
    lines[i] = separator.join(values)
    data[:] = b"\n".join(lines)


DAMAGES: tuple[Damage, ...] = (
    flip, flip, overwrite, insert_nasty, replace_nasty, cut, drop, repeat, swap_lines, replace_token, replace_token,
)  # fmt: skip


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The bytes with one to four pieces of damage; now and then nothing is left, or nothing is sound."""
    if rng.random() < 0.02:
        return rng.choice((b"", b"\n", rng.randbytes(300), rng.choice(NASTY)))
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        rng.choice(DAMAGES)(out, rng)
    return bytes(out)
