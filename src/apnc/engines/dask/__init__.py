"""The Dask engine: arrays, dataframes and bags as sources, chunks in the workers, clusters for the command line."""

from importlib.util import find_spec
from typing import Any

#: Name of its data in messages.
KIND = "a Dask collection"
#: Command-line options: metavar and help text.
OPTIONS = {
    "scheduler": (
        "ADDRESS",
        "tcp://host:8786, the scheduler of a running cluster. By default a cluster of processes on all cores of this "
        "machine. Dask reads DATA itself and writes folders.",
    )
}
#: Options of ``sources.open`` that apply to a collection.
TAKES = ("columns", "exclude", "id_columns", "weight_column", "object_field")


def facts() -> dict[str, str]:
    """What problems with Dask depend on: where workers that start here spill what they keep."""
    if find_spec("dask") is None:
        return {}
    import tempfile

    import dask

    return {"dask_spills_to": dask.config.get("temporary-directory") or tempfile.gettempdir()}


def open_data(data: Any, **options: Any) -> Any:
    """A collection as a source."""
    from apnc.engines.dask.losses import told_plainly
    from apnc.engines.dask.source import open_collection

    with told_plainly():
        return open_collection(data, **options)
