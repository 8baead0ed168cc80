"""What ``make test-lowest`` installs follows from pyproject.toml, and CONTRIBUTING says the same."""

import re

from packaging.requirements import Requirement

from tests import lowest
from tests.architecture.test_documents import ROOT


def bounds():
    return {
        asked.name: lowest.bound(asked) for asked in (*lowest.requirements(), *lowest.build_requirements())
    }


def recipe(target):
    """Commands of a target of the Makefile, each on one line."""
    rules = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    return re.search(rf"^{re.escape(target)}:.*\n((?:\t.*\n)+)", rules, flags=re.MULTILINE)[1]


def test_a_package_has_one_lower_bound_in_all_extras():
    assert len(bounds()) > 20
    for asked in lowest.requirements():
        assert lowest.bound(asked) == bounds()[asked.name], asked.name


def test_every_extra_is_tested_at_the_lowest_versions_of_pyproject():
    made = recipe("$(LOWEST)/.all")
    extras = re.search(r'--resolution lowest-direct -e "\.\[([a-z,]+)\]"', made)[1]
    assert f'-e ".[{extras}]"' in recipe("$(VENV)/.all")
    asked = set(extras.split(","))
    for text in lowest.PYPROJECT["project"]["optional-dependencies"]["test"]:
        asked |= Requirement(text).extras if text.startswith("apnc[") else set()
    assert asked == set(lowest.PYPROJECT["project"]["optional-dependencies"]) - lowest.NEWEST
    assert not re.search(r"[=<>]=?\s*\d", made), "a version stands in the Makefile"


def test_other_versions_than_the_bounds_are_reported(monkeypatch):
    monkeypatch.setattr(lowest, "version", lambda name: "2.0.1" if name == "numpy" else "99.1")
    said = list(lowest.tested())
    assert "numpy 2.0.1" in said
    assert f"scipy 99.1, as {bounds()['scipy']} could not be installed" in said


def test_contributing_names_the_lower_bounds():
    page = (ROOT / "CONTRIBUTING.md").read_text().split("## Dependencies")[1]
    named = {}
    for packages, versions in re.findall(r"^\| ([a-z][\w, -]*) \| ([\d., ]+) \|", page, flags=re.MULTILINE):
        named |= dict(zip(packages.split(", "), versions.split(", "), strict=True))
    assert named == bounds()
