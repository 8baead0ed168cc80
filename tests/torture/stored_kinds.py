"""Kinds of stored files that attacks mutate, and how each is taken when it is loaded.

python -m tests.torture.stored_kinds KIND PATH    load one file; prints the outcome and the growth of memory as JSON
"""

import json
import random
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import apnc
from apnc.persistence import ModelFileError
from apnc.persistence.checkpoint import CheckpointError
from benchmarks.run import ROOT
from tests.torture import stored_checkpoints
from tests.torture.commands import environment
from tests.torture.family import require
from tests.torture.forging import Mutation, mutate
from tests.torture.specimens import ON_OBJECTS, graphs, rows, shared_letters, words
from tests.torture.watching import KEEPING, watched

REFUSED, SAME, ANOTHER = "refused", "same predictions", "another model"
#: Errors of a model that works, about rows it was not made for or about its own parameters.
CLEAR = re.compile(
    r"memory_limit=|features|negative|n_jobs|Look for outliers|too large|takes|expected|columns|float32"
)
#: Landmarks and features of the large specimen, 100 MB of float64.
LARGE_SHAPE = (1250, 10_000)


@dataclass(frozen=True)
class Outcome:
    """How a file was taken; ``broken`` says what does not hold."""

    kind: str
    broken: str | None = None


@dataclass(frozen=True)
class Kind:
    """Sound files, or folders, of one kind by name, how they are mutated, and an attempt to load one.

    ``share`` is how many cases of a hundred are of this kind.
    """

    name: str
    files: Callable[[], dict[str, Path]]
    attempt: Callable[[str, Path], Outcome]
    share: int
    large: bool = False
    mutate: Callable[[Path, Path, random.Random], Mutation] = mutate


@dataclass(frozen=True)
class Made:
    """A fitted estimator, rows to try it on, and what ``load`` needs besides the file."""

    estimator: Any
    probe: Any
    options: dict[str, Any]


@cache
def made() -> dict[str, Made]:
    """One estimator for each kind of contents."""
    X, W = rows(), words()
    S = sparse.csr_array(X * (X > 1))
    k, common = 3, {"n_landmarks": 12, "random_state": 0}
    K, E = apnc.KernelKMeans, apnc.KernelEmbedding
    weights = np.arange(len(X)) % 3 + 1.0
    plain = {
        "rbf": (K(k, gamma=0.3, **common), X),
        "float32 scaled": (K(k, gamma=0.3, scale="standard", **common), X.astype(np.float32)),
        "polynomial normalized": (K(k, kernel="polynomial", normalize_kernel=True, **common), X),
        "laplacian stable": (K(k, kernel="laplacian", embedding="stable", n_components=8, **common), X),
        "ensemble": (K(k, embedding="ensemble", **common), X),
        "chi2 minmax": (K(k, kernel="chi2", scale="minmax", **common), X),
        "sigmoid": (K(k, kernel="sigmoid", gamma=0.01, **common), X),
        "sparse cosine": (K(k, kernel="cosine", **common), S),
        "sparse rbf": (K(k, gamma=0.3, **common), S),
        "embedding": (E(gamma=0.3, **common), X),
        "graph": (apnc.SpectralClustering(k, n_landmarks=20, random_state=0), X),
        "graph float32": (apnc.SpectralClustering(k, n_landmarks=20, random_state=0), X.astype(np.float32)),
        "graph rbf": (apnc.SpectralClustering(k, kernel="rbf", n_landmarks=20, random_state=0), X),
    }
    found = {name: Made(km.fit(data), data, {}) for name, (km, data) in plain.items()}
    G = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    found["precomputed"] = Made(K(k, kernel="precomputed", **common).fit(G), G, {})
    found["strings"] = Made(K(k, kernel=shared_letters, **common).fit(W), W, {"kernel": shared_letters})
    for kernel, objects in ON_OBJECTS.items():
        found[kernel] = Made(K(k, kernel=kernel, **common).fit(objects()), objects(), {})
    linked = apnc.SpectralClustering(k, kernel="weisfeiler_lehman(1)", n_landmarks=20, random_state=0)
    found["graph of graphs"] = Made(linked.fit(graphs()), graphs(), {})
    found["cut"] = Made(K(6, gamma=0.3, **common).fit(X, sample_weight=weights).cut(3), X, {})
    return found


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def kept_folder() -> Path:
    """A folder that lasts as long as the process."""
    _KEPT.append(tempfile.TemporaryDirectory(prefix="torture-specimens-"))
    return Path(_KEPT[-1].name)


@cache
def model_files() -> dict[str, Path]:
    folder = kept_folder()
    return {name: one.estimator.save(folder / f"{name}.apnc") for name, one in made().items()}


@cache
def large_files() -> dict[str, Path]:
    n, d = LARGE_SHAPE
    X = np.random.default_rng(0).normal(size=(n, d))
    km = apnc.KernelKMeans(
        3, gamma=1e-4, n_landmarks=n, n_components=50, max_iter=5, n_init=1, random_state=0
    )
    return {"large": km.fit(X).save(kept_folder() / "large.apnc")}


@cache
def expected(name: str) -> tuple[np.ndarray, ...]:
    """What a sound file gives."""
    one = made()[name]
    return outputs(apnc.load(model_files()[name], **one.options), one.probe)


def outputs(estimator: Any, probe: Any) -> tuple[np.ndarray, ...]:
    """Labels, distances and vectors, as far as there are any."""
    names = ("predict", "transform", "embed")
    return tuple(np.asarray(getattr(estimator, name)(probe)) for name in names if hasattr(estimator, name))


def attempt_model(name: str, path: Path) -> Outcome:
    """Refused on load, or outputs that are finite and within range."""
    one = made()[name]
    try:
        with watched():
            estimator = apnc.load(path, **one.options)
    except ModelFileError as error:
        text = str(error)
        fine = text.isprintable() and len(text) <= 1500
        return Outcome(REFUSED, None if fine else f"an odd message: {text!r:.300}")
    except Exception as error:
        return Outcome(REFUSED, f"load raised {type(error).__name__}: {error!s:.300}")
    return tried(estimator, one.probe, name)


def tried(estimator: Any, probe: Any, name: str) -> Outcome:
    """A loaded model is put to use."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = outputs(estimator, probe)
        except ValueError as error:
            return Outcome(ANOTHER, None if CLEAR.search(str(error)) else f"predict raised {error!s:.300}")
        except Exception as error:
            return Outcome(ANOTHER, f"predict raised {type(error).__name__}: {error!s:.300}")
    if odd := [str(one.message) for one in caught if not issubclass(one.category, UserWarning)]:
        return Outcome(ANOTHER, f"predict warned: {odd[0]:.200}")
    if not all(np.isfinite(array).all() for array in found):
        return Outcome(ANOTHER, "outputs are not finite")
    if hasattr(estimator, "predict"):
        k = len(estimator.cluster_sizes_)
        if not ((found[0] >= 0) & (found[0] < k)).all():
            return Outcome(ANOTHER, f"labels from {found[0].min()} to {found[0].max()} for {k} clusters")
    same = len(found) == len(expected(name)) and all(map(np.array_equal, found, expected(name)))
    return Outcome(SAME if same else ANOTHER)


def checked(read: Callable[[], Any]) -> Outcome:
    """Something is read; nothing may be run meanwhile."""
    try:
        with watched(KEEPING):
            read()
    except ModelFileError:
        return Outcome(REFUSED)
    except Exception as error:
        return Outcome(REFUSED, f"raised {type(error).__name__}: {error!s:.300}")
    return Outcome("loaded")


def attempt_large(name: str, path: Path) -> Outcome:
    """Loading alone: that is what memory is measured of."""
    return checked(lambda: apnc.load(path))


@cache
def checkpoints() -> dict[str, Path]:
    return stored_checkpoints.interrupted(kept_folder())


@cache
def large_checkpoints() -> dict[str, Path]:
    return stored_checkpoints.large(kept_folder(), large_files()["large"], LARGE_SHAPE)


def attempt_checkpoint(name: str, path: Path) -> Outcome:
    """A run that goes on from a checkpoint: refused, the result of an undisturbed run, or one that is finite."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with watched(KEEPING):
                found = stored_checkpoints.gone_on(name, path)
        except ValueError as error:
            clear = isinstance(error, CheckpointError) or CLEAR.search(str(error))
            fine = clear and str(error).isprintable() and len(str(error)) <= 1500
            return Outcome(REFUSED, None if fine else f"raised {type(error).__name__}: {error!s:.300}")
        except Exception as error:
            return Outcome(REFUSED, f"raised {type(error).__name__}: {error!s:.300}")
    if odd := [str(one.message) for one in caught if not issubclass(one.category, UserWarning)]:
        return Outcome(ANOTHER, f"warned: {odd[0]:.200}")
    if all(map(np.array_equal, found, stored_checkpoints.undisturbed(name))):
        return Outcome(SAME)
    finite = all(np.isfinite(array).all() for array in found)
    return Outcome(ANOTHER, None if finite else "results are not finite")


def attempt_large_checkpoint(name: str, path: Path) -> Outcome:
    """Reading alone."""
    return checked(lambda: stored_checkpoints.read_all(path))


#: All kinds; another one is a line here.
KINDS = (
    Kind("model", model_files, attempt_model, 80),
    Kind("checkpoint", checkpoints, attempt_checkpoint, 20, mutate=stored_checkpoints.mutate),
    Kind("large model", large_files, attempt_large, 50, large=True),
    Kind(
        "large checkpoint",
        large_checkpoints,
        attempt_large_checkpoint,
        50,
        large=True,
        mutate=stored_checkpoints.mutate_large,
    ),
)


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


def peak_bytes() -> int:
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))  # noqa: SIM115
    return int(line.split()[1]) * 1024


def measured_apart(kind: Kind, path: Path, slack: int) -> Outcome:
    """Load a file in a process of its own, whose memory is measured."""
    # What is damaged in a checkpoint is removed.
    allowed = 2 * size_of(path) + slack
    command = [sys.executable, "-m", __name__, kind.name, str(path)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    require(done.returncode == 0, f"exit {done.returncode}: {done.stderr[-500:]}")
    found = json.loads(done.stdout)
    grown = found.pop("grown")
    require(grown <= allowed, f"{grown:,} bytes of memory, {allowed:,} allowed")
    return Outcome(**found)


def main() -> None:
    name, path = sys.argv[1:]
    kind = next(kind for kind in KINDS if kind.name == name)
    # What reading loads for any file does not count.
    X = rows()
    with tempfile.TemporaryDirectory() as folder:
        apnc.load(
            apnc.KernelKMeans(2, gamma=0.3, random_state=0).fit(X).save(Path(folder) / "small")
        ).predict(X)
    Path("/proc/self/clear_refs").write_text("5")
    before = peak_bytes()
    outcome = kind.attempt("", Path(path))
    print(json.dumps({**asdict(outcome), "grown": peak_bytes() - before}))


if __name__ == "__main__":
    main()
