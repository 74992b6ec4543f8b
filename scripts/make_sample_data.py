"""Make the volumes in sample_data/: a phantom, and supervoxels from its image alone.

    python scripts/make_sample_data.py [FOLDER]

Running it again gives the same voxels.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import h5py
import numpy as np
from scipy import ndimage
from skimage.feature import hessian_matrix, hessian_matrix_eigvals, peak_local_max
from skimage.segmentation import relabel_sequential, watershed

from napari_celis.evaluation.contingency import contingency_table
from napari_celis.evaluation.metrics import ignore_boundary, score
from napari_celis.io.samples import DATASETS, FILE_NAME, NECKS_NAME, SampleName
from napari_celis.synthetic.phantom import Phantom, PhantomSettings, make_phantom

SETTINGS = PhantomSettings(shape_zyx=(96, 160, 160), voxel_size_nm=(10.0, 10.0, 10.0), seed=2016)
RIDGE_SIGMA = 1.5
INTERIOR = 0.45
SMALLEST_SUPERVOXEL = 20

README = """# Sample data

`{file}` is synthetic neuropil in the CREMI layout, made from nothing by

    python scripts/make_sample_data.py

which gives the same voxels every time. Nothing in it comes from a real recording. `docs/phantom.md` explains
how shapes and image come about; `celis phantom` makes more of the same.

| dataset | content |
|---|---|
| `volumes/raw` | image, uint8 |
| `volumes/labels/neuron_ids` | truth, uint64: no voxel is 0, each object is one 6-connected piece |
| `volumes/labels/supervoxels` | oversegmentation, uint64, from the image alone |

`{necks_file}` lists the necks, each crossed by a veil: the voxel in the middle, one inside the base
and one inside the head (a good segmentation joins the two), the object, and the diameter in the truth.

The supervoxels come from a ridge filter on the image (largest eigenvalue of the Hessian, sigma {sigma}
voxels), seeds where the distance from the ridges has a maximum, and a watershed. They never see the truth.

## Facts

{facts}

The oracle gives each supervoxel to the object it shares most voxels with: no agglomeration of these
supervoxels gets much nearer to the truth. VI is in bits; "inside" ignores the voxels within 2 of a truth
boundary, as `celis evaluate` does. The AUC says how well the mean grey of the contact between two supervoxels
tells true merges from false ones; 0.5 is a coin. In the necks grey does not tell.

## Models

`models/` holds what `python scripts/make_models.py NAME` trained: `phantom.safetensors` on phantoms with
other seeds, so that it has never seen this sample, and `fibsem-medulla.safetensors` on the FIB-SEM volume
training_sample2 (FlyEM, z < 125; Janelia Research Campus, neuroproof_examples, CC-BY 3.0; Takemura et al.,
Nature 500, 2013). Each file holds its own attribution.
"""


def make_supervoxels(image: np.ndarray) -> np.ndarray:
    """Cut an image into supervoxels along its dark ridges."""
    # Rounded on the way, so that the last digit of a filter does not decide which voxel is flooded first.
    grey = image.astype(np.float64)
    hessian = hessian_matrix(grey, sigma=RIDGE_SIGMA, order="rc", use_gaussian_derivatives=False)
    ridge = hessian_matrix_eigvals(hessian)[0]
    dark = np.clip((140.0 - ndimage.gaussian_filter(grey, 1.0)) / 60.0, 0.0, 1.0)
    boundary = np.round(np.clip(ridge / np.percentile(ridge, 95), 0.0, 1.2) + 0.5 * dark, 3)
    depth = np.round(ndimage.gaussian_filter(ndimage.distance_transform_edt(boundary < INTERIOR), 0.7), 3)
    peaks = peak_local_max(depth, min_distance=2, threshold_abs=0.8, exclude_border=False)
    seeds = np.zeros(image.shape, dtype=np.int32)
    seeds[tuple(peaks.T)] = np.arange(1, len(peaks) + 1)
    elevation = np.rint(1000 * (boundary - 0.05 * depth)).astype(np.int32)
    supervoxels = watershed(elevation, seeds)
    sizes = np.bincount(supervoxels.ravel())
    supervoxels[sizes[supervoxels] < SMALLEST_SUPERVOXEL] = 0
    return relabel_sequential(watershed(elevation, supervoxels))[0].astype(np.uint64)


def measure(phantom: Phantom, supervoxels: np.ndarray) -> dict[str, str]:
    """Collect the facts for the README."""
    table = contingency_table(supervoxels, phantom.truth)
    best, share = _best_object(supervoxels, phantom.truth)
    oracle = best[supervoxels]
    ignored = ignore_boundary(phantom.truth, 2)
    sizes = np.bincount(supervoxels.ravel().astype(np.int64))[1:]
    _, share_inside = _best_object(supervoxels[~ignored], phantom.truth[~ignored])
    ends = [tuple(phantom.necks.ends_zyx[:, end].T) for end in (0, 1)]
    n_joined = np.count_nonzero(supervoxels[ends[0]] == supervoxels[ends[1]])
    diameters = phantom.necks.diameters_nm
    auc, auc_necks = contact_evidence(phantom, supervoxels, best)
    inside = contingency_table(oracle, phantom.truth, ignored)
    return {
        "shape (z, y, x)": " × ".join(map(str, phantom.image.shape)),
        "voxel size (nm)": " × ".join(f"{size:g}" for size in phantom.voxel_size_nm),
        "seed": str(SETTINGS.seed),
        "objects": f"{len(np.unique(phantom.truth)):,}",
        "supervoxels": f"{len(sizes):,}",
        "median supervoxel (voxels)": f"{np.median(sizes):,.0f}",
        "thin necks": f"{len(phantom.necks)}",
        "median neck diameter (nm)": f"{np.median(diameters):.0f}",
        "range of neck diameters (nm)": f"{diameters.min():.0f} to {diameters.max():.0f}",
        "necks inside one supervoxel": f"{n_joined}",
        "necks the oracle joins": f"{np.count_nonzero(oracle[ends[0]] == oracle[ends[1]])}",
        "supervoxels with < 90 % in one object": f"{np.mean(share[1:] < 0.9):.1%}",
        "the same, inside": f"{np.mean(share_inside[np.unique(supervoxels[~ignored])] < 0.9):.1%}",
        "AUC of mean contact grey, all contacts": f"{auc:.2f}",
        "AUC of mean contact grey, contacts in necks": f"{auc_necks:.2f}",
        "VI split + merge, no merging": _vi(score(table)),
        "VI split + merge, oracle": _vi(score(contingency_table(oracle, phantom.truth))),
        "VI split + merge, oracle, inside": _vi(score(inside)),
    }


def _vi(scores) -> str:
    return f"{scores.vi_split:.2f} + {scores.vi_merge:.2f}"


def _best_object(supervoxels: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Object that each supervoxel shares most voxels with, and the share."""
    n_objects = int(truth.max()) + 1
    pairs, counts = np.unique(supervoxels.ravel() * np.uint64(n_objects) + truth.ravel(), return_counts=True)
    sv, objects = np.divmod(pairs.astype(np.int64), n_objects)
    order = np.lexsort((counts, sv))
    best = np.zeros(int(sv.max()) + 1, dtype=np.uint64)
    most = np.zeros(len(best))
    best[sv[order]], most[sv[order]] = objects[order], counts[order]
    return best, most / np.maximum(np.bincount(sv, weights=counts), 1)


def contact_evidence(phantom: Phantom, supervoxels: np.ndarray, best: np.ndarray) -> tuple[float, float]:
    """AUC of the mean grey of contacts, true merges against false: all true merges, and those in necks."""
    grey = ndimage.gaussian_filter(phantom.image.astype(np.float64), 1.0)
    far = np.ones(grey.shape, dtype=bool)
    far[tuple(phantom.necks.positions_zyx.T)] = False
    near_neck = ndimage.distance_transform_edt(far) < 6
    faces = []
    for axis in range(3):
        sv, g, near = (np.moveaxis(array, axis, 0) for array in (supervoxels, grey, near_neck))
        u, v = np.minimum(sv[1:], sv[:-1]), np.maximum(sv[1:], sv[:-1])
        apart = u != v
        faces.append(np.stack([u[apart], v[apart], np.minimum(g[1:], g[:-1])[apart], near[1:][apart]]))
    u, v, g, near = np.concatenate(faces, axis=1)
    pairs, of_face, areas = np.unique(np.stack([u, v]), axis=1, return_inverse=True, return_counts=True)
    mean_grey, share_near = (np.bincount(of_face, weights=w) / areas for w in (g, near))
    is_true = best[pairs[0].astype(np.int64)] == best[pairs[1].astype(np.int64)]
    false = mean_grey[~is_true]
    return _auc(mean_grey[is_true], false), _auc(mean_grey[is_true & (share_near > 0.5)], false)


def _auc(higher: np.ndarray, lower: np.ndarray) -> float:
    """Chance that one of `higher` exceeds one of `lower`."""
    return float(np.searchsorted(np.sort(lower), higher).mean() / len(lower)) if len(higher) else float("nan")


def write_sample(path: Path, phantom: Phantom, supervoxels: np.ndarray) -> None:
    """Write the three volumes into one file, packed as small as gzip can."""
    arrays: dict[SampleName, np.ndarray] = {
        "image": phantom.image,
        "truth": phantom.truth,
        "supervoxels": supervoxels,
    }
    temporary = path.with_name(f".{path.name}.part")
    with h5py.File(temporary, "w") as file:
        for name, array in arrays.items():
            packing = {"compression": "gzip", "compression_opts": 9, "shuffle": True, "chunks": (32, 80, 80)}
            dataset = file.create_dataset(DATASETS[name], data=array, **packing)
            dataset.attrs["resolution"] = np.array(phantom.voxel_size_nm)
            dataset.attrs["offset"] = np.zeros(3)
    temporary.replace(path)


def main(folder: Path) -> None:
    """Write the sample into `folder`."""
    phantom = make_phantom(
        SETTINGS, report=lambda stage, done: print(f"{done:4.0%}  {stage}", file=sys.stderr)
    )
    supervoxels = make_supervoxels(phantom.image)
    folder.mkdir(parents=True, exist_ok=True)
    write_sample(folder / FILE_NAME, phantom, supervoxels)
    (folder / NECKS_NAME).write_text(json.dumps(phantom.necks.as_records(), indent=1) + "\n")
    rows = [f"| {what} | {value} |" for what, value in measure(phantom, supervoxels).items()]
    facts = "\n".join(["| what | value |", "|---|---|", *rows])
    text = README.format(file=FILE_NAME, necks_file=NECKS_NAME, sigma=RIDGE_SIGMA, facts=facts)
    (folder / "README.md").write_text(text)
    print(facts)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1] / "sample_data")
