"""Large arrays leave the program when they are freed."""

import subprocess
import sys

import pytest

CODE = """
import numpy as np, psutil
from napari_celis.gui.session.background.heap import give_back_freed_memory
give_back_freed_memory()
process = psutil.Process()
np.ones(30 << 17)  # Freed at once: from here on glibc by itself would keep arrays of 30 MB in the heap.
before = process.memory_info().rss
arrays, pins = [], []
for _ in range(8):
    arrays.append(np.ones(20 << 17))
    pins.append(bytes(10_000))
del arrays
print((process.memory_info().rss - before) / 1e6)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is told")
def test_freed_arrays_leave_no_holes():
    result = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert float(result.stdout) < 40
