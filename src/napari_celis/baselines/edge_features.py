"""What a forest sees of the contacts of a contraction."""

from __future__ import annotations

import numpy as np

from napari_celis.baselines.contraction import Contraction
from napari_celis.core.contact_features import ContactRows, contact_features, smaller_first


def edge_features(state: Contraction, rows: np.ndarray) -> np.ndarray:
    """Describe some contacts of the current segments, float32 (n, F); the order of the ends does not matter.

    Parameters
    ----------
    state : Contraction
        Segments and contacts with their sums.
    rows : ndarray of int, shape (n,)
        Contacts.
    """
    both = np.stack(smaller_first(state.size, state.ends[rows]))
    return contact_features(
        ContactRows(
            state.contact[rows],
            state.low[rows],
            state.high[rows],
            state.size[both],
            state.surface[both],
            state.inside[both],
        )
    )
