"""Networks for affinities, image features and energies, on any device.

`model_file` loads and saves a whole model, `apply` uses it. May import `core`; touches files only there.
"""

AFFINITY_REVISION = 2
"""Changes whenever affinities of the same image and model do: what was kept of them before is made anew."""
