"""Model files: a fitted estimator in one file that holds data and no code. See docs/model-files.md."""

from apnc.persistence.container import ModelFileError, is_model_file
from apnc.persistence.functions import Functions, NoFunctions
from apnc.persistence.loading import Origin, load, read
from apnc.persistence.saving import save

__all__ = ["Functions", "ModelFileError", "NoFunctions", "Origin", "is_model_file", "load", "read", "save"]
