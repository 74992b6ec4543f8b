"""Networks: affinities and image features, energies, and how they run on any device."""
