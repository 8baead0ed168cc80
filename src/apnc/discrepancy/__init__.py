"""Property 4: the discrepancy between an embedded row and an embedded centroid."""

from apnc.discrepancy.family import Discrepancy, Euclidean, Manhattan
from apnc.discrepancy.nearest import Nearest, PartialSums

__all__ = ["Discrepancy", "Euclidean", "Manhattan", "Nearest", "PartialSums"]
