"""Kernels on objects: how good the clusters are, and how fast."""
