"""An experiment as small as it may be: two phantoms, the bundled model, and little to do."""

from functools import cache

from napari_celis.bench.reproduce.experiment import Experiment, Extent
from napari_celis.core.volume import Volume
from napari_celis.io.samples import bundled_models
from napari_celis.models.model_file import load_model
from napari_celis.pipeline.choice import Choice
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom

EXTENT = Extent(
    subvolume=20,
    most_subvolumes=2,
    counted_edge=30,
    counted_steps=6,
    counted_stride=4,
    timed_edge=30,
    timed_steps=2,
    phantoms=(1, 2),
    phantom_shape_zyx=(24, 40, 40),
    examples=600,
    epochs=2,
    answers=4,
)


@cache
def bundled_model():
    return load_model(bundled_models()["phantom"])


def tiny_choice(seed):
    made = make_phantom(PhantomSettings((32, 48, 48), (10.0, 10.0, 10.0), seed))
    image, truth = (Volume(data, made.voxel_size_nm, name="phantom") for data in (made.image, made.truth))
    return Choice(image=image, truth=truth, model=bundled_model())


def tiny_experiment(**options):
    return Experiment(tiny_choice(2), tiny_choice(1), extent=EXTENT, **options)
