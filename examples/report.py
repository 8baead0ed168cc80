"""
From a table to a report
========================

A colleague hands you a table of wines and asks which ones belong together. The answer should not be a column of numbers
but a page: how many groups, how sure you are, and what sets each group apart.
"""

# %%
# scikit-learn carries the table: thirteen measurements of each wine.
import os
import tempfile
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import LinearSegmentedColormap
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA

import apnc

n = int(os.environ.get("ROWS", 178))
wines = load_wine(as_frame=True).data
wines = wines.sample(min(n, len(wines)), random_state=0)
print(f"{len(wines)} wines, {wines.shape[1]} measurements: {', '.join(wines.columns[:4])}, ...")

# %%
# How many groups? Units differ, so each measurement is scaled to variance 1. The answer is cautious: it finds no gaps
# between groups, which may be so with few rows, but the hint names a number. We take it, and say so.
estimator = apnc.KernelKMeans(scale="standard", random_state=0)
choice = apnc.choose(wines, estimator, range(2, 9))
print(choice.reason)
print(choice.hint)

# %%
# Three clusters, and whether they can be trusted:
km = apnc.KernelKMeans(3, scale="standard", random_state=0).fit(wines)
certificate = km.certify(wines)
print(certificate)

# %%
# What is in them? Features are compared by their means, in standard deviations.
description = km.describe(wines, n=3)
print(description)

# %%
# All of it on one page: sizes, a map, the tree of clusters, what sets each apart, prototypes and outliers. The file
# needs no network, so it can be sent by mail; it shows some rows of the data. Needs ``pip install "apnc[report]"``.
with tempfile.TemporaryDirectory() as folder:
    page = km.report(
        wines,
        Path(folder, "report.html"),
        title="Three kinds of wine",
        certificate=certificate,
        choice=choice,
    )
    print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB in one file")

# %%
# Two of its subjects, drawn with matplotlib: a map of the rows in the kernel's space, and the features of each cluster.
# ``describe`` lists as many features as you ask for.
colours = np.array(["#12719e", "#e8833a", "#5b9f6d"])
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5), layout="constrained", width_ratios=(1.2, 1))
places = PCA(2).fit_transform(km.embed(wines))
left.scatter(*places.T, c=colours[km.labels_], s=28, alpha=0.8, linewidths=0)
for cluster in range(3):
    middle = places[km.labels_ == cluster].mean(axis=0)
    box = {"boxstyle": "round", "facecolor": "white", "edgecolor": colours[cluster], "alpha": 0.9}
    text = f"cluster {cluster}\n{km.cluster_sizes_[cluster]:.0f} wines"
    left.text(*middle, text, ha="center", va="center", fontsize=10, bbox=box)
left.set(xticks=[], yticks=[], title="Three groups of wines, next to each other")
left.spines[:].set_visible(False)

every = [{one.name: one.score for one in cluster.contrasts} for cluster in km.describe(wines, n=13).clusters]
names = sorted(wines.columns, key=lambda name: int(np.argmax([scores.get(name, 0) for scores in every])))
scores = np.array([[scores.get(name, 0) for scores in every] for name in names])
blue_to_orange = LinearSegmentedColormap.from_list("blue_to_orange", ["#12719e", "#ffffff", "#e8833a"])
image = right.imshow(scores, cmap=blue_to_orange, vmin=-1.5, vmax=1.5, aspect="auto")
right.set(xticks=range(3), xticklabels=[f"cluster {cluster}" for cluster in range(3)])
right.set(
    yticks=range(13), yticklabels=[name.replace("_", " ") for name in names], title="What sets them apart"
)
right.tick_params(length=0)
right.spines[:].set_visible(False)
figure.colorbar(image, ax=right, label="standard deviations from the mean", shrink=0.7)
plt.show()
