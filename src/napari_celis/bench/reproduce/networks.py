"""The networks: the paper's layer by layer as it is built here, and those of the model."""

from __future__ import annotations

import torch
from torch import nn

from napari_celis.bench.reproduce.experiment import Experiment
from napari_celis.bench.reproduce.section import Block, Finding, Numbers, Paragraph, Section, Table
from napari_celis.models.affinity import affinity_settings, build_affinity_net
from napari_celis.models.affinity_paper import CONTEXT_ZYX, PaperNet
from napari_celis.models.energy import EnergyNetwork, preset_settings
from napari_celis.pipeline.stages import Report

PAPER = (
    ("5 × 5 × 1 convolution, ReLU", (64, 31, 31, 9), 64 * (5**2 + 1)),
    ("5 × 5 × 5 convolution, ReLU", (64, 27, 27, 5), 64 * (64 * 5**3 + 1)),
    ("2 × 2 × 1 max pooling", (64, 14, 14, 5), 0),
    ("5 × 5 × 5 convolution, ReLU", (64, 10, 10, 1), 64 * (64 * 5**3 + 1)),
    ("2 × 2 × 1 max pooling", (64, 5, 5, 1), 0),
    ("fully connected, ReLU", (512,), 512 * (64 * 5**2 + 1)),
    ("fully connected, logistic", (3,), 3 * (512 + 1)),
)
"""Table 2: transform, output (channels, x, y, z) and parameters of each layer."""
PAPER_ENERGY = preset_settings("paper", n_bits=512, n_features=512)
N_PAPER_ENERGIES = 5


def measure(experiment: Experiment, report: Report) -> Numbers:
    """Run one patch through the paper's network, and count the parameters of all networks.

    Parameters
    ----------
    experiment : Experiment
        Gives the model.
    report : callable
        Called as `report(stage, share)`.
    """
    report("networks", 0.0)
    model = experiment.model
    paper = build_affinity_net(affinity_settings("paper"))
    assert isinstance(paper, PaperNet)
    return {
        "paper_net": paper_layers(paper),
        "affinity": {
            "preset": model.affinity.settings.preset,
            "parameters": n_parameters(model.affinity),
            "features": model.affinity.settings.n_features,
            "context_zyx": [2 * reach + 1 for reach in model.affinity.halo_zyx],
            "parts": {name: n_parameters(part) for name, part in model.affinity.named_children()},
        },
        "energies": [
            {
                "spec": spec.name,
                "box_zyx": list(spec.box_zyx),
                "bits": spec.n_bits,
                "features": network.settings.n_features,
                "hidden": network.settings.hidden,
                "parameters": n_parameters(network),
            }
            for spec, network in zip(model.specs, model.energies, strict=True)
        ],
        "paper_energy_parameters": n_parameters(EnergyNetwork(PAPER_ENERGY)),
    }


def n_parameters(network: nn.Module) -> int:
    """Count the numbers that training adjusts."""
    return sum(parameter.numel() for parameter in network.parameters())


def paper_layers(net: PaperNet) -> list[dict[str, object]]:
    """Follow one patch through the network, and return output and parameters of each layer of the table."""
    seen: dict[str, tuple[torch.Size, torch.Size]] = {}

    def watch(name: str) -> None:
        def note(_: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
            seen[name] = inputs[0].shape, output.shape

        hooks.append(getattr(net, name).register_forward_hook(note))

    hooks: list[torch.utils.hooks.RemovableHandle] = []
    names = ("convolution1", "convolution2", "convolution3", "hidden", "output")
    for name in names:
        watch(name)
    with torch.inference_mode():
        net.eval().patch_logits(torch.zeros(1, 1, *CONTEXT_ZYX))
    for hook in hooks:
        hook.remove()
    channels = net.convolution3.out_channels
    edge = round((seen["hidden"][0][1] / channels) ** 0.5)
    outputs = [
        _xyz(seen["convolution1"][1]),
        _xyz(seen["convolution2"][1]),
        _xyz(seen["convolution3"][0]),
        _xyz(seen["convolution3"][1]),
        [channels, edge, edge, 1],
        list(seen["hidden"][1][1:]),
        list(seen["output"][1][1:]),
    ]
    counts = {name: n_parameters(getattr(net, name)) for name in names}
    own = (*("convolution1", "convolution2"), None, "convolution3", None, "hidden", "output")
    return [
        {"output": output, "parameters": 0 if name is None else counts[name]}
        for output, name in zip(outputs, own, strict=True)
    ]


def _xyz(shape: torch.Size) -> list[int]:
    """Channels and extent along x, y, z, as the table has it."""
    _, channels, z, y, x = shape
    return [channels, x, y, z]


def describe(numbers: Numbers) -> list[Block]:
    """Write the paper's table with what was counted, and ours below it."""
    rows = []
    for index, ((transform, output, parameters), own) in enumerate(
        zip(PAPER, numbers["paper_net"], strict=True), start=1
    ):
        is_same = list(output) == own["output"] and parameters == own["parameters"]
        rows.append(
            [
                str(index),
                transform,
                " × ".join(map(str, own["output"])),
                f"{own['parameters']:,}" if own["parameters"] else "",
                f"{parameters:,}" if parameters else "",
                "yes" if is_same else "no",
            ]
        )
    total = sum(one["parameters"] for one in numbers["paper_net"])
    rows.append(["", "all", "", f"{total:,}", f"{sum(one[2] for one in PAPER):,}", ""])
    affinity = numbers["affinity"]
    ours = [
        ["affinities", "the paper", f"{total:,}", "35 × 35 × 9 voxels, 512 features"],
        [
            "affinities",
            f"the model, `{affinity['preset']}`",
            f"{affinity['parameters']:,}",
            f"at most {' × '.join(map(str, reversed(affinity['context_zyx'])))} voxels, "
            f"{affinity['features']} features",
        ],
        [
            "energies",
            "the paper, each of 5",
            f"{numbers['paper_energy_parameters']:,}",
            "512 bits + 512 features → 2048 → 2048 → 1",
        ],
        *(
            [
                "energies",
                f"the model, `{one['spec']}`",
                f"{one['parameters']:,}",
                f"{one['bits']} bits, {one['bits']} bits × evidence, {one['features']} features → "
                f"{one['hidden']} → {one['hidden']} → 1",
            ]
            for one in numbers["energies"]
        ),
    ]
    return [
        Paragraph(
            "The preset `paper` of `celis train` is this network, evaluated densely with the same result "
            "as patch by patch. One patch of 35 × 35 × 9 voxels was sent through it:"
        ),
        Table(
            ("layer", "transform", "output (x, y, z last)", "parameters here", "in the paper", "the same"),
            rows,
        ),
        Paragraph("What the model of this report uses instead, small enough to train and run without a GPU:"),
        Table(("for", "network", "parameters", "sees"), ours),
    ]


def summarise(numbers: Numbers) -> list[Finding]:
    """Compare the sizes."""
    ours = numbers["affinity"]["parameters"] + sum(one["parameters"] for one in numbers["energies"])
    paper = sum(one[2] for one in PAPER) + N_PAPER_ENERGIES * numbers["paper_energy_parameters"]
    return [Finding("Parameters of all networks", f"{paper / 1e6:.1f} million", f"{ours / 1e6:.2f} million")]


SECTION = Section(
    "networks",
    "Networks",
    "Table 2 (supplement): network architecture used for oversegmentation and image features",
    measure,
    describe,
    summarise,
)
