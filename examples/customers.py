"""
Customers in a table of everything
==================================

A table of customers has numbers, categories, dates and free text. Before k-means can use it, somebody has to scale,
encode and vectorise its columns, and to do exactly the same to tomorrow's rows. ``Record`` is a kernel that takes the
rows as they are.
"""

# %%
# Customers of four kinds; some values are missing.
import os

import numpy as np
import pandas as pd
from matplotlib import dates
from matplotlib import pyplot as plt
from sklearn.metrics import normalized_mutual_info_score

import apnc
from apnc.kernels import Category, Date, Number, Record, Text

n = int(os.environ.get("ROWS", 3000))
rng = np.random.default_rng(0)
kinds = rng.integers(0, 4, n)
words = np.array(
    [
        ["refund", "late", "broken", "angry", "return"],
        ["upgrade", "seats", "invoice", "team", "contract"],
        ["trial", "question", "setup", "install", "help"],
        ["thanks", "great", "renew", "recommend", "happy"],
    ]
)
days = rng.normal(np.array([300, 500, 700, 100])[kinds], 60)
customers = pd.DataFrame(
    {
        "age": rng.normal(np.array([30, 45, 25, 50])[kinds], 8).round(),
        "spent": rng.lognormal(np.array([3, 6, 1, 5])[kinds], 0.7).round(2),
        "plan": np.array(["basic", "team", "trial", "basic"])[kinds],
        "joined": pd.Timestamp("2024-01-01") + pd.to_timedelta(days.round(), "D"),
        "note": [" ".join(rng.choice(words[kind], 3)) for kind in kinds],
    }
)
customers.loc[rng.random(n) < 0.1, "spent"] = None
customers.loc[rng.random(n) < 0.1, "note"] = None
print(customers.head(3).to_string())

# %%
# Each field says what it is. Means, spreads and word frequencies are learned from the data and stored with the model; a
# missing value contributes nothing.
kernel = Record({"age": Number(), "spent": Number(), "plan": Category(), "joined": Date(), "note": Text()})
km = apnc.KernelKMeans(4, kernel=kernel, random_state=0).fit(customers)
print(f"NMI with the kinds: {normalized_mutual_info_score(kinds, km.labels_):.2f}")

# %%
# A customer of tomorrow, with what is known of them:
print(km.predict([{"age": 47, "plan": "team", "note": "please send the invoice"}]))

# %%
# The customers that stand for their clusters:
print(km.describe(customers))

# %%
# Each field separates some of the clusters, and none separates all of them.
colours = ["#12719e", "#e8833a", "#5b9f6d", "#8d6fb3"]
figure, axes = plt.subplots(2, 2, figsize=(10, 6), layout="constrained")
fields = {"age": axes[0, 0], "spent": axes[0, 1], "joined": axes[1, 0]}
for field, axis in fields.items():
    values = customers[field]
    values = np.log10(values) if field == "spent" else dates.date2num(values) if field == "joined" else values
    bins = np.linspace(np.nanmin(values), np.nanmax(values), 40)
    for cluster, colour in enumerate(colours):
        own = np.asarray(values)[km.labels_ == cluster]
        axis.hist(own[~np.isnan(own)], bins, color=colour, alpha=0.6, label=f"cluster {cluster}")
    axis.set(title=field, yticks=[])
fields["spent"].set(xticks=range(4), xticklabels=["1", "10", "100", "1,000"])
fields["joined"].xaxis.set_major_formatter(dates.DateFormatter("%Y"))
fields["joined"].xaxis.set_major_locator(dates.YearLocator())
plans = pd.crosstab(customers["plan"], km.labels_)
for cluster, colour in enumerate(colours):
    places = np.arange(len(plans)) + 0.2 * (cluster - 1.5)
    axes[1, 1].bar(places, plans[cluster], width=0.19, color=colour, alpha=0.8)
axes[1, 1].set(title="plan", xticks=range(len(plans)), xticklabels=plans.index, yticks=[])
for axis in axes.flat:
    axis.spines[["top", "right", "left"]].set_visible(False)
handles, names = axes[0, 0].get_legend_handles_labels()
figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
figure.suptitle("Four kinds of customers, found by all fields together", fontsize=14)
plt.show()
