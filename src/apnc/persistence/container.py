"""The container of a model: a zip archive of uncompressed members, each with its size and checksum.

Nothing is compressed, so that reading never takes more memory than the size of the file.
"""

import hashlib
import json
import math
import os
import re
import stat
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from apnc.caching import cached_property
from apnc.persistence.plain import parse
from apnc.persistence.record import Record
from apnc.typing import Array
from apnc.wording import told

SCHEMA = "schema.json"
#: The first bytes of every non-empty zip archive.
MAGIC = b"PK\x03\x04"
#: Size limits when reading: of the schema, and of all members together.
SCHEMA_BYTES = 1 << 26
TOTAL_BYTES = 1 << 36
#: Bytes read at a time.
PIECE = 1 << 20
#: Numpy kinds that arrays may have: floats, integers, booleans.
KINDS = "fiub"

_PLAIN = re.compile(r"[A-Za-z0-9_]{1,120}\.(npy|jsonl)")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class ModelFileError(ValueError):
    """A model file that cannot be read, or a model that cannot be stored."""

    def __init__(self, message: str) -> None:
        super().__init__(told(message))


@dataclass(frozen=True)
class Member:
    """The bytes of one member, in consecutive parts."""

    parts: tuple[Any, ...]

    @property
    def size(self) -> int:
        """Total size in bytes."""
        return sum(memoryview(part).nbytes for part in self.parts)

    @property
    def sha256(self) -> str:
        """Checksum over all parts, in hexadecimal."""
        digest = hashlib.sha256()
        for part in self.parts:
            digest.update(part)
        return digest.hexdigest()

    @classmethod
    def of_array(cls, array: Array) -> "Member":
        """An array as .npy, without a copy if it is contiguous; C or Fortran order is kept."""
        # Rounding of sums depends on the memory order, so the order is part of the model.
        array = array if array.flags.forc else array.copy(order="K")
        header = _Header()
        np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
        flat = array.ravel(order="K")
        return cls((bytes(header.written), flat.view(np.uint8) if flat.size else b""))


class _Header:
    def __init__(self) -> None:
        self.written = bytearray()

    def write(self, data: bytes) -> None:
        self.written += data


def write_container(path: Any, schema: Mapping[str, Any], members: Mapping[str, Member]) -> None:
    """Write the schema, extended by the list of members, and the members; equal models give equal bytes."""
    listed = {name: {"size": member.size, "sha256": member.sha256} for name, member in members.items()}
    text = json.dumps({**schema, "members": listed}, indent=1, allow_nan=False).encode("ascii")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, member in {SCHEMA: Member((text,)), **members}.items():
            # ZipInfo's own time stamp is constant; system and permissions would depend on the platform.
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, 0o644 << 16
            info.file_size = member.size
            with archive.open(info, "w") as out:
                for part in member.parts:
                    out.write(part)


class Container:
    """A model file open for reading; its zip directory is checked on opening.

    Parameters
    ----------
    file : open for reading in binary mode.
    name : the file's name in error messages.

    """

    def __init__(self, file: IO[bytes], name: str):
        self.name = name
        self._file = file
        if file.read(len(MAGIC)) != MAGIC:
            raise ModelFileError(f"{name} is not a model file.")
        with self.guard("the zip directory"):
            self._zip = zipfile.ZipFile(file)
        self._members = self._directory()
        self._listed: dict[str, str] = {}
        self._used: set[str] = set()

    def error(self, member: str, reason: str) -> ModelFileError:
        """An error that names the file, the member and the reason."""
        return ModelFileError(f"Model file {self.name}, {member}: {reason}.")

    def schema_error(self, reason: str) -> ModelFileError:
        """An error in the schema."""
        return self.error(SCHEMA, reason)

    @contextmanager
    def guard(self, member: str) -> Iterator[None]:
        """Turn any error that damaged bytes cause into a ``ModelFileError``."""
        try:
            yield
        except ModelFileError:
            raise
        # zipfile, numpy and json raise a dozen types of errors for damaged bytes.
        except Exception as error:
            what = f"{type(error).__name__}: {error}".rstrip(". :")
            raise self.error(member, f"damaged, truncated, or not written by apnc ({what})") from error

    def _directory(self) -> dict[str, zipfile.ZipInfo]:
        members: dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            reason = refused(info)
            if info.filename in members:
                reason = "occurs twice in the file"
            if reason:
                raise self.error(repr(info.orig_filename), reason)
            members[info.filename] = info
        if SCHEMA not in members:
            raise ModelFileError(f"{self.name} is not a model file, but another zip: {SCHEMA} is missing.")
        self._check_sizes(members)
        return members

    def _check_sizes(self, members: Mapping[str, zipfile.ZipInfo]) -> None:
        total = sum(info.file_size for info in members.values())
        there = os.fstat(self._file.fileno()).st_size
        if members[SCHEMA].file_size > SCHEMA_BYTES:
            raise self.error(SCHEMA, f"{members[SCHEMA].file_size} bytes, the limit is {SCHEMA_BYTES}")
        # Members may overlap in a crafted zip, and so declare more bytes than the file has.
        if total > min(there, TOTAL_BYTES):
            raise self.error(
                "the zip directory",
                f"members of {total} bytes in a file of {there} (the limit is {TOTAL_BYTES})",
            )

    @cached_property
    def schema(self) -> Record:
        """The schema of the file."""
        with self.guard(SCHEMA):
            fields = parse(self._zip.read(self._members[SCHEMA]).decode("utf-8"))
        return Record(fields, "", self.schema_error)

    def list_members(self, listed: Record) -> None:
        """Compare the schema's list of members with the directory."""
        if listed.names != set(self._members) - {SCHEMA}:
            odd = sorted(listed.names ^ (set(self._members) - {SCHEMA}))
            raise self.schema_error(
                f"members that are only in the list or only in the zip: {', '.join(odd[:5])}"
            )
        for name in sorted(listed.names):
            entry = listed.record(name)
            size, there = entry.integer("size"), self._members[name].file_size
            if size != there:
                raise self.error(name, f"has {there} bytes, but the schema declares {size}")
            self._listed[name] = entry.text("sha256", matching=_SHA256)
            entry.end()

    def array(self, name: str) -> Array:
        """An array of finite numbers; its header is checked before memory is allocated."""
        with self._member(name) as stream, warnings.catch_warnings(action="ignore"):
            found, fortran, dtype = read_header(stream)
            if dtype.hasobject or dtype.kind not in KINDS:
                raise self.error(name, f"values of type {dtype}, expected numbers")
            there, needed = self._members[name].file_size - stream.tell(), math.prod(found) * dtype.itemsize
            if there != needed:
                raise self.error(
                    name, f"{there} bytes of values, but shape {found} of {dtype} needs {needed}"
                )
            values = np.empty(found, dtype=dtype, order="F" if fortran else "C")
            fill(values, stream)
        if dtype.kind == "f" and not np.isfinite(values).all():
            raise self.error(name, f"{int((~np.isfinite(values)).sum())} values are NaN or infinite")
        return values

    def lines(self, name: str) -> list[Any]:
        """The objects in a member of JSON lines."""
        with self._member(name) as stream:
            return [parse(line.decode("utf-8")) for line in stream]

    @contextmanager
    def _member(self, name: str) -> Iterator[IO[bytes]]:
        """A member open for reading, after its checksum has been verified."""
        if name not in self._listed:
            raise self.error(name, "is missing")
        if name in self._used:
            raise self.error(name, "belongs to two fields")
        self._used.add(name)
        with self.guard(name):
            # Read twice: nothing is interpreted before the checksum of all bytes is verified.
            with self._zip.open(self._members[name]) as stream:
                digest = hashlib.sha256()
                while piece := stream.read(PIECE):
                    digest.update(piece)
            if digest.hexdigest() != self._listed[name]:
                raise self.error(
                    name, "its SHA-256 differs from the declared one; the file was changed or damaged"
                )
            with self._zip.open(self._members[name]) as stream:
                yield stream

    def end(self) -> None:
        """Refuse members that no field of the model refers to."""
        if unknown := sorted(set(self._listed) - self._used):
            raise self.error(unknown[0], "is not part of the model")


def is_model_file(path: Any) -> bool:
    """Whether a file looks like a model file, complete or not."""
    try:
        with open(path, "rb") as file:
            Container(file, str(path))
    except (OSError, ModelFileError):
        return False
    return True


def refused(info: zipfile.ZipInfo) -> str | None:
    """Why a zip member must not be opened; None if it may be."""
    # zipfile cuts names at a NUL byte and keeps the full name as orig_filename.
    if info.orig_filename != info.filename or not (
        info.filename == SCHEMA or _PLAIN.fullmatch(info.filename)
    ):
        return "is not a valid member name; names are plain, without folders"
    mode = info.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "is a link or other special file"
    if info.flag_bits & 1:
        return "is encrypted"
    if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
        return "is compressed; members of model files are stored uncompressed"
    return None


def read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read an .npy header: shape, whether in Fortran order, and type; leaves the stream at the first value."""
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise ValueError(f".npy of version {version}, expected (1, 0)")
    return np.lib.format.read_array_header_1_0(stream)


def fill(values: Array, stream: IO[bytes]) -> None:
    """Read a stream into an array of exactly its size."""
    if not values.size:
        return
    flat = values.ravel(order="K").view(np.uint8)
    start = 0
    while piece := stream.read(PIECE):
        flat[start : start + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
        start += len(piece)
    if start != flat.size:
        raise EOFError(f"{start} of {flat.size} bytes")
