"""Names of types that are used everywhere."""

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
