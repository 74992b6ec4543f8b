"""Networks for affinities, image features and energies, on any device.

`model_file` loads and saves a whole model, `apply` uses it. May import `core`; touches files only there.
"""
