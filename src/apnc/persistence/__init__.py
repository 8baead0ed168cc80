"""Model files: a fitted estimator in a single file of data, without code. See docs/reference/model-files.md."""

from apnc.persistence.container import Container, ModelFileError, is_model_file
from apnc.persistence.contents import Contents, Origin, read_contents, write_contents
from apnc.persistence.functions import Functions, NoFunctions

__all__ = [
    "Container",
    "Contents",
    "Functions",
    "ModelFileError",
    "NoFunctions",
    "Origin",
    "is_model_file",
    "read_contents",
    "write_contents",
]
