"""What Sphinx cannot check about the site: the reference is complete, the README short, versions agree."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import apnc

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs" / "reference" / "api.md").read_text()
#: Public names that are tables, or that only code inside the package needs.
INTERNAL = {
    "kernels": {
        "GAMMAS", "KERNELS", "ON_OBJECTS", "CallableKernel", "KernelChoice", "NormalizedKernel", "PrecomputedKernel",
        "VectorKernel", "is_function", "kernel_spelled",
    },
    "embeddings": {"EMBEDDINGS"},
    "estimators": {"ESTIMATORS"},
    "evaluation": {"count_rows"},
    "discrepancy": {"Nearest", "PartialSums"},
    "choosing": {"Measures"},
    "sources": {"FORMATS", "InMemory", "is_source"},
    "baselines": set(),
    "spark": set(),
}  # fmt: skip


def listed():
    """Names in the lists of the page, without their modules."""
    return {name.rpartition(".")[2] for name in re.findall(r"^   ([\w.]+)$", REFERENCE, flags=re.MULTILINE)}


def test_every_public_name_is_in_the_reference():
    assert set(apnc.__all__) - {"__version__"} <= listed()


@pytest.mark.parametrize("part", INTERNAL)
def test_names_of_parts_are_in_the_reference(part):
    if part == "spark":
        pytest.importorskip("pyspark")
    names = set(import_module(f"apnc.{part}").__all__)
    assert names >= INTERNAL[part]
    assert names - INTERNAL[part] <= listed()


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 150


def test_the_citation_has_the_version():
    stated = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    assert stated[1] == apnc.__version__


def test_the_workflow_runs_the_parts_of_the_checks():
    parts = re.findall(r"^make (.*)$", (ROOT / ".ci" / "run").read_text(), flags=re.MULTILINE)
    workflow = (ROOT / ".github" / "workflows" / "checks.yml").read_text()
    assert parts
    assert all(f'"{part}"' in workflow for part in parts)
