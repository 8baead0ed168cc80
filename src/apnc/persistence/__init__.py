"""Model files: a fitted estimator in one file that holds data and no code. See docs/model-files.md."""

from apnc.persistence.container import ModelFileError
from apnc.persistence.loading import load
from apnc.persistence.saving import save

__all__ = ["ModelFileError", "load", "save"]
