"""Deliberate faults, each of which must make a test fail: ``python -m tests.guard.mutations``.

The package is copied, one line of the copy is changed, and the tests named beside it are run against the copy.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
UNIT = "tests/unit"
#: Name -> (file, what is there, what is put in its place, tests).
MUTATIONS = {
    "a sample is one instance short": (
        "sampling.py",
        "return Sketch(keys[:size], weights[:size], size)",
        "return Sketch(keys[: size - 1], weights[: size - 1], size)",
        f"{UNIT}/test_sampling.py",
    ),
    "weights of equal instances are not added up": (
        "sampling.py",
        "np.add.reduceat(weights, starts)",
        "weights[starts]",
        f"{UNIT}/test_weights.py",
    ),
    "rows of weight zero are sampled": (
        "sampling.py",
        "exists = chunk.weights > 0",
        "exists = chunk.weights >= 0",
        f"{UNIT}/test_weights.py",
    ),
    "rbf without its square": (
        "kernels/vectors.py",
        "columns = np.column_stack([2 * gamma * shifted, np.ones(len(squares)), squares])",
        "columns = np.column_stack([2 * gamma * shifted, np.ones(len(squares)), -squares])",
        f"{UNIT}/test_kernels.py",
    ),
    "a normalised kernel forgets the columns": (
        "kernels/family.py",
        "            K *= columns\n            return K\n\n        return KernelRows(normalized)",
        "            return K\n\n        return KernelRows(normalized)",
        f"{UNIT}/test_kernels.py",
    ),
    "the root of the eigenvalues is left out": (
        "embeddings/spectrum.py",
        "return (self.vectors / np.sqrt(self.values)).T",
        "return (self.vectors / self.values).T",
        f"{UNIT}/test_embeddings.py",
    ),
    "a wrong beta": (
        "embeddings/stable.py",
        "np.sqrt(np.pi / 2)",
        "np.sqrt(2 / np.pi)",
        f"{UNIT}/test_embeddings.py",
    ),
    "the ensemble mixes by mu instead of its root": (
        "embeddings/ensemble.py",
        "np.sqrt(mu) * block.weights",
        "mu * block.weights",
        f"{UNIT}/test_embeddings.py",
    ),
    "sums of a cluster without weights": (
        "clustering/lloyd.py",
        "updated[filled] = partial.sums[filled] / partial.counts[filled, None]",
        "updated[filled] = partial.sums[filled] / np.maximum(1, np.round(partial.counts[filled, None] / 2))",
        f"{UNIT}/test_clustering.py",
    ),
    "one iteration too few": (
        "clustering/lloyd.py",
        "for n_iter in range(1, max_iter + 1):",
        "for n_iter in range(1, max_iter):",
        f"{UNIT}/test_clustering.py",
    ),
    "empty clusters are not seeded again": (
        "clustering/lloyd.py",
        "    updated[empty[: len(found.rows)]] = found.rows",
        "    return",
        f"{UNIT}/test_clustering.py",
    ),
    "the nearest centroid by the sign of the product": (
        "discrepancy/family.py",
        "e = magnitude - 2 * (Y @ C.T.astype(Y.dtype))",
        "e = magnitude + 2 * (Y @ C.T.astype(Y.dtype))",
        f"{UNIT}/test_clustering.py",
    ),
    "a landmark's similarity without its scale": (
        "loops/graph.py",
        "product = own * scales[indices[i, place]]",
        "product = own * own",
        f"{UNIT}/test_neighbour_graph.py",
    ),
    "sparse regions of a graph count in full": (
        "loops/graph.py",
        "strength = 1.0 if own <= typical else max(faintest, (typical / own) ** power)",
        "strength = 1.0",
        f"{UNIT}/test_neighbour_graph.py",
    ),
    "a graph without weights": (
        "embeddings/neighbours/links.py",
        "((similar * chunk.weights[:, None]).ravel(), Z.indices, edges)",
        "(similar.ravel(), Z.indices, edges)",
        f"{UNIT}/test_neighbour_graph.py",
    ),
    "coordinates between pieces are scaled by predict": (
        "embeddings/neighbours/block.py",
        "of_kernel: ClassVar[bool] = False",
        "of_kernel: ClassVar[bool] = True",
        f"{UNIT}/test_spectral_surfaces.py",
    ),
    "columns are scaled by the variance": (
        "scaling.py",
        "np.sqrt(columns.spread / columns.weight)",
        "columns.spread / columns.weight",
        f"{UNIT}/test_scaling.py",
    ),
    "iterations begin anew after an interruption": (
        "clustering/lloyd.py",
        "for n_iter in range(done + 1, max_iter + 1):",
        "for n_iter in range(1, max_iter + 1):",
        f"{UNIT}/test_checkpoint.py",
    ),
    "chunks of an earlier run are computed again": (
        "engines/local.py",
        "if chunk.index in self.store:",
        "if False:",
        f"{UNIT}/test_chunk_files.py",
    ),
    "damaged chunks are used": (
        "engines/chunk_files.py",
        'if line != MAGIC + digest.hexdigest().encode() + b"\\n":',
        "if False:",
        f"{UNIT}/test_chunk_files.py",
    ),
    "the checkpoint of another run is used": (
        "persistence/checkpoint.py",
        'if differing := differences(found["run"], mine):',
        "if differing := []:",
        f"{UNIT}/test_checkpoint.py",
    ),
    "a seed that was drawn is forgotten": (
        "persistence/checkpoint.py",
        'self.seed = found["seed"]',
        "self.seed = seed",
        f"{UNIT}/test_checkpoint.py -k seed",
    ),
    "a signal is handled as any error": (
        "cli/failures.py",
        "return 128 + number",
        "return BAD_INPUT",
        f"{UNIT}/test_cli_signals.py",
    ),
    "temporary files of the living are removed": (
        "temporary.py",
        "return None if start is None else start != self.start",
        "return True",
        f"{UNIT}/test_temporary.py",
    ),
    "outliers by what the landmarks span alone": (
        "discrepancy/nearest.py",
        "        if diagonal is None:\n            return squares\n",
        "        if True:\n            return squares\n",
        f"{UNIT}/test_placing.py",
    ),
    "starts that share passes take any memory": (
        "choosing/starts.py",
        "if together and used + size > self.room:",
        "if False:",
        f"{UNIT}/test_choosing.py",
    ),
}


def survives(name: str, copy: Path) -> bool:
    """Whether the tests pass in spite of the fault; the copy is whole again afterwards."""
    file, before, after, tests = MUTATIONS[name]
    text = (copy / file).read_text()
    assert text.count(before) == 1, f"{name}: {before!r} is in {file} {text.count(before)} times"
    (copy / file).write_text(text.replace(before, after))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests.split()]
    env = os.environ | {"PYTHONPATH": str(copy.parent)}
    try:
        return subprocess.run(command, cwd=ROOT, env=env, capture_output=True).returncode == 0
    finally:
        (copy / file).write_text(text)


def main() -> int:
    """Try all; 1 if one survives."""
    left = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "apnc")
        shutil.copytree(ROOT / "src" / "apnc", copy)
        for name in MUTATIONS:
            lives = survives(name, copy)
            print(f"{'SURVIVED' if lives else 'caught'}  {name}", flush=True)
            left += lives
    return int(left > 0)


if __name__ == "__main__":
    sys.exit(main())
