"""Kernel k-means for data that outgrows its kernel matrix."""

from apnc.embeddings import Embedding, EnsembleEmbedding, NystroemEmbedding, StableEmbedding
from apnc.estimator import KernelEmbedding, KernelKMeans

__version__ = "0.1.0"

__all__ = [
    "Embedding",
    "EnsembleEmbedding",
    "KernelEmbedding",
    "KernelKMeans",
    "NystroemEmbedding",
    "StableEmbedding",
]
