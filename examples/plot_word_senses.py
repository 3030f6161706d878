"""
Senses of words
===============

What is a tree? In the docstrings of numpy, scipy and scikit-learn it grows in a forest, or it finds nearest
neighbours. A skip-gram topic model sees the words around each word, and so it gives every word topics, one for each
sense, and every occurrence of a word the topics of its context.
"""

# %%
# Words in their order
# --------------------
# ``TokenSequences`` makes rows of word numbers from texts. With ``gaps="close"``, the default, the places of words that
# are left out are closed: a window of five reaches over five words that count.

import matplotlib.pyplot as plt
import numpy as np

from sparsemix import SkipGramTopicModel, TokenSequences
from sparsemix.datasets import load_docstrings

docstrings = load_docstrings()
sequences = TokenSequences(stop_words="english", token_pattern="[a-z]{3,}", min_df=5, max_df=0.2)
X = sequences.fit_transform(docstrings.texts)
words = sequences.get_feature_names_out()
print(f"{X.shape[0]} documents, {X.nnz} words in their order, {len(words)} different ones")

# %%
# Learning
# --------
# A window reaches five places to both sides, and never over the border of a document.

model = SkipGramTopicModel(100, window=5, max_iter=10, random_state=0).fit(X)

# %%
# A word's topics are its senses
# ------------------------------
# ``word_topics_`` has a row for each word. The bars are its largest entries, with the words that stand for each topic.

asked = ["tree", "kernel", "order", "degree"]
figure, axes = plt.subplots(2, 2, figsize=(11, 5), layout="constrained")
for axis, word in zip(axes.flat, asked, strict=True):
    senses = model.word_topic_table(word, n_topics=3, feature_names=words, n_top_words=6)
    axis.barh(senses["words"].str.join(" "), senses["probability"])
    axis.invert_yaxis()
    axis.set_title(word)
figure.supxlabel("probability of the topic given the word")

# %%
# The context decides
# -------------------
# ``transform_words`` gives the topics of every occurrence where it stands. These are occurrences of "tree" that are
# clearly of one of its first two topics, with their neighbours.

word = int(np.flatnonzero(words == "tree")[0])
first, second = model.word_topic_table(word, n_topics=2)["topic"]
contextual = model.transform_words(X, n_nonzero=4)
documents = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
at = np.flatnonzero(X.data - 1 == word)
for topic in (first, second):
    sure = at[contextual[at][:, [topic]].toarray().ravel() > 0.9]
    print(f"topic {topic}: {len(sure)} of {len(at)} occurrences")
    for entry in sure[:: max(1, len(sure) // 3)][:3]:
        near = range(max(entry - 4, X.indptr[documents[entry]]), min(entry + 5, X.indptr[documents[entry] + 1]))
        print(f"   {docstrings.names[documents[entry]]}: {' '.join(words[X.data[i] - 1] for i in near)}")

# %%
# Similar words
# -------------
# Two words are alike if their topics are: the cosine of ``word_vectors_`` is the Bhattacharyya coefficient of their
# distributions. ``save_word_vectors`` writes them for programs that read the format of word2vec.

for word in asked:
    print(f"{word}: {', '.join(name for name, _ in model.most_similar(word, 6, words))}")
