"""
Fewer clusters without a new fit
================================

A parcel service delivers to thousands of addresses. Planners want districts, one for each driver; managers want
regions, one for each depot. Fit the finer answer once. The tree of its clusters says which districts belong together,
and ``cut`` merges them without looking at the rows again.
"""

# %%
# Addresses in twelve districts of unequal size, which lie around three towns.
import os

import numpy as np
from matplotlib import pyplot as plt
from scipy.cluster.hierarchy import dendrogram, set_link_color_palette

import apnc

n = int(os.environ.get("ROWS", 6000))
rng = np.random.default_rng(3)
centres = []
for town, districts in (((0, 0), 4), ((11, 2), 5), ((4, 10), 3)):
    angles = 2 * np.pi * (np.arange(districts) + 0.3) / districts
    centres += [*(np.array(town) + 2.6 * np.column_stack([np.cos(angles), np.sin(angles)]))]
district = rng.choice(12, n, p=rng.dirichlet(np.full(12, 4.0)))
addresses = np.array(centres)[district] + rng.normal(0, 0.55, (n, 2))

# %%
# Twelve clusters, then their tree. Each step merges the two whose union costs least, by Ward's criterion. Heights
# ascend, and a jump says that the next merge joins what does not belong together.
#
# The tree compares clusters in the kernel's space. ``gamma="mean"`` is a wide kernel, which tells near from far. Under
# a narrow one all clusters that are not neighbours are equally far apart, and the upper part of the tree says little.
km = apnc.KernelKMeans(12, gamma="mean", random_state=0).fit(addresses)
tree = km.tree()
print("heights of the last five merges:", tree.heights[-5:].round(2))
k = len(tree) - 1 - int(np.diff(tree.heights).argmax())
print(f"the largest jump leaves {k} clusters")

# %%
# ``cut`` returns a fitted estimator with fewer clusters. It predicts, describes and saves like any other.
regional = km.cut(k)
print("sizes of the districts:", np.sort(km.cluster_sizes_).astype(int))
print("sizes of the regions:", np.sort(regional.cluster_sizes_).astype(int))
print("a new address is in region", regional.predict([[10.0, 1.0]])[0])

# %%
# ``tree.linkage`` has the format of scipy, which draws it. The dotted line is the cut.
colours = ["#12719e", "#e8833a", "#5b9f6d", "#8d6fb3", "#c8a02c", "#7c8a97"]
colours += ["#c05c5c", "#45a9ad", "#a0785a", "#d98cb3", "#9dbb4f", "#4d5f8f"]
figure, axes = plt.subplots(1, 3, figsize=(10, 4.1), layout="constrained", width_ratios=(1, 1.15, 1))
for cluster in range(12):
    own = addresses[km.labels_ == cluster]
    axes[0].scatter(*own.T, color=colours[cluster], s=3, linewidths=0)
    box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    axes[0].text(*own.mean(axis=0), cluster, ha="center", va="center", fontsize=9, bbox=box)

set_link_color_palette(colours)
height = tree.heights[[-k, 1 - k]].mean()
drawn = dendrogram(tree.linkage, ax=axes[1], color_threshold=height, above_threshold_color="#8a949c")
set_link_color_palette(None)
axes[1].axhline(height, color="#555555", linewidth=1, linestyle=":")

# Regions get the colours of their branches, which scipy gives from left to right.
for colour, region in zip(colours, dict.fromkeys(tree.groups(k)[drawn["leaves"]].tolist()), strict=False):
    axes[2].scatter(*addresses[regional.labels_ == region].T, color=colour, s=3, linewidths=0)

axes[0].set_title("12 districts from one fit")
axes[1].set(title=f"The tree has {k} clear branches", xlabel="district", ylabel="height of the merge")
axes[1].spines[["top", "right", "bottom"]].set_visible(False)
axes[2].set_title(f"{k} regions from cut({k})")
for axis in axes[[0, 2]]:
    axis.set(xticks=[], yticks=[])
    axis.set_aspect("equal", adjustable="datalim")
    axis.spines[:].set_visible(False)
plt.show()
