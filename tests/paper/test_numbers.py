"""A short run of the paper's numbers, where the data is; ``python -m tests.paper.nmi`` is the long one."""

import numpy as np
import pytest

from tests.paper.data import data_folder
from tests.paper.nmi import CASES, load, run


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.data == "usps"], ids=lambda case: case.embedding
)
def test_usps(case):
    folder = data_folder()
    if folder is None or not (folder / "usps.npz").exists():
        pytest.skip("USPS is not here: set APNC_DATA to the folder that holds usps.npz")
    X, y = load("usps", folder)
    scores = [run(case, X, y, 300, seed)["nmi"] for seed in range(3)]
    assert np.mean(scores) > case.bars[300] - 2
