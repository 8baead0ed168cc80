"""Rows of the map: a sample by content, embedded where the rows are."""

from dataclasses import dataclass

import numpy as np

from apnc.describing.examples import carried_ids, data_of, number_hash
from apnc.engines.contract import Chunk
from apnc.engines.local import row_numbers
from apnc.model import Model, Step
from apnc.outputs import Placing
from apnc.rows import take
from apnc.run.job import Job
from apnc.sampling import Hash, OpaqueObjectError, content_hash, keys_of
from apnc.typing import Array

#: Rows on the map, and the seed of their sample.
ROWS, SEED = 3000, 0


@dataclass(frozen=True)
class Sampled:
    """Rows of smallest key.

    Attributes
    ----------
    keys, numbers : arrays of shape (n,), of each row.
    ids : array of shape (n,), their ids if chunks carry them.
    Y : array of shape (n, m), the embedded rows.
    labels : array of shape (n,).

    """

    keys: Array
    numbers: Array
    ids: Array
    Y: Array
    labels: Array

    def __add__(self, other: "Sampled") -> "Sampled":
        parts = zip(vars(self).values(), vars(other).values(), strict=True)
        return Sampled(*(np.concatenate(pair) for pair in parts)).first()

    def first(self) -> "Sampled":
        """The first rows by key, then by number; each key once."""
        order = np.lexsort((self.numbers, self.keys))
        once = order[np.concatenate([[True], np.diff(self.keys[order]) != 0])[: len(order)]][:ROWS]
        return Sampled(*(values[once] for values in vars(self).values()))


@dataclass(frozen=True)
class TakeSample:
    """Map: the rows of a chunk with the smallest keys, embedded and labelled."""

    hashes: Hash
    steps: tuple[Step, ...]
    placing: Placing

    def __call__(self, chunk: Chunk) -> Sampled:
        keys, numbers = keys_of(self.hashes(chunk), SEED), row_numbers(chunk.carry)
        present = np.flatnonzero(chunk.weights > 0)
        picked = present[np.lexsort((numbers[present], keys[present]))[:ROWS]]
        few = Chunk(chunk.index, take(chunk.rows, picked), chunk.weights[picked])
        for step in self.steps:
            few = step(few)
        ids, labels = carried_ids(chunk, picked), self.placing(few).labels
        return Sampled(keys[picked], numbers[picked], ids, few.rows, labels).first()


def sample_of(job: Job, model: Model) -> Sampled:
    """A sample of the rows, in one pass; objects without canonical bytes are sampled by row number."""
    data, steps = data_of(job, model), tuple(model.embedding.steps(job.dtype))
    taking = [TakeSample(hashes, steps, Placing.of(model)) for hashes in (content_hash, number_hash)]
    if not data.by_number:
        try:
            return data.chunks.reduce(taking[0], Sampled.__add__)
        except OpaqueObjectError:
            # Only reading the rows shows whether they have canonical bytes.
            pass
    return data.chunks.reduce(taking[1], Sampled.__add__)
