"""Find an action by what a user says, or say why there is none."""

from __future__ import annotations

from napari_celis.core.actions import ActionTable
from napari_celis.core.errors import ActionError
from napari_celis.core.supervoxels import Supervoxels


def require_action(actions: ActionTable, action: int) -> None:
    """Refuse a row that is not in the table of actions; -1 would silently mean the last one.

    Parameters
    ----------
    actions : ActionTable
        The table of actions.
    action : int
        The row.
    """
    if not 0 <= action < len(actions):
        raise ActionError(f"There is no action {action}; this volume has {len(actions)}.")


def require_two(u: int, v: int, u_id: int) -> None:
    """Refuse a supervoxel paired with itself.

    Parameters
    ----------
    u, v : int
        Dense index.
    u_id : int
        Id to name in the message.
    """
    if u == v:
        raise ActionError(f"Both ends are supervoxel {u_id}. Choose two different ones.")


def require_merged(u_id: int, v_id: int, *, is_taken: bool) -> None:
    """Refuse to confirm a merge that was not made.

    Parameters
    ----------
    u_id, v_id : int
        Ids to name in the message.
    is_taken : bool
        Whether these very supervoxels are merged.
    """
    if not is_taken:
        raise ActionError(
            f"Supervoxels {u_id} and {v_id} are not merged directly, so there is no merge to confirm. "
            "Merge them, or keep them apart."
        )


def require_kept_apart(u_id: int, v_id: int, *, is_kept: bool) -> None:
    """Refuse to allow what nobody has forbidden.

    Parameters
    ----------
    u_id, v_id : int
        Ids to name in the message.
    is_kept : bool
        Whether these very supervoxels are kept apart.
    """
    if not is_kept:
        raise ActionError(
            f"Supervoxels {u_id} and {v_id} are not kept apart by a decision about these two, so there is "
            "nothing to allow. Choose the pair that was kept apart."
        )


def find_action(supervoxels: Supervoxels, actions: ActionTable, u_id: int, v_id: int) -> int:
    """Find the action between two supervoxel ids, or say what could be merged instead.

    Parameters
    ----------
    supervoxels, actions : Supervoxels, ActionTable
        The volume.
    u_id, v_id : int
        Ids as in the file.

    Returns
    -------
    action : int
        Row of the table.
    """
    u, v = supervoxels.index_of(u_id), supervoxels.index_of(v_id)
    require_two(u, v, u_id)
    action = actions.find(u, v)
    if action < 0:
        ids = supervoxels.ids
        near = [f"{ids[actions.u[row]]} and {ids[actions.v[row]]}" for row in actions.nearest(u, v)]
        raise ActionError(
            f"Supervoxels {u_id} and {v_id} do not touch, so they cannot be merged directly. "
            f"The nearest pairs that do: {', '.join(near) or 'none'}."
        )
    return action
