"""Imports point one way, and a plain import stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "apnc"

#: What each part may import of ours; parts are the first folder or module below the package.
ALLOWED = {
    "loops": {"loops"},
    "blas": set(),
    "kernels": {"kernels", "loops"},
    "nearest": {"loops"},
    "discrepancy": {"loops", "nearest"},
    "engines": {"blas", "engines"},
    "memory": set(),
    "progress": {"progress"},
    "writing": {"writing"},
    "plan": {"engines"},
    "settings": {"embeddings", "kernels", "sampling"},
    "scaling": {"engines.contract"},
    "sampling": {"engines.contract", "loops", "scaling"},
    "embeddings": {"embeddings", "blas", "kernels", "discrepancy", "engines.contract"},
    "clustering": {"clustering", "discrepancy", "nearest", "engines.contract", "loops"},
    "model": {"scaling", "clustering", "discrepancy", "embeddings", "engines.contract", "kernels"},
    "advice": {"embeddings", "sampling"},
    "pipeline": {
        "advice",
        "model",
        "progress",
        "scaling",
        "sampling",
        "clustering",
        "discrepancy",
        "embeddings",
        "engines.contract",
        "kernels",
        "settings",
    },
    "sources": {"blas", "engines", "kernels", "pipeline", "plan", "sources"},
    "rehearsal": {
        "clustering",
        "discrepancy",
        "embeddings",
        "engines",
        "job",
        "kernels",
        "nearest",
        "sampling",
        "sources",
    },
    "forecast": {
        "discrepancy",
        "embeddings",
        "engines",
        "job",
        "kernels",
        "loops",
        "pipeline",
        "plan",
        "rehearsal",
        "scaling",
        "settings",
        "sources",
    },
    "job": {
        "advice",
        "plan",
        "kernels",
        "loops",
        "memory",
        "model",
        "pipeline",
        "progress",
        "settings",
        "sources",
    },
    "persistence": {
        "persistence",
        "__version__",
        "discrepancy",
        "embeddings",
        "estimators",
        "kernels",
        "model",
        "scaling",
        "writing",
    },
    "spark": {
        "spark",
        "KernelKMeans",
        "engines.spark_session",
        "persistence",
        "sources",
        "validation",
    },
    "validation": {"embeddings", "kernels", "scaling", "sources", "validation"},
    "testing": {"embeddings", "engines.contract", "kernels", "sampling"},
    "evaluation": {"evaluation", "sources"},
    "cli": {
        "cli",
        "KernelKMeans",
        "__version__",
        "load",
        "embeddings",
        "evaluation",
        "forecast",
        "kernels",
        "memory",
        "persistence",
        "progress",
        "sources",
        "spark",
        "validation",
        "writing",
    },
}


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


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    part = part_of(path)
    if part not in ALLOWED:
        return
    for name in own_imports(path):
        allowed = any(name == target or name.startswith(target + ".") for target in ALLOWED[part])
        assert allowed, (
            f"{path.relative_to(SOURCE)} imports apnc.{name}; {part} may import {sorted(ALLOWED[part])}"
        )


def test_every_part_has_a_rule_or_stands_on_top():
    parts = {part_of(path) for path in modules()}
    assert parts - set(ALLOWED) == {"__init__", "estimators", "baselines"}


def test_few_know_spark():
    """Whoever reads another file need not know it; ``import apnc`` does not load it."""
    users = {str(path.relative_to(SOURCE)) for path in modules() if "from pyspark" in path.read_text()}
    ours = {user for user in users if not user.startswith("spark/")}
    assert ours == {
        "cli/on_spark.py",
        "engines/spark.py",
        "engines/spark_session.py",
        "engines/spark_tasks.py",
        "sources/frames.py",
    }


def test_only_the_loops_know_numba():
    users = [
        path for path in modules() if "import numba" in (text := path.read_text()) or "from numba" in text
    ]
    assert users
    assert {part_of(path) for path in users} == {"loops"}


def test_a_plain_import_loads_nothing_heavy():
    """Not more than scikit-learn loads for its own k-means."""
    heavy = ("numba", "pyspark", "dask", "pandas", "polars", "pyarrow", "matplotlib")

    def loaded_by(statement: str) -> set[str]:
        code = f"{statement}; import sys; print(*set({heavy!r}) & set(sys.modules))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    assert loaded_by("import apnc") <= loaded_by("from sklearn.cluster import KMeans")
    assert "numba" not in loaded_by("import apnc")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_functions_fit_on_one_screen(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            length = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert length <= 40, f"{path.name}: {node.name} has {length} lines"
