"""The jobs of the front door: each goes from volumes to a result in one call.

`import napari_celis as celis` offers them, and a few names from the inner rooms. A volume may be given as a
`Volume`, as an array (of unknown voxel size), or as the name of a file, `path[:dataset]`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from napari_celis.core.errors import CelisError, TrainingError
from napari_celis.core.volume import Volume, require_same_shape
from napari_celis.io.affinities import open_affinities
from napari_celis.io.affinity_channels import Affinities, AffinityVolume
from napari_celis.io.memory import require_memory
from napari_celis.io.volumes import open_volume, read_image, read_labels
from napari_celis.pipeline.checks import check, require_actions, require_voxel_size
from napari_celis.pipeline.choice import UNKNOWN_OFFSET, UNKNOWN_SIZE, Choice
from napari_celis.pipeline.memory import bytes_needed, prediction_bytes
from napari_celis.pipeline.recipe import prepare, prepare_inputs
from napari_celis.pipeline.stages import Report, Say, silent

if TYPE_CHECKING:
    from napari_celis.baselines.problem import Problem
    from napari_celis.evaluation.metrics import Scores
    from napari_celis.models.model_file import CelisModel, PolicyName
    from napari_celis.training.pipeline import Trained, TrainSettings
    from napari_celis.training.records import TrainRecord

PathLike = str | os.PathLike[str]
VolumeLike = Volume | np.ndarray | PathLike
AffinitiesLike = Affinities | AffinityVolume | PathLike


def sample() -> dict[str, Volume]:
    """Open the sample that comes with the package, a phantom of 10 nm voxels.

    Returns
    -------
    volumes : dict of str to Volume
        `image`, `supervoxels` and `truth`; nothing is read yet.
    """
    from napari_celis.io.samples import sample_volumes

    return sample_volumes()


def predict_affinities(
    image: VolumeLike,
    model: CelisModel | PathLike,
    *,
    any_voxel_size: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Affinities:
    """Compute the affinities of an image with the network of a model.

    Parameters
    ----------
    image : Volume, ndarray or path
        Grey values.
    model : CelisModel or path
        Trained at the voxel size of the image.
    any_voxel_size : bool
        Use the model although it was trained at another voxel size.
    progress : callable, optional
        Called with how much is done, and of how much.

    Returns
    -------
    affinities : Affinities
        `data` is float32 (3, Z, Y, X): channel c at a voxel is its affinity with the voxel before it along
        axis c.
    """
    from napari_celis.models.apply import affinities_of

    volume, loaded = _volume(image), _model(model)
    if not any_voxel_size:
        require_voxel_size(loaded, volume.voxel_size_nm)
    require_memory(prediction_bytes(loaded, volume.shape, volume.dtype.itemsize), volume.name, "Predicting")
    data = affinities_of(loaded, read_image(volume), progress=progress)
    return Affinities(data, volume.voxel_size_nm, volume.offset_nm, volume.name)


def make_supervoxels(affinities: AffinitiesLike, model: CelisModel | PathLike) -> Volume:
    """Cut a volume into supervoxels by a watershed from the middles of the cells.

    Parameters
    ----------
    affinities : Affinities, AffinityVolume or path
        Of any network; `predict_affinities` makes them.
    model : CelisModel or path
        Says how fine the supervoxels are.

    Returns
    -------
    supervoxels : Volume
        uint64 labels; 0 is background.
    """
    from napari_celis.models.apply import supervoxels_of

    read = affinities if isinstance(affinities, Affinities) else _affinity_volume(affinities).read()
    labels = supervoxels_of(_model(model), read.data, read.voxel_size_nm)
    return Volume(labels, read.voxel_size_nm, read.offset_nm, "supervoxels")


def agglomerate(
    image: VolumeLike | None,
    model: CelisModel | PathLike,
    *,
    supervoxels: VolumeLike | None = None,
    affinities: AffinitiesLike | None = None,
    policy: PolicyName | None = None,
    threshold: float | None = None,
    any_voxel_size: bool = False,
    report: Report = silent,
    say: Say | None = None,
) -> Volume:
    """Merge supervoxels greedily, and return the segmentation.

    Does what `celis agglomerate` does. To look at single steps, or to decide by hand, use `prepare`.

    Parameters
    ----------
    image : Volume, ndarray or path, or None
        Grey values; None where affinities are given.
    model : CelisModel or path
        Gives energies, policy and threshold.
    supervoxels : Volume, ndarray or path, optional
        The oversegmentation; made from the affinities by default.
    affinities : Affinities, AffinityVolume or path, optional
        Affinities to use instead of the model's.
    policy : {'energy', 'learned'}, optional
        How to order merges; the model's own policy by default.
    threshold : float, optional
        Score to stop at; the model's own by default.
    any_voxel_size : bool
        Use the model although it was trained at another voxel size.
    report : callable
        Called as `report(stage, share)`; an exception that it raises ends the work.
    say : callable, optional
        Called with a sentence if something about the volumes is strange.

    Returns
    -------
    segmentation : Volume
        uint64 labels; a segment has the id of its largest supervoxel.
    """
    choice = Choice(
        image=None if image is None else _volume(image),
        supervoxels=None if supervoxels is None else _volume(supervoxels),
        affinities=None if affinities is None else _affinity_volume(affinities),
        model=_model(model),
        policy=policy,
        threshold=threshold,
        any_voxel_size=any_voxel_size,
        is_lazy=True,
    )
    prepared = prepare(choice, report, say=say)
    with prepared.agglomerator as agglomerator:
        for step in agglomerator.steps(prepared.threshold):
            report("merges", min(1.0, (step.index + 1) / agglomerator.supervoxels.n))
        labels = agglomerator.labels()
    return Volume(labels, choice.voxel_size_nm, choice.offset_nm, "segmentation")


def train(
    image: VolumeLike | list[VolumeLike],
    truth: VolumeLike | list[VolumeLike],
    supervoxels: VolumeLike | list[VolumeLike] | None = None,
    *,
    output: PathLike | None = None,
    settings: TrainSettings | None = None,
    attribution: str = "",
    resume: bool = False,
    progress: Callable[[TrainRecord], None] | None = None,
) -> CelisModel:
    """Train a model on one or several annotated volumes.

    Parameters
    ----------
    image, truth : Volume, ndarray or path, or a list of them
        Grey values, and true labels; 0 is unknown. Lists are in the same order.
    supervoxels : Volume, ndarray or path, or a list of them, optional
        The oversegmentation; made from the affinities by default.
    output : path, optional
        Model file to write. A checkpoint is kept in a folder beside it, `OUTPUT.training`, until the model is
        written.
    settings : TrainSettings, optional
        Sizes, time, seed.
    attribution : str
        Whose data it is; kept in the model.
    resume : bool
        Continue from the checkpoint of an interrupted training with the same data and settings.
    progress : callable, optional
        Called with a `TrainRecord` now and then: stage, share done, figures.

    Returns
    -------
    model : CelisModel
    """
    from napari_celis.models.model_file import save_model
    from napari_celis.training.pipeline import train_model
    from napari_celis.training.reading import read_annotated

    folder = None if output is None else Path(f"{os.fspath(output)}.training")
    if folder is not None and folder.exists() and not resume:
        raise TrainingError(
            f"There is an unfinished training in {folder}. Give `resume=True` to continue it, or delete the "
            "folder to start again."
        )
    images, truths, labels = (_volumes(given) for given in (image, truth, supervoxels))
    if len(truths) != len(images) or (labels and len(labels) != len(images)):
        raise TrainingError(
            f"There are {len(images)} images, {len(truths)} truths and {len(labels)} supervoxels. Give as "
            "many of each, in the same order, or no supervoxels."
        )
    volumes, voxel_size_nm = read_annotated(images, truths, labels)
    records = train_model(
        volumes, voxel_size_nm, settings, attribution=attribution, folder=folder, resume=resume
    )
    while True:
        try:
            record = next(records)
        except StopIteration as end:
            trained: Trained = end.value
            break
        if progress is not None:
            progress(record)
    if output is not None:
        save_model(trained.model, output)
        trained.checkpoint.clear()
    return trained.model


def evaluate(segmentation: VolumeLike, truth: VolumeLike, *, ignore_boundary: int = 0) -> Scores:
    """Compare a segmentation with the truth.

    Parameters
    ----------
    segmentation, truth : Volume, ndarray or path
        Labels of the same voxels; true label 0 is not counted.
    ignore_boundary : int
        Leave out voxels within this many steps of a true boundary.

    Returns
    -------
    scores : Scores
        `vi`, `vi_split`, `vi_merge` in bits, `rand_f1`, `adapted_rand`.
    """
    from napari_celis.evaluation import metrics
    from napari_celis.evaluation.contingency import contingency_table

    found, true = _volume(segmentation), _volume(truth)
    require_same_shape(segmentation=found, truth=true)
    labels = read_labels(true)
    ignored = metrics.ignore_boundary(labels, ignore_boundary) if ignore_boundary else None
    return metrics.score(contingency_table(read_labels(found), labels, ignored))


def compare(
    train: Choice,
    test: Choice,
    *,
    methods: Sequence[str] | None = None,
    boundary: int = 2,
    seed: int = 0,
    report: Report = silent,
    say: Say | None = None,
) -> dict[str, dict[str, Any]]:
    """Run every method on the same supervoxels and affinities, and measure the errors.

    Parameters
    ----------
    train : Choice
        Image, truth and model; methods are fitted and tuned on it.
    test : Choice
        The same of another volume; errors are measured on it.
    methods : sequence of str, optional
        Those to run, of `none`, `mean_affinity`, `watershed`, `forest`, `forest_multicut`, `celis_energy`,
        `celis_learned` and `oracle`; all by default, as far as their libraries are installed.
    boundary : int
        Measure a second time without voxels within this many steps of a true boundary.
    seed : int
        Of the forests.
    report : callable
        Called as `report(stage, share)`; an exception that it raises ends the work.
    say : callable, optional
        Called with a sentence if something about the volumes is strange.

    Returns
    -------
    results : dict of str to dict
        The figures of each method, see `napari_celis.baselines.compare.compare`.
    """
    from napari_celis.baselines import compare as baselines
    from napari_celis.baselines.celis import Celis
    from napari_celis.baselines.forest import ForestSettings

    known, _ = baselines.baseline_methods(ForestSettings(seed=seed))
    oracle = known.pop("oracle")
    known |= {f"celis_{policy}": Celis(test.known_model, policy) for policy in test.known_model.policies}
    known["oracle"] = oracle
    unknown = set(methods or ()) - set(known)
    if unknown:
        raise CelisError(f"There is no method {', '.join(sorted(unknown))}. Choose from {', '.join(known)}.")
    for choice in (test, train):
        check(choice)
    names = " and ".join(next(iter(choice.extents.values())).name for choice in (test, train))
    require_memory(bytes_needed(train) + bytes_needed(test), names, "Comparing on")
    learned, judged = (
        _problem(choice, f"{title} volume: ", report, say)
        for title, choice in (("training", train), ("test", test))
    )
    wanted = known if methods is None else {name: known[name] for name in methods}
    results = baselines.compare(
        learned, judged, wanted, boundary=boundary, report=lambda _, share: report("methods", share)
    )
    report("methods", 1.0)
    return results


def _problem(choice: Choice, title: str, report: Report, say: Say | None) -> Problem:
    """Read one volume; compute affinities and supervoxels where they are not given."""
    from napari_celis.baselines.problem import Problem

    inputs = prepare_inputs(choice, lambda stage, share: report(title + stage, share), say=say)
    require_actions(inputs.atoms)
    return Problem.from_inputs(inputs, None if choice.truth is None else read_labels(choice.truth))


def _volume(given: VolumeLike) -> Volume:
    """Open a volume that is not open yet."""
    if isinstance(given, Volume):
        return given
    return Volume(given) if isinstance(given, np.ndarray) else open_volume(given)


def _volumes(given: VolumeLike | list[VolumeLike] | None) -> list[Volume]:
    """Make volumes of one or several, or of none."""
    if given is None:
        return []
    return [_volume(one) for one in given] if isinstance(given, list) else [_volume(given)]


def _affinity_volume(given: AffinitiesLike) -> AffinityVolume:
    """Open affinities that are not open yet."""
    if isinstance(given, AffinityVolume):
        return given
    if isinstance(given, Affinities):
        if (given.voxel_size_nm, given.offset_nm) == (UNKNOWN_SIZE, UNKNOWN_OFFSET):
            return AffinityVolume(given.data, name=given.name)
        return AffinityVolume(given.data, None, given.voxel_size_nm, given.offset_nm, given.name)
    return open_affinities(given)


def _model(given: CelisModel | PathLike) -> CelisModel:
    """Load a model that is not loaded yet."""
    from napari_celis.models.model_file import CelisModel, load_model

    return given if isinstance(given, CelisModel) else load_model(given)
