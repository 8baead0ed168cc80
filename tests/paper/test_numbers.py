"""A short run of the paper's numbers, where the data is; ``python -m tests.paper.nmi`` is the long one."""

import numpy as np
import pytest

from benchmarks.paper.datasets import SOURCES
from tests.paper.nmi import CASES, load, run


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.data == "usps"], ids=lambda case: case.embedding
)
def test_usps(case):
    if (missing := SOURCES["usps"].missing(fetch=False)) is not None:
        pytest.skip(f"USPS is not here: {missing}")
    X, y = load("usps")
    scores = [run(case, X, y, 300, seed)["nmi"] for seed in range(3)]
    assert np.mean(scores) > case.bars[300] - 2
