"""Checkpoints of interrupted runs, how they are mutated, and what becomes of a run that goes on from one."""

import hashlib
import json
import random
import shutil
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

import apnc
from apnc.engines.chunk_files import MAGIC, write_chunk
from apnc.engines.contract import Chunk, RowRange
from apnc.persistence.checkpoint import Checkpoint
from apnc.pipeline import STAGES, hints_of
from apnc.progress import Progress
from apnc.sampling import Sample
from tests.torture import forging
from tests.torture.damage import damaged
from tests.torture.family import require
from tests.torture.forging import DAMAGED, FORGED, Mutation
from tests.torture.specimens import customers, graphs, shared_letters

#: Enough rows for three chunks.
N_ROWS, N_CLUSTERS = 600, 3


class InterruptionError(Exception):
    pass


class AtIteration(Progress):
    """Ends a run after its second iteration; one without iterations, when it has drawn its samples."""

    def __init__(self, clusters: bool) -> None:
        self.clusters = clusters

    def stage(self, name: str, *_: Any) -> None:
        if not self.clusters and name == "coefficients":
            raise InterruptionError

    def iteration(self, n_iter: int, *_: Any) -> bool:
        if n_iter == 2:
            raise InterruptionError
        return False


@dataclass(frozen=True)
class Run:
    """An estimator with its rows, and what an undisturbed fit gives."""

    estimator: Any
    rows: Any
    weights: Any = None

    def fit(self, **options: Any) -> Any:
        return clone(self.estimator).fit(self.rows, sample_weight=self.weights, **options)


@cache
def runs() -> dict[str, Run]:
    """A run for each kind of contents."""
    rng = np.random.default_rng(0)
    X = rng.random(size=(N_ROWS, 3)) + 2 * rng.integers(0, 2, size=(N_ROWS, 3))
    words = ["".join(rng.choice(list("abcdefgh"), 4)) for _ in range(N_ROWS)]
    k, few = N_CLUSTERS, {"n_init": 1, "max_iter": 4, "tol": 0}
    common = {"n_landmarks": 12, "random_state": 0, "n_jobs": 1, **few}
    K, S = apnc.KernelKMeans, apnc.SpectralClustering
    graph = {**common, "n_landmarks": 20}
    G = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    return {
        "rbf": Run(K(k, **common), X),
        "float32 scaled": Run(K(k, gamma=0.3, scale="standard", **common), X.astype(np.float32)),
        "stable": Run(K(k, kernel="laplacian", embedding="stable", n_components=8, **common), X),
        "ensemble weighted": Run(K(k, gamma=0.3, embedding="ensemble", **common), X, 1.0 + np.arange(N_ROWS) % 3),
        "sparse": Run(K(k, kernel="cosine", **common), sparse.csr_array(X * (X > 1))),
        "strings": Run(K(k, kernel=shared_letters, **common), words),
        "graphs": Run(K(k, kernel="weisfeiler_lehman(2)", **common), graphs()),
        "records": Run(K(k, kernel="record(age=number, plan=category, note=text)", **common), customers()),
        "precomputed": Run(K(k, kernel="precomputed", **common), G),
        "graph": Run(S(k, **graph), X),
        "graph rbf": Run(S(k, kernel="rbf", gamma=0.3, **graph), X),
        "graph float32": Run(S(k, **graph), X.astype(np.float32)),
        "embedding": Run(apnc.KernelEmbedding(gamma=0.3, n_landmarks=12, random_state=0, n_jobs=1), X),
    }  # fmt: skip


def interrupted(folder: Path) -> dict[str, Path]:
    """A checkpoint of each run, interrupted late; each is sound, and all that going on loads is loaded."""
    found = {}
    for name, run in runs().items():
        found[name] = folder / name
        with suppress(InterruptionError):
            run.fit(checkpoint=found[name], progress=AtIteration(hasattr(run.estimator, "n_clusters")))
        again = shutil.copytree(found[name], folder / "again")
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*damaged")
            require(all(map(np.array_equal, gone_on(name, again), undisturbed(name))), f"{name} is not sound")
    return found


@cache
def undisturbed(name: str) -> tuple[np.ndarray, ...]:
    """What the run gives without a checkpoint."""
    return results(runs()[name].fit())


def results(estimator: Any) -> tuple[np.ndarray, ...]:
    """Labels, centroids and inertia; of an embedding, its coefficients."""
    if hasattr(estimator, "labels_"):
        return estimator.labels_, estimator.cluster_centers_, np.asarray(estimator.inertia_)
    return tuple(block.weights for block in estimator._model.embedding.coefficients.blocks)


def gone_on(name: str, path: Path) -> tuple[np.ndarray, ...]:
    """What the run gives that goes on from a checkpoint, which must be gone then."""
    found = results(runs()[name].fit(checkpoint=path))
    require(not path.exists(), "the checkpoint was left behind")
    return found


# Mutations


def mutate(specimen: Path, path: Path, rng: random.Random) -> Mutation:
    """Copy a checkpoint, as one of a run that was interrupted earlier now and then, and mutate one of its files."""
    shutil.copytree(specimen, path)
    if rng.random() < 0.4:
        (path / "clustering.record").unlink(missing_ok=True)
    if rng.random() < 0.3:
        for file in path.glob("*.chunks/complete"):
            file.unlink()
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.name != "lock")
    records = [file for file in files if file.suffix == ".record"]
    chunks = [file for file in files if file.suffix == ".chunk"]
    others = [file for file in files if file.name in ("run.json", "complete")]
    kinds = [(records, of_record, 6), (chunks, of_chunk, 3), (others, of_other, 1)]
    chosen, way, _ = rng.choices(kinds, [weight * bool(some) for some, _, weight in kinds])[0]
    file = rng.choice(chosen)
    how = way(file, rng)
    return Mutation(how.family, f"{file.relative_to(path)}: {how.said}")


def of_record(file: Path, rng: random.Random) -> Mutation:
    """A container, mutated like a model file."""
    sound = file.with_suffix(".sound")
    file.rename(sound)
    how = forging.mutate(sound, file, rng)
    sound.unlink()
    return how


def of_other(file: Path, rng: random.Random) -> Mutation:
    """The description of the run or the number of chunks: bytes, or fields of the description."""
    if file.name != "run.json" or rng.random() < 0.5:
        file.write_bytes(damaged(file.read_bytes(), rng))
        # The number of chunks has no checksum: another number of all chunks is no number of theirs.
        return Mutation(DAMAGED, "bytes")
    described = json.loads(file.read_text())
    said = forging.change_field(described, rng)
    file.write_text(json.dumps(described))
    return Mutation(DAMAGED, f"field {said}")


def of_chunk(file: Path, rng: random.Random) -> Mutation:
    """Bytes of a chunk; or its description, rows, weights or numbers, with the right digest."""
    if rng.random() < 0.25:
        file.write_bytes(damaged(file.read_bytes(), rng))
        return Mutation(DAMAGED, "bytes")
    _, header, rest = file.read_bytes().split(b"\n", 2)
    ways: tuple[Callable[[bytes, bytes, random.Random], tuple[str, bytes, bytes]], ...] = (
        of_header, of_rows, of_rows, of_weights, of_length, of_shape,
    )  # fmt: skip
    said, header, rest = rng.choice(ways)(header, rest, rng)
    signed = hashlib.blake2b(header + b"\n" + rest).hexdigest().encode()
    file.write_bytes(MAGIC + signed + b"\n" + header + b"\n" + rest)
    return Mutation(FORGED, said)


def of_header(header: bytes, rest: bytes, rng: random.Random) -> tuple[str, bytes, bytes]:
    if rng.random() < 0.1:
        return "header: bytes", damaged(header, rng).replace(b"\n", b" "), rest
    described = json.loads(header)
    said = forging.change_field(described, rng)
    return f"header: {said}", json.dumps(described).encode(), rest


def parts_of(header: bytes, rest: bytes) -> tuple[np.ndarray, np.ndarray]:
    dtype, *shape = json.loads(header)["rows"]
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(rest[:size], dtype).reshape(shape), np.frombuffer(rest[size:], np.float64)


def of_rows(header: bytes, rest: bytes, rng: random.Random) -> tuple[str, bytes, bytes]:
    rows, weights = parts_of(header, rest)
    said, changed = other_values(rows, rng)
    return f"rows: {said}", header, changed.tobytes() + weights.tobytes()


def of_weights(header: bytes, rest: bytes, rng: random.Random) -> tuple[str, bytes, bytes]:
    rows, weights = parts_of(header, rest)
    said, changed = other_values(weights, rng)
    return f"weights: {said}", header, rows.tobytes() + changed.tobytes()


def of_length(header: bytes, rest: bytes, rng: random.Random) -> tuple[str, bytes, bytes]:
    """A row less, in a chunk that says so."""
    rows, weights = parts_of(header, rest)
    described = json.loads(header)
    described["rows"][1] -= 1
    described["carry"][rng.choice((1, 2))] += rng.choice((-1, 1))
    return "a row less", json.dumps(described).encode(), rows[1:].tobytes() + weights[1:].tobytes()


def of_shape(header: bytes, rest: bytes, rng: random.Random) -> tuple[str, bytes, bytes]:
    """Rows of another type or width, in a chunk that says so."""
    rows, weights = parts_of(header, rest)
    changed = rng.choice((rows[:, :-1], rows[:, :0], rows.repeat(2, axis=1), rows[:, None], rows.T))
    with np.errstate(all="ignore"):
        changed = changed.astype(rng.choice((rows.dtype, np.float32, np.float64, np.int32, np.float16)))
    described = json.loads(header)
    described["rows"] = [changed.dtype.name, *changed.shape]
    return (
        f"rows of {described['rows']}",
        json.dumps(described).encode(),
        changed.tobytes() + weights.tobytes(),
    )


def other_values(array: np.ndarray, rng: random.Random) -> tuple[str, np.ndarray]:
    """One value or all of them, at the edges of types and of what numbers of landmarks can be."""
    changed = array.copy()
    odd = rng.choice(
        (-1, 0, 1, 19, 20, 1 << 14, (1 << 14) + 1, (1 << 31) - 1, -(1 << 31), *forging.ODD_VALUES)
    )
    with np.errstate(all="ignore"):
        odd = np.asarray(odd).astype(array.dtype)
        where: Any = rng.randrange(array.size) if array.size and rng.random() < 0.7 else slice(None)
        changed.reshape(-1)[where] = odd
    return f"{'all' if isinstance(where, slice) else 'one'} {odd}", changed


# 100 MB


def large(folder: Path, model: Path, shape: tuple[int, int]) -> dict[str, Path]:
    """A folder with one record, that of the coefficients of a large model, and one with a chunk of that size."""
    fitted = apnc.load(model)._model.embedding
    n, d = shape
    sample = Sample(np.zeros((5, fitted.coefficients.n_components)), np.ones(5))
    record, chunk = folder / "large record", folder / "large chunk"
    (chunk / "embedding.chunks").mkdir(parents=True)
    record.mkdir()
    adds = ("embedding", "sample")
    Checkpoint(record).write("coefficients", hints_of(adds), {"embedding": fitted, "sample": sample})
    rows = np.random.default_rng(0).random((2 * n, d), dtype=np.float32)
    with open(chunk / "embedding.chunks" / "00000000.chunk", "wb") as file:
        write_chunk(file, Chunk(0, rows, np.ones(2 * n), RowRange(0, 2 * n)))
    return {"large record": record, "large chunk": chunk}


def mutate_large(specimen: Path, path: Path, rng: random.Random) -> Mutation:
    """The one file of a folder."""
    shutil.copytree(specimen, path)
    file = next(file for file in path.rglob("*") if file.is_file())
    return (of_record if file.suffix == ".record" else of_chunk)(file, rng)


def read_all(path: Path) -> None:
    """Read all records and chunks of a folder."""
    checkpoint = Checkpoint(path)
    with warnings.catch_warnings(action="ignore"):
        for stage in STAGES:
            if stage.adds:
                checkpoint.read(stage.name, hints_of(stage.adds), lambda values: None)
        for folder in path.glob("*.chunks"):
            chunks = checkpoint.chunks(folder.stem, lambda chunk: None)
            if 0 in chunks:
                chunks.load(0)
