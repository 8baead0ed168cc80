"""Fixtures that several suites share."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from sklearn.datasets import load_digits

from apnc.engines.local import Layout

# No test may depend on how busy the machine is.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(scope="session")
def digits() -> tuple[np.ndarray, np.ndarray]:
    """1,797 digits in [0, 1], float64."""
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


@pytest.fixture
def set_chunks(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Cut data into a given number of chunks."""

    def apply(n_chunks: int) -> None:
        monkeypatch.setattr(
            Layout, "rows_per_chunk", lambda self, n_rows, read_bytes=0: -(-n_rows // n_chunks)
        )

    return apply
