"""
Topics of cells, out of core
============================

Single-cell chromatin assays give a matrix of cells by regions, open or not, that soon is larger than memory. Topics
describe it as they describe texts: a cell is a document, a region that is open is a word. Here the matrix lies on disk
in shards, is fitted block by block, and survives a crash in the middle.
"""

# %%
# Cells on disk
# -------------
# Cells whose topics are known, in five shards that were written one after the other. ``blocks.from_h5ad`` reads
# AnnData's files in the same way.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from sparsemix import SparseSCVB0LDA, blocks
from sparsemix.datasets import make_cells

N_TOPICS = 8
X, topics, cell_topic = make_cells(1500, n_features=20_000, n_components=N_TOPICS, regions_per_cell=500, random_state=0)
folder = Path(tempfile.mkdtemp())
for i in range(5):
    sparse.save_npz(folder / f"shard{i}.npz", X[300 * i : 300 * (i + 1)].tocsr())

rows = blocks.from_npz(sorted(folder.glob("shard*.npz")))
print(f"{len(rows)} blocks, {X.nnz:,} open regions")

# %%
# A fit that may be interrupted
# -----------------------------
# The first call ends after three epochs, as if the machine had gone down then. The second one continues from the
# checkpoint, to the bits of a fit that nothing happened to. One topic more than there are takes what all cells share.

lda = SparseSCVB0LDA(N_TOPICS + 1, max_iter=3, random_state=0)
blocks.fit(lda, rows, checkpoint=folder / "run")
lda.set_params(max_iter=8)
blocks.fit(lda, rows, checkpoint=folder / "run")

whole = blocks.fit(SparseSCVB0LDA(N_TOPICS + 1, max_iter=8, random_state=0), rows)
print("the same bits:", np.array_equal(lda.components_, whole.components_))

# %%
# Were the topics found?
# ----------------------
# Proportions are made block by block as well. Each true topic is matched with the learned one whose share of the cells
# goes with its own. With AnnData, ``sparsemix.topics.store_topics(adata, lda, theta)`` stores what is learned.

theta = np.concatenate(list(blocks.transform(lda, rows)))
agreement = np.corrcoef(cell_topic.T, theta.T)[:N_TOPICS, N_TOPICS:]
true, found = linear_sum_assignment(-agreement)
print("correlation of each topic's shares:", agreement[true, found].round(2))

figure, axes = plt.subplots(1, 2, figsize=(9, 3.5))
order = [*found, *np.setdiff1d(np.arange(N_TOPICS + 1), found)]
image = axes[0].imshow(agreement[:, order], vmin=-1, vmax=1, cmap="RdBu_r")
axes[0].set(xlabel="learned topic", ylabel="true topic", title="correlation over cells")
figure.colorbar(image, ax=axes[0])
axes[1].scatter(cell_topic[:, true[0]], theta[:, found[0]], s=4)
axes[1].set(xlabel="true share", ylabel="learned share", title="one topic")
figure.tight_layout()
