"""Save and load estimators and models on any file system that Spark supports.

A folder has metadata as written by ``pyspark.ml`` and, for a model, the bytes of its ``.apnc`` file as rows of Parquet.
Loading it runs no code from the folder.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO, Any, Self

import pyarrow as pa
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter

from apnc.engines.spark.failures import is_connect
from apnc.estimators.saving import read_estimator
from apnc.persistence import Container, Functions, ModelFileError
from apnc.persistence.functions import import_name
from apnc.temporary import temporary_folder

#: Bytes of a model per row: Spark holds several copies of a row while writing, in a heap of 1 GB by default.
PART_BYTES = 1 << 24
#: The kernel function, or its trusted name, set by ``given_kernel``.
NOTHING = Functions()
GIVEN: ContextVar[Functions] = ContextVar("apnc_given_kernel", default=NOTHING)


@contextmanager
def given_kernel(kernel: Any = None, trust: str | None = None) -> Iterator[None]:
    """Supply the kernel function, or its import name, to models loaded within, such as by ``PipelineModel.load``."""
    token = GIVEN.set(Functions(kernel, trust))
    try:
        yield
    finally:
        GIVEN.reset(token)


class Writer(MLWriter):
    """Saves params; supports overwriting on Connect too."""

    def __init__(self, instance: Any):
        super().__init__()
        self.instance = instance

    def _handleOverwrite(self, path: str) -> None:
        if not is_connect(self.sparkSession):
            super()._handleOverwrite(path)
            return
        from pyspark.ml.connect.readwrite import RemoteMLWriter

        RemoteMLWriter.handleOverwrite(path, True)

    def _save_metadata(self, path: str, stored: dict[str, Any], **extra: Any) -> None:
        kernel, name = self.instance._chosen("kernel"), f"apnc.spark.{type(self.instance).__name__}"
        if callable(kernel):
            extra["kernelFunction"] = import_name(kernel)
        extra["class"] = name
        DefaultParamsWriter.saveMetadata(self.instance, path, self.sparkSession, extra, stored)

    def _plain(self) -> dict[str, Any]:
        """Params with a JSON form."""
        given = {param.name: value for param, value in self.instance._paramMap.items()}
        return {name: value for name, value in given.items() if is_plain(value)}


class EstimatorWriter(Writer):
    """Saves the params of an estimator."""

    def saveImpl(self, path: str) -> None:
        """Write the metadata."""
        if not is_plain(embedding := self.instance._chosen("embedding")):
            raise ModelFileError(
                f"embedding={embedding!r} is an object, which cannot be saved with an estimator; set it after loading."
            )
        self._save_metadata(path, self._plain())


class ModelWriter(Writer):
    """Saves a model."""

    def saveImpl(self, path: str) -> None:
        """Write the metadata, then the model in parts."""
        with temporary_folder() as folder:
            file = self.instance.toLocal().save(folder / "model.apnc")
            size = file.stat().st_size
            self._save_metadata(path, self._plain(), model={"bytes": size, "parts": -(-size // PART_BYTES)})
            with open(file, "rb") as opened:
                for number, part in enumerate(iter(lambda: opened.read(PART_BYTES), b"")):
                    self._write_part(path, number, part)

    def _write_part(self, path: str, number: int, part: bytes) -> None:
        table = pa.table({"part": pa.array([number], pa.int32()), "bytes": pa.array([part], pa.binary())})
        frame = self.sparkSession.createDataFrame(table).coalesce(1)
        frame.write.mode("append" if number else "error").parquet(f"{path}/model")


def is_plain(value: Any) -> bool:
    """Whether a value has a JSON form."""
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


class Reader(MLReader):
    """Loads what a ``Writer`` saved."""

    def __init__(self, kind: Any):
        super().__init__()
        self.kind = kind
        self._kernel: Any = None
        self._trust: str | None = None

    def kernel(self, function: Any) -> Self:
        """Pass the kernel function; its import name must be the stored one."""
        self._kernel = function
        return self

    def trust(self, name: str) -> Self:
        """Import the kernel function if its stored name is this one, "package.module:function"."""
        self._trust = name
        return self

    def _metadata(self, path: str) -> dict[str, Any]:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        expected = f"apnc.spark.{self.kind.__name__}"
        if metadata["class"] != expected:
            raise ModelFileError(f"{path} holds a {metadata['class']}, expected {expected}.")
        return metadata

    def _functions(self, path: str, metadata: dict[str, Any]) -> Functions:
        """The functions passed as ``kernel`` or ``trust``, one of which is needed for a kernel function."""
        given = Functions(self._kernel, self._trust)
        if "kernelFunction" not in metadata:
            return given
        given = GIVEN.get() if given == NOTHING else given
        if given == NOTHING:
            stored = metadata["kernelFunction"]
            raise ModelFileError(
                f"{path} needs its kernel function{f' {stored}' if stored else ''}, which is not stored. Pass it: "
                f"{self.kind.__name__}.read().kernel(function).load(path); for a whole pipeline: "
                "with apnc.spark.given_kernel(function): PipelineModel.load(path)."
            )
        return given

    def _restored(self, instance: Any, metadata: dict[str, Any], path: str) -> Any:
        unknown = [name for name in metadata["paramMap"] if not instance.hasParam(name)]
        if unknown:
            raise ModelFileError(
                f"{path} has a parameter {unknown[0]!r}, which this apnc does not know: pip install -U apnc"
            )
        DefaultParamsReader.getAndSetParams(instance, metadata)
        return instance._resetUid(metadata["uid"])


class EstimatorReader(Reader):
    """Loads an estimator."""

    def load(self, path: str) -> Any:
        """Load the estimator in a folder."""
        metadata = self._metadata(path)
        functions = self._functions(path, metadata)
        estimator = self._restored(self.kind(), metadata, path)
        if "kernelFunction" in metadata:
            return estimator._given(kernel=functions.find(metadata["kernelFunction"], _failing(path)))
        functions.refuse(estimator._chosen("kernel"), _failing(path))
        return estimator


class ModelReader(Reader):
    """Loads a model."""

    def load(self, path: str) -> Any:
        """Load the model in a folder, with the checks of an ``.apnc`` file."""
        metadata = self._metadata(path)
        functions = self._functions(path, metadata)
        with tempfile.TemporaryFile() as file:
            self._fetch(path, metadata["model"], file)
            local, _ = read_estimator(Container(file, path), functions)
        model = self._restored(self.kind(local), metadata, path)
        lacking = {name: value for name, value in own(local) if value != model._chosen(name)}
        return model._given(**{name: value for name, value in lacking.items() if model.hasParam(name)})

    def _fetch(self, path: str, expected: dict[str, int], file: IO[bytes]) -> None:
        rows = self.sparkSession.read.parquet(f"{path}/model")
        for number in range(expected["parts"]):
            part = rows.where(rows["part"] == number).select("bytes").toArrow()["bytes"]
            for piece in part:
                file.write(piece.as_buffer())
        if file.tell() != expected["bytes"]:
            raise ModelFileError(
                f"{path} is incomplete: it has {file.tell()} of {expected['bytes']} bytes. Save the model again."
            )
        file.seek(0)


def own(local: Any) -> Iterator[tuple[str, Any]]:
    """Params from the model itself, which the metadata may lack."""
    return ((name, getattr(local, name, None)) for name in ("kernel", "embedding"))


def _failing(path: str) -> Any:
    return lambda message: ModelFileError(f"{path}: {message}")
