"""
Topics of a corpus
==================

The docstrings of numpy, scipy and scikit-learn are a corpus that every installation has. This script learns 50 topics
from them, at most eight for a word of a document, draws the largest as bars of words, and asks two questions: how well
do the topics complete documents that were held out, and do their words occur in the same documents?
"""

# %%
# The corpus
# ----------
# A document is the docstring of a function, class or module. Topic models take counts of words: a sparse matrix with
# a row for each document and a column for each word. Words in more than a fifth of the documents ("default", "shape",
# "array") are left out, as they would lead every topic and tell nothing of it.

import matplotlib.pyplot as plt
import numpy as np

from sparsemix import SparseLDA
from sparsemix.datasets import load_docstrings
from sparsemix.metrics import document_completion, topic_coherence, topic_diversity

docstrings = load_docstrings(max_df=0.2)
words = docstrings.feature_names
order = np.random.default_rng(0).permutation(len(docstrings.names))
learned, held_out = np.sort(order[600:]), np.sort(order[:600])
X, X_test = docstrings.data[learned], docstrings.data[held_out]
print(f"{X.shape[0]} documents to learn from, {X_test.shape[0]} held out, {X.shape[1]} words")

# %%
# Learning
# --------
# With ``verbose=1`` each epoch over the documents prints a line, those of the start first: a few epochs of smoothed EM.
# The fit ends when an epoch gains less than ``tol`` nats a token; 100 epochs are more than it needs.

lda = SparseLDA(50, n_nonzero=8, max_iter=100, random_state=0, verbose=1).fit(X)

# %%
# Topics as words
# ---------------
# The twelve topics with the largest shares of all tokens, each with its ten most probable words. The titles say the
# share and the coherence: the mean normalised mutual information of pairs of these words over the documents.

coherence = topic_coherence(lda, X)
topics = lda.components_ / lda.components_.sum(axis=1, keepdims=True)
figure, axes = plt.subplots(3, 4, figsize=(10, 8), layout="constrained")
table = lda.topic_table(words, order="probable").set_index("topic")
for axis, (k, row) in zip(axes.flat, table.iterrows(), strict=False):
    probabilities = np.sort(topics[k])[::-1][: len(row["words"])]
    axis.barh(row["words"], probabilities)
    axis.invert_yaxis()
    axis.set_title(f"topic {k}: {row['token_share']:.1%}, NPMI {coherence[k]:.2f}", fontsize=9)
    axis.tick_params(labelsize=8)
figure.supxlabel("probability of the word in the topic")

# %%
# Held-out score
# --------------
# ``score`` hides a fifth of the words of each held-out document, infers its topics from the others, and gives the mean
# log-likelihood of the hidden tokens. The frequencies of words in the whole corpus are what a topic model has to beat:
# they are a model of one topic. ``perplexity`` says the same as a number of words: the smaller it is, the fewer words
# come into question.

one_topic = np.asarray(X.sum(axis=0), dtype=float).reshape(1, -1) + lda.topic_word_prior_
print(f"word frequencies  {document_completion(one_topic, X_test):.3f} nats a token")
print(f"50 topics         {lda.score(X_test):.3f} nats a token, perplexity {lda.perplexity(X_test):.0f}")

# %%
# Coherence must be read together with diversity: copies of one good topic are coherent.

print(f"coherence (NPMI): mean {coherence.mean():.3f}, least {coherence.min():.3f}, largest {coherence.max():.3f}")
print(f"diversity: {topic_diversity(lda):.0%} of the first 25 words of all topics are different")

# %%
# Topics of documents
# -------------------
# ``transform`` gives the share of each topic in a document, held out or not. Here are the topics of four held-out
# docstrings that hold more than a tenth of them.

shares = lda.transform(X_test)
names = docstrings.names[held_out]
long_ones = np.argsort(-np.asarray(X_test.sum(axis=1)).ravel())[:4]
first_words = lda.topic_table(words, n_top_words=4).set_index("topic")["words"].str.join(" ")
for d in long_ones:
    print(names[d])
    for k in np.argsort(-shares[d]):
        if shares[d, k] > 0.1:
            print(f"  {shares[d, k]:4.0%}  topic {k:2d}: {first_words[k]}")

plt.show()
