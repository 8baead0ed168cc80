"""
How many clusters, if any?
==========================

k-means finds k clusters in anything, also in noise. ``apnc.choose`` asks two questions of each k: do other rows confirm
these clusters, and are there gaps between them? It recommends the largest k that passes both, or says that there is no
clear structure.
"""

# %%
# Three data sets: six groups, a cloud without any group, and two half-moons.
import os

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_blobs, make_moons

import apnc

n = int(os.environ.get("ROWS", 3000))
centres = [[0, 0], [4, 0.5], [1.5, 4], [6, 4], [-2.5, 3], [3.5, 7.5]]
data = {
    "six groups": make_blobs(n, centers=centres, cluster_std=0.55, random_state=0)[0],
    "a cloud": np.random.default_rng(0).normal(size=(n, 2)) @ [[2.0, 0.6], [0.0, 1.0]],
    "half-moons": make_moons(n, noise=0.07, random_state=0)[0],
}
estimators = {
    "six groups": apnc.KernelKMeans(random_state=0),
    "a cloud": apnc.KernelKMeans(random_state=0),
    "half-moons": apnc.SpectralClustering(random_state=0),
}

# %%
# One call for each. The choice says what it recommends and why. ``choice.estimator`` is fitted to all rows, ready to
# predict; without a recommendation there is none.
choices = {name: apnc.choose(X, estimators[name], range(2, 13)) for name, X in data.items()}
for name, choice in choices.items():
    print(f"{name}: {choice.n_clusters or 'no clear structure'}\n{choice.reason}\n")

# %%
# ``choice.table`` has all measures, ``choice.plot`` draws them. Prediction strength is the share of pairs that a fit to
# other rows keeps together, in the worst cluster; it should be above the dotted blue line. The valley says how many
# rows lie between the two clusters that are least separated, compared with their centres; it should be below the dotted
# red line. A grey bar marks the recommendation.
colours = np.array(["#12719e", "#e8833a", "#5b9f6d", "#8d6fb3", "#c8a02c", "#c05c5c", "#45a9ad", "#a0785a"])
figure, axes = plt.subplots(2, 3, figsize=(10, 6.2), layout="constrained", height_ratios=(1, 1.1))
for (top, bottom), (name, choice) in zip(axes.T, choices.items(), strict=True):
    X = data[name]
    found = "no clear structure" if choice.n_clusters is None else f"{choice.n_clusters} clusters"
    labels = None if choice.n_clusters is None else choice.estimator.labels_ % len(colours)
    top.scatter(*X.T, c="#8a949c" if labels is None else colours[labels], s=4, alpha=0.7, linewidths=0)
    top.set(xticks=[], yticks=[])
    top.spines[:].set_visible(False)
    top.set_title(f"{name}: {found}", fontsize=12)
    choice.plot(bottom)
    bottom.get_legend().remove()
    for height, line in ((0.8, 0), (0.5, 3)):
        bottom.axhline(height, color=bottom.lines[line].get_color(), linewidth=1, linestyle=":")
    bottom.set(xticks=range(2, 13, 2), ylim=(-0.05, 2.1))
    bottom.spines[["top", "right"]].set_visible(False)
handles, names = axes[1, 0].get_legend_handles_labels()
figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
figure.suptitle("A recommendation needs clusters that return and gaps between them", fontsize=14)
plt.show()

# %%
# The answer depends on what the estimator calls a cluster. Half-moons are two connected shapes for
# ``SpectralClustering``. ``KernelKMeans`` looks for groups that are alike, and divides the same rows in another way.
alike = apnc.choose(data["half-moons"], apnc.KernelKMeans(random_state=0), range(2, 13))
print(f"half-moons with KernelKMeans: {alike.n_clusters or 'no clear structure'}")
