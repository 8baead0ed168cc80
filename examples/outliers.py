"""
Odd rows, and rows between two clusters
=======================================

A pump reports its vibration and temperature. It has three modes of operation, and clusters of last month's readings are
these modes. For today's readings a label is not enough: which ones fit no mode, and which ones are on the way from one
mode to another?
"""

# %%
# Last month's readings, and today's: most are ordinary, some belong to no mode, and some are between two.
import os

import numpy as np
from matplotlib import pyplot as plt

import apnc

n = int(os.environ.get("ROWS", 6000))
rng = np.random.default_rng(1)
centres = np.array([[2.4, 36.0], [4.6, 57.0], [6.9, 44.0]])
spreads = np.array([[0.55, 3.0], [0.6, 3.0], [0.65, 3.5]])


def readings(n):
    mode = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    return centres[mode] + spreads[mode] * rng.normal(size=(n, 2))


month = readings(n)
odd = np.array([[0.8, 58.0], [1.2, 50.0], [4.6, 28.0], [8.8, 64.0], [0.5, 27.0], [9.5, 29.0], [7.6, 61.0]])
between = centres[1] + np.linspace(0.42, 0.58, 5)[:, None] * (centres[2] - centres[1])
today = np.concatenate([readings(n // 10), odd, between])
kind = np.repeat(["ordinary", "odd", "between"], [n // 10, len(odd), len(between)])

# %%
# The two measurements have different units, so ``scale="standard"`` brings them to one scale; the scaling is stored
# with the model. Fit last month, then score today.
km = apnc.KernelKMeans(3, scale="standard", random_state=0).fit(month)
score = km.outlier_score(today)
shares = km.membership(today)

# %%
# ``outlier_score`` is the share of last month's rows in the same cluster that are nearer to its centroid. A score of 1
# means that no row of the month was so far out. Every cluster has rows near 1, so choose a threshold by how many alarms
# you can look at.
for name in ("ordinary", "odd", "between"):
    alarms = (score[kind == name] > 0.999).sum()
    print(f"{name}: {alarms} of {(kind == name).sum()} rows score above 0.999")

# %%
# ``membership`` divides a row among the clusters: shares that sum to 1. They rank how clearly a row belongs to its
# cluster, and are not probabilities.
largest = shares.max(axis=1)
for name in ("ordinary", "odd", "between"):
    print(f"{name}: the median row belongs to its cluster by {np.median(largest[kind == name]):.2f}")

# %%
# Both over the whole plane. On the left, the darker the area, the more ordinary a reading there; rows beyond the outer
# line score above 0.999. On the right, colours mix where clusters share a row.
colours = np.array(["#12719e", "#e8833a", "#5b9f6d"])
x, y = np.meshgrid(np.linspace(0, 10, 220), np.linspace(23, 71, 220))
plane = np.column_stack([x.ravel(), y.ravel()])
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained", sharey=True)

levels = [0, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999]
areas = km.outlier_score(plane).reshape(x.shape)
left.contourf(x, y, areas, levels=levels, cmap="Blues_r", alpha=0.75)
left.contour(x, y, areas, levels=[0.999], colors="#12719e", linewidths=1)
left.scatter(*today[kind == "ordinary"].T, color="#33434f", s=4, linewidths=0, label="ordinary")
left.scatter(
    *today[kind == "odd"].T, facecolors="none", edgecolors="#e8833a", s=60, linewidths=2, label="odd"
)
left.scatter(*today[kind == "between"].T, color="#c05c5c", s=28, marker="x", label="between two modes")
figure.legend(loc="outside lower center", ncols=3, frameon=False)
left.set(xlabel="vibration", ylabel="temperature", title="Odd rows lie outside what the month has seen")

rgb = np.array([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in colours])
mixed = 1 - (1 - km.membership(plane) @ rgb) * 0.6
right.imshow(mixed.reshape(*x.shape, 3), origin="lower", extent=(0, 10, 23, 71), aspect="auto")
right.scatter(*today[kind == "ordinary"].T, color="#33434f", s=4, linewidths=0)
right.scatter(*today[kind == "between"].T, color="#c05c5c", s=28, marker="x")
right.set(xlabel="vibration", title="Membership mixes between modes")
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)
plt.show()
