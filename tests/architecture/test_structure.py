"""Imports point one way, and a plain import stays light."""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.architecture.layers import DOCS, LAYERS, PICTURE, page, picture

SOURCE = Path(__file__).parents[2] / "src" / "apnc"


def modules():
    return sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def own_imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "apnc":
            names = [node.module] if node.module != "apnc" else [f"apnc.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] == "apnc"]
        else:
            continue
        found.update(".".join(name.split(".")[1:]) for name in names)
    return found


def layer_of(module: str) -> int | None:
    """Position of the part that a module of ours belongs to; the longest name wins."""
    names = [part for part in LAYERS if module == part or module.startswith(part + ".")]
    return LAYERS.index(max(names, key=len)) if names else None


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path):
    own = layer_of(module_name(path))
    if path == SOURCE / "__init__.py":
        return
    assert own is not None, f"{path.relative_to(SOURCE)} is in no layer"
    for name in own_imports(path):
        found = layer_of(name)
        assert found is not None, f"{path.relative_to(SOURCE)} imports apnc.{name}, which is in no layer"
        assert found >= own, (
            f"{path.relative_to(SOURCE)} ({LAYERS[own]}) imports apnc.{name} ({LAYERS[found]})"
        )


def test_every_layer_is_there():
    found = {layer_of(module_name(path)) for path in modules()} - {None}
    assert found == set(range(len(LAYERS)))


def test_the_map_is_written_from_the_layers():
    assert (DOCS / PICTURE).read_text() == picture()
    text = (DOCS / "architecture.md").read_text()
    assert page(text) == text


#: Names of modules that several folders have, each for a reason.
SHARED_NAMES = {
    "family": "what all members of a family offer: kernels, embeddings, discrepancies, sources",
    "registry": "all engines, all estimators, by name",
    "nearest": "the nearest centroid, and its compiled loops",
    "graphs": "kernels on graphs, and their compiled loops",
    "model": "a fitted model, and its face in pyspark.ml",
    "fit": "the command, and what a fit refuses and warns of",
    "chunks": "chunks of an engine on other machines",
    "source": "sources of such an engine",
    "losses": "its failures, in plain words",
    "commands": "its part of the command line",
}


def test_no_two_modules_share_a_name_without_a_reason():
    counted = Counter(path.stem for path in modules() if not path.stem.startswith("__"))
    assert {name for name, n in counted.items() if n > 1} <= set(SHARED_NAMES)


def test_commands_are_in_files_of_their_names():
    pytest.importorskip("typer")
    from apnc.cli.app import app

    assert len(app.registered_commands) >= 7
    for command in app.registered_commands:
        assert command.callback.__module__ == f"apnc.cli.{command.callback.__name__}"


#: Packages of engines, and the parts that may know them.
KNOWN_IN = {
    "pyspark": ("engines.spark", "spark"),
    "dask": ("engines.dask",),
    "distributed": ("engines.dask",),
    "cloudpickle": ("engines.dask",),
}


@pytest.mark.parametrize("package", KNOWN_IN)
def test_few_know_an_engine(package):
    """Whoever reads another file need not know it; ``import apnc`` does not load it."""
    users = {module_name(path) for path in modules() if package in imported_packages(path)}
    assert users
    assert all(user.startswith(KNOWN_IN[package]) for user in users), users


def imported_packages(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
    return found


def test_few_know_a_library_whose_frames_are_read():
    """pandas alone can tell what a column of objects holds; Dask's dataframes are made of it."""
    users = [path for path in modules() if {"polars", "duckdb", "pandas"} & imported_packages(path)]
    assert {module_name(path) for path in users} == {"checks.frames", "engines.dask.frames_in"}


def test_only_the_loops_know_numba():
    users = [
        path for path in modules() if "import numba" in (text := path.read_text()) or "from numba" in text
    ]
    assert users
    assert {part_of(path) for path in users} == {"loops"}


def loaded_by(statement: str, packages: Iterable[str]) -> set[str]:
    code = f"{statement}; import sys; print(*set({packages!r}) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_plain_import_loads_nothing():
    """So that the command line can handle signals before it spends seconds on imports."""
    assert not loaded_by("import apnc, apnc.cli", ("numpy", "scipy", "sklearn", "numba", "pyarrow", "typer"))


def test_the_first_use_loads_nothing_heavy():
    """Not more than scikit-learn loads for its own k-means."""
    heavy = ("numba", "pyspark", "dask", "distributed", "pandas", "polars", "duckdb", "pyarrow", "matplotlib")
    found = loaded_by("from apnc import *", heavy)
    assert found <= loaded_by("from sklearn.cluster import KMeans", heavy)
    assert "numba" not in found


def test_public_names_are_found_when_they_are_used():
    import apnc

    assert set(apnc.__all__) <= set(dir(apnc))
    assert all(getattr(apnc, name) is not None for name in apnc.__all__)
    assert apnc.sources.open is apnc.open
    with pytest.raises(AttributeError, match="module 'apnc' has no attribute 'KernelKMean'"):
        _ = apnc.KernelKMean


#: Modules that write files. What a user asks for is written through ``outputs.atomic``, and all files with names that
#: a killed process would leave behind are made by ``temporary``.
WRITERS = {
    "outputs.arrow": "a file of outputs.atomic",
    "outputs.writing": "a file of outputs.atomic",
    "report.page": "a file of outputs.atomic",
    "persistence.container": "a file of outputs.atomic",
    "persistence.checkpoint": "in the folder of a checkpoint, which outlives the process",
    "engines.chunk_files": "in the folder of a checkpoint",
    "sources.spool": "a file of temporary",
    "sources.streams": "a file of sources.spool",
    "engines.dask.commands": "in a folder that Dask writes",
    "engines.spark.session": "in a folder of temporary",
    "engines.spark.tasks": "in a folder that Spark removes",
    "cli.reference": "a page of this repository",
    "cli.standard_streams": "standard streams",
}
#: Calls that write, with the position of their mode, or None.
WRITING = {
    "open": 1,
    "OSFile": 1,
    "ZipFile": 1,
    "fdopen": 1,
    "FileIO": 1,
    "write_text": None,
    "write_bytes": None,
}
WRITING |= {"savefig": None, "tofile": None, "save": None, "savez": None, "to_csv": None, "to_parquet": None}
#: Ways of the standard library to make files that would stay after a kill; a TemporaryFile has no name.
NAMED = {"mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryDirectory"}


def called(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield getattr(node.func, "attr", getattr(node.func, "id", "")), node


def writes(name: str, call: ast.Call) -> bool:
    if name not in WRITING:
        return False
    place = WRITING[name]
    if place is None:
        return name != "save" or getattr(getattr(call.func, "value", None), "id", "") == "np"
    modes = [*call.args[place : place + 1], *(word.value for word in call.keywords if word.arg == "mode")]
    return any(set(ast.unparse(mode)) & set("wax+") for mode in modes if not isinstance(mode, ast.Name))


def test_everything_is_written_through_the_one_atomic_writer():
    found = {module_name(path) for path in modules() for name, call in called(path) if writes(name, call)}
    assert found - {"outputs.atomic", "temporary"} == set(WRITERS)
    for path in modules():
        assert not {name for name, _ in called(path)} & NAMED, path
    users = {module_name(path) for path in modules() if "temporary" in own_imports(path)}
    assert users == {
        "outputs.atomic",
        "sources.spool",
        "engines.spill",
        "engines.spark.session",
        "spark.storage",
        "cli.failures",
    }


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_functions_fit_on_one_screen(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            length = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert length <= 40, f"{path.name}: {node.name} has {length} lines"
