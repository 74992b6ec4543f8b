"""The volumes and the model that all sections work on; prepared when a section first asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from napari_celis.baselines.celis import Celis
from napari_celis.baselines.compare import baseline_methods
from napari_celis.baselines.forest import ForestSettings
from napari_celis.baselines.problem import Problem, require_separable
from napari_celis.baselines.simple import Method
from napari_celis.baselines.sweep import Sweep
from napari_celis.core.volume import Triple, Volume
from napari_celis.io.samples import bundled_models, sample_volumes
from napari_celis.io.volumes import read_labels
from napari_celis.models.model_file import CelisModel, load_model
from napari_celis.pipeline.checks import check, require_actions
from napari_celis.pipeline.choice import Choice
from napari_celis.pipeline.recipe import prepare_inputs
from napari_celis.pipeline.stages import Report, Say, silent
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom

TRAINING_SEED = 21
"""Of the phantom that other methods are tuned on; neither the sample nor what the model learned from."""


@dataclass(frozen=True)
class Extent:
    """How much the sections do; the defaults take some minutes on the bundled phantom."""

    subvolume: int = 48
    """Voxels along each axis that a subvolume has at least."""
    most_subvolumes: int = 3
    """Subvolumes along one axis."""
    counted_edge: int = 100
    """Edge of the block on which descriptors are counted; the paper's."""
    counted_steps: int = 250
    counted_stride: int = 3
    """Distance of centres there; the paper has a centre at every voxel."""
    timed_edge: int = 64
    """Edge of the block on which networks of the paper's size are timed."""
    timed_steps: int = 20
    phantoms: tuple[int, ...] = (1, 2, 4)
    """How many phantoms the energies learn from, point by point of the learning curve."""
    phantom_shape_zyx: tuple[int, int, int] = (48, 96, 96)
    examples: int = 20_000
    """Per spec, whatever the number of phantoms."""
    epochs: int = 12
    """At most, of every energy network of the learning curve; the clock decides nothing."""
    answers: int = 100
    """Of the simulated person."""


class FittedOnce:
    """A method that learns from a training volume once, however many volumes it is judged on.

    Parameters
    ----------
    method : Method
        The method itself.
    """

    def __init__(self, method: Method) -> None:
        self._method = method
        self._fitted: tuple[Problem, float | None] | None = None

    @property
    def tuned_on(self) -> str | None:
        """What decided the threshold."""
        return self._method.tuned_on

    def fit(self, train: Problem) -> float | None:
        """Learn, or say again what was learned from the same volume."""
        if self._fitted is None or self._fitted[0] is not train:
            self._fitted = train, self._method.fit(train)
        return self._fitted[1]

    def sweep(self, problem: Problem) -> Sweep:
        """Agglomerate a volume, for all thresholds at once."""
        return self._method.sweep(problem)


class Experiment:
    """One volume to judge on, one to tune other methods on, and a model that has seen neither.

    Parameters
    ----------
    test, train : Choice
        Image, truth and model of each; supervoxels and affinities are made where they are not given.
    seed : int
        Of the forests, of sampled pairs and of networks.
    extent : Extent
        How much to do.
    report, say : callable
        Told about the preparation.
    """

    def __init__(
        self,
        test: Choice,
        train: Choice,
        *,
        seed: int = 0,
        extent: Extent | None = None,
        report: Report = silent,
        say: Say | None = None,
    ) -> None:
        for choice in (test, train):
            check(choice)
        self.choices = test, train
        self.seed, self.extent = seed, extent or Extent()
        self._report, self._say = report, say

    @property
    def model(self) -> CelisModel:
        """The model that is judged."""
        return self.choices[0].known_model

    @property
    def voxel_size_nm(self) -> Triple:
        """Of the judged volume."""
        return self.choices[0].voxel_size_nm

    @cached_property
    def test(self) -> Problem:
        """The volume to judge on."""
        return self._prepared(self.choices[0], "judged volume")

    @cached_property
    def train(self) -> Problem:
        """The volume that decides what other methods learn and where they stop."""
        problem = self._prepared(self.choices[1], "training volume")
        require_separable(problem, "The training truth")
        return problem

    @cached_property
    def methods(self) -> Mapping[str, Method]:
        """Every method, in the order of the table; each learns once."""
        known = dict(self._baselines[0])
        oracle = known.pop("oracle")
        known |= {f"celis_{policy}": Celis(self.model, policy) for policy in self.model.policies}
        known["oracle"] = oracle
        return {name: FittedOnce(method) for name, method in known.items()}

    @property
    def notes(self) -> list[str]:
        """One sentence for each method that had to be left out."""
        return self._baselines[1]

    @cached_property
    def _baselines(self) -> tuple[dict[str, Method], list[str]]:
        """All methods but CELIS, and what is missing."""
        return baseline_methods(ForestSettings(seed=self.seed))

    def _prepared(self, choice: Choice, title: str) -> Problem:
        """Read one volume; compute affinities and supervoxels where they are not given."""
        inputs = prepare_inputs(
            choice, lambda stage, share: self._report(f"{title}: {stage}", share), say=self._say
        )
        require_actions(inputs.atoms)
        assert choice.truth is not None
        return Problem.from_inputs(inputs, read_labels(choice.truth))


def bundled_choices(report: Report = silent) -> tuple[Choice, Choice]:
    """Choose the bundled phantom to judge on, and make another one to tune other methods on.

    Supervoxels are made from the affinities of the bundled model, on both, as the paper makes its own.

    Parameters
    ----------
    report : callable
        Told about the phantom that is made.
    """
    model, sample = load_model(bundled_models()["phantom"]), sample_volumes()
    test = Choice(image=sample["image"], truth=sample["truth"], model=model)
    settings = PhantomSettings(sample["image"].shape, sample["image"].voxel_size_nm, TRAINING_SEED)
    made = make_phantom(settings, lambda stage, share: report("training phantom", share))
    name = f"phantom of seed {TRAINING_SEED}"
    train = Choice(
        image=Volume(made.image, made.voxel_size_nm, name=name),
        truth=Volume(made.truth, made.voxel_size_nm, name=name),
        model=model,
    )
    return test, train
