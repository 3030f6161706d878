"""
Few colours, and regions of a photograph
========================================

A photograph has a hundred thousand colours. A mixture of its pixels describes them by a few components: their means
are a palette, and with the position of a pixel as two more columns they are regions. This script draws both, and
compares the palette with that of k-means.
"""

# %%
# A palette
# ---------
# Rows are pixels, columns red, green and blue. K-means minimises the squared error of a palette.
# The mixture describes how pixels spread around each colour: dense groups of similar colours get several
# components, widely spread ones few. With one shared variance and equal weights its palette is as good as that of
# k-means. ``predict_sparse_proba`` blends: a pixel between two colours gets a mean of both.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_sample_image

from sparsemix import SparseGaussianMixture

photo = load_sample_image("flower.jpg")[::2, ::2] / 255
height, width, _ = photo.shape
pixels = photo.reshape(-1, 3)

palette = SparseGaussianMixture(16, n_nonzero=2, tol=1e-2, random_state=0).fit(pixels)
even = SparseGaussianMixture(
    16, n_nonzero=1, covariance_type="tied_spherical", weight_concentration_prior=np.inf, random_state=0
).fit(pixels)
kmeans = MiniBatchKMeans(16, n_init=3, random_state=0).fit(pixels)
reduced = {
    "the photograph": pixels,
    "k-means, 16 colours": kmeans.cluster_centers_[kmeans.labels_],
    "equal weights, 16 colours": even.means_[even.predict(pixels)],
    "mixture, 16 colours": palette.means_[palette.predict(pixels)],
    "mixture, two colours blended": palette.predict_sparse_proba(pixels) @ palette.means_,
}
figure, axes = plt.subplots(2, 3, figsize=(13, 6.4), layout="constrained")
axes[1, 2].set_axis_off()
for axis, (name, colours) in zip(axes.flat[:5], reduced.items(), strict=True):
    error = np.sqrt(np.mean((colours - pixels) ** 2))
    print(f"{name:30} root mean squared error {error:.4f}")
    axis.imshow(np.clip(colours, 0, 1).reshape(photo.shape))
    axis.set_title(f"{name}: error {error:.3f}" if error else name, fontsize=10)
    axis.set_axis_off()

# %%
# Regions
# -------
# With row and column of a pixel as two more numbers a component is an ellipse of similar colour. Full covariances let
# an ellipse follow a petal. Each pixel shows the mean colour of its component.

rows, columns = np.mgrid[:height, :width]
placed = np.column_stack([pixels, rows.ravel() / height, columns.ravel() / width])
regions = SparseGaussianMixture(40, tol=1e-2, max_iter=60, random_state=0).fit(placed)
labels = regions.predict(placed).reshape(height, width)
edges = (labels[:-1, :-1] != labels[1:, :-1]) | (labels[:-1, :-1] != labels[:-1, 1:])

figure, axes = plt.subplots(1, 2, figsize=(9, 3.3), layout="constrained")
axes[0].imshow(np.where(edges[..., None], 1.0, photo[:-1, :-1]))
axes[0].set_title("borders of 40 regions", fontsize=10)
axes[1].imshow(np.clip(regions.means_[labels][..., :3], 0, 1))
axes[1].set_title("mean colours", fontsize=10)
for axis in axes:
    axis.set_axis_off()

plt.show()
