"""The lower bounds in pyproject.toml: ``python -m tests.lowest`` says which versions ``make test-lowest`` tests.

``python -m tests.lowest build`` prints the bounds of what builds the package, as constraints for uv, which takes the
newest otherwise.
"""

import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

#: Extras that are used with their newest versions only: they build the site, and nothing of apnc depends on them.
NEWEST = {"docs"}
PYPROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())


def requirements() -> Iterator[Requirement]:
    """Dependencies of the package and of all its extras but those with the newest versions."""
    project = PYPROJECT["project"]
    extras = [texts for name, texts in project["optional-dependencies"].items() if name not in NEWEST]
    for texts in (project["dependencies"], *extras):
        yield from (asked for asked in map(Requirement, texts) if asked.name != project["name"])


def build_requirements() -> list[Requirement]:
    return [Requirement(text) for text in PYPROJECT["build-system"]["requires"]]


def bound(asked: Requirement) -> str:
    return next(specifier.version for specifier in asked.specifier if specifier.operator == ">=")


def tested() -> Iterator[str]:
    """A line for each dependency that is needed on this system; which version is installed, and why not the bound."""
    for asked in sorted(
        {asked.name: asked for asked in requirements()}.values(), key=lambda asked: asked.name
    ):
        if asked.marker is None or asked.marker.evaluate():
            found = version(asked.name)
            exact = Version(found) == Version(bound(asked))
            yield f"{asked.name} {found}" + ("" if exact else f", as {bound(asked)} could not be installed")


if __name__ == "__main__":
    if sys.argv[1:] == ["build"]:
        print(*(f"{asked.name}=={bound(asked)}" for asked in build_requirements()), sep="\n")
    else:
        print(*tested(), sep="\n")
