"""Train an affinity network: an interruptible loop that yields records and resumes exactly."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from napari_celis.core.errors import TrainingError
from napari_celis.core.volume import as_labels, require_finite, require_same_shape
from napari_celis.models.affinity import build_affinity_net
from napari_celis.models.affinity_base import NEIGHBOURS, AffinityNet
from napari_celis.models.affinity_unet import UNet
from napari_celis.models.device import choose_device, explained_memory, has_fast_bfloat16
from napari_celis.models.inference import predict_affinities
from napari_celis.models.intensity import in_known_range, measure_intensity
from napari_celis.training.affinity_data import (
    Patch,
    PatchSampler,
    VolumeSampler,
    affinity_targets,
    prepare_labels,
)
from napari_celis.training.affinity_loss import AffinityFigures, affinity_loss, judge_several
from napari_celis.training.affinity_settings import AffinityRecord, AffinityTraining, hold_out
from napari_celis.training.shape_head import ShapeHead, shape_map

COOLING = 0.25
"""Share of the steps made so far that the learning rate takes to fall when validation stops improving."""
ImageAndTruth = tuple[np.ndarray, np.ndarray]
"""Grey values and true objects, shape (Z, Y, X) each."""


class AffinityTrainer:
    """Holds everything a training run needs, and everything it needs to go on later.

    Parameters
    ----------
    volumes : sequence of (ndarray, ndarray)
        Grey values, and true objects of the same shape, of one or several volumes. The grey-value scale is
        that of the first; volumes of another recording are brought to it.
    settings : AffinityTraining
        Network, data and optimiser.
    seed : int
        Same seed, data, settings and number of threads give the same weights.
    validation : sequence of (ndarray, ndarray), optional
        Images and truths to judge by, instead of a slab held out of every volume.
    device : str
        See `choose_device`.
    """

    def __init__(
        self,
        volumes: Sequence[ImageAndTruth],
        settings: AffinityTraining | None = None,
        *,
        seed: int = 0,
        validation: Sequence[ImageAndTruth] | None = None,
        device: str = "auto",
    ) -> None:
        settings = settings or AffinityTraining()
        for image, truth in volumes:
            require_same_shape(image=image, truth=truth)
            require_finite(image, "`image`")
        network = replace(settings.network, intensity=measure_intensity(volumes[0][0]))
        self.settings = replace(settings, network=network)
        self.net = build_affinity_net(network, seed=seed).to(choose_device(device))
        self.step, self.best_step = 0, 0
        self.best: float | None = None
        self.n_worse = 0
        self.cooling: tuple[int, int] | None = None
        """Steps between which the learning rate falls to 0, once validation has stopped improving."""
        fit, judged = [], [self._labelled(*pair) for pair in validation or ()]
        for image, truth in volumes:
            image, labels = self._labelled(image, truth)
            part, slab = hold_out(image.shape, settings.holdout if validation is None else 0.0)
            fit.append((image[part], labels[part]))
            judged += [] if slab is None else [(image[slab], labels[slab])]
        self._validation = self._prepare_validation(judged) if judged else None
        self._sampler = self._prepare_sampler(fit)
        # On maps of two voxels torch's gradients in bfloat16 are not always finite.
        coarsest = np.array(self._sampler.output_zyx) // self.net.grid_zyx
        self._is_short = bool(coarsest.min() > 2) and has_fast_bfloat16(self.net.device)
        self._rng = np.random.default_rng(seed)
        self._dropout = torch.Generator().manual_seed(seed).get_state()
        self._head = self._prepare_head(seed)
        self._optimizer = torch.optim.AdamW(
            self._parameters(), settings.learning_rate, weight_decay=settings.weight_decay
        )
        self._average = {name: tensor.clone() for name, tensor in self.net.state_dict().items()}
        self._best_weights = self._average

    def run(self, steps: int) -> Iterator[AffinityRecord]:
        """Train until the steps are done or validation stops improving.

        Parameters
        ----------
        steps : int
            Total number of steps, those of earlier runs included; the learning rate falls until then.

        Yields
        ------
        record : AffinityRecord
            Whoever stops here may store `state()` and go on another day.
        """
        losses: list[float] = []
        while self.step < steps and not self.is_satisfied:
            rate = self._learning_rate(steps)
            with explained_memory(self.net.device, "Use --device cpu, or smaller patches."):
                losses.append(self._one_step(rate))
            self.step += 1
            is_last = self.step >= steps or self.is_satisfied
            judged = self._validation is not None and (
                is_last or self.step % self.settings.validate_every == 0
            )
            if judged or is_last or self.step % self.settings.report_every == 0:
                figures, is_best = self._validate() if judged else (None, False)
                if self.cooling is None and self.n_worse >= self.settings.patience:
                    self.cooling = self.step, min(steps, self.step + max(1, round(COOLING * self.step)))
                yield AffinityRecord(self.step, float(np.mean(losses)), rate, figures, is_best)
                losses.clear()

    @property
    def is_satisfied(self) -> bool:
        """Whether validation has stopped improving, and the learning rate has fallen since."""
        return self.cooling is not None and self.step >= self.cooling[1]

    def result(self) -> AffinityNet:
        """Return a network with the best weights so far, in evaluation mode."""
        weights = self._average if self._validation is None or self.best is None else self._best_weights
        net = build_affinity_net(self.settings.network).to(self.net.device)
        net.load_state_dict(weights)
        return net.eval()

    def state(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """Copy everything that a later run needs: named tensors, and plain JSON."""
        tensors = {f"net.{name}": tensor for name, tensor in self.net.state_dict().items()}
        tensors |= {f"average.{name}": tensor for name, tensor in self._average.items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self._best_weights.items()}
        if self._head is not None:
            tensors |= {f"head.{name}": tensor for name, tensor in self._head.state_dict().items()}
        for index, values in self._optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{name}": tensor for name, tensor in values.items()}
        tensors["dropout"] = self._dropout
        facts = {
            "step": self.step,
            "best": self.best,
            "best_step": self.best_step,
            "n_worse": self.n_worse,
            "cooling": self.cooling,
            "rng": self._rng.bit_generator.state,
        }
        return {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}, facts

    def resume(self, tensors: Mapping[str, torch.Tensor], facts: Mapping[str, Any]) -> None:
        """Go back to what `state` returned; data, settings and seed must be the same as then.

        Parameters
        ----------
        tensors : mapping of str to Tensor
            Weights, averages and the state of the optimizer.
        facts : mapping of str to object
            Step, best result and the state of the random numbers.
        """
        try:
            self.net.load_state_dict(_below("net.", tensors))
            self._average = self._copies("average.", tensors)
            self._best_weights = self._copies("best.", tensors)
            if self._head is not None:
                self._head.load_state_dict(_below("head.", tensors))
            whole = self._optimizer.state_dict()
            whole["state"] = {}
            for name, tensor in _below("optimizer.", tensors).items():
                index, _, key = name.partition(".")
                whole["state"].setdefault(int(index), {})[key] = tensor.clone()
            self._optimizer.load_state_dict(whole)
            self._dropout = tensors["dropout"].clone()
            self._rng.bit_generator.state = facts["rng"]
            self.step, self.best_step = int(facts["step"]), int(facts["best_step"])
            self.best, self.n_worse = facts["best"], int(facts["n_worse"])
            self.cooling = None if facts["cooling"] is None else (facts["cooling"][0], facts["cooling"][1])
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            raise TrainingError(
                f"The saved training does not belong to these settings, or is damaged ({error}). "
                "Start again, or use the settings it was made with."
            ) from error

    def _copies(self, prefix: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Copy a group of saved tensors to the device; training changes them in place."""
        return {name: value.to(self.net.device, copy=True) for name, value in _below(prefix, tensors).items()}

    def _prepare_sampler(self, volumes: Sequence[ImageAndTruth]) -> VolumeSampler:
        """Standardise the images, and fit the patch to the smallest volume."""
        settings, net = self.settings, self.net
        context = net.halo_zyx if net.is_valid else (0, 0, 0)
        smallest = np.min([image.shape for image, _ in volumes], axis=0)
        room = [int(size) - 2 * margin for size, margin in zip(smallest, context, strict=True)]
        z, y, x = (
            max(grid, min(wanted, free) // grid * grid)
            for wanted, free, grid in zip(settings.patch_zyx, room, net.grid_zyx, strict=True)
        )
        teller = net if isinstance(net, UNet) and settings.shape_weight > 0 else None
        return VolumeSampler(
            [
                PatchSampler(
                    net.standardise(image),
                    labels,
                    (z, y, x),
                    context,
                    settings.network.offsets,
                    settings.network.voxel_size_nm,
                    settings.augmentation,
                    None if teller is None else shape_map(teller, labels),
                )
                for image, labels in volumes
            ]
        )

    def _prepare_head(self, seed: int) -> ShapeHead | None:
        """Make the layer that tells the shape of objects, if that is learned."""
        maps = [one.shapes for one in self._sampler.samplers if one.shapes is not None]
        return ShapeHead(self.net, maps, seed) if isinstance(self.net, UNet) and maps else None

    def _parameters(self) -> list[torch.nn.Parameter]:
        """List what is learned."""
        own = [] if self._head is None else list(self._head.parameters())
        return [*self.net.parameters(), *own]

    def _labelled(self, image: np.ndarray, truth: np.ndarray) -> ImageAndTruth:
        """Bring grey values to those of the first volume, and make labels of the truth."""
        settings = self.settings
        labels = prepare_labels(
            as_labels(truth, "`truth`"),
            dilation=settings.dilation,
            min_voxels=settings.min_voxels,
            background=settings.background,
            voxel_size_nm=settings.network.voxel_size_nm,
        )
        seen = in_known_range(image, settings.network.intensity, measure_intensity(image))
        return np.asarray(seen[:, :, :]), labels

    def _prepare_validation(
        self, volumes: Sequence[ImageAndTruth]
    ) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Keep the images and the targets of their three neighbours."""
        prepared = []
        for image, labels in volumes:
            require_same_shape(validation_image=image, validation_truth=labels)
            prepared.append((image, *affinity_targets(labels, NEIGHBOURS)))
        if not any(known.any() for _, _, known in prepared):
            raise TrainingError(
                "The slab held out for validation has no known label. Hold out less, or give `validation`."
            )
        return prepared

    def _learning_rate(self, steps: int) -> float:
        """Rise, then fall along a half cosine; straight to 0 once nothing gets better."""
        rise = min(1.0, (self.step + 1) / self.settings.warmup)
        begin, end = self.cooling or (self.step, self.step + 1)
        fall = 0.5 * (1 + math.cos(math.pi * begin / steps)) * (end - self.step) / (end - begin)
        return self.settings.learning_rate * rise * fall

    def _one_step(self, rate: float) -> float:
        """Draw a batch, follow its gradient, and average the weights."""
        patches = [self._sampler.draw(self._rng) for _ in range(self.settings.batch)]
        device = self.net.device
        image = torch.from_numpy(np.stack([patch.image for patch in patches]))[:, None].to(device)
        targets = torch.from_numpy(np.stack([patch.targets for patch in patches])).to(device).float()
        known = torch.from_numpy(np.stack([patch.known for patch in patches])).to(device).float()
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self.net.train()
        # Dropout has its own stream, so that nothing else in the process can change what is learned.
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self._dropout)
            # Half the time per step where the processor can; weights, loss and average stay in float32.
            with torch.autocast(device.type, torch.bfloat16) if self._is_short else nullcontext():
                logits, shape_loss = self._look(image, patches)
            self._dropout = torch.get_rng_state()
        loss = affinity_loss(
            logits.float(),
            targets,
            known,
            balance=self.settings.balance,
            long_range_weight=self.settings.long_range_weight,
        )
        value = float(loss.detach())
        loss = loss + self.settings.shape_weight * shape_loss
        if not math.isfinite(value):
            raise TrainingError(
                f"The loss became {value} at step {self.step}. Lower the learning rate, which is "
                f"{self.settings.learning_rate:g}."
            )
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self._parameters(), 1.0)
        self._optimizer.step()
        self._update_average()
        return value

    def _look(self, image: torch.Tensor, patches: Sequence[Patch]) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute logits, and how far off the shape of objects is told; 0 where none is learned."""
        if self._head is None or not isinstance(self.net, UNet):
            return self.net(image), torch.zeros((), device=image.device)
        cells = self.net.cell_features(image)
        return self.net.logits_of_cells(cells), self._head.loss(cells, patches)

    def _update_average(self) -> None:
        """Move the average of the weights towards the weights; early steps count less."""
        memory = min(self.settings.averaging, (1 + self.step) / (10 + self.step))
        for name, tensor in self.net.state_dict().items():
            if tensor.is_floating_point():
                self._average[name].lerp_(tensor, 1 - memory)
            else:
                self._average[name].copy_(tensor)

    def _validate(self) -> tuple[AffinityFigures, bool]:
        """Judge the averaged weights on the held-out slab, and remember the best."""
        assert self._validation is not None
        net = build_affinity_net(self.settings.network).to(self.net.device)
        net.load_state_dict(self._average)
        figures = judge_several(
            (predict_affinities(net, image), targets, known) for image, targets, known in self._validation
        )
        # Networks become surer while they learn, which cross-entropy punishes before ranks get worse.
        value = 1 - figures.auc if math.isfinite(figures.auc) else figures.balanced_cross_entropy
        is_best = self.best is None or value < self.best
        if is_best:
            self.best, self.best_step, self.n_worse = value, self.step, 0
            self._best_weights = {name: tensor.clone() for name, tensor in self._average.items()}
        else:
            self.n_worse += 1
        return figures, is_best


def train_affinity(
    volumes: Sequence[ImageAndTruth],
    settings: AffinityTraining | None = None,
    *,
    steps: int,
    seed: int = 0,
    validation: Sequence[ImageAndTruth] | None = None,
    device: str = "auto",
) -> Generator[AffinityRecord, None, AffinityNet]:
    """Train a network from the start; `net = yield from train_affinity(...)` gets the result.

    Parameters
    ----------
    volumes, settings, seed, validation, device
        As in `AffinityTrainer`.
    steps
        As in `AffinityTrainer.run`.

    Yields
    ------
    record : AffinityRecord

    Returns
    -------
    net : AffinityNet
        The best weights, in evaluation mode.
    """
    trainer = AffinityTrainer(volumes, settings, seed=seed, validation=validation, device=device)
    yield from trainer.run(steps)
    return trainer.result()


def _below(prefix: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Take the tensors whose names begin with `prefix`, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
