"""``apnc plan``."""

from typing import Any

import typer

from apnc import KernelKMeans
from apnc.cli import options as opt
from apnc.cli.fitting import parameters
from apnc.cli.printing import number, show_json, show_lines
from apnc.cli.reading import opened
from apnc.forecast import Forecast
from apnc.memory import show_bytes
from apnc.progress.stage import duration


def plan(
    context: typer.Context,
    data: opt.Data,
    *,
    columns: opt.Columns = None,
    exclude: opt.Exclude = None,
    id_column: opt.IdColumn = None,
    weight_column: opt.WeightColumn = None,
    drop_null: opt.DropNull = False,
    format: opt.Format = None,
    object_field: opt.ObjectField = None,
    scale: opt.Scale = "none",
    kernel: opt.Kernel = "rbf",
    gamma: opt.Gamma = None,
    coef0: opt.Coef0 = 1.0,
    degree: opt.Degree = 3.0,
    normalize_kernel: opt.NormalizeKernel = False,
    embedding: opt.Embedding = "nystroem",
    landmarks: opt.Landmarks = "auto",
    components: opt.Components = "auto",
    clusters: opt.Clusters,
    init: opt.Init = "k-means++",
    n_init: opt.NInit = "auto",
    max_iter: opt.MaxIter = 300,
    tol: opt.Tol = 1e-4,
    as_json: opt.Json = False,
    memory_limit: opt.MemoryLimit = None,
    seed: opt.Seed = 0,
    threads: opt.Threads = None,
    config: opt.Config = None,
    debug: opt.Debug = False,
) -> None:
    """Say what `apnc fit` with the same options will take, after a rehearsal of a second or two on some rows.

    Passes, operations, bytes moved, peak memory, disk and seconds; a memory limit that cannot be kept is refused.

    Example: apnc plan events.parquet --clusters 10 --memory-limit 2GB
    """
    given = {**context.params, "quiet": True}
    km = KernelKMeans(clusters, **parameters(given))
    with opened(data, given) as source:
        found = km.plan(source)
    show_json(result(found)) if as_json else show_lines(lines(found))


def result(found: Forecast) -> dict[str, Any]:
    """All of the forecast, with the sum of the seconds."""
    return {**vars(found), "seconds_by_stage": found.seconds, "seconds": sum(found.seconds.values())}


def lines(found: Forecast) -> dict[str, str]:
    """The same for people."""
    rows = number(found.n_rows) + ("" if found.counted else ", estimated from the first lines")
    stages = ", ".join(f"{name} {duration(seconds)}" for name, seconds in found.seconds.items())
    over = f"{found.data_passes} over the data, about {found.embedding_passes} over the embedding"
    return {
        "rows": rows,
        "landmarks": number(found.n_landmarks),
        "components": f"{number(found.n_components)} at most",
        "passes": over,
        "operations": f"{found.flops:.3g}",
        "bytes moved": show_bytes(found.bytes_moved),
        "peak memory": show_bytes(found.peak_bytes),
        "temporary file": show_bytes(found.disk_bytes) if found.disk_bytes else "none",
        "time": f"about {duration(sum(found.seconds.values()))}: {stages}",
    }
