import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from models.small import small_model
from napari_celis.core.errors import ModelError
from napari_celis.models.apply import affinities_of
from napari_celis.models.inference import predict_averaged
from napari_celis.models.intensity import in_known_range, is_other_recording, measure_intensity

KNOWN = (128.0, 30.0)


def grey_values(mean, deviation, seed=0):
    values = np.random.default_rng(seed).standard_normal((6, 8, 10))
    return (mean + deviation * (values - values.mean()) / values.std()).astype(np.float32)


@given(gain=st.floats(0.7, 1.4), shift=st.floats(-0.45, 0.45))
def test_tissue_of_the_same_recording_keeps_its_values(gain, shift):
    image = grey_values(128 + 30 * shift, 30 * gain)
    assert in_known_range(image, KNOWN, measure_intensity(image)) is image


@given(
    gain=st.one_of(st.floats(0.01, 0.6), st.floats(1.7, 300)),
    mean=st.floats(-1000, 60_000),
    seed=st.integers(0, 9),
)
@settings(max_examples=30)
def test_another_recording_comes_to_the_known_mean_and_deviation(gain, mean, seed):
    image = grey_values(mean, 30 * gain, seed)
    changed = in_known_range(image, KNOWN, measure_intensity(image))[:, :, :]
    assert is_other_recording(measure_intensity(image), KNOWN)
    assert_allclose([changed.mean(), changed.std()], KNOWN, rtol=0.02)
    order = np.argsort(image, axis=None)
    assert (np.diff(changed.ravel()[order]) >= 0).all()


def test_lost_sections_do_not_count():
    image = grey_values(*KNOWN)
    expected = measure_intensity(image)
    image[2:4] = 0
    kept = np.delete(image, (2, 3), axis=0)
    assert measure_intensity(image) == measure_intensity(kept)
    assert_allclose(measure_intensity(image), expected, rtol=0.1)


@pytest.mark.parametrize("value", [0, 7])
def test_an_image_without_contrast_is_refused(value):
    with pytest.raises(ModelError, match="same value everywhere"):
        measure_intensity(np.full((3, 3, 3), value))


def test_sixteen_bits_are_seen_as_eight():
    model = small_model()
    image = grey_values(128, 60)
    expected = predict_averaged(model.affinity, image, model.n_symmetries)
    deep = (image * 100 + 20_000).round().astype(np.uint16)
    assert_allclose(affinities_of(model, deep), expected, atol=1e-3)
