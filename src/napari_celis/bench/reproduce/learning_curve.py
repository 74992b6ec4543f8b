"""What energies that learned from more and more phantoms add to what the contact alone tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import torch

from napari_celis.bench.reproduce.drawing import COLOURS, dress, level, new_figure, svg_of
from napari_celis.bench.reproduce.experiment import Experiment
from napari_celis.bench.reproduce.section import Block, Finding, Numbers, Paragraph, Picture, Section, Table
from napari_celis.core.contact_features import DECISIVE
from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.presets import preset_specs
from napari_celis.evaluation.running_errors import RunningErrors
from napari_celis.io.samples import bundled_models
from napari_celis.models.apply import affinities_of, supervoxels_of
from napari_celis.models.model_file import CelisModel, load_model
from napari_celis.models.policy import PolicyClassifier
from napari_celis.pipeline.stages import Report
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom
from napari_celis.training.energy import EnergyTraining, train_energy, weighted_auc
from napari_celis.training.energy_stage import EnergyPlan, View, draw_examples, new_network, round_weights
from napari_celis.training.folds import Slab
from napari_celis.training.policy import PolicyExamples, fit_classifier
from napari_celis.training.policy_stage import Judged

LEARNED, STOPPED, FITTED, JUDGED = 31, 41, (42, 43), (45, 46)
"""Seeds of the phantoms: the first to learn from, to stop by, for the policy, and to judge on."""
POLICIES = ("contact_alone", "with_energies")
STATES, POWER = (0.0, 0.5), 0.5
"""Shares of the expert's way at which examples are drawn, and how they weigh, as in training."""


@dataclass(frozen=True)
class Told:
    """How well a policy does on phantoms that nobody has seen, mean of them."""

    auc: float
    """Weighted area under the curve of the first state's contacts."""
    log_loss: float
    vi: float
    """Bits, where its greedy run stops at even odds."""


@dataclass(frozen=True)
class Point:
    """One point of the curve."""

    phantoms: int
    contact_alone: Told
    with_energies: Told
    centre_auc: dict[str, float]
    """By spec, how well the energy change at a single centre of another phantom tells false merges."""


@dataclass(frozen=True, eq=False)
class Phantoms:
    """What is learned from, stopped by, fitted to and judged on."""

    learned: Sequence[Slab]
    stopped: Slab
    fitted: Sequence[Slab]
    judged: Sequence[Slab]


def learn_and_judge(
    phantoms: Phantoms, specs: tuple[DescriptorSpec, ...], plan: EnergyPlan, epochs: int
) -> Point:
    """Train energies, fit a policy with and without looking at them, and judge both on other phantoms.

    Parameters
    ----------
    phantoms : Phantoms
        With affinities of a network that has seen none of them.
    specs : tuple of DescriptorSpec
        One energy network each.
    plan : EnergyPlan
        Examples and seed; its time does not count.
    epochs : int
        At most, of each network.
    """
    cpu = torch.device("cpu")
    folds = _views(phantoms.learned), _views([phantoms.stopped])
    networks, centre_auc = [], {}
    for spec in specs:
        rng = np.random.default_rng(plan.seed)
        (fit, features), held_out = (draw_examples(spec, views, plan, rng) for views in folds)
        network, training = (
            new_network(plan, spec, features),
            EnergyTraining(seed=plan.seed, max_epochs=epochs),
        )
        records = list(train_energy(spec.name, network, fit, features, *held_out, training, cpu))
        networks.append(round_weights(network))
        centre_auc[spec.name] = min(records, key=lambda record: record.validation_loss).validation_auc
    fitted, judged = (
        [Judged(slab, specs, networks, cpu) for slab in slabs] for slabs in (phantoms.fitted, phantoms.judged)
    )
    examples = PolicyExamples.join([one.first_examples() for one in fitted])
    first = [one.first_examples() for one in judged]

    def told(classifier: PolicyClassifier) -> Told:
        each = [_judge(classifier, *pair, plan.power) for pair in zip(judged, first, strict=True)]
        return Told(*(float(value) for value in np.mean(each, axis=0)))

    return Point(
        len(phantoms.learned),
        told(blind_classifier(examples, len(specs), plan)),
        told(fit_classifier(examples, plan.power, plan.seed)),
        centre_auc,
    )


def blind_classifier(examples: PolicyExamples, n_specs: int, plan: EnergyPlan) -> PolicyClassifier:
    """Fit a policy that does not see energies, and let it ignore them where they are.

    Parameters
    ----------
    examples : PolicyExamples
        With energies as their last features.
    n_specs : int
        How many.
    plan : EnergyPlan
        Gives power and seed.
    """
    seen = PolicyExamples(examples.features[:, : len(DECISIVE)], examples.contacts, examples.change)
    own = fit_classifier(seen, plan.power, plan.seed)
    nothing = np.zeros(n_specs)
    return replace(
        own,
        mean=np.append(own.mean, nothing),
        scale=np.append(own.scale, nothing + 1),
        weights=np.append(own.weights, nothing),
    )


def _judge(
    classifier: PolicyClassifier, judged: Judged, first: PolicyExamples, power: float
) -> tuple[float, float, float]:
    """Area under the curve and log loss of the first state, and the error where a run stops."""
    odds = classifier.scores(first.features, classifier.contact_odds(first.contacts))
    y = np.sign(first.change) * np.abs(first.change) ** power
    loss = np.abs(y) @ np.logaddexp(0, -np.sign(y) * odds) / np.abs(y).sum()
    scene = judged.slab.upright
    before = RunningErrors(scene.overlaps, scene.supervoxels.ids)
    change = judged.curve(classifier).change_at(np.zeros(1))[0]
    return weighted_auc(odds, y), float(loss), before.split + before.merge + float(change)


def _views(slabs: Sequence[Slab]) -> list[View]:
    """States along the expert's way through each phantom."""
    return [View(slab.upright, slab.upright.expert_states(STATES)) for slab in slabs]


def make_slab(seed: int, shape_zyx: tuple[int, int, int], model: CelisModel) -> Slab:
    """Make a phantom with the affinities and supervoxels of a model.

    Parameters
    ----------
    seed : int
        Of the phantom.
    shape_zyx : tuple of int
        Its voxels.
    model : CelisModel
        Has not seen it.
    """
    made = make_phantom(PhantomSettings(shape_zyx, model.voxel_size_nm, seed))
    affinities = affinities_of(model, made.image)
    return Slab(supervoxels_of(model, affinities, model.voxel_size_nm), made.truth, affinities)


def measure(experiment: Experiment, report: Report) -> Numbers:
    """Learn from one, two and more phantoms, as many examples each time.

    Parameters
    ----------
    experiment : Experiment
        Says how much to do; its volumes are not used.
    report : callable
        Called as `report(stage, share)`.
    """
    extent = experiment.extent
    model = load_model(bundled_models()["phantom"])
    specs = preset_specs("fast", seed=experiment.seed, voxel_size_nm=model.voxel_size_nm)
    plan = EnergyPlan("fast", extent.examples, POWER, 0.0, experiment.seed)
    report("phantoms", 0.0)
    seeds = (*range(LEARNED, LEARNED + max(extent.phantoms)), STOPPED, *FITTED, *JUDGED)
    slabs = {seed: make_slab(seed, extent.phantom_shape_zyx, model) for seed in seeds}
    points = []
    for index, n in enumerate(extent.phantoms):
        report("learning", index / len(extent.phantoms))
        chosen = Phantoms(
            [slabs[seed] for seed in range(LEARNED, LEARNED + n)],
            slabs[STOPPED],
            [slabs[seed] for seed in FITTED],
            [slabs[seed] for seed in JUDGED],
        )
        points.append(learn_and_judge(chosen, specs, plan, extent.epochs))
    return {
        "phantom_shape_zyx": list(extent.phantom_shape_zyx),
        "examples": extent.examples,
        "most_epochs": extent.epochs,
        "judged": len(JUDGED),
        "points": [asdict(point) for point in points],
    }


def describe(numbers: Numbers) -> list[Block]:
    """Draw the curve, and tell the numbers."""
    points = numbers["points"]
    shape = " × ".join(map(str, numbers["phantom_shape_zyx"]))
    rows = [
        [
            str(one["phantoms"]),
            *(f"{value:.3f}" for value in one["centre_auc"].values()),
            *(f"{one[key][figure]:.3f}" for figure in Told.__annotations__ for key in POLICIES),
        ]
        for one in points
    ]
    specs = list(points[0]["centre_auc"])
    gained = points[-1]["with_energies"]["vi"] - points[-1]["contact_alone"]["vi"]
    heading = ["phantoms", *specs, *(["contact alone", "with energies"] * 3)]
    groups = (
        ("", 1),
        ("AUC of single centres", len(specs)),
        ("AUC of contacts", 2),
        ("log loss", 2),
        ("VI", 2),
    )
    return [
        Paragraph(
            f"**Always on phantoms**, {shape} voxels each, with affinities and supervoxels of the bundled "
            f"phantom model. Energies learn from {', '.join(str(one['phantoms']) for one in points)} of "
            f"them, {numbers['examples']:,} examples per descriptor each time, at most "
            f"{numbers['most_epochs']} epochs, stopped by another phantom; time decides nothing. Then a "
            "policy is fitted on two more phantoms, once to the contact of two segments alone, once to the "
            f"energies too, and both are judged on {numbers['judged']} that nobody has seen."
        ),
        Picture(
            draw(numbers),
            "AUC of single centres, log loss of contacts and VI over the number of phantoms",
        ),
        Table(
            heading,
            rows,
            "AUC: 1 is perfect, 0.5 a coin. VI in bits at even odds. Mean of the judged phantoms.",
            (),
            groups,
        ),
        Paragraph(
            f"With energies of {points[-1]['phantoms']} phantoms the VI differs by {abs(gained):.3f} bits "
            "from that of the contact alone. The paper has no learning curve: it learns from about half of "
            "FIB-25, billions of voxels, on many machines. Here everything is small, so this says how "
            "quickly energies learn, and not how far they would get."
        ),
    ]


def draw(numbers: Numbers) -> bytes:
    """Draw what single centres tell, and what the policies make of it."""
    points = numbers["points"]
    n = [one["phantoms"] for one in points]
    figure = new_figure(3.4)
    left, middle, right = figure.subplots(1, 3)
    for (name, _), colour, marker in zip(points[0]["centre_auc"].items(), COLOURS[2:], "Dv", strict=False):
        left.plot(n, [one["centre_auc"][name] for one in points], color=colour, marker=marker, label=name)
    dress(left, "Single centres", "phantoms learned from", "AUC on another phantom")
    left.legend(frameon=False, fontsize=9)
    for axes, figure_name, title in ((middle, "log_loss", "Log loss of contacts"), (right, "vi", "VI, bits")):
        axes.plot(n, [one["with_energies"][figure_name] for one in points], color=COLOURS[0], marker="o")
        level(axes, points[0]["contact_alone"][figure_name], "contact alone")
        dress(axes, title, "phantoms learned from", "")
        axes.set_ylim(0, 1.3 * max(one[key][figure_name] for one in points for key in POLICIES))
    for axes in (left, middle, right):
        axes.set_xticks(n)
    return svg_of(figure)


def summarise(numbers: Numbers) -> list[Finding]:
    """Tell what energies add at the end of the curve."""
    last = numbers["points"][-1]
    return [
        Finding(
            f"VI on phantoms, energies of {last['phantoms']} phantoms (contact alone)",
            "–",
            f"{last['with_energies']['vi']:.3f} ({last['contact_alone']['vi']:.3f})",
        )
    ]


SECTION = Section(
    "learning",
    "Learning curve",
    "no counterpart; it bears on “Local training procedure” (section 4.1)",
    measure,
    describe,
    summarise,
)
