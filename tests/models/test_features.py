import numpy as np
from numpy.testing import assert_allclose

from napari_celis.models.features import interior_probability


def test_bytes_are_probabilities_too():
    stored = np.random.default_rng(0).integers(0, 256, (3, 4, 5, 6)).astype(np.uint8)
    exact = interior_probability(stored.astype(np.float32) / 255)
    assert_allclose(interior_probability(stored), exact, atol=1e-6)
    assert 0.05 < exact.mean() < 0.5
