"""What travels, from Spark's own counts: the paper's k (m + 1) numbers a partition and iteration, and nothing else."""

import os

import numpy as np
import pytest

import apnc
from apnc import KernelKMeans
from apnc.clustering import lloyd
from apnc.engines.spark.chunks import Index

pytestmark = pytest.mark.spark_only("local")
K, M, ITERATIONS, PARTITIONS = 20, 200, 4, 6
PAPER = K * (M + 1) * 8


class Stages:
    """Stages that Spark has run since the last look."""

    def __init__(self, spark):
        self.store = spark.sparkContext._jsc.sc().statusStore()
        self.bus = spark.sparkContext._jsc.sc().listenerBus()
        gateway = spark.sparkContext._gateway
        self.nothing = gateway.new_array(gateway.jvm.double, 0)
        self.seen = set()
        self.new()

    def new(self):
        self.bus.waitUntilEmpty()
        listed = self.store.stageList(None, False, False, self.nothing, None)
        stages = [listed.apply(i) for i in range(listed.size())]
        fresh = [
            stage
            for stage in stages
            if stage.stageId() not in self.seen and stage.status().name() == "COMPLETE"
        ]
        self.seen.update(stage.stageId() for stage in stages)
        return fresh


def moved(stages):
    return sum(stage.shuffleWriteBytes() + stage.resultSize() for stage in stages)


@pytest.fixture
def traffic(spark, frame_of, monkeypatch):
    """Fits n rows; gives the stages of embedding and the bytes that moved in each iteration."""

    def run(n):
        X = np.random.default_rng(0).normal(size=(n, 10))
        frame = frame_of(X, PARTITIONS).persist()
        frame.count()
        stages, iterations, embedding = Stages(spark), [], []

        def note(n_iter, *_):
            iterations.append(moved(stages.new()))
            return False

        plain, keep = lloyd.lloyd, Index.renew

        def noted(index):
            stages.new()
            keep(index)
            embedding.extend(stages.new())

        monkeypatch.setattr(Index, "renew", noted)
        monkeypatch.setattr("apnc.pipeline.lloyd", lambda *given: plain(*given[:5], note))
        km = KernelKMeans(
            K, gamma=0.5, n_landmarks=300, n_components=M, max_iter=ITERATIONS, tol=0, random_state=0
        ).fit(apnc.sources.open(frame, exclude=["id"]))
        frame.unpersist()
        monkeypatch.undo()
        assert km.n_components_ == M
        return embedding, iterations

    return run


def test_an_iteration_moves_the_sums_of_each_partition(traffic):
    embedding, few = traffic(12_000)
    assert embedding
    assert sum(stage.shuffleWriteBytes() + stage.shuffleReadBytes() for stage in embedding) == 0
    assert len(few) == ITERATIONS
    assert max(few) <= 1.2 * PAPER * PARTITIONS
    assert min(few) >= 0.5 * PAPER * PARTITIONS
    _, many = traffic(60_000)
    assert max(many) <= min(1.2 * PAPER * PARTITIONS, 1.2 * max(few))


def resident(chunk):
    import resource

    return {os.getpid(): resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


def test_memory_of_workers_does_not_grow_with_the_data(spark):
    """Peak memory of fresh Python workers after a pass of embedding and one over what was kept."""
    from pyspark.sql import functions as F

    model = KernelKMeans(K, gamma=0.5, n_landmarks=300, random_state=0).fit(
        np.random.default_rng(0).normal(size=(3000, 10))
    )

    def peak(n):
        columns = [F.randn(j).alias(f"x{j}") for j in range(10)]
        source = apnc.sources.open(spark.range(0, n, 1, 2).select(*columns))
        chunks = source.chunks(2000).map(apnc.sources.family.Decode(source))
        with model._model.embedding.embed(chunks, np.float64).cached() as kept:
            return max(kept.reduce(resident, dict.__or__).values())

    small = peak(50_000)
    assert peak(500_000) < 1.15 * small
