"""
Are the labels as good as exact?
================================

apnc compares rows with some landmarks instead of all other rows. More landmarks are more exact and take longer. How
many are enough? ``certify`` answers for the data at hand: it computes the exact kernel matrix of a sample, continues
exact kernel k-means from the labels, and tells what that would change.
"""

# %%
# Handwritten digits, clustered with growing numbers of landmarks. The exact method would have as many landmarks as
# there are images.
import os

from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

import apnc

n = int(os.environ.get("ROWS", 1797))
X = load_digits().data[:n]
landmarks = [10, 20, 40, 80, 160, 320]
fits = [apnc.KernelKMeans(10, n_landmarks=min(number, n), random_state=0).fit(X) for number in landmarks]

# %%
# Each fit gets a certificate. The sample is a third of the rows here, so numbers come with an interval; it holds the
# value for all rows in nine of ten cases. By default the sample has 4,000 rows, however many there are.
certificates = [km.certify(X, n_rows=len(X) // 3) for km in fits]
for number, found in zip(landmarks, certificates, strict=True):
    print(f"{number} landmarks: gap {found.gap:.2f} %, {found.changed:.1%} of the labels would change")

# %%
# A certificate has a verdict in one sentence, and the numbers behind it.
print(certificates[0])
print()
print(certificates[-1])

# %%
# The gap says by how much exact kernel k-means would improve the clusters, in percent of what clustering explains.
# Below 0.5 labels are as good as exact, below 2 the loss is small. On the right is the share of labels that it would
# change, and the share that twice the landmarks would change.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
gaps = [found.gap for found in certificates]
low, high = zip(*(found.gap_interval for found in certificates), strict=True)
top = 1.3 * max(high)
for bottom, height, colour, said, place in (
    (0, 0.5, "#d7ebdc", "as good as exact", "left"),
    (0.5, 2, "#f6efd3", "a small loss", "left"),
    (2, top, "#fbe6d8", "raise n_landmarks", "right"),
):
    left.axhspan(bottom, height, color=colour, linewidth=0)
    left.text(landmarks[0 if place == "left" else -1], 0.9 * height, said, ha=place, va="top", fontsize=9)
left.fill_between(landmarks, low, high, color="#12719e", alpha=0.2, linewidth=0)
left.plot(landmarks, gaps, color="#12719e", marker="o")
left.set_yscale("symlog", linthresh=0.5)
left.set(ylabel="gap to exact (%)", title="The gap closes as landmarks are added", ylim=(0, top))
left.set(yticks=[0, 0.5, 1, 2, 5, 10], yticklabels=["0", "0.5", "1", "2", "5", "10"])

changed = [100 * found.changed for found in certificates]
doubled = [100 * found.changed_by_landmarks for found in certificates]
low, high = zip(*(found.changed_interval for found in certificates), strict=True)
right.fill_between(
    landmarks,
    [100 * share for share in low],
    [100 * share for share in high],
    color="#12719e",
    alpha=0.2,
    linewidth=0,
)
right.plot(landmarks, changed, color="#12719e", marker="o", label="by the exact method")
right.plot(landmarks, doubled, color="#e8833a", marker="s", label="by twice the landmarks")
right.set(ylabel="labels that would change (%)", title="Fewer labels would change", ylim=(0, None))
right.legend(frameon=False)
for axis in (left, right):
    axis.set(xscale="log", xticks=landmarks, xticklabels=landmarks, xlabel="landmarks")
    axis.minorticks_off()
    axis.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# ``agreement`` sees what the gap cannot: whether another seed finds the same clusters. If it is low although the gap is
# small, try more starts (``n_init``), or doubt that there are so many clusters.
print(f"agreement of seeds with {landmarks[-1]} landmarks: ARI {certificates[-1].agreement:.2f}")
