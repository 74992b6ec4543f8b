"""Segments by their members, against a plain list of labels."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from napari_celis.core.segment_members import SegmentMembers


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.lists(st.integers(0, 10**6), max_size=20))
def test_joins_and_parts_keep_members_names_and_sizes(sizes, choices):
    sizes = np.array([0, *sizes])
    segments, plain = SegmentMembers(sizes), np.arange(len(sizes))
    for choice in choices:
        names = np.unique(plain[1:])
        a, b = (int(names[one % len(names)]) for one in (choice, choice // 7))
        if a != b:
            voxels = {name: int(sizes[plain == name].sum()) for name in (a, b)}
            kept = max(voxels, key=lambda name: (voxels[name], -name))
            assert segments.larger(a, b) == kept
            moved = segments.join(kept, a + b - kept)
            assert set(moved.tolist()) == set(np.flatnonzero(plain == a + b - kept).tolist())
            plain[moved] = kept
        elif len(own := np.flatnonzero(plain == a)) > 1:
            moved = own[own != a][: 1 + choice % (len(own) - 1)].astype(np.int32)
            segments.part(moved, int(moved[0]))
            plain[moved] = moved[0]
        np.testing.assert_array_equal(segments.segment_of, plain)
        assert segments.n_segments == len(np.unique(plain[1:]))
        for name in np.unique(plain[1:]).tolist():
            assert sorted(segments.members_of(name)) == np.flatnonzero(plain == name).tolist()
