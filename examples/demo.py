"""Data and plot for ``make demo``: two half-moons with noise, 200,000 rows.

python examples/demo.py write    write the rows to demo/moons.parquet and the true moons to demo/truth.parquet
python examples/demo.py draw     plot demo/labels.parquet next to the labels of k-means, to demo/moons.png
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.figure import Figure
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons
from sklearn.metrics import normalized_mutual_info_score

FOLDER = Path("demo")
COLOURS = np.array(["#12719e", "#e8833a"])


def write():
    FOLDER.mkdir(exist_ok=True)
    X, truth = make_moons(n_samples=200_000, noise=0.1, random_state=0)
    key = np.arange(len(X))
    pq.write_table(pa.table({"key": key, "x": X[:, 0], "y": X[:, 1]}), FOLDER / "moons.parquet")
    pq.write_table(pa.table({"key": key, "moon": truth}), FOLDER / "truth.parquet")


def draw():
    """Plot the same 3,000 random rows for each result."""
    table = pq.read_table(FOLDER / "moons.parquet")
    X = np.column_stack([table["x"], table["y"]])
    truth = pq.read_table(FOLDER / "truth.parquet")["moon"].to_numpy()
    results = {
        "apnc, default settings": pq.read_table(FOLDER / "labels.parquet")["label"].to_numpy(),
        "scikit-learn KMeans": KMeans(2, n_init=10, random_state=0).fit_predict(X),
    }
    shown = np.random.default_rng(0).choice(len(X), 3_000, replace=False)
    figure = Figure(figsize=(9.6, 3.9), layout="tight")
    for axes, (name, labels) in zip(figure.subplots(1, 2), results.items(), strict=True):
        nmi = 100 * normalized_mutual_info_score(truth, labels, average_method="geometric")
        axes.scatter(*X[shown].T, c=COLOURS[labels[shown]], s=6, alpha=0.7, linewidths=0)
        axes.set_title(f"{name}: NMI {nmi:.0f} %", fontsize=12, color="#333333")
        axes.set(xticks=[], yticks=[], aspect="equal")
        axes.spines[:].set_visible(False)
    figure.suptitle(
        f"Two half-moons with noise, {len(X):,} rows", fontsize=15, weight="bold", color="#333333"
    )
    figure.savefig(FOLDER / "moons.png", dpi=110)
    print(f"Plot: {FOLDER / 'moons.png'}")


if __name__ == "__main__":
    {"write": write, "draw": draw}[sys.argv[1]]()
