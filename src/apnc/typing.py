"""Type aliases used throughout the package."""

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
