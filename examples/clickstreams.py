"""
What visitors are up to
=======================

A shop has logs: for each session, the pages in the order of the clicks. Some visitors compare products, some come
through an advertisement, some only want to pay. Which pages they see says little, because everybody sees most of them;
the *order* tells them apart. A kernel on token sequences compares sessions by the steps that they share.
"""

# %%
# Five behaviours on twenty pages. From every page each behaviour prefers another next page, and all pages are visited
# equally often.
import json
import os
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import normalized_mutual_info_score

import apnc
from apnc.kernels import Spectrum

n = int(os.environ.get("ROWS", 4000))
rng = np.random.default_rng(0)
preferred = np.array([rng.permutation(20) for _ in range(5)])
behaviours = rng.integers(0, 5, n)
sessions = []
for behaviour in behaviours:
    pages = [int(rng.integers(20))]
    while len(pages) < rng.integers(15, 40):
        pages.append(int(preferred[behaviour, pages[-1]] if rng.random() < 0.5 else rng.integers(20)))
    sessions.append([f"page-{page}" for page in pages])
print(sessions[0][:6])

# %%
# The usual way, a bag of pages and k-means, sees nothing:
bags = CountVectorizer(analyzer=lambda session: session).fit_transform(sessions)
plain = KMeans(5, n_init=10, random_state=0).fit_predict(bags)
print(f"bag of pages: NMI {normalized_mutual_info_score(behaviours, plain):.2f}")

# %%
# Pairs of successive pages do:
km = apnc.KernelKMeans(5, kernel=Spectrum(2, 2), n_landmarks=min(500, n), random_state=0).fit(sessions)
print(f"steps from page to page: NMI {normalized_mutual_info_score(behaviours, km.labels_):.2f}")

# %%
# Steps within each cluster: how often each page (row) is followed by each other (column). Dark cells are the steps that
# visitors of the cluster prefer. The clusters of page counts have no such steps, because they mix behaviours.


def steps(labels, cluster):
    counts = np.zeros((20, 20))
    for session, label in zip(sessions, labels, strict=True):
        if label == cluster:
            pages = [int(page.removeprefix("page-")) for page in session]
            np.add.at(counts, (pages[:-1], pages[1:]), 1)
    return counts / counts.sum(axis=1, keepdims=True).clip(1)


figure, axes = plt.subplots(2, 5, figsize=(10, 4.6), layout="constrained")
for row, (name, labels) in zip(axes, {"by steps": km.labels_, "by pages": plain}.items(), strict=True):
    for cluster, axis in enumerate(row):
        axis.imshow(steps(labels, cluster), cmap="Blues", vmin=0, vmax=0.5)
        axis.set(xticks=[], yticks=[], title=f"cluster {cluster}" if row is axes[0] else "")
        axis.spines[:].set_color("#d5dade")
    row[0].set_ylabel(name, fontsize=12)
figure.supxlabel("next page")
figure.suptitle("Clusters of steps show five behaviours; clusters of pages show none", fontsize=13)
plt.show()

# %%
# Logs are files, often larger than memory. JSON lines are read in pieces, on the command line too:
# ``apnc fit sessions.jsonl --kernel "spectrum(2, 2)" -k 5 --labels labels.parquet``. The labels are the same.
path = Path("sessions.jsonl")
path.write_text("".join(json.dumps(session) + "\n" for session in sessions))
from_file = apnc.KernelKMeans(5, kernel="spectrum(2, 2)", n_landmarks=min(500, n), random_state=0).fit(path)
print("same labels from the file:", bool((from_file.labels_ == km.labels_).all()))
path.unlink()
