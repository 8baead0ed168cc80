"""From a model file to a fitted estimator."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from apnc.discrepancy import Discrepancy, Euclidean, Manhattan
from apnc.embeddings import Block, Coefficients
from apnc.kernels import CallableKernel, GivenRows, Kernel, NormalizedKernel, PrecomputedKernel, VectorKernel
from apnc.model import ClusterModel, EmbeddingModel
from apnc.persistence.container import Container
from apnc.persistence.functions import Functions
from apnc.persistence.kernels import unpack_kernel
from apnc.persistence.parameters import unpack_parameters
from apnc.persistence.record import Record
from apnc.persistence.rows import unpack_rows
from apnc.scaling import SCALES, Scaling

FORMAT = "apnc-model"
#: The version that is written; the reader takes all up to it.
VERSION = 1
DISCREPANCIES: dict[str, type[Discrepancy]] = {"euclidean": Euclidean, "manhattan": Manhattan}


@dataclass(frozen=True)
class Origin:
    """When, by what and with which options a file was written; the options are empty where none are stored."""

    created: str
    written_by: dict[str, str]
    configuration: dict[str, Any]


def estimators() -> dict[str, type]:
    """The classes that can be stored, by name."""
    from apnc.estimators import KernelEmbedding, KernelKMeans

    return {"KernelKMeans": KernelKMeans, "KernelEmbedding": KernelEmbedding}


def load(path: str | os.PathLike[str], kernel: Any = None, trust: str | None = None) -> Any:
    """Read a fitted estimator from a file that its ``save`` wrote.

    The file is data: nothing in it is run or imported, and all of it is checked first.

    Parameters
    ----------
    path : of the file.
    kernel : the kernel function, for a model with one. Its import name must be the stored one; a lambda or
        a local function has none, then any is taken.
    trust : str, "package.module:function", instead of ``kernel``: the kernel function is imported if the
        file names this one.

    Returns
    -------
    A fitted ``KernelKMeans`` or ``KernelEmbedding``.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model file, or needs a kernel function that was not given.

    """
    return read(path, Functions(kernel, trust))[0]


def read(path: str | os.PathLike[str], functions: Functions) -> tuple[Any, Origin]:
    """The estimator of a file, and where it comes from.

    With ``NoFunctions()`` it is to be looked at: all of it is checked, but a kernel function is not imported, and
    without it the estimator cannot predict.
    """
    with open(path, "rb") as file:
        return read_estimator(Container(file, str(path)), functions)


def read_estimator(container: Container, functions: Functions) -> tuple[Any, Origin]:
    """The estimator of an open file, and where it comes from."""
    schema = container.schema
    check_version(schema)
    container.list_members(schema.record("members"))
    kind = estimators()[schema.text("estimator", known=estimators())]
    estimator = kind(**unpack_parameters(schema.record("parameters"), kind))
    schema.texts("parameters_not_stored")
    origin = read_origin(schema)
    model = read_model(schema, container, functions)
    set_kernel(estimator, model.kernel, schema)
    estimator._store_embedding(model)
    set_features(estimator, schema.record("features"), model)
    clusters = schema.unless_null("clusters", schema.record)
    if (clusters is None) != (kind.__name__ == "KernelEmbedding"):
        raise schema.fail(f"clusters is {'null' if clusters is None else 'there'} for a {kind.__name__}")
    if clusters is not None:
        set_clusters(estimator, clusters, container)
    schema.end()
    container.end()
    return estimator, origin


def read_origin(schema: Record) -> Origin:
    """When, by what and with which options the file was written."""
    written_by = schema.record("written_by")
    versions = {name: written_by.text(name) for name in sorted(written_by.names)}
    configuration = schema.take("configuration") if "configuration" in schema.names else None
    return Origin(schema.text("created"), versions, configuration if isinstance(configuration, dict) else {})


def check_version(schema: Record) -> None:
    """Only what this apnc knows is read."""
    name = schema.take("format")
    if name != FORMAT:
        raise schema.wrong("format", name, repr(FORMAT))
    version = schema.integer("version", least=1)
    if version > VERSION:
        raise schema.fail(
            f"version {version} of the format, and this apnc reads up to {VERSION}. A newer apnc reads it: "
            "pip install -U apnc"
        )


def read_model(schema: Record, container: Container, functions: Functions) -> EmbeddingModel:
    """Kernel and coefficients, which must fit together."""
    kernel = unpack_kernel(schema.record("kernel"), container, functions)
    discrepancy = DISCREPANCIES[schema.text("discrepancy", known=DISCREPANCIES)]()
    blocks = tuple(read_block(b, record, container) for b, record in enumerate(schema.records("blocks")))
    check_landmarks(blocks, kernel, schema)
    coefficients = Coefficients(
        blocks, discrepancy, schema.number("beta"), schema.integer("dropped"), schema.number("negative")
    )
    scaling = schema.unless_null("scaling", schema.record)
    scaling = None if scaling is None else read_scaling(scaling, container, blocks)
    return EmbeddingModel(kernel, coefficients, schema.number("residual"), scaling)


def read_scaling(record: Record, container: Container, blocks: tuple[Block, ...]) -> Scaling:
    """What is done to rows first."""
    kind = record.text("kind", known=SCALES)
    record.end()
    landmarks = blocks[0].landmarks
    if not hasattr(landmarks, "shape") or (sparse.issparse(landmarks) and kind != "unit"):
        raise record.wrong("kind", kind, "null: it does not go with these landmarks")
    shape = (0 if kind == "unit" else landmarks.shape[1],)
    shift, factor = (container.array(f"scaling_{name}.npy", shape, kinds="f") for name in ("shift", "factor"))
    return Scaling(kind, shift, factor)


def read_block(b: int, record: Record, container: Container) -> Block:
    """A block of R with its landmarks."""
    m = record.integer("n_components", least=1)
    landmarks = unpack_rows(record.record("landmarks"), container, f"block_{b}")
    record.end()
    n_landmarks = landmarks.shape[0] if hasattr(landmarks, "shape") else len(landmarks)
    return Block(landmarks, container.array(f"block_{b}_weights.npy", (m, n_landmarks)))


def check_landmarks(blocks: tuple[Block, ...], kernel: Kernel, schema: Record) -> None:
    """All blocks have landmarks of one type, and of one that the kernel takes."""
    if not blocks:
        raise schema.fail("blocks is empty")
    inner = kernel.kernel if isinstance(kernel, NormalizedKernel) else kernel
    kinds = {(type(block.landmarks), getattr(block.landmarks, "shape", (0, 0))[1]) for block in blocks}
    if len(kinds) > 1:
        raise schema.fail("blocks differ in the type or the number of columns of their landmarks")
    given = isinstance(blocks[0].landmarks, GivenRows)
    objects = isinstance(blocks[0].landmarks, list)
    if given != isinstance(inner, PrecomputedKernel) or (objects and isinstance(inner, VectorKernel)):
        raise schema.fail(f"blocks have landmarks that do not go with a {type(inner).__name__}")
    if isinstance(inner, PrecomputedKernel):
        used = np.concatenate([block.landmarks.numbers for block in blocks])
        if not set(inner.landmark_numbers or ()).issuperset(used.tolist()):
            raise schema.fail("blocks have landmarks that are not among those of the kernel")


def set_kernel(estimator: Any, kernel: Kernel, schema: Record) -> None:
    """The kernel parameter must be the one of the fit."""
    inner = kernel.kernel if isinstance(kernel, NormalizedKernel) else kernel
    if isinstance(inner, CallableKernel):
        estimator.kernel = inner.function
        if dict(estimator.kernel_params or {}) != dict(inner.params):
            raise schema.fail("parameters.kernel_params is not what the model was fitted with; fit again")
        return
    fitted = inner.name if isinstance(inner, VectorKernel) else "precomputed"
    if estimator.kernel != fitted:
        raise schema.fail(
            f"parameters.kernel is {estimator.kernel!r}, but the model was fitted with {fitted!r}; fit again"
        )


def set_features(estimator: Any, record: Record, model: EmbeddingModel) -> None:
    """``n_features_in_`` and ``feature_names_in_``, which must go with the landmarks."""
    number = record.unless_null("number", record.integer)
    names = record.unless_null("names", record.texts)
    record.end()
    landmarks = model.coefficients.blocks[0].landmarks
    expected = landmarks.shape[1] if hasattr(landmarks, "shape") else 0
    if isinstance(model.kernel, PrecomputedKernel):
        expected = model.kernel.n_instances
    if (number or 0) != expected:
        raise record.wrong("number", number, f"{expected}, as the landmarks have")
    if names is not None and len(names) != number:
        raise record.wrong("names", names, f"{number} names")
    if number:
        estimator.n_features_in_ = number
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def set_clusters(estimator: Any, record: Record, container: Container) -> None:
    """Centroids and what the fit found."""
    k = record.integer("number", least=1)
    centroids = container.array("centroids.npy", (k, estimator.n_components_))
    estimator._model = ClusterModel(estimator._embedding_model, centroids)
    estimator.cluster_centers_ = centroids
    estimator.inertia_ = record.number("inertia")
    estimator.n_iter_ = record.integer("n_iter")
    if record.flag("sizes"):
        estimator.cluster_sizes_ = container.array("cluster_sizes.npy", (k,))
    estimator._loaded = True
    record.end()
