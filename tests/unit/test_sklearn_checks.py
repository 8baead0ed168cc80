"""scikit-learn's own conformance checks, with no expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from apnc import EnsembleEmbedding, KernelEmbedding, KernelKMeans, SpectralClustering, StableEmbedding

ESTIMATORS = [
    KernelKMeans(),
    KernelKMeans(embedding=StableEmbedding(0.3)),
    KernelKMeans(embedding=EnsembleEmbedding(3), kernel="polynomial", init="random"),
    KernelEmbedding(kernel="precomputed"),
    KernelEmbedding(),
    KernelEmbedding(embedding="stable", kernel="sigmoid"),
    SpectralClustering(),
    SpectralClustering(kernel="rbf", n_nearest=4),
    KernelEmbedding(embedding="neighbours"),
]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
