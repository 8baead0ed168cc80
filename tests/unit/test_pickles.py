"""A pickle says which version wrote it; another version warns."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import InconsistentVersionWarning

from apnc import KernelEmbedding, KernelKMeans, __version__

X = np.random.default_rng(0).normal(size=(40, 3))


@pytest.mark.parametrize("kind", [KernelKMeans, KernelEmbedding])
def test_the_same_version_says_nothing_and_forgets_the_note(kind):
    fitted = kind(random_state=0).fit(X)
    with warnings.catch_warnings(action="error"):
        again = pickle.loads(pickle.dumps(fitted))
        assert vars(copy.deepcopy(fitted)).keys() == vars(again).keys() == vars(fitted).keys()
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))


@pytest.mark.parametrize(("then", "said"), [("0.0.9", "by apnc 0.0.9"), (None, "by apnc of unknown version")])
def test_another_version_warns(then, said):
    state = KernelKMeans(2, random_state=0).fit(X).__getstate__()
    assert state.pop("_apnc_version") == __version__
    state |= {} if then is None else {"_apnc_version": then}
    again = KernelKMeans.__new__(KernelKMeans)
    with pytest.warns(InconsistentVersionWarning, match=f"KernelKMeans was pickled {said}, and this is"):
        again.__setstate__(state)
    assert again.predict(X).shape == (40,)
