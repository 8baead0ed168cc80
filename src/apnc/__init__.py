"""Kernel k-means for data that outgrows its kernel matrix."""

# First, and from here: scipy's decorators take 0.15 s longer when a deep chain of imports leads to them.
import sklearn.base  # noqa: F401

from apnc.embeddings import Embedding, EnsembleEmbedding, NystroemEmbedding, StableEmbedding
from apnc.estimators import KernelEmbedding, KernelKMeans, load
from apnc.sources import open
from apnc.version import __version__

__all__ = [
    "Embedding",
    "EnsembleEmbedding",
    "KernelEmbedding",
    "KernelKMeans",
    "NystroemEmbedding",
    "StableEmbedding",
    "__version__",
    "load",
    "open",
]
