"""
A file larger than memory
=========================

The kernel matrix of a million rows takes eight terabytes. apnc never forms it: it reads a file in pieces, keeps to the
memory that you allow, and writes the labels to another file. Before it runs, ``plan`` tells what a fit will cost.
"""

# %%
# A Parquet file of events from ten sources, with a key. It is written in parts, so the whole is never in memory.
import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from matplotlib import pyplot as plt
from sklearn.decomposition import PCA

import apnc

n = int(os.environ.get("ROWS", 800_000))
folder = tempfile.TemporaryDirectory()
names = [f"x{j}" for j in range(8)]
centres = np.random.default_rng(0).normal(0, 3, (10, 8))


def write(path, n, part=50_000):
    """Write n rows; those of a shorter file begin a longer one."""
    schema = pa.schema(
        [("key", pa.int64()), ("source", pa.int8()), *((name, pa.float64()) for name in names)]
    )
    with pq.ParquetWriter(path, schema) as file:
        for begin in range(0, n, part):
            rng = np.random.default_rng(begin)
            source = rng.integers(0, 10, min(part, n - begin))
            rows = centres[source] + rng.normal(size=(len(source), 8))
            columns = [np.arange(begin, begin + len(source)), source.astype(np.int8), *rows.T]
            file.write_table(pa.table(dict(zip(schema.names, columns, strict=True)), schema=schema))
    return path


events = write(Path(folder.name, "events.parquet"), n)
print(f"{events.name}: {n:,} rows, {events.stat().st_size / 1e6:.0f} MB")

# %%
# ``apnc.open`` says what the columns are: the key is copied to the labels, the source is left out, the rest are
# features. ``memory_limit`` holds for the whole process, with Python and its libraries.
km = apnc.KernelKMeans(10, random_state=0, memory_limit="2GB")
data = apnc.open(events, id_columns=["key"], exclude=["source"])
plan = km.plan(data)
print(plan)

# %%
# The fit, with labels to a file. What of the embedded rows does not fit into memory goes to a temporary file.
labels = Path(folder.name, "labels.parquet")
km.fit(data, to=labels)
print(f"columns of {labels.name}: {', '.join(pq.read_schema(labels).names)}")

# %%
# Anything that reads Parquet can join the labels to the events by their key. Here, to see whether clusters are sources:
joined = pq.read_table(events, columns=["key", "source"]).join(pq.read_table(labels), "key")
counts = joined.group_by(["source", "label"]).aggregate([("key", "count")])
largest = counts.group_by("source").aggregate([("key_count", "max")])["key_count_max"]
print(f"{100 * pc.sum(largest).as_py() / n:.1f} % of the events are in the cluster of their source")

# %%
# How does memory grow? Plans of smaller files, next to the size of the full kernel matrix.
sizes, peaks = [n // 16, n // 8, n // 4, n // 2, n], []
for size in sizes[:-1]:
    some = write(Path(folder.name, "some.parquet"), size)
    peaks.append(km.plan(apnc.open(some, id_columns=["key"], exclude=["source"])).peak_bytes / 1e9)
peaks.append(plan.peak_bytes / 1e9)
matrices = [8 * size**2 / 1e9 for size in sizes]
for size, peak, matrix in zip(sizes, peaks, matrices, strict=True):
    print(f"{size:,} rows: forecast {peak:.2f} GB, kernel matrix {matrix:,.2f} GB")

# %%
# Some events with their labels, and the memory. Exact kernel k-means runs out of it early; the fit from the file stays
# under its limit.
shown = pq.ParquetFile(events).read_row_group(0).slice(0, 4000).join(pq.read_table(labels), "key")
folder.cleanup()
places = PCA(2).fit_transform(np.column_stack([shown[name] for name in names]))
colours = np.array(["#12719e", "#e8833a", "#5b9f6d", "#8d6fb3", "#c8a02c", "#7c8a97", "#c05c5c", "#45a9ad"])
colours = np.append(colours, ["#a0785a", "#d98cb3"])
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.3), layout="constrained")
left.scatter(*places.T, c=colours[shown["label"].to_numpy()], s=5, alpha=0.8, linewidths=0)
left.set(xticks=[], yticks=[], title="Events by the labels in the file, two directions of eight")
left.spines[:].set_visible(False)

right.loglog(sizes, matrices, color="#e8833a", marker="s", label="full kernel matrix")
right.loglog(sizes, peaks, color="#12719e", marker="o", label="apnc, forecast of the peak")
right.axhline(2, color="#555555", linewidth=1, linestyle=":", label="memory_limit")
right.set(ylabel="GB", title="Memory stays under its limit", xlabel="rows in the file")
right.set(xticks=sizes, xticklabels=[f"{size:,}" for size in sizes])
right.xaxis.minorticks_off()
right.legend(frameon=False)
right.spines[["top", "right"]].set_visible(False)
plt.show()
