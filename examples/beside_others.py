"""
Beside other clusterers
=======================

No method is best on all data. Here are five on six shapes, each with the time it took and its agreement with the truth:
the two estimators of apnc, and scikit-learn's ``KMeans``, ``SpectralClustering`` and ``HDBSCAN``.
"""

# %%
# Six data sets with a known truth. The last one has groups in a sea of noise; what to do with noise is part of the
# question.
import os
import time
import warnings

import numpy as np
from matplotlib import pyplot as plt
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.cluster import SpectralClustering as SklearnSpectral
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

import apnc

n = int(os.environ.get("ROWS", 2000))
rng = np.random.default_rng(0)
round_groups = make_blobs(n, centers=[[-4, 0], [0.5, 4], [3.5, -2]], cluster_std=0.95, random_state=0)
long_groups, kind = make_blobs(n, centers=3, cluster_std=1.0, random_state=8)
turn, arm = rng.uniform(0.25, 1, n) ** 0.6, rng.integers(0, 2, n)
angle = 2 * np.pi * (arm / 2 + 1.3 * turn)
spirals = np.column_stack([turn * np.cos(angle), turn * np.sin(angle)]) + rng.normal(0, 0.02, (n, 2)), arm
noise = np.arange(n) >= n - n // 4
groups, group = make_blobs(n, centers=[[-5, 2], [0, -4], [5, 3]], cluster_std=0.6, random_state=0)
data = {
    "round": round_groups,
    "stretched": (long_groups @ [[0.6, -0.6], [-0.4, 0.85]], kind),
    "half-moons": make_moons(n, noise=0.09, random_state=0),
    "rings": make_circles(n, factor=0.5, noise=0.06, random_state=0),
    "spirals": spirals,
    "in noise": (np.where(noise[:, None], rng.uniform(-9, 9, (n, 2)), groups), np.where(noise, -1, group)),
}

# %%
# All methods but HDBSCAN are told the number of clusters. HDBSCAN finds it by itself, and is told instead that a
# cluster has at least one row in fifty. Everything else is left as it is, except that scikit-learn's
# ``SpectralClustering`` gets a graph of neighbours: its default, a kernel of fixed width, cannot follow these shapes.


def methods(k):
    return {
        "apnc\nSpectralClustering": apnc.SpectralClustering(k, random_state=0),
        "apnc\nKernelKMeans": apnc.KernelKMeans(k, random_state=0),
        "scikit-learn\nKMeans": KMeans(k, n_init=10, random_state=0),
        "scikit-learn\nSpectralClustering": SklearnSpectral(k, affinity="nearest_neighbors", random_state=0),
        "scikit-learn\nHDBSCAN": HDBSCAN(min_cluster_size=max(5, n // 50), copy=True),
    }


# The first fits load compiled loops, which is not what is timed.
for method in methods(2).values():
    method.fit(rng.normal(size=(200, 2)))

found = {}
for name, (X, truth) in data.items():
    for method, estimator in methods(len(set(truth[truth >= 0]))).items():
        with warnings.catch_warnings(action="ignore"):
            begin = time.perf_counter()
            labels = estimator.fit_predict(StandardScaler().fit_transform(X))
            seconds = time.perf_counter() - begin
        found[name, method] = labels, seconds, normalized_mutual_info_score(truth, labels)
for method in methods(2):
    scores = ", ".join(f"{name} {found[name, method][2]:.2f}" for name in data)
    print(f"{' '.join(method.split())}: NMI {scores}")

# %%
# Each cell has seconds on the left and NMI on the right. Grey rows are what HDBSCAN calls noise.
colours = np.array(["#12719e", "#e8833a", "#5b9f6d", "#8d6fb3", "#c8a02c", "#c05c5c", "#45a9ad", "#a0785a"])
figure, axes = plt.subplots(6, 5, figsize=(9.5, 11), layout="constrained")
for row, (name, (X, _)) in zip(axes, data.items(), strict=True):
    for axis, method in zip(row, methods(2), strict=True):
        labels, seconds, nmi = found[name, method]
        # In the order of their first rows, so that equal clusters have equal colours whatever their numbers are.
        order = list(dict.fromkeys(labels[labels >= 0].tolist()))
        tint = ["#b4bbc1" if label < 0 else colours[order.index(label) % len(colours)] for label in labels]
        axis.scatter(*X.T, c=tint, s=2.5, linewidths=0)
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_color("#d5dade")
        shown = {"transform": axis.transAxes, "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 1}}
        axis.text(0.03, 0.03, f"{seconds:.2f} s", fontsize=8, color="#555555", **shown)
        axis.text(0.97, 0.03, f"{nmi:.2f}", fontsize=10, ha="right", weight="bold", **shown)
    row[0].set_ylabel(name, fontsize=11)
for axis, method in zip(axes[0], methods(2), strict=True):
    axis.set_title(method, fontsize=10)
figure.suptitle("Five methods on six shapes: seconds and NMI", fontsize=14)
plt.show()

# %%
# What to take from it:
#
# - On round groups all agree, so take the simplest, ``KMeans``.
# - Half-moons, rings and spirals need a graph of neighbours, or density. Both spectral methods follow them. That of
#   scikit-learn links each row with other rows and cannot label new ones; that of apnc links rows with landmarks, so it
#   goes on where a graph of all rows becomes slow, and has ``predict``.
# - ``KernelKMeans`` with its default kernel finds groups that are alike, not chains of neighbours, and gains little
#   over ``KMeans`` here. It is for similarities that are no distance in the plane: of strings, sets or graphs.
# - HDBSCAN is nearly as good on every shape without being told the number of clusters, and it is better in noise, which
#   it leaves unlabelled. All others assign every row to a cluster.
# - Seconds are those of the machine that drew the picture, of fits too small to compare speed.
