"""Invariants of the design that can be counted: hops before the first pass, passes, opened files, public names."""

import ast
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import apnc
from apnc import KernelEmbedding, KernelKMeans, SpectralClustering, checks
from apnc.engines.local import LocalChunks
from apnc.pipeline import STAGES, stages_of
from apnc.progress import Progress
from apnc.run.job import Job
from apnc.sources.files import DataFile

SOURCE = Path(apnc.__file__).parent
#: Functions and modules of ours that a fit enters before the first pass over the rows.
HOPS = {"array": (45, 12), "parquet": (75, 19)}
SLACK = 1.2
#: Classes that only their own package may ask for.
CONCRETE = {
    "sources": ("InMemory", "NpySource", "NpzSource", "SvmlightSource", "TableSource", "JsonLinesSource"),
    "engines": (
        "FrameSource",
        "FrameObjects",
        "ArraySource",
        "BagSource",
        "Remote",
        "LocalChunks",
        "SparkChunks",
        "DaskChunks",
    ),
    "kernels": (
        *(
            "VectorKernel",
            "CallableKernel",
            "PrecomputedKernel",
            "NormalizedKernel",
            "SumKernel",
            "ProductKernel",
        ),
        *("RadialKernel", "Spectrum", "EditSimilarity", "Jaccard", "ObjectKernel", "FeatureKernel"),
        "TimeWarp",
        *("WeisfeilerLehman", "ShortestPath", "GraphKernel"),
        *("Record", "Field", "Number", "Category", "Date"),
    ),
    "embeddings": ("NystroemEmbedding", "StableEmbedding", "EnsembleEmbedding", "NeighbourEmbedding"),
    "discrepancy": ("Euclidean", "Manhattan"),
}


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(500, 4))


def write_table(path, X):
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])}), path)
    return path


class FirstPassError(Exception):
    """Ends a fit where its first pass begins."""


def entered_before_the_first_pass(fit):
    """Functions of ours, without lambdas and comprehensions, by module and name."""
    seen = set()

    def note(frame, event, _):
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(SOURCE)):
            return
        if code is LocalChunks.reduce.__code__:
            sys.setprofile(None)
            raise FirstPassError
        if not code.co_name.startswith("<"):
            seen.add((code.co_filename, code.co_qualname))

    sys.setprofile(note)
    try:
        fit()
    except FirstPassError:
        pass
    finally:
        sys.setprofile(None)
    return seen


@pytest.mark.parametrize("kind", HOPS)
def test_few_hops_before_the_first_pass(kind, X, tmp_path):
    data = X if kind == "array" else write_table(tmp_path / "x.parquet", X)
    KernelKMeans(3, random_state=0).fit(data)
    km = KernelKMeans(3, random_state=0)
    seen = entered_before_the_first_pass(lambda: km.fit(data))
    functions, modules = HOPS[kind]
    assert 20 < len(seen) <= SLACK * functions, sorted(seen)
    assert len({file for file, _ in seen}) <= SLACK * modules, sorted({file for file, _ in seen})


@pytest.mark.parametrize("kind", [KernelKMeans, SpectralClustering])
@pytest.mark.parametrize("named", ["{}.parquet", "part={}/x.parquet"])
def test_passes_and_opened_files(X, tmp_path, monkeypatch, named, kind):
    """At most three passes over the source, and each opens a file once; one more to look at the columns."""
    n_files, opened = 7, []
    for i in range(n_files):
        (tmp_path / named.format(i)).parent.mkdir(exist_ok=True)
        write_table(tmp_path / named.format(i), X[i::n_files])
    plain = DataFile.open
    monkeypatch.setattr(DataFile, "open", lambda file: opened.append(file.path) or plain(file))
    kind(3, random_state=0).fit(tmp_path)
    assert len(opened) <= 3 * n_files + 1
    assert max(opened.count(path) for path in opened) <= 4
    opened.clear()
    KernelEmbedding(random_state=0).fit(tmp_path)
    assert len(opened) <= 2 * n_files + 1


def test_opened_files_of_text(X, tmp_path, monkeypatch):
    """Each pass opens a file once; one more to look at the columns of each."""
    n_files, opened = 7, []
    for i in range(n_files):
        np.savetxt(tmp_path / f"{i}.csv", X[i::n_files], delimiter=",")
    plain = DataFile.stream
    monkeypatch.setattr(DataFile, "stream", lambda file: opened.append(file.path) or plain(file))
    KernelKMeans(3, random_state=0).fit(tmp_path)
    assert len(opened) <= (3 + 1) * n_files


class Announced(Progress):
    def __init__(self):
        self.names = []

    def stage(self, name, *_, **__):
        self.names.append(name)


@pytest.mark.parametrize(
    "km",
    [
        KernelKMeans(3, random_state=0),
        KernelKMeans(3, init="random-partition", random_state=0),
        SpectralClustering(3, random_state=0),
        SpectralClustering(3, kernel="rbf", random_state=0),
    ],
)
def test_what_is_planned_is_what_is_run(X, km):
    announced = Announced()
    planned = list(km.plan(X).seconds)
    km.fit(X, progress=announced)
    assert planned == ["start-up", *announced.names]
    assert set(announced.names) <= {stage.name for stage in STAGES}


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_passes_of_a_spectral_fit(X, kernel, monkeypatch):
    """Rows are read at most three times: counted, sampled, and compared with the landmarks."""
    km, read = SpectralClustering(3, kernel=kernel, random_state=0), []
    settings = checks.settings_of(km, km._job(X, reset=True).source)
    assert sum(stage.reads(settings) for stage in stages_of(settings)) == 3
    plain = Job.data
    monkeypatch.setattr(Job, "data", lambda job, *given: read.append(1) or plain(job, *given))
    km.fit(X)
    assert len(read) <= 4  # one more to spread the starts, which reads nothing


def names_in(node):
    if isinstance(node, ast.Tuple):
        return [name for item in node.elts for name in names_in(item)]
    if isinstance(node, ast.BinOp):
        return names_in(node.left) + names_in(node.right)
    return [getattr(node, "id", getattr(node, "attr", ""))]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_nobody_asks_which_source_kernel_embedding_or_discrepancy(path):
    part = path.relative_to(SOURCE).parts[0]
    foreign = {name for owner, names in CONCRETE.items() if owner != part for name in names}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            asked = set(names_in(node.args[1])) & foreign
            assert not asked, f"{path.relative_to(SOURCE)}, line {node.lineno}: isinstance of {asked}"


def test_the_classes_that_nobody_asks_for_exist():
    text = "\n".join(path.read_text() for path in SOURCE.rglob("*.py"))
    for name in (name for names in CONCRETE.values() for name in names):
        assert f"class {name}(" in text or f"class {name}:" in text, name


def test_public_names():
    """A name that is added or taken away is a decision."""
    assert sorted(apnc.__all__) == [
        "Embedding",
        "EnsembleEmbedding",
        "KernelEmbedding",
        "KernelKMeans",
        "NeighbourEmbedding",
        "NystroemEmbedding",
        "SpectralClustering",
        "StableEmbedding",
        "__version__",
        "choose",
        "load",
        "open",
        "stability_scorer",
    ]
