"""Kernel k-means for data that outgrows its kernel matrix."""

# Imported first and from here: importing scipy takes 0.15 s longer at the end of a deep chain of imports.
import sklearn.base  # noqa: F401

from apnc.choosing import choose, stability_scorer
from apnc.embeddings import (
    Embedding,
    EnsembleEmbedding,
    NeighbourEmbedding,
    NystroemEmbedding,
    StableEmbedding,
)
from apnc.estimators import KernelEmbedding, KernelKMeans, SpectralClustering, load
from apnc.sources import open
from apnc.version import __version__

__all__ = [
    "Embedding",
    "EnsembleEmbedding",
    "KernelEmbedding",
    "KernelKMeans",
    "NeighbourEmbedding",
    "NystroemEmbedding",
    "SpectralClustering",
    "StableEmbedding",
    "__version__",
    "choose",
    "load",
    "open",
    "stability_scorer",
]
