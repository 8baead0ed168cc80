"""Checks of the columns that an estimator and its model use."""

from typing import Any

from apnc import sources
from apnc.checks import TABLE
from apnc.engines.spark.vector_columns import is_vector
from apnc.kernels.family import OBJECT_KINDS

NUMERIC = ("byte", "short", "integer", "long", "float", "double", "decimal")
ITEMS = ("float", "double")


def open_features(frame: Any, features: str, prediction: str, kernel: Any, weight: str | None = None) -> Any:
    """Open a DataFrame as a source after checking its columns: vectors, or objects for a kernel function."""
    schema = frame.schema
    absent = [name for name in (features, weight) if name is not None and name not in schema.names]
    if absent:
        raise ValueError(
            f"The DataFrame has no column {absent[0]!r}; there are {', '.join(schema.names)}. "
            f"Set {'featuresCol' if absent[0] == features else 'weightCol'}."
        )
    if prediction in schema.names:
        raise ValueError(
            f"The DataFrame already has a column {prediction!r}; drop it, or set predictionCol to another name."
        )
    if weight is not None and schema[weight].dataType.typeName() not in NUMERIC:
        found = schema[weight].dataType.simpleString()
        raise ValueError(f"The weight column {weight!r} has type {found}; it must be numeric.")
    objects = getattr(TABLE["kernel"].check(kernel), "takes", None) in OBJECT_KINDS
    if are_vectors(schema[features].dataType) and not objects:
        return sources.open(frame, columns=[features], weight_column=weight)
    if objects or callable(kernel):
        return sources.open(frame, object_field=features, weight_column=weight)
    found = schema[features].dataType.simpleString()
    raise ValueError(
        f"The feature column {features!r} has type {found}; it must be a vector, array<float> or array<double> "
        "(pyspark.ml.feature.VectorAssembler makes one of several columns), unless the kernel takes objects."
    )


def are_vectors(type_: Any) -> bool:
    """Whether a Spark type is that of vectors or of numeric arrays."""
    return is_vector(type_) or (type_.typeName() == "array" and type_.elementType.typeName() in ITEMS)
