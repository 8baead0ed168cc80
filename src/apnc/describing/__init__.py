"""What is in the clusters of a fitted model: prototypes, contrasting features, and how clusters merge."""

from apnc.describing.contrasts import Contrast
from apnc.describing.description import ClusterDescription, Description, describe
from apnc.describing.examples import Examples, Prototypes, outliers, prototypes
from apnc.describing.merging import Tree, cut, tree

__all__ = [
    "ClusterDescription",
    "Contrast",
    "Description",
    "Examples",
    "Prototypes",
    "Tree",
    "cut",
    "describe",
    "outliers",
    "prototypes",
    "tree",
]
