"""
Topics of a stream
==================

Documents arrive in blocks, and no block is kept: ``partial_fit`` of :class:`~sparsemix.SparseSCVB0LDA` learns from each
block once. The documents of this script are made of bars. A word is a pixel of a square, a topic is one of its rows or
columns, so topics can be looked at. First the source of the documents stays as it is; then columns turn into diagonals,
and the topics have to follow.
"""

# %%
# Out of nothing
# --------------
# The topics begin as the frequencies of words with noise. ``total_samples`` says how many documents there will be: each
# block is then a step, steps become smaller, and what the first blocks taught, when the topics were still poor, is
# forgotten. Without it every document counts the same, whenever it came.
#
# A document of a stream is visited once, and its topics have to be found in that one visit. So ``burn_in=10`` sweeps
# over its words come before the one that counts. A fit comes back to its documents and needs fewer.
#
# There are 16 bars and 24 topics: with some to spare, no two bars have to begin as one topic, and what is not needed
# becomes small.

from copy import deepcopy

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from sparsemix import SparseSCVB0LDA
from sparsemix.datasets import make_bars
from sparsemix.metrics import align_topics, document_completion

SIDE, ALPHA, BLOCK, N_BLOCKS = 8, 0.1, 100, 150
N_DOCUMENTS = BLOCK * N_BLOCKS

X, bars, _ = make_bars(SIDE, N_DOCUMENTS + 500, doc_length=60, doc_topic_prior=ALPHA, random_state=0)
blocks, held_out = [X[i * BLOCK : (i + 1) * BLOCK] for i in range(N_BLOCKS)], X[N_DOCUMENTS:]


def new_model(sampler, total_samples):
    """The topic model of all parts of this script."""
    return SparseSCVB0LDA(
        24, sampler=sampler, doc_topic_prior=ALPHA, burn_in=10, init_params="random", total_samples=total_samples,
        random_state=0,
    )  # fmt: skip


models = {
    "a sampled topic for each token": new_model("gibbs", N_DOCUMENTS),
    "responsibilities": new_model("dense", N_DOCUMENTS),
    "every document counts the same": new_model("gibbs", None),
}
stream = models["a sampled topic for each token"]
scores, looks = {label: [] for label in models}, {}
for number, block in enumerate(blocks, 1):
    for label, model in models.items():
        scores[label].append(model.partial_fit(block).score(held_out))
    if number in (1, 10, 20, 40, N_BLOCKS):
        looks[f"{number * BLOCK:,} documents"] = stream.components_.copy()

# %%
# After some numbers of documents, the topics that become the bars, one in a column; below them the bars that the
# documents were made of.


def draw(looks):
    """Topics as squares, a row for each of the looks."""
    shape = len(looks), len(next(iter(looks.values())))
    axes = plt.figure(figsize=(0.5 * shape[1] + 1.6, 0.55 * shape[0]), layout="constrained").subplots(*shape)
    for row, (label, components) in zip(axes, looks.items(), strict=True):
        for axis, topic in zip(row, components, strict=True):
            axis.imshow(topic.reshape(SIDE, SIDE), cmap="magma", vmin=0.0)
            axis.set(xticks=[], yticks=[])
        row[0].set_ylabel(label, rotation=0, ha="right", va="center")


order, _ = align_topics(stream, bars)
draw({label: components[order] for label, components in looks.items()} | {"the bars": bars})

# %%
# The score hides a fifth of the words of each held-out document. Without topics a word scores -log 64 = -4.16.


def score_of(topics, documents):
    """Held-out score of the topics that made the documents."""
    return document_completion(topics + 1e-6, documents, doc_topic_prior=ALPHA)


figure, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
seen = BLOCK * np.arange(1, N_BLOCKS + 1)
for label, curve in scores.items():
    axis.plot(seen, curve, label=label)
    print(f"{label:32s} {curve[-1]:.3f}")
best = score_of(bars, held_out)
axis.axhline(best, color="k", linestyle="--", label="the bars themselves")
axis.set(xlabel="documents seen", ylabel="held-out log-likelihood a token, nats")
axis.legend(loc="lower right")
print(f"{'the bars themselves':32s} {best:.3f}")

# %%
# Where every document counts the same, more is learned from the first ones, and what was wrong with it stays. Where the
# counts of a document are sums of responsibilities, the spare topics are not given up: bars are shared among them.

# %%
# A source that drifts
# --------------------
# Now a growing share of the tokens moves: the pixel in row r goes r columns to the right. Rows stay where they are, and
# columns fade into diagonals. One copy of the model continues with sums of all documents. For the other we take the two
# steps that ``partial_fit`` is made of, and choose the rate: a block that came t blocks ago then counts 0.9 ** t as
# much as the newest.

pixel_row, pixel_column = np.divmod(np.arange(SIDE**2), SIDE)
comes_from = np.argsort(pixel_row * SIDE + (pixel_column + pixel_row) % SIDE)
rng = np.random.default_rng(0)


def drifted(X, share):
    """Documents with this share of their tokens moved."""
    moved = X.copy()
    moved.data = rng.binomial(X.data.astype(int), share).astype(np.float32)
    return sparse.csr_matrix(X - moved + moved[:, comes_from])


summing, forgetting = deepcopy(stream).set_params(total_samples=None), deepcopy(stream)
models = {"sums of all documents": summing, "rate 0.1": forgetting}
scores = {label: [] for label in (*models, "the topics of that moment")}
looks = {label: {} for label in models}
for number, block in enumerate(blocks):
    share = min(1.0, number / 100)
    block, current = drifted(block, share), drifted(held_out, share)
    summing.partial_fit(block)
    forgetting.update_from_stats(forgetting.expected_stats(block), learning_rate=0.1)
    for label, model in models.items():
        scores[label].append(model.score(current))
        if number in (0, 25, 50, 75, N_BLOCKS - 1):
            looks[label][f"{share:.0%} moved"] = model.components_[order]
    truth = (1 - share) * bars + share * bars[:, comes_from]
    scores["the topics of that moment"].append(score_of(truth, current))

draw(looks["rate 0.1"])

# %%
# These were the topics at the constant rate, on their way. A diagonal may also be taken over by a spare topic; the
# column that it came from then becomes small, and stands here as it was left. At the end:

draw({label: look["100% moved"] for label, look in looks.items()} | {"the source": bars[:, comes_from]})

figure, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for (label, curve), style in zip(scores.items(), ("-", "-", "k--"), strict=True):
    axis.plot(seen, curve, style, label=label)
    print(f"{label:26s} after the last block {curve[-1]:.3f}")
axis.axvline(100 * BLOCK, color="0.7", linewidth=1, zorder=0)
axis.text(99 * BLOCK, axis.get_ylim()[0] + 0.02, "all tokens moved", ha="right", color="0.4")
axis.set(xlabel="documents since the drift began", ylabel="log-likelihood a token,\nheld out from the current source")
axis.legend(loc="center right")

# %%
# Half-way a topic is a column and a diagonal at once, which no single topic was before; the model at a constant rate is
# late there, and has caught up when the drift has ended.

plt.show()
