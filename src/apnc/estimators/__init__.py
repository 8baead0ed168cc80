"""The public estimators: they validate and store; ``pipeline`` computes."""

from apnc.estimators.embedding import KernelEmbedding
from apnc.estimators.kmeans import KernelKMeans

__all__ = ["KernelEmbedding", "KernelKMeans"]
