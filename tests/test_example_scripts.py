"""The scripts of docs/examples, as a reader would run them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

EXAMPLES = {
    "agglomerate_and_evaluate": "segmentation split 0.",
    "own_energy_and_policy": "the same to the bit: True",
    "blocks_on_a_local_cluster": "VI between blocks and the whole: 0.0",
}
"""The scripts of docs/examples, and what each has to print."""


def test_all_examples_are_run(checkout):
    assert {path.stem for path in (checkout / "docs/examples").glob("*.py")} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, checkout, tmp_path):
    # Workers of a local cluster load the package too.
    done = subprocess.run(
        [sys.executable, checkout / f"docs/examples/{name}.py"],
        cwd=tmp_path, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert EXAMPLES[name] in done.stdout
