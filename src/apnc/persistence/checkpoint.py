"""Checkpoints: a folder that keeps what a run has done, so that the same run, started again, goes on from there.

Results of stages are containers without code, like model files; chunks have their own files (``engines.chunk_files``).
"""

import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Self

from apnc.engines.chunk_files import CheckChunk, ChunkFolder
from apnc.kernels import is_function
from apnc.persistence.codec import decode, encode
from apnc.persistence.container import SCHEMA, Container, ModelFileError, write_container
from apnc.persistence.functions import Functions
from apnc.persistence.members import Reading, Writing
from apnc.persistence.plain import parse
from apnc.run.records import Check
from apnc.wording import told

FORMAT, VERSION = "apnc-checkpoint", 2
#: The file that tells which run a folder belongs to, the one that is locked by the run that uses it, and endings.
RUN, LOCK, RECORD, CHUNKS = "run.json", "lock", ".record", ".chunks"
#: Names of all files and folders in a checkpoint.
OURS = re.compile(r"run\.json|lock|part-\w+|[\w -]+\.(record|chunks|unfinished)")
#: Most bytes of the file that describes a run.
RUN_BYTES = 1 << 20
AGAIN = "Run the same again to go on: {folder} keeps what is done."


class CheckpointError(ValueError):
    """A folder that cannot be used as a checkpoint of this run."""

    def __init__(self, message: str) -> None:
        super().__init__(told(message))


class Checkpoint:
    """A folder of records and chunks, of one run.

    Attributes
    ----------
    folder : its place.
    seed : the seed of the run that began it.

    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.seed = folder, 0
        self._functions = Functions()

    def part(self, name: str) -> "Checkpoint":
        """A checkpoint inside this one, for a part of the run."""
        return Checkpoint(self.folder / f"part-{name}")

    def begin(self, identity: Mapping[str, Any], seed: int, kernel: Any = None) -> Self:
        """Go on with the run of this identity, or begin it; another run is refused, and what differs is named."""
        self.folder.mkdir(exist_ok=True)
        self._functions = Functions(kernel if is_function(kernel) else None)
        # As it will be read again: a tuple becomes a list.
        mine = json.loads(json.dumps(identity, default=str))
        found = self._run()
        if found is None:
            self._clear()
            text = json.dumps(described(mine, seed), indent=1)
            _write(self.folder / RUN, lambda path: path.write_text(text))
            self.seed = seed
            return self
        if differing := differences(found["run"], mine):
            raise CheckpointError(
                f"{self.folder} is the checkpoint of another run: {'; '.join(differing[:5])}. Name another folder, or "
                "remove this one."
            )
        self.seed = found["seed"]
        return self

    @property
    def done(self) -> str:
        """What an earlier run has kept, in words; empty if nothing."""
        stages = [
            path.stem
            for path in sorted(self.folder.glob(f"*{RECORD}"), key=lambda path: path.stat().st_mtime)
        ]
        chunks = [
            f"{sum(1 for _ in path.glob('*.chunk'))} chunks of {path.stem}"
            for path in sorted(self.folder.glob(f"*{CHUNKS}"))
        ]
        return ", ".join([*stages, *chunks])

    def read(self, name: str, hints: Mapping[str, Any], check: Check) -> dict[str, Any]:
        """The kept values of a stage; empty if they are not there, damaged or refused by ``check``."""
        path = self.folder / f"{name}{RECORD}"
        try:
            with open(path, "rb") as file:
                return self._decoded(Container(file, str(path)), hints, check)
        except FileNotFoundError:
            return {}
        except (OSError, ModelFileError):
            self._discard(path)
            return {}

    def write(self, name: str, hints: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Keep the values of a stage; objects without a JSON form are not kept, and their stage is repeated."""
        out = Writing()
        try:
            encoded = {field: encode(values[field], hint, field, out) for field, hint in hints.items()}
        except ModelFileError:
            return
        schema = {"format": FORMAT, "version": VERSION, **encoded}
        _write(self.folder / f"{name}{RECORD}", lambda path: write_container(path, schema, out.members))

    def chunks(self, name: str, check: CheckChunk) -> ChunkFolder:
        """The chunks of a stage, but for those that ``check`` refuses."""
        found = ChunkFolder(self.folder / f"{name}{CHUNKS}", check)
        for file in found.damaged:
            self._discard(found.folder / file)
        return found

    def remove(self) -> None:
        """Remove everything that belongs to the checkpoint, and the folder if nothing else is in it."""
        # Without this file the rest is known to be left over, if the process is killed before all is removed.
        (self.folder / RUN).unlink(missing_ok=True)
        self._clear()
        (self.folder / LOCK).unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def _run(self) -> dict[str, Any] | None:
        """The description of the run that began the checkpoint; None if there is none, or it cannot be read."""
        path = self.folder / RUN
        try:
            with open(path, "rb") as file:
                found = parse(file.read(RUN_BYTES).decode())
        except FileNotFoundError:
            return None
        except (ValueError, OSError, RecursionError):
            self._discard(path)
            return None
        known = {"format": FORMAT, "version": VERSION}
        if not isinstance(found, dict) or {key: found.get(key) for key in known} != known:
            raise CheckpointError(
                f"{path} is not a checkpoint of this version of apnc. Name another folder, or remove it."
            )
        # A changed seed would give other samples than those that are kept.
        if not isinstance(found.get("run"), dict) or found != described(found["run"], found.get("seed")):
            self._discard(path)
            return None
        return found

    def _discard(self, path: Path) -> None:
        """Remove a damaged file, and say so."""
        path.unlink(missing_ok=True)
        warnings.warn(f"{told(str(path))} was damaged; it is computed again.", stacklevel=2)

    def _decoded(self, container: Container, hints: Mapping[str, Any], check: Check) -> dict[str, Any]:
        schema = container.schema
        if schema.take("format") != FORMAT or schema.take("version") != VERSION:
            raise schema.fail("is no record of a checkpoint")
        container.list_members(schema.record("members"))
        source = Reading(container, self._functions)
        with container.guard(SCHEMA):
            values = {name: decode(schema.take(name), hint, name, source) for name, hint in hints.items()}
        schema.end()
        container.end()
        with container.guard(SCHEMA):
            check(values)
        for value in values.values() if source.n_functions else ():
            confirm(getattr(value, "kernel", None))
        return values

    def _clear(self) -> None:
        for path in self.folder.iterdir():
            if path.name == LOCK or not OURS.fullmatch(path.name):
                continue
            if path.name.startswith("part-"):
                Checkpoint(path).remove()
            elif path.suffix == CHUNKS:
                for file in path.iterdir():
                    file.unlink()
                path.rmdir()
            else:
                path.unlink()


def confirm(kernel: Any) -> None:
    """Require a kernel function to return the same values as in the run before."""
    try:
        if hasattr(kernel, "confirm"):
            kernel.confirm()
    except ValueError as error:
        raise CheckpointError(
            f"checkpoint: the kernel function differs from the one it was begun with: {error} Name another folder."
        ) from error


def described(run: Mapping[str, Any], seed: Any) -> dict[str, Any]:
    """What is written about a run, with a digest of it."""
    text = json.dumps([run, seed], sort_keys=True)
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return {"format": FORMAT, "version": VERSION, "digest": digest, "seed": seed, "run": run}


def differences(before: Mapping[str, Any], now: Mapping[str, Any], where: str = "") -> list[str]:
    """The fields in which two descriptions differ, with both values."""
    found = []
    for name in dict.fromkeys([*before, *now]):
        old, new = before.get(name), now.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            found += differences(old, new, f"{where}{name}.")
        elif old != new:
            found.append(f"{where}{name} was {json.dumps(old):.60}, is {json.dumps(new):.60}")
    return found


def _write(path: Path, write: Any) -> None:
    """Write a file that appears whole or not at all.

    Not synced to disk, which would slow every iteration: after a power cut its checksum tells.
    """
    unfinished = path.with_name(f"{path.stem}.unfinished")
    try:
        write(unfinished)
        os.replace(unfinished, path)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        reason = f"{error.strerror or error}. Free some space, or name another folder"
        raise OSError(error.errno, reason, str(path.parent)) from error


def opened(given: Any) -> Any:
    """A context with the checkpoint of a path; one that is open already stays open, and None is none."""
    return (
        nullcontext(given) if given is None or isinstance(given, Checkpoint) else opened_folder(Path(given))
    )


@contextmanager
def opened_folder(folder: Path) -> Iterator[Checkpoint]:
    """The checkpoint in a folder that no other run uses at the same time; removed at the end, kept after a failure."""
    refuse_foreign(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        checkpoint = Checkpoint(folder)
        try:
            yield checkpoint
        except CheckpointError:
            raise
        except BaseException as error:
            if not (folder / RUN).exists():
                checkpoint.remove()
            else:
                error.add_note(AGAIN.format(folder=folder))
            raise
        checkpoint.remove()


def refuse_foreign(folder: Path) -> None:
    """Refuse a place that holds anything else."""
    if folder.exists() and not folder.is_dir():
        raise CheckpointError(f"checkpoint: {folder} is a file; name a folder for the checkpoint.")
    others = (
        [path.name for path in folder.iterdir() if not OURS.fullmatch(path.name)] if folder.is_dir() else []
    )
    if others:
        raise CheckpointError(
            f"checkpoint: {folder} holds other files ({', '.join(sorted(others)[:3])}); name a new or empty folder."
        )


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; where the system has none, two runs are not kept apart."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CheckpointError(
                f"checkpoint: {folder} is in use by another run; wait for it, or name another folder."
            ) from None
        yield
    finally:
        os.close(handle)
