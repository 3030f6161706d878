"""
Learning from a stream
======================

Blocks of rows arrive one after another; their number is unknown, and no block is seen twice.
``partial_fit`` learns from each block once. This script follows the held-out score along the stream, compares it with
a fit of all rows at once, pickles the mixture in mid-stream, and then lets the source of the rows drift.
"""

# %%
# A stream of unknown length
# --------------------------
# With ``total_samples=None`` every row counts the same whenever it came: the statistics are sums over all blocks so
# far. What the start got wrong therefore stays in the sums for long, and the start is worth some care: collect a few
# blocks before the first call.

import pickle

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import expm

from sparsemix import SparseGaussianMixture
from sparsemix.datasets import make_patch_mixture

BLOCK = 1_000
N_BLOCKS = 30
D = 24


def new_mixture(**parameters):
    """The mixture of all parts of this script."""
    return SparseGaussianMixture(20, n_nonzero=4, covariance_type="zero_mean", random_state=0, **parameters)


def follow(mixture, blocks, held_out):
    """Rows seen and held-out score after each block."""
    rows, scores = [], []
    for block in blocks:
        mixture.partial_fit(block)
        rows.append(mixture.n_samples_seen_)
        scores.append(mixture.score(held_out))
    return rows, scores


X, _, _ = make_patch_mixture(BLOCK * N_BLOCKS + 4_000, n_features=D, n_components=20, rank=4, random_state=0)
blocks, held_out = np.split(X[: BLOCK * N_BLOCKS], N_BLOCKS), X[BLOCK * N_BLOCKS :]
together = [np.concatenate(blocks[:3]), *blocks[3:]]
careful = new_mixture()
curves = {
    "first block as it comes": follow(new_mixture(), blocks, held_out),
    "first three blocks together": follow(careful, together, held_out),
}
batch = new_mixture(n_init=3, tol=1e-3).fit(np.concatenate(blocks))
batch_score = batch.score(held_out)

figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
for label, (rows, scores) in curves.items():
    axis.plot(rows, scores, label=f"partial_fit, {label}")
    print(f"{label:38s} {scores[-1]:.3f}")
axis.axhline(batch_score, color="k", linestyle="--", label=f"fit of all rows, best of 3, {batch.n_iter_} passes")
axis.set(xlabel="rows seen", ylabel="held-out log-likelihood a row, nats")
axis.legend(loc="lower right")
print(f"{'fit of all rows':38s} {batch_score:.3f}")

# %%
# The careful start is worth more than all the rows that follow. With it, one epoch over the stream ends near the
# best of three fits with several epochs over the stored rows.

# %%
# Pickling in mid-stream
# ----------------------
# A pickle holds the statistics and all that the next call of ``partial_fit`` needs. The copy that was stored
# half-way and then resumed ends at the same bits.

resumed = new_mixture()
for number, block in enumerate(together):
    if number == len(together) // 2:
        resumed = pickle.loads(pickle.dumps(resumed))
    resumed.partial_fit(block)
print("same weights to the last bit:", np.array_equal(resumed.weights_, careful.weights_))
print("same scores to the last bit:", resumed.score(held_out) == careful.score(held_out))

# %%
# A source that drifts
# --------------------
# Now the space turns a little between blocks, and the covariances with it. Sums over all rows never forget, so they
# blur. To forget, take the two steps that ``partial_fit`` is made of and choose the learning rate: at a constant rate
# of 0.2 a block that came t blocks ago counts 0.8 ** t as much as the newest. ``total_samples`` says how many rows
# the statistics stand for; here five blocks.

generator = np.random.default_rng(0).standard_normal((D, D))
turn = expm(0.003 * (generator - generator.T))  # an orthogonal matrix near the identity

summing = new_mixture()
forgetting = new_mixture(total_samples=5 * BLOCK)
rows, scores = [], {"sums of all rows": [], "learning rate 0.2": []}
rotation = np.eye(D)
for number, block in enumerate(together):
    block, current = block @ rotation, held_out @ rotation
    summing.partial_fit(block)
    if number == 0:
        forgetting.partial_fit(block)  # the first block starts the mixture
    else:
        forgetting.update_from_stats(forgetting.expected_stats(block), learning_rate=0.2)
    rows.append(summing.n_samples_seen_)
    scores["sums of all rows"].append(summing.score(current))
    scores["learning rate 0.2"].append(forgetting.score(current))
    rotation = rotation @ turn

figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
for label, values in scores.items():
    axis.plot(rows, values, label=label)
    print(f"{label:18s} after the last block {values[-1]:.3f}")
axis.set(xlabel="rows seen", ylabel="log-likelihood a row,\nheld out from the current source")
axis.legend(loc="lower left")

# %%
# The sums fall behind as the turn continues. The constant rate pays for keeping up at the beginning, where fewer rows
# stand behind its statistics.

plt.show()
