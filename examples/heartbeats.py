"""
Time series of unequal length
=============================

Sensors record events that take longer at one time than at another: heartbeats, gestures, strokes of a machine. Compared
second by second, two equal events of different speed look different. Dynamic time warping stretches them to fit, and
``TimeWarp`` makes a kernel of it.
"""

# %%
# Three shapes, each recorded at its own speed, with noise.
import os

import numpy as np
from matplotlib import pyplot as plt
from sklearn.metrics import normalized_mutual_info_score

import apnc
from apnc.kernels import TimeWarp

n = int(os.environ.get("ROWS", 600))
rng = np.random.default_rng(0)
shapes = [
    lambda t: np.exp(-((t - 0.3) ** 2) / 0.004) - 0.4 * np.exp(-((t - 0.6) ** 2) / 0.02),
    lambda t: np.exp(-((t - 0.3) ** 2) / 0.004) + 0.7 * np.exp(-((t - 0.6) ** 2) / 0.004),
    lambda t: np.sin(2 * np.pi * t) * np.exp(-t),
]
kinds = rng.integers(0, 3, n)
series = []
for kind in kinds:
    t = np.linspace(0, 1, rng.integers(40, 90)) ** rng.uniform(0.7, 1.4)
    series.append(shapes[kind](t) + rng.normal(0, 0.08, len(t)))

# %%
# The band says how far two series may be shifted against each other: a tenth of their length. Gamma follows from the
# data.
km = apnc.KernelKMeans(3, kernel=TimeWarp(band=0.1), n_landmarks=min(100, n // 2), random_state=0).fit(series)
print(f"NMI with the shapes: {normalized_mutual_info_score(kinds, km.labels_):.2f}")

# %%
# Some series of each cluster, each on its own clock:
colours = ["#12719e", "#e8833a", "#5b9f6d"]
figure, axes = plt.subplots(1, 3, figsize=(10, 3.1), sharey=True, layout="constrained")
for label, (axis, colour) in enumerate(zip(axes, colours, strict=True)):
    for number in np.flatnonzero(km.labels_ == label)[:12]:
        axis.plot(series[number], color=colour, alpha=0.45, linewidth=1)
    axis.set(title=f"cluster {label}: {(km.labels_ == label).sum()} series", xlabel="measurement")
    axis.spines[["top", "right"]].set_visible(False)
figure.suptitle("Series of one shape are together, whatever their speed", fontsize=13)
plt.show()
