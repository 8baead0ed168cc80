"""
Handwritten digits, seen by their prototypes
============================================

A folder of images has no labels, and looking at all of them takes too long. Cluster them, then look at a few images of
each cluster: the ones in its middle say what the cluster is, the ones at its border say where to be careful.
"""

# %%
# scikit-learn carries handwritten digits of 8 x 8 pixels. Their true values are used only to check the result.
import os

import numpy as np
from matplotlib import pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import normalized_mutual_info_score

import apnc

n = int(os.environ.get("ROWS", 1797))
X, digits = (rows[:n] for rows in load_digits(return_X_y=True))
print(f"{len(X):,} images of {X.shape[1]} pixels")

# %%
# Images of one digit differ in slant and stroke, but change into each other gradually: a chain of neighbours leads from
# one to the other. That is what ``SpectralClustering`` follows. Pixels have a common scale, so there is nothing to set
# but the number of clusters. Ten is the obvious one.
fits = {k: apnc.SpectralClustering(k, random_state=0).fit(X) for k in (10, 12)}
plain = KMeans(10, n_init=10, random_state=0).fit(X)
print(f"10 clusters: NMI {normalized_mutual_info_score(digits, fits[10].labels_):.2f} with the true digits")
print(f"10 clusters of scikit-learn KMeans: NMI {normalized_mutual_info_score(digits, plain.labels_):.2f}")

# %%
# Which digits share a cluster? A row of these tables is a digit, a column a cluster. Ten digits are not ten clusters:
# with ten, most of the 1s share a cluster with the 8s, and a few have one of their own. With twelve clusters they come
# apart.


def table(labels):
    """Images by digit and cluster; clusters are ordered by their most frequent digit."""
    counts = np.array(
        [np.bincount(digits[labels == cluster], minlength=10) for cluster in range(labels.max() + 1)]
    )
    order = np.argsort(counts.argmax(axis=1), kind="stable")
    return counts[order].T, order


figure, axes = plt.subplots(1, 2, figsize=(10, 4.9), layout="constrained", width_ratios=(10, 12))
for axis, (k, km) in zip(axes, fits.items(), strict=True):
    counts, order = table(km.labels_)
    axis.imshow(np.sqrt(counts), cmap="Blues", vmax=1.5 * np.sqrt(counts.max()))
    for digit, cluster in np.argwhere(counts):
        axis.text(cluster, digit, counts[digit, cluster], ha="center", va="center", fontsize=8)
    axis.set(xticks=range(k), xticklabels=order, yticks=range(10), xlabel="cluster", ylabel="digit")
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    right = counts.max(axis=0).sum()
    axis.set_title(f"{k} clusters: {right / len(X):.0%} of the images are with their own digit", fontsize=11)
    print(f"{k} clusters: {right:,} of {len(X):,} images are in a cluster of their own digit")
plt.show()

# %%
# Without true digits, prototypes tell the same. ``prototypes`` returns the rows nearest to each centroid, and with
# ``boundary=True`` those between two clusters. Both are real images from the data, not means. The three clusters of 1s
# are three ways to write it: with an upstroke, with a base, and as a bar.
# sphinx_gallery_thumbnail_number = 2
km = fits[12]
middle = km.prototypes(X, n=5)
border = km.prototypes(X, n=3, boundary=True)


def column(images, rows):
    """Images below each other, with white space for those that a small cluster lacks."""
    found = np.full((9 * rows, 9), np.nan)
    for number, image in enumerate(images):
        found[9 * number : 9 * number + 8, :8] = image.reshape(8, 8)
    return found


counts, order = table(km.labels_)
figure, axes = plt.subplots(2, 12, figsize=(10, 6.6), height_ratios=(5, 3), layout="constrained")
for place, cluster in enumerate(order):
    for axis, examples, rows in ((axes[0, place], middle, 5), (axes[1, place], border, 3)):
        axis.imshow(column(examples[cluster].rows, rows), cmap="Blues", vmin=0, vmax=16)
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_visible(False)
    found = counts[:, place]
    axes[0, place].set_title(
        f"{found.sum()} images\n{found.max() / found.sum():.0%} are {found.argmax()}", fontsize=8
    )
axes[0, 0].set_ylabel("in the middle", fontsize=11)
axes[1, 0].set_ylabel("at the border", fontsize=11)
figure.suptitle("Clear in the middle, doubtful at the border", fontsize=14)
plt.show()
