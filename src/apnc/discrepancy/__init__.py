"""Property 4: how far an embedded row is from an embedded centroid."""

from apnc.discrepancy.family import Discrepancy, Euclidean, Manhattan
from apnc.discrepancy.nearest import Nearest, PartialSums

__all__ = ["Discrepancy", "Euclidean", "Manhattan", "Nearest", "PartialSums"]
