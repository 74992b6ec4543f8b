"""Agglomerate and evaluate.

From an image and its supervoxels to a segmentation, and how far that is from the truth: before, after,
and with other thresholds. It takes half a minute on the bundled sample.
"""

# %% [markdown]
# ## The volumes
#
# `sample()` opens the phantom that comes with the package. Nothing is read before it is needed. A
# crop keeps this example short; leave the line out to use all of it, or put
# `celis.open_volume("your.h5:volumes/raw")` in its place.

# %%
import napari_celis as celis

whole = celis.sample()
image, supervoxels, truth = (
    celis.Volume(whole[role].data[:48, :96, :96], whole[role].voxel_size_nm, name=role)
    for role in ("image", "supervoxels", "truth")
)
print(image.shape, "voxels of", image.voxel_size_nm, "nm")

# %% [markdown]
# ## One call
#
# The bundled model learned from another phantom. It has its own threshold.

# %%
model = celis.load_model(celis.bundled_models()["phantom"])
affinities = celis.predict_affinities(image, model)
segmentation = celis.agglomerate(image, model, supervoxels=supervoxels, affinities=affinities)
celis.write_volume(segmentation, "segmentation.zarr", kind="labels")

# %% [markdown]
# ## How good is it?
#
# Variation of information, in bits: the split part falls when pieces of a neuron are joined, the
# merge part rises when two neurons are. Voxels within two steps of a true boundary are left out,
# because people do not agree about them either. [Metrics](../metrics.md) says what the figures
# mean.


# %%
def show(name: str, labels: celis.Volume) -> None:
    scores = celis.evaluate(labels, truth, ignore_boundary=2)
    print(f"{name:<12} split {scores.vi_split:.2f}   merge {scores.vi_merge:.2f}   VI {scores.vi:.2f} bits")


show("supervoxels", supervoxels)
show("segmentation", segmentation)

# %% [markdown]
# ## Another threshold
#
# A lower threshold stops earlier: fewer wrong merges, more splits. To see several, prepare once and
# let the run go on; it does not begin again.

# %%
choice = celis.Choice(image, supervoxels, model=model)
prepared = celis.prepare(choice)
with prepared.agglomerator as agglomerator:
    for threshold in (-4.0, -2.0, 0.0, 2.0):
        for _ in agglomerator.steps(threshold):
            pass
        show(f"below {threshold:+.0f}", celis.Volume(agglomerator.labels(), image.voxel_size_nm))
