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
# Logs are files, often larger than memory. JSON lines are read in pieces, on the command line too:
# ``apnc fit sessions.jsonl --kernel "spectrum(2, 2)" -k 5 --labels labels.parquet``. The labels are the same.
path = Path("sessions.jsonl")
path.write_text("".join(json.dumps(session) + "\n" for session in sessions))
from_file = apnc.KernelKMeans(5, kernel="spectrum(2, 2)", n_landmarks=min(500, n), random_state=0).fit(path)
print("same labels from the file:", bool((from_file.labels_ == km.labels_).all()))
path.unlink()
