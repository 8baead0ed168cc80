"""Mutations of a container: its bytes, its zip, its schema and its arrays; with or without right checksums."""

import hashlib
import io
import json
import random
import struct
import sys
import tokenize
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.torture.damage import damaged

SCHEMA = "schema.json"
#: A module that must never be imported; nothing of this name exists, so that an attempt is an event.
CANARY = "torture_canary"
DAMAGED, FORGED = "damaged", "forged"
Members = dict[str, bytes]


@dataclass(frozen=True)
class Mutation:
    """What was done: ``family`` is "damaged" if a checksum can tell, "forged" if the file looks right."""

    family: str
    said: str


def members_of(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def mutate(specimen: Path, path: Path, rng: random.Random) -> Mutation:
    """Write a mutated copy of a sound file."""
    ways: list[tuple[Callable[[Path, Path, random.Random], Mutation], int]] = [
        (of_bytes, 2), (of_zip, 2), (of_unsigned, 1), (of_schema, 6), (of_arrays, 5), (of_both, 1),
    ]  # fmt: skip
    return rng.choices([way for way, _ in ways], [weight for _, weight in ways])[0](specimen, path, rng)


def of_bytes(specimen: Path, path: Path, rng: random.Random) -> Mutation:
    """Bytes of the file, anywhere."""
    path.write_bytes(damaged(specimen.read_bytes(), rng))
    return Mutation(DAMAGED, "bytes")


def of_unsigned(specimen: Path, path: Path, rng: random.Random) -> Mutation:
    """Bytes of a member other than the schema, in a zip that is right."""
    members = members_of(specimen)
    name = rng.choice([name for name in members if name != SCHEMA])
    members[name] = damaged(members[name], rng)
    write(path, members)
    return Mutation(DAMAGED, f"bytes of {name}")


def of_zip(specimen: Path, path: Path, rng: random.Random) -> Mutation:
    """The archive: compressed, twice, renamed, missing, more, linked, in another order, with a comment."""
    members = members_of(specimen)
    name = rng.choice(list(members))
    way = rng.choice(
        ("deflated", "twice", "renamed", "missing", "more", "link", "order", "comment", "before", "utf-8")
    )
    infos = [(zipfile.ZipInfo(one), data) for one, data in members.items()]
    if way == "renamed":
        odd = rng.choice(
            ("../x.npy", "/etc/x", "a/b.npy", "x\x00.npy", "é.npy", "", "X.NPY", "con", "schema.json ")
        )
        infos = [(zipfile.ZipInfo(odd) if info.filename == name else info, data) for info, data in infos]
    elif way == "missing":
        infos = [(info, data) for info, data in infos if info.filename != name]
    elif way == "more":
        infos.append(
            (zipfile.ZipInfo(rng.choice(("more.npy", "__init__.py", "x.pkl", ".hidden"))), b"import os")
        )
    elif way == "twice":
        infos.append((zipfile.ZipInfo(name), members[name]))
    elif way == "order":
        rng.shuffle(infos)
    with zipfile.ZipFile(path, "w") as archive:
        for info, data in infos:
            info.compress_type = zipfile.ZIP_DEFLATED if way == "deflated" and info.filename == name else 0
            info.external_attr = (0o120777 if way == "link" and info.filename == name else 0o644) << 16
            archive.writestr(info, data)
        if way == "comment":
            archive.comment = rng.randbytes(rng.randrange(1, 60_000))
    if way == "before":
        path.write_bytes(rng.randbytes(rng.randrange(1, 500)) + path.read_bytes())
    return Mutation(DAMAGED, f"zip: {way} {name}")


def of_schema(specimen: Path, path: Path, rng: random.Random) -> Mutation:
    """Fields of the schema."""
    members = members_of(specimen)
    schema = json.loads(members[SCHEMA])
    said = [change_field(schema, rng) for _ in range(rng.choice((1, 1, 1, 2)))]
    text = json.dumps(schema)
    if rng.random() < 0.05:
        text = text.replace("{", '{"type": "Model", ', 1)
    members[SCHEMA] = text.encode("utf-8", "surrogatepass")
    write(path, members)
    return Mutation(FORGED, f"schema: {'; '.join(said)}")


def of_arrays(specimen: Path, path: Path, rng: random.Random) -> Mutation:
    """Arrays and lines, with right checksums."""
    members = members_of(specimen)
    names = [name for name in members if name != SCHEMA]
    said = [change_member(members, rng.choice(names), rng) for _ in range(rng.choice((1, 1, 2)))]
    write(path, signed(members))
    return Mutation(FORGED, f"members: {'; '.join(said)}")


def of_both(specimen: Path, path: Path, rng: random.Random) -> Mutation:
    """An array and a field."""
    members = members_of(specimen)
    said = change_member(members, rng.choice([name for name in members if name != SCHEMA]), rng)
    members = signed(members)
    schema = json.loads(members[SCHEMA])
    said += "; " + change_field(schema, rng)
    members[SCHEMA] = json.dumps(schema).encode("utf-8", "surrogatepass")
    write(path, members)
    return Mutation(FORGED, said)


def signed(members: Members) -> Members:
    """Sizes and checksums in the schema as they should be."""
    schema = json.loads(members[SCHEMA])
    schema["members"] = {
        name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in members.items()
        if name != SCHEMA
    }
    return {**members, SCHEMA: json.dumps(schema).encode()}


def write(path: Path, members: Members) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)


# Fields

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 1 << 31, 1 << 53, (1 << 53) + 1, -(1 << 63), 10**400, 0.0, -0.0, 0.5, -1.5,
    1e-320, 1e-300, 1e300, 1.7e308, float("nan"), float("inf"), "", "x", "a\x1b[31m", "\x00", "\ud800", "é" * 300,
    "rbf", "linear", "chi2", "polynomial", "cosine", "laplacian", "sigmoid", "auto", "../../etc/passwd", "x" * 100_000,
    f"{CANARY}:run", "os:system", "builtins:eval", "Model", "Block", "VectorKernel", "CallableKernel",
    "NormalizedKernel", "PrecomputedKernel", "NeighbourBlock", "Manhattan", "Euclidean", "csr_array", "csr_matrix",
    "KernelKMeans", "SpectralClustering", "KernelEmbedding", [], [1, 2], [None], {}, {"type": "Model"},
    {"type": "CallableKernel", "function": f"{CANARY}:run", "params": {}, "witness": None},
    {"type": "GivenRows"}, [[[[]]]], "4XB", "2GB", "stable", "standard", "minmax", "unit", [0], [10**9, 10**9],
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to all fields and items of a JSON value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in pairs for place in ((*path, key), *places(item, (*path, key)))]


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def change_field(schema: dict[str, Any], rng: random.Random) -> str:
    """One field gets another value, is removed, renamed, wrapped, nudged or joined by another."""
    # The list of members is the longest part, and the least interesting.
    known = [place for place in places(schema) if place[0] != "members" or rng.random() < 0.03]
    place = rng.choice(known or [("format",)])
    holder, key = at(schema, place[:-1]), place[-1]
    old = at(schema, place) if known else None
    way = rng.choice(("value", "value", "value", "remove", "rename", "wrap", "nudge", "add", "copy"))
    if way == "remove":
        holder.pop(key, None) if isinstance(holder, dict) else holder.pop(key)
    elif way == "rename" and isinstance(holder, dict):
        holder[rng.choice(("type", "x", f"{key}_", "__class__"))] = holder.pop(key, None)
    elif way == "add" and isinstance(old, dict | list):
        old.update({"extra": 1}) if isinstance(old, dict) else old.append(rng.choice(VALUES))
    else:
        new = {"wrap": rng.choice(([old], {"type": old}, {"x": old})), "nudge": nudged(old, rng),
               "copy": at(schema, rng.choice(known)) if known else None}  # fmt: skip
        # A copy: a value that is in two places, or in itself, is no JSON.
        holder[key] = json.loads(json.dumps(new[way] if way in new else rng.choice(VALUES)))
        return f"{way} {'.'.join(map(str, place))} = {holder[key]!r:.60}"
    return f"{way} {'.'.join(map(str, place))}"


def nudged(value: Any, rng: random.Random) -> Any:
    """A value close to the old one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value[:-1] if isinstance(value, str | list) else value
    # Earlier changes may have made it a number that float64 cannot hold.
    number = float(value) if abs(value) < sys.float_info.max else 0.0
    return rng.choice((value + 1, value - 1, -value, value * 2, number * 1e10, number * 1e-10, number / 3))


# Members

DTYPES = ("f2", "f4", "f8", ">f8", "f16", "c16", "i1", "u1", "i4", "i8", "u8", "?", "S8", "U2", "M8[s]", "V8")
ODD_VALUES = (
    0.0,
    -0.0,
    -1.0,
    1e-320,
    1e-200,
    1e30,
    1e154,
    1e200,
    1e300,
    1.7e308,
    np.nan,
    np.inf,
    -np.inf,
    2.0**63,
)


def change_member(members: Members, name: str, rng: random.Random) -> str:
    if not name.endswith(".npy"):
        lines = members[name].split(b"\n")
        lines[rng.randrange(len(lines))] = rng.choice(
            (
                b"",
                b"null",
                b"1e999",
                b"[" * 3000,
                b'"\\ud800"',
                b"{",
                b'{"a":1,"a":2}',
                b"9" * 9000,
                b'"x"',
                b"\xff",
            )
        )
        members[name] = b"\n".join(lines)
        return f"a line of {name}"
    try:
        array = np.load(io.BytesIO(members[name]))
    except (ValueError, TypeError, OverflowError, SyntaxError, MemoryError, tokenize.TokenError):
        return f"nothing more of {name}, which was changed before"
    way = rng.choice(
        (values_changed, values_changed, values_changed, shape_changed, type_changed, header_changed)
    )
    said, members[name] = way(array, rng)
    return f"{said} of {name}"


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


def values_changed(array: np.ndarray, rng: random.Random) -> tuple[str, bytes]:
    changed = array.copy()
    way = rng.choice(("one", "all", "scaled", "shuffled", "negated", "zeroed"))
    with np.errstate(all="ignore"):
        odd = np.asarray(rng.choice(ODD_VALUES)).astype(array.dtype)
        if way == "one" and array.size:
            changed.reshape(-1)[rng.randrange(array.size)] = odd
        elif way == "all":
            changed[...] = odd
        elif way == "scaled" and array.dtype.kind in "biufc":
            changed = (changed * rng.choice((1e-300, 1e-30, 1e10, 1e100, 1e300))).astype(array.dtype)
        elif way == "shuffled":
            changed = (
                np.random.default_rng(rng.randrange(1 << 30)).permutation(changed) if array.ndim else changed
            )
        else:
            changed = -changed if way == "negated" and array.dtype.kind in "if" else np.zeros_like(changed)
    return f"values ({way}, {odd})", npy(changed)


def shape_changed(array: np.ndarray, rng: random.Random) -> tuple[str, bytes]:
    ways = [array[:-1], array[:0], array.reshape(-1), array[None], array.T, np.concatenate([array, array])]
    ways += [array[:, :-1], array[:, :0]] if array.ndim == 2 else []
    chosen = np.asfortranarray(array) if rng.random() < 0.1 else rng.choice(ways)
    return f"shape {chosen.shape} for {array.shape}", npy(chosen)


def type_changed(array: np.ndarray, rng: random.Random) -> tuple[str, bytes]:
    if rng.random() < 0.1:
        return "pickles", npy(np.array([Bomb()], dtype=object))
    dtype = np.dtype(rng.choice(DTYPES))
    try:
        with np.errstate(all="ignore"):
            return f"type {dtype}", npy(array.astype(dtype))
    except (TypeError, ValueError):
        return f"type {dtype}", npy(np.zeros(array.shape, dtype=dtype))


def header_changed(array: np.ndarray, rng: random.Random) -> tuple[str, bytes]:
    """A header that claims something else than the values."""
    shape = rng.choice(((10**12,), (-1,), (2**63, 2**63), (0, 10**15), (), (True,), ("x",), array.shape * 40))
    descr = rng.choice(("<f8", "<f8", "|O", "<U9999999", "[('a', '<f8')]", "<m8", "z"))
    odd = repr({"descr": descr, "fortran_order": rng.choice((False, True, 3)), "shape": shape})
    text = rng.choice((odd, odd, "(" * 500, f"__import__('{CANARY}')", "{}", "\x00" * 40)).encode()
    version = rng.choice((b"\x01\x00", b"\x02\x00", b"\x09\x00"))
    size = struct.pack("<H" if version == b"\x01\x00" else "<I", len(text) + 1)
    return "header", b"\x93NUMPY" + version + size + text + b"\n" + array.tobytes()


class Bomb:
    """What a pickle would run."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (__import__, (CANARY,))
