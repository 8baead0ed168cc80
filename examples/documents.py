"""
What a heap of documents is about
=================================

Somebody leaves a heap of documents and no table of contents. Cluster them by the words that they share, then let each
cluster name the words that set it apart. The documents here are the reference pages of scikit-learn, which come with
it: one for each of its estimators and functions. Each page belongs to a module, so there is a truth to compare with.
"""

# %%
# The pages of the larger modules. Nothing is downloaded.
import os

import numpy as np
from matplotlib import pyplot as plt
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import normalized_mutual_info_score
from sklearn.utils.discovery import all_estimators, all_functions

import apnc

n = int(os.environ.get("ROWS", 1000))
chosen = [
    "cluster",
    "covariance",
    "datasets",
    "decomposition",
    "ensemble",
    "feature_selection",
    "linear_model",
]
chosen += ["manifold", "metrics", "model_selection", "neighbors", "preprocessing", "svm", "tree"]
pages = [
    (name, item.__module__.split(".")[1], item.__doc__)
    for name, item in [*all_estimators(), *all_functions()]
]
pages = [page for page in pages if page[1] in chosen and page[2]]
pages = [pages[i] for i in np.random.default_rng(0).permutation(len(pages))[:n]]
names, modules, texts = zip(*pages, strict=True)
words = np.mean([len(text.split()) for text in texts])
print(f"{len(texts)} pages of {len(set(modules))} modules, {words:.0f} words each on average")

# %%
# tf-idf counts words, and gives those a high weight that few pages have; words of more than half of the pages are left
# out. The rows are sparse. ``kernel="cosine"`` keeps them so, and compares pages by what they consist of, not by their
# length. k-means on text ends in another place from each start, so ``n_init`` tries many.
#
# Do not expect a kernel to beat plain ``KMeans`` on tf-idf. What it adds here are the words and the prototypes below.
vectorizer = TfidfVectorizer(
    stop_words="english", token_pattern="[a-z]{3,}", min_df=3, max_df=0.5, sublinear_tf=True
)
X = vectorizer.fit_transform(texts)
km = apnc.KernelKMeans(10, kernel="cosine", n_init=300, random_state=0).fit(X)
print(f"{X.shape[1]:,} words; NMI with the modules {normalized_mutual_info_score(modules, km.labels_):.2f}")
plain = KMeans(10, n_init=10, random_state=0).fit_predict(X)
print(f"scikit-learn KMeans: {normalized_mutual_info_score(modules, plain):.2f}")

# %%
# ``describe`` compares how often a word occurs in a cluster and elsewhere. Its prototypes are the pages in the middle.
description = km.describe(X, feature_names=vectorizer.get_feature_names_out(), n=6)
for cluster in description.clusters:
    apart = ", ".join(word.name for word in cluster.contrasts)
    typical = ", ".join(names[number] for number in cluster.prototypes.numbers[:2])
    print(f"cluster {cluster.number}, {cluster.size:.0f} pages such as {typical}: {apart}")

# %%
# The share of pages that have each word: in the cluster (bars), and among all pages (lines). Titles name the module
# that most pages of the cluster are from. Where bars are short, the cluster is a rest: pages with little in common.
colours = ["#12719e", "#e8833a", "#5b9f6d", "#8d6fb3", "#c8a02c", "#7c8a97", "#c05c5c", "#45a9ad"]
colours += ["#a0785a", "#d98cb3"]
figure, axes = plt.subplots(2, 5, figsize=(10, 4.8), layout="constrained", sharex=True)
for axis, cluster, colour in zip(axes.flat, description.clusters, colours, strict=True):
    places = np.arange(len(cluster.contrasts))
    axis.barh(places, [100 * word.inside for word in cluster.contrasts], color=colour, height=0.7)
    overall = [100 * word.overall for word in cluster.contrasts]
    axis.vlines(overall, places - 0.42, places + 0.42, color="#444444", linewidth=1.5)
    axis.set(yticks=places, yticklabels=[word.name for word in cluster.contrasts], xlim=(0, 100))
    axis.invert_yaxis()
    own = [modules[i] for i in np.flatnonzero(km.labels_ == cluster.number)]
    common = max(set(own), key=own.count)
    axis.set_title(f"{common}:\n{own.count(common)} of {len(own)} pages", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
for axis in axes[-1]:
    axis.set_xlabel("% of pages")
figure.suptitle("Each cluster names its subject in a few words", fontsize=14)
plt.show()

# %%
# A new text gets the cluster of its words.
new = "A forest averages many decision trees, grown on samples of the rows. Nodes split while impurity decreases."
label = km.predict(vectorizer.transform([new]))[0]
print("a new text about forests belongs to:", ", ".join(word.name for word in description[label].contrasts))
