"""Train a whole model from annotated volumes, choosing nothing on data that was learned from.

The volumes are divided into two folds. Each fold gets its affinities from a network trained on the other one,
so that the energy models learn from affinities as good, or bad, as those of a new volume. Supervoxels are
those that were given, and our own with settings chosen the same way. Each fold is agglomerated by energy
models and a policy trained on the other one, and the thresholds are chosen where all runs together are best.
What goes into the model is trained on everything.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from napari_celis import __version__
from napari_celis.core.presets import preset_specs
from napari_celis.core.seeded_watershed import SeededSettings
from napari_celis.core.volume import as_labels, as_triple, require_same_shape
from napari_celis.models.affinity_base import NEIGHBOURS
from napari_celis.models.device import choose_device
from napari_celis.models.features import LAYOUT_GRID
from napari_celis.models.model_file import CelisModel
from napari_celis.training.affinity_data import affinity_targets
from napari_celis.training.affinity_loss import judge
from napari_celis.training.affinity_settings import affinity_training
from napari_celis.training.affinity_stage import (
    AVERAGED_SYMMETRIES,
    cross_fitted_affinities,
    fit_affinity,
    plan_affinity,
)
from napari_celis.training.annotated import AnnotatedVolume, divide
from napari_celis.training.checkpoint import Checkpoint, fingerprint
from napari_celis.training.records import TrainRecord, within
from napari_celis.training.settings import TrainSettings
from napari_celis.training.shape_stage import SMALLEST_WINDOW, ShapeStage, learnable_window
from napari_celis.training.slab_stage import figures_of_volumes, make_slabs, windowed
from napari_celis.training.validation import require_learnable

__all__ = ["AnnotatedVolume", "TrainSettings", "Trained", "train_model"]

SUPERVOXELS = SeededSettings()
"""How supervoxels of our own are made, unless the volumes want it otherwise."""


@dataclass(frozen=True, eq=False)
class Trained:
    """What a training run makes."""

    model: CelisModel
    affinities: list[np.ndarray]
    """Of each training volume, by networks that did not see the place: what baselines may be tuned on."""
    checkpoint: Checkpoint
    """What `resume` would take up; to be cleared when the model is safe."""


def train_model(
    volumes: Sequence[AnnotatedVolume],
    voxel_size_nm: Sequence[float],
    settings: TrainSettings | None = None,
    *,
    attribution: str = "",
    folder: Path | None = None,
    resume: bool = False,
) -> Generator[TrainRecord, None, Trained]:
    """Train affinity network, energy models and policy; `trained = yield from train_model(...)` gets them.

    Parameters
    ----------
    volumes : sequence of AnnotatedVolume
        One or several, also partly labelled ones: truth 0 is unknown. Supervoxels are made by watershed on
        the affinities where they are not given.
    voxel_size_nm : sequence of float
        Voxel size of all volumes; decides shapes of networks and descriptors.
    settings : TrainSettings, optional
        Sizes and time.
    attribution : str
        Whose data it is; kept in the model.
    folder : Path, optional
        Where finished parts are kept until `Trained.checkpoint` is cleared.
    resume : bool
        Take up what an interrupted run left there.

    Yields
    ------
    record : TrainRecord
        What is going on.
    """
    settings = settings or TrainSettings()
    for one in volumes:
        require_same_shape(image=one.image, truth=one.truth)
        if one.supervoxels is not None:
            require_same_shape(image=one.image, supervoxels=one.supervoxels)
    nm = as_triple(voxel_size_nm)
    specs = preset_specs(settings.preset, seed=settings.seed, voxel_size_nm=nm)
    folds = divide([one.truth for one in volumes])
    require_learnable(volumes, folds, specs)
    # An interrupted run may go on with another processor.
    what = {**asdict(settings), "nm": list(voxel_size_nm), "device": None}
    arrays = (array for one in volumes for array in (one.image, one.truth, one.supervoxels))
    checkpoint = Checkpoint(folder, fingerprint(what, *arrays), resume=resume)
    # Every voxel counts, and the other fold judges: nothing more is held out.
    training = replace(
        affinity_training(settings.affinity, nm, holdout=0.0),
        dilation=settings.dilation,
        min_voxels=settings.min_voxels,
    )
    yield TrainRecord("measuring", 0.0)
    plan = plan_affinity(
        volumes, training, settings.seconds * settings.affinity_share / 3, checkpoint,
        seed=settings.seed, device=settings.device,
    )  # fmt: skip
    middle = 2 / 3 * settings.affinity_share
    records = cross_fitted_affinities(volumes, folds, plan, checkpoint)
    affinities, endings = yield from within(records, 0.0, middle)
    depth = max(spec.box_zyx[0] for spec in specs)
    making = make_slabs(
        volumes, folds, affinities, nm, SUPERVOXELS, (depth, SMALLEST_WINDOW, SMALLEST_WINDOW), checkpoint
    )
    whole, supervoxels = yield from within(making, middle, middle)
    stage = ShapeStage(settings, specs, nm, checkpoint, choose_device(settings.device))
    share = min(1.0, stage.share(*([part.slab for part in fold] for fold in whole)))
    first, second = ([learnable_window(part.slab, share) for part in fold] for fold in whole)
    later, last_part = middle + settings.energy_share, 1 - settings.affinity_share / 3
    energies = yield from within(stage.energies((first, second)), middle, later)
    policies = yield from within(stage.policies((first, second), energies), later, last_part)
    # There is nothing left to stop by: as many steps as one of the folds could use.
    steps = max(ending["best_step"] for ending in endings)
    last = fit_affinity(
        "affinity network 3 of 3",
        [(one.image, one.truth) for one in volumes],
        replace(plan, steps=steps),
        checkpoint,
    )
    fitted = yield from within(last, last_part, 1.0)
    aucs = [_unseen_auc(*pair) for pair in zip(affinities, volumes, strict=True)]
    judged = windowed(whole[0], first), windowed(whole[1], second)
    figures = {
        **policies.figures,
        "centre_auc": energies.auc,
        "affinity_auc": float(np.mean(aucs)),
        "affinity_networks": [*endings, fitted.ending],
        "share_of_area": share,
        "volumes": figures_of_volumes(volumes, judged, policies.changes, aucs),
        "settings": asdict(settings),
        "version": __version__,
    }
    model = CelisModel(
        affinity=fitted.net.cpu(),
        specs=policies.specs,
        energies=tuple(energies.of_both),
        voxel_size_nm=nm,
        n_symmetries=AVERAGED_SYMMETRIES,
        layout_grid=LAYOUT_GRID,
        supervoxels=supervoxels,
        policy="learned",
        thresholds=policies.thresholds,
        classifier=policies.classifier,
        examples=policies.examples,
        figures=figures,
        attribution=attribution,
    )
    return Trained(model, affinities, checkpoint)


def _unseen_auc(affinities: np.ndarray, volume: AnnotatedVolume) -> float:
    """How well networks tell boundaries where they have not learned, by every fourth section."""
    targets, known = affinity_targets(as_labels(volume.truth, "`truth`"), NEIGHBOURS)
    return judge(affinities[:, ::4], targets[:, ::4], known[:, ::4]).auc
