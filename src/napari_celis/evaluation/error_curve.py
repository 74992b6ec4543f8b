"""The split and merge error over the decisions of a run, without going back to the voxels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.evaluation.overlaps import Overlaps
from napari_celis.evaluation.running_errors import RunningErrors


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """Errors after some of the decisions."""

    n_steps: np.ndarray
    """Decisions that stood, int64 (P,), ascending; the first is 0, the last is all."""
    split: np.ndarray
    """In bits, float64 (P,)."""
    merge: np.ndarray
    """In bits, float64 (P,)."""

    def with_point(self, n_steps: int, split: float, merge: float) -> ErrorCurve:
        """Return the curve with one more point at its end."""
        return ErrorCurve(
            np.append(self.n_steps, n_steps), np.append(self.split, split), np.append(self.merge, merge)
        )


class PastErrors:
    """Tells the errors of any earlier state; one thread at a time may ask.

    Parameters
    ----------
    overlaps : Overlaps
        Voxels that supervoxels share with true objects.
    """

    def __init__(self, overlaps: Overlaps) -> None:
        self._overlaps = overlaps
        self._errors: RunningErrors | None = None

    def at(self, segment_ids: np.ndarray) -> tuple[float, float]:
        """Return the split and the merge error of a state, in bits."""
        if self._errors is None:
            self._errors = RunningErrors(self._overlaps, segment_ids)
        self._errors.update(segment_ids)
        return self._errors.split, self._errors.merge

    def curve(self, agglomerator: Agglomerator, n_points: int = 60) -> ErrorCurve:
        """Return the errors after so many decisions, evenly chosen.

        Parameters
        ----------
        agglomerator : Agglomerator
            Whose decisions.
        n_points : int
            How many states to look at, at most.
        """
        done, ids = agglomerator.journal.done, agglomerator.supervoxels.ids
        n_steps = np.unique(np.linspace(0, len(done), n_points).round().astype(np.int64))
        segment_ids, place, errors = agglomerator.segment_ids(), len(done), []
        for n in n_steps[::-1].tolist():
            for entry in reversed(done[n:place]):
                if entry.operation is not None:
                    segment_ids[entry.operation.moved] = ids[entry.operation.segments]
            place = n
            errors.append(self.at(segment_ids))
        split, merge = np.array(errors[::-1]).reshape(-1, 2).T
        return ErrorCurve(n_steps, split, merge)
