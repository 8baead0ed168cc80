"""
The same labels on Spark
========================

Rows in a data lake stay there. ``fit`` and ``predict`` take a Spark DataFrame where they take an array; the executors
run the same functions. For rows of float64 the labels are the same as on one machine, row for row, however the rows are
divided. So you can develop on a laptop and trust what a cluster does.
"""

# %%
# Three rings, and the labels of a fit on this machine.
import os

import numpy as np
from matplotlib import pyplot as plt

import apnc

n = int(os.environ.get("ROWS", 4000))
rng = np.random.default_rng(0)
ring = rng.integers(0, 3, n)
angle, radius = rng.uniform(0, 2 * np.pi, n), ring + 1 + rng.normal(0, 0.12, n)
X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
here = apnc.SpectralClustering(3, random_state=0).fit(X)
print("sizes of the clusters on this machine:", np.sort(here.cluster_sizes_).astype(int))

# %%
# A session needs ``pip install "apnc[spark]"`` and Java 17 or newer. ``apnc.spark.session`` says what is missing.
# ``"local[2]"`` runs Spark on two threads of this machine; the address of a cluster goes in the same place.
try:
    import apnc.spark

    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    spark = apnc.spark.session("local[2]", **quiet)
except (ModuleNotFoundError, RuntimeError) as missing:
    spark = None
    print(f"Spark is not available here, so the picture shows the local fit: {missing}")

# %%
# The rows go to a DataFrame in three partitions. ``fit`` reads them there; ``predict`` appends a column ``label``, and
# is lazy like everything in Spark. A key brings the rows back into their order.
labels, partitions = here.labels_, np.zeros(n, int)
if spark is not None:
    import pyarrow as pa
    from pyspark.sql.functions import spark_partition_id

    table = pa.table({"key": np.arange(n), "x": X[:, 0], "y": X[:, 1]})
    df = spark.createDataFrame(table).repartition(3, "key").withColumn("partition", spark_partition_id())
    there = apnc.SpectralClustering(3, random_state=0).fit(apnc.open(df, columns=["x", "y"]))
    found = there.predict(df).select("key", "partition", "label").toArrow().sort_by("key")
    labels, partitions = found["label"].to_numpy(), found["partition"].to_numpy()
    print(f"equal labels on Spark and here: {(labels == here.labels_).sum():,} of {n:,}")
    spark.stop()

# %%
# Rows of a ring are on all partitions, and still get one label.
colours = np.array(["#12719e", "#e8833a", "#5b9f6d", "#8d6fb3", "#c8a02c"])
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.7), layout="constrained")
left.scatter(*X.T, c=colours[partitions], s=6, alpha=0.8, linewidths=0)
left.set_title("Where rows are: three partitions" if spark else "Rows on this machine: one partition")
right.scatter(*X.T, c=colours[labels], s=6, alpha=0.8, linewidths=0)
right.set_title("What rows are: labels from Spark" if spark else "What rows are: labels from the local fit")
for axis in (left, right):
    axis.set(xticks=[], yticks=[], aspect="equal")
    axis.spines[:].set_visible(False)
plt.show()
