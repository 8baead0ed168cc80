"""
Families of proteins
====================

A laboratory has thousands of protein sequences and wants to know which belong together. Nobody has aligned them, and
they have different lengths, so there is no table of numbers for k-means. Two sequences of one family share runs of
letters: that is a similarity, and a similarity is all that kernel k-means needs.
"""

# %%
# Sequences of six families, each with its ancestor: letters were replaced, lost and inserted.
import os
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from sklearn.metrics import normalized_mutual_info_score

import apnc
from apnc.kernels import Spectrum

n = int(os.environ.get("ROWS", 3000))
rng = np.random.default_rng(0)
amino_acids = np.array(list("ACDEFGHIKLMNPQRSTVWY"))


def descendant(ancestor):
    letters = []
    for letter in ancestor:
        chance = rng.random()
        if chance > 0.08:
            letters.append(rng.choice(amino_acids) if chance < 0.35 else letter)
        if chance > 0.95:
            letters.append(rng.choice(amino_acids))
    return "".join(letters)


ancestors = ["".join(rng.choice(amino_acids, rng.integers(60, 140))) for _ in range(6)]
families = rng.integers(0, 6, n)
sequences = [descendant(ancestors[family]) for family in families]
for sequence in sequences[:3]:
    print(f"{sequence[:50]}... ({len(sequence)} letters)")

# %%
# ``Spectrum(2, 3)`` counts the runs of two and three letters that two sequences share, and divides by their lengths.
# Every sequence is compared with 500 landmarks only; the matrix of all pairs never exists.
km = apnc.KernelKMeans(6, kernel=Spectrum(2, 3), n_landmarks=min(500, n), random_state=0).fit(sequences)
print(f"NMI with the families: {normalized_mutual_info_score(families, km.labels_):.2f}")

# %%
# The sequences closest to the centre of each cluster:
print(km.describe(sequences))

# %%
# A kernel is a function of two lists. Similarities between some sequences of each cluster: within a cluster they are
# higher than between clusters, and that is enough.
some = np.concatenate([np.flatnonzero(km.labels_ == cluster)[:25] for cluster in range(6)])
similar = Spectrum(2, 3)([sequences[i] for i in some], [sequences[i] for i in some])
np.fill_diagonal(similar, np.nan)
edges = np.flatnonzero(np.diff(km.labels_[some])) + 0.5
figure, axis = plt.subplots(figsize=(8, 6.6), layout="constrained")
image = axis.imshow(similar, cmap="Blues", vmin=0, vmax=np.nanquantile(similar, 0.99))
for edge in edges:
    axis.axhline(edge, color="#e8833a", linewidth=1)
    axis.axvline(edge, color="#e8833a", linewidth=1)
middles = [np.flatnonzero(km.labels_[some] == cluster).mean() for cluster in range(6)]
axis.set(xticks=middles, yticks=middles)
axis.set(xticklabels=range(6), yticklabels=range(6), xlabel="cluster", ylabel="cluster")
axis.tick_params(length=0)
axis.spines[:].set_visible(False)
figure.colorbar(image, label="similarity by shared runs of letters", shrink=0.8)
axis.set_title("Sequences of one cluster share runs of letters", fontsize=13)
plt.show()

# %%
# A saved model labels new sequences, in another process or on another machine. The file contains no code.
path = km.save(Path("families.apnc"))
new = [descendant(ancestor) for ancestor in ancestors]
print("labels of six new sequences:", apnc.load(path).predict(new))
path.unlink()
