"""Generated records of customers, with the groups that they come from."""

from datetime import date, timedelta
from typing import Any

import numpy as np

from apnc.kernels import Category, Date, Number, Text
from apnc.typing import Array

FIELDS = {"age": Number(), "income": Number(), "plan": Category(), "note": Text(), "joined": Date()}
PLANS = ("basic", "plus", "family", "business", "student")
#: Words that all groups use, and those that one group uses more often than the others.
COMMON, OWN = 200, 12
#: Share of values that are missing.
MISSING = 0.05
N_GROUPS = 5
FIRST_DAY = date(2019, 1, 1)


def mixed_records(n: int, seed: int = 0) -> tuple[list[dict[str, Any]], Array]:
    """Records of customers in five groups that overlap in every field, and the group of each.

    Fields: age, income, plan, note (a few words) and joined (ISO text); some values are None, and some are absent.
    """
    rng = np.random.default_rng(seed)
    groups = rng.integers(N_GROUPS, size=n)
    middle = np.random.default_rng(7)
    ages, incomes = middle.permutation([24, 33, 42, 51, 60]), middle.permutation([18, 27, 36, 48, 65])
    days = middle.permutation([200, 500, 800, 1100, 1400])
    columns = {
        "age": np.clip(rng.normal(ages[groups], 9), 18, 95).round().astype(int).tolist(),
        "income": (1000 * rng.lognormal(np.log(incomes[groups]), 0.35)).round(-2).tolist(),
        "plan": [_plan(rng, group) for group in groups],
        "note": [_note(rng, group) for group in groups],
        "joined": [str(FIRST_DAY + timedelta(days=int(day))) for day in rng.normal(days[groups], 250)],
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for row, name in zip(*np.nonzero(rng.random((n, len(columns))) < MISSING), strict=True):
        field = list(columns)[name]
        if rng.random() < 0.5:
            rows[row][field] = None
        else:
            del rows[row][field]
    return rows, groups


def _plan(rng: np.random.Generator, group: int) -> str:
    """Half of a group have its plan, the others any."""
    return PLANS[group if rng.random() < 0.5 else rng.integers(len(PLANS))]


def _note(rng: np.random.Generator, group: int) -> str:
    """Three to twelve words, a third of them the group's own; common ones follow Zipf's law."""
    size = rng.integers(3, 13)
    frequent = np.minimum(rng.zipf(1.3, size=size), COMMON)
    special = group * OWN + rng.integers(OWN, size=size)
    own = rng.random(size) < 0.3
    return " ".join(
        f"own{s}" if mine else f"word{c}" for mine, s, c in zip(own, special, frequent, strict=True)
    )
