"""
Rings, half-moons and spirals
=============================

Some groups are not round. Plain k-means divides the plane by straight lines, so it cuts through rings, half-moons and
spirals. ``SpectralClustering`` follows chains of neighbours instead: two rows belong together if neighbours lead from
one to the other. All its settings are defaults here; there is no gamma to choose.
"""

# %%
# Four data sets with known groups. The last one has groups of very different spread and size.
import os

import numpy as np
from matplotlib import pyplot as plt
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

import apnc

n = int(os.environ.get("ROWS", 3000))
rng = np.random.default_rng(0)


def spirals(n, arms=3):
    arm = rng.integers(0, arms, n)
    turn = rng.uniform(0.25, 1, n) ** 0.6
    angle = 2 * np.pi * (arm / arms + 0.9 * turn)
    return np.column_stack([turn * np.cos(angle), turn * np.sin(angle)]) + rng.normal(0, 0.02, (n, 2)), arm


data = {
    "rings": make_circles(n, factor=0.5, noise=0.05, random_state=0),
    "half-moons": make_moons(n, noise=0.08, random_state=0),
    "spirals": spirals(n),
    "unequal groups": make_blobs(
        [n // 10, n // 5, n - n // 5 - n // 10],
        centers=[[-2.5, 2.5], [2.5, 3.0], [0, -1.5]],
        cluster_std=[0.25, 0.45, 1.3],
        random_state=0,
    ),
}

# %%
# Both estimators know how many groups there are, and nothing else.
fits = {}
for name, (X, truth) in data.items():
    k = len(np.unique(truth))
    fits[name] = {
        "apnc SpectralClustering": apnc.SpectralClustering(k, random_state=0).fit(X),
        "scikit-learn KMeans": KMeans(k, n_init=10, random_state=0).fit(X),
    }
    for method, fit in fits[name].items():
        print(f"{name}, {method}: NMI {normalized_mutual_info_score(truth, fit.labels_):.2f}")

# %%
# Dots are rows of the fit, in the colour of their cluster. The light areas are predictions: the cluster that a new row
# there would get. scikit-learn's own ``SpectralClustering`` cannot label new rows; this one has ``predict``.
colours = np.array(["#12719e", "#e8833a", "#5b9f6d"])


def as_truth(truth, labels):
    """The true group that goes with each cluster, so that both rows of the picture have the same colours."""
    clusters, groups = linear_sum_assignment(-contingency_matrix(truth, labels).T)
    return groups[np.argsort(clusters)]


def draw(axis, X, truth, fit):
    groups = as_truth(truth, fit.labels_)
    low, high = X.min(axis=0) - 0.25, X.max(axis=0) + 0.25
    x, y = np.meshgrid(np.linspace(low[0], high[0], 200), np.linspace(low[1], high[1], 200))
    areas = groups[fit.predict(np.column_stack([x.ravel(), y.ravel()]))].reshape(x.shape)
    levels = np.arange(len(groups) + 1) - 0.5
    axis.contourf(x, y, areas, levels=levels, colors=colours[: len(groups)], alpha=0.18)
    shown = np.random.default_rng(0).choice(len(X), min(1000, len(X)), replace=False)
    axis.scatter(*X[shown].T, c=colours[groups[fit.labels_[shown]]], s=4, linewidths=0)
    axis.set(xticks=[], yticks=[], xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axis.spines[:].set_visible(False)


figure, axes = plt.subplots(2, 4, figsize=(10, 5.6), layout="constrained")
for column, (name, (X, truth)) in zip(axes.T, data.items(), strict=True):
    for axis, (method, fit) in zip(column, fits[name].items(), strict=True):
        draw(axis, X, truth, fit)
        axis.set_xlabel(f"NMI {normalized_mutual_info_score(truth, fit.labels_):.2f}", fontsize=10)
        if name == "rings":
            axis.set_ylabel(method, fontsize=11)
    column[0].set_title(name, fontsize=11)
figure.suptitle("Chains of neighbours find shapes that straight lines cut", fontsize=14)
plt.show()
