"""The queue against a dict that is searched from end to end."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_celis.core.queue import ScoreQueue

pytestmark = pytest.mark.kernels
N = 12


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, N - 1), st.integers(-2, 2), st.integers(0, 3)), max_size=60
    )
)
def test_it_equals_a_dict(changes):
    queue, plain = ScoreQueue(N), {}
    for is_put, item, score, rank in changes:
        items = np.array([item], dtype=np.int32)
        if is_put:
            queue.put(items, np.array([float(score)]), np.array([rank], dtype=np.int32))
            plain[item] = (float(score), rank)
        else:
            queue.drop(items)
            plain.pop(item, None)
        assert len(queue) == len(plain)
        assert (queue.arrays.position >= 0).tolist() == [i in plain for i in range(N)]
        assert queue.lowest == min((score for score, _ in plain.values()), default=np.inf)
        if plain:
            assert plain[queue.first] == min(plain.values())
        else:
            assert queue.first == -1
        ordered = sorted(plain, key=lambda item: plain[item])
        found = queue.first_items(3, 1.5).tolist()
        assert [plain[item] for item in found] == [plain[item] for item in ordered if plain[item][0] < 1.5][
            :3
        ]
        for limit in (-1.0, 0.5):
            assert queue.up_to(limit).tolist() == sorted(i for i, (s, _) in plain.items() if s <= limit)
