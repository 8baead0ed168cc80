"""docs/explanation/paper-to-code.md names objects that exist, covers the paper, and links to notes that exist."""

import importlib
import re
from functools import reduce
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "paper-to-code.md"
TEXT = PAGE.read_text(encoding="utf-8")
TARGETS = sorted(set(re.findall(r"`((?:apnc|sklearn)[\w.]*:[\w.]+)`", TEXT)))
ITEMS = [
    *(f"Property {i}" for i in range(1, 5)),
    *(f"Algorithm {i}, line" for i in range(1, 5)),
    *(f"Eq. {i}" for i in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14)),
    "ensemble",
    "NMI",
]


def test_there_are_enough_targets():
    assert len(TARGETS) >= 15


@pytest.mark.parametrize("target", TARGETS)
def test_target_exists(target):
    module, _, name = target.partition(":")
    reduce(getattr, name.split("."), importlib.import_module(module))


@pytest.mark.parametrize("item", ITEMS)
def test_paper_item_has_a_row_with_code(item):
    rows = [line for line in TEXT.splitlines() if re.match(rf"\|.*{re.escape(item)}(?!\d)", line)]
    assert any(f"`{target}`" in row for row in rows for target in TARGETS), item


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\((../decisions/[^)]+)\)", TEXT))))
def test_decision_exists(link):
    assert (PAGE.parent / link).is_file()
