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
