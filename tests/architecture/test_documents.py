"""What the documents say is true: their examples run, their links lead somewhere."""

import doctest
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import apnc.estimators.kmeans

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize(
    "page",
    [
        "how-to/choosing",
        "how-to/explaining",
        "how-to/extending",
        "how-to/objects",
        "how-to/sources",
        "reference/model-files",
        "reference/baselines",
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_examples_in_the_documents(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(ROOT / "docs" / f"{page}.md"), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_examples_in_docstrings():
    result = doctest.testmod(apnc.estimators.kmeans)
    assert result.attempted > 3
    assert result.failed == 0


def test_examples_in_the_readme(tmp_path):
    """Each printed line is followed by a comment that says what it prints.

    In processes of their own: one has a memory limit, which a process that has run other tests may exceed.
    """
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        stated = re.findall(r"^print\(.*\)  # (.*)$", block, flags=re.MULTILINE)
        command = [sys.executable, "-W", "ignore", "-c", block]
        printed = subprocess.run(
            command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True
        ).stdout.splitlines()
        assert stated
        for found, said in zip(printed, stated, strict=True):
            assert found == said or np.isclose(float(found), float(said))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_benchmark_page_is_made_of_the_committed_rows():
    from benchmarks.render import page, read
    from benchmarks.run import RESULTS

    assert (ROOT / "docs" / "results" / "benchmarks.md").read_text() == page(read(RESULTS))


def test_the_tables_of_objects_are_made_of_the_committed_rows():
    from benchmarks.objects import quality, speed

    text = (ROOT / "docs" / "how-to" / "objects.md").read_text()
    for part in (quality, speed):
        assert part.table([json.loads(line) for line in part.RESULTS.read_text().splitlines()]) in text


def test_tests_that_the_page_on_security_names_exist():
    named = re.findall(
        r"`(unit/\w+\.py)::(\w+)`", (ROOT / "docs" / "explanation" / "security.md").read_text()
    )
    assert len(named) > 8
    for file, name in named:
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(), f"{file}::{name}"
