"""Whether what an earlier run has kept belongs to this fit: a file may be whole and still not be what the fit wrote.

Each check raises a ValueError; the file is then taken for damaged, and the stage is run again.
"""

from typing import Any

import numpy as np

from apnc.checks import fit as checks
from apnc.engines.contract import Chunk
from apnc.kernels import Kernel
from apnc.model import LARGEST_CENTROID
from apnc.pipeline.state import Drawn, Fit
from apnc.rows import GivenRows, n_columns
from apnc.sampling import Sample
from apnc.stored import largest, require
from apnc.typing import Array

#: Weights that add up to the total may exceed it by rounding; and the largest total.
ROUNDED, LARGEST_TOTAL = 1 + 1e-6, 1e300


def check_drawn(fit: Fit) -> None:
    """Samples of the sizes that the settings ask for, of rows like those of the source."""
    census, samples, sizes = fit.drawn.census, fit.drawn.samples, fit.settings.sample_sizes()
    n = fit.job.source.n_rows
    counted = n is None or census.n_rows == n or (fit.job.source.drop_null and census.n_rows < n)
    require(counted and 0 < census.n_positive <= census.n_rows, f"{census.n_rows} rows counted, not {n}")
    require(0 < census.total_weight <= LARGEST_TOTAL, f"a total weight of {census.total_weight:g}")
    checks.refuse_too_few(fit.settings.n_clusters, census)
    require(set(census.sketches) == set(samples) == set(sizes), f"samples {sorted(samples)}")
    for name, sample in samples.items():
        sketch = census.sketches[name]
        require(sketch.size == sizes[name] and len(sample) <= len(sketch.keys), f"sample {name}: its size")
        check_instances(fit, sample.rows)
        check_weights(fit, sample.weights)
    check_scaling(fit.drawn, fit.settings.scale)


def check_instances(fit: Fit, rows: Any) -> None:
    """Rows in the container, with the columns and of the type that the source has."""
    source, kernel = fit.job.source, fit.settings.kernel.kernel
    require(isinstance(rows, list) == (source.dtype is None), "objects for vectors, or vectors for objects")
    if isinstance(kernel, Kernel):
        # The loops do not check objects, such as a graph with an edge to a node that is not there.
        kernel.check_landmarks(rows)
    require(n_columns(rows) == source.n_columns, f"{n_columns(rows)} columns for {source.n_columns}")
    if source.dtype is not None:
        require(rows.dtype in (source.dtype, fit.job.dtype), f"rows of type {rows.dtype}")
    given = isinstance(rows, GivenRows)
    require(given == (kernel == "precomputed"), "rows that do not suit the kernel")
    if given:
        inside = rows.numbers is not None and 0 <= rows.numbers.min() <= rows.numbers.max() < source.n_columns
        require(inside, "row numbers out of range")


def check_weights(fit: Fit, weights: Array) -> None:
    """Positive weights, which are part of all weight."""
    require(weights.dtype == np.float64, f"weights of type {weights.dtype}")
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    require(total <= ROUNDED * fit.drawn.census.total_weight, f"weights add up to {total:g}, more than all")


def check_scaling(drawn: Drawn, kind: str | None) -> None:
    """The scaling that the settings ask for, with a factor for each column."""
    found = drawn.scaling
    require((None if found is None else found.kind) == kind, f"scaling {found and found.kind}, not {kind}")
    if found is not None:
        for sample in drawn.samples.values():
            found.check_landmarks(sample.rows)


def check_comparison(fit: Fit) -> None:
    """A comparison of rows like those of the source."""
    assert fit.comparison is not None
    fit.comparison.check_for(fit.job.source.n_columns, fit.settings.n_clusters, fit.job.dtype)


def check_embedding(fit: Fit) -> None:
    """Coefficients for rows of the source, and a sample that is embedded with them."""
    model, comparison = fit.embedding, fit.comparison
    blocks, m = model.coefficients.blocks, model.coefficients.n_components
    found = model.kernel.n_features(blocks[0].landmarks)
    require(found == fit.job.source.n_columns, f"landmarks of {found} columns")
    require(
        (model.scaling is None) == (fit.drawn.scaling is None), "scaling differs from that of the samples"
    )
    of_graph = not any(block.of_kernel for block in blocks)
    require(of_graph == (comparison is not None), "coefficients of another embedding")
    if comparison is not None:
        # The rows of the graph are numbers of its landmarks, which loops do not check.
        same = len(blocks) == 1 and model.coefficients.n_landmarks == comparison.n_landmarks
        require(same, "coefficients of another graph")
    check_sample(fit, fit.sample, m)


def check_sample(fit: Fit, sample: Sample, m: int) -> None:
    """Embedded instances in the form that the loops are compiled for."""
    rows = sample.rows
    require(
        isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.shape[1] == m, "sample without m columns"
    )
    require(rows.dtype in (np.float32, np.float64) and rows.flags.c_contiguous, f"sample of {rows.dtype}")
    check_weights(fit, sample.weights)


def check_start(fit: Fit) -> None:
    """The first centroids: k of m components."""
    check_centroids(fit, fit.start)


def check_found(fit: Fit) -> None:
    """Centroids after at most as many iterations as there may be."""
    check_centroids(fit, fit.found.centroids)
    require(fit.found.n_iter <= fit.settings.max_iter, f"{fit.found.n_iter} iterations")


def check_centroids(fit: Fit, centroids: Array) -> None:
    """Bounded centroids, k of m components."""
    expected = fit.settings.n_clusters, fit.embedding.coefficients.n_components
    require(centroids.shape == expected, f"centroids have shape {centroids.shape}, expected {expected}")
    require(centroids.dtype == np.float64, f"centroids are of type {centroids.dtype}")
    require(largest(centroids) <= LARGEST_CENTROID, f"centroids are beyond {LARGEST_CENTROID:g}")


def check_embedded(fit: Fit, chunk: Chunk) -> None:
    """Embedded rows of a chunk."""
    rows, m = chunk.rows, fit.embedding.coefficients.n_components
    require(rows.dtype == np.float32 and rows.shape[1] == m, f"rows of {rows.dtype}, shape {rows.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        require(np.isfinite(np.vdot(rows, rows)), "rows are not finite")
    check_weights(fit, chunk.weights)


def check_compared(fit: Fit, chunk: Chunk) -> None:
    """Rows of a chunk that were compared with landmarks."""
    assert fit.comparison is not None
    fit.comparison.check_compared(chunk.rows)
    check_weights(fit, chunk.weights)
