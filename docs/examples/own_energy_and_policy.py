"""An energy and a policy of your own.

CELIS separates three things: what a piece of segmentation costs (the *energy*), in which order merges
are taken (the *policy*), and the machinery that keeps all scores exact. The first two can be yours, and
need no network.
"""

# %% [markdown]
# ## Supervoxels and descriptors
#
# A descriptor looks at pairs of voxels in a box: bit by bit, are the two connected? Five kinds of
# box, as in the paper, with centres far apart so that it is quick. [The method](../method.md) has
# pictures.

# %%
import numpy as np

import napari_celis as celis
from napari_celis.core.actions import ActionTable
from napari_celis.core.contacts import measure_contacts
from napari_celis.core.descriptors import paper_specs
from napari_celis.core.policy import LearnedPolicy
from napari_celis.core.supervoxels import Supervoxels

volumes = celis.sample()
crop = slice(0, 48), slice(0, 96), slice(0, 96)
atoms = Supervoxels.from_labels(volumes["supervoxels"].data[crop])
truth = volumes["truth"].data[crop]
specs = paper_specs(voxel_size_nm=(10, 10, 10), strides=(8, 8, 16))
print(atoms.n, "supervoxels;", [(spec.name, spec.n_bits) for spec in specs])

# %% [markdown]
# ## An energy
#
# An object with one method. It gets many descriptors at once, packed into 64-bit words, and returns
# one number each. This one likes places where about half of all pairs are connected: neither crumbs
# nor one large blob.


# %%
class HalfConnected:
    def energies(self, spec_index, centres, bits):
        share = np.bitwise_count(bits).sum(axis=1) / specs[spec_index].n_bits
        return 4 * (share - 0.5) ** 2


with celis.Agglomerator(atoms, specs, HalfConnected()) as agglomerator:
    for step in agglomerator.steps(threshold=0.0):
        if step.index == 99:
            break
    print(f"100 merges, energy {agglomerator.energy:.0f}, {agglomerator.n_segments} segments")

# %% [markdown]
# Undo, redo, cuts and explanations work for any energy, because scores are a function of the
# segmentation alone. Whether they are exact can be seen: undo everything, and the scores are those
# of the beginning, to the bit.

# %%
with celis.Agglomerator(atoms, specs, HalfConnected()) as agglomerator:
    before = agglomerator.scores()
    for _ in range(20):
        agglomerator.step()
    for _ in range(20):
        agglomerator.undo()
    print("the same to the bit:", np.array_equal(before, agglomerator.scores(), equal_nan=True))

# %% [markdown]
# ## A policy
#
# `LearnedPolicy` asks an object for the score of a contact of two segments: the lowest is merged
# first. A row of features begins with the mean affinity along the contact; the energy changes come
# last. This policy does without shape and merges where the mean affinity is highest, the method
# that most others begin with. Features are kept exact after every merge, as energies are.


# %%
class MeanAffinity:
    """Merge where the mean affinity along the contact is highest."""

    def contact_odds(self, contacts):
        return np.zeros(len(contacts))  # the 67 features of the first question are not needed

    def scores(self, features, odds):
        return -features[:, 0].astype(np.float64)

    def lowest_scores(self, low, high, odds):
        return self.scores(high, odds)

    def parts(self, features, odds):
        return np.empty((len(features), 0))


model = celis.load_model(celis.bundled_models()["phantom"])
image = celis.Volume(volumes["image"].data[crop], (10, 10, 10))
affinities = celis.predict_affinities(image, model)
contacts = measure_contacts(atoms, ActionTable.from_supervoxels(atoms), affinities.data)
policy = LearnedPolicy(MeanAffinity(), contacts)
with celis.Agglomerator(atoms, specs, HalfConnected(), policy=policy) as agglomerator:
    for least in (0.8, 0.6, 0.4):
        for _ in agglomerator.steps(threshold=-least):
            pass
        scores = celis.evaluate(agglomerator.labels(), truth, ignore_boundary=2)
        print(f"mean affinity above {least}: {agglomerator.n_segments} segments, VI {scores.vi:.2f} bits")
