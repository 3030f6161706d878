"""Measurements of ``clusters.py``, each function in its own child process.

Seconds are those of the processor (``time.process_time``), of training alone.
"""

import gzip
import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
from _clusters_rows import CLASSES, FINDERS, PARAMETERS
from _measure import resident_bytes, spent
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import pdist
from scipy.special import gammaln, logsumexp
from sklearn import datasets
from sklearn.base import clone
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, homogeneity_completeness_v_measure, normalized_mutual_info_score
from sklearn.mixture import BayesianGaussianMixture
from sklearn.preprocessing import StandardScaler

from sparsemix import GibbsNGGPMixture, StreamingNGGPMixture
from sparsemix._models.clusters.gaussian_slots import GaussianSlots
from sparsemix.clusters import select_nggp_hyperparameters
from sparsemix.datasets import load_bag_of_words, make_bars_mixture

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from reference_nggp import make_pitman_yor_mixture

TEST_SHARE = 0.1
PREFIX = 1_000  # documents that hyperparameters are chosen on
LEAST_SECONDS = 0.5  # of a figure of speed


# -- shared


class WithoutLabels(StreamingNGGPMixture):
    """Fits end before the prediction of labels, which would count as learning."""

    def _labels_of_fit(self, X, fits):  # noqa: ARG002
        return np.zeros(X.shape[0], dtype=np.int64)


def learn(method, X, params, seed, n_epochs):
    """One epoch in the order of the rows, several, or sweeps; and processor seconds."""
    if method == "adf":
        return spent(lambda: StreamingNGGPMixture(**params).partial_fit(X))
    if method == "ep":
        model = WithoutLabels(**params, max_iter=n_epochs, shuffle=False)
        return spent(lambda: model.fit(X))
    return spent(lambda: GibbsNGGPMixture(**params, max_iter=n_epochs, random_state=seed).fit(X))


def load(path, n_documents=None):
    """Counts of a corpus, or of its first documents."""
    X = load_bag_of_words(path, vocabulary=False).data
    return X[:n_documents] if n_documents else X


def split(X, number, share=TEST_SHARE):
    """Training documents in random order, and a share held out."""
    order = np.random.default_rng(number).permutation(X.shape[0])
    n_test = round(share * X.shape[0])
    return X[order[n_test:]], X[order[:n_test]]


def agreement(true, labels):
    """How labels agree with the true ones; NMI over the geometric mean of entropies, as stream clusterers report it."""
    homogeneity, completeness, _ = homogeneity_completeness_v_measure(true, labels)
    nmi = normalized_mutual_info_score(true, labels, average_method="geometric")
    return {"nmi": float(nmi), "homogeneity": float(homogeneity), "completeness": float(completeness)}


# -- bars


def bars(method, params, n_side, n_seeds, n_orders, n_epochs):
    """For each image set and order: clusters, NMI, and total variation between matched and true distributions."""
    runs = []
    for seed in range(n_seeds):
        X, labels, clusters = make_bars_mixture(n_side, random_state=seed)
        for number in range(n_orders):
            order = np.random.default_rng(number).permutation(len(labels))
            model, seconds = learn(method, X[order], params, number, n_epochs)
            distance = 0.5 * np.abs(model.means_[:, None] - clusters).sum(axis=2)
            nmi = normalized_mutual_info_score(labels, model.predict(X))
            runs.append({
                "n_clusters": model.n_clusters_, "nmi": float(nmi), "seconds": seconds,
                "distance": float(distance[linear_sum_assignment(distance)].mean()),
                "exact": model.n_clusters_ == len(clusters) and nmi > 1.0 - 1e-9,
            })  # fmt: skip
    return {"runs": runs}


# -- rows of numbers


def blobs(n_features, form, seed, n_samples):
    X, labels, centres = make_blobs(
        n_samples, n_features=n_features, centers=5, random_state=seed, return_centers=True
    )  # fmt: skip
    models = {name: StreamingNGGPMixture(name, random_state=0) for name in ("full", "diag", "spherical")}
    X = StandardScaler().fit_transform(X) if form == "standardised" else X
    nearest = {"nearest": float(pdist(centres).min())}
    return {"runs": {name: run | nearest for name, run in found(models | finders(), X, labels).items()}}


def labelled(name, seed):
    """Clusters of a labelled set of scikit-learn, "digits" or "digits, standardised"; the seed orders the rows."""
    name, _, form = name.partition(", ")
    data = getattr(datasets, f"load_{name}")()
    X = StandardScaler().fit_transform(data.data) if form == "standardised" else data.data
    models = {
        "auto": StreamingNGGPMixture(random_state=seed), "full": StreamingNGGPMixture("full", random_state=seed),
    }  # fmt: skip
    return {"runs": found(models | finders(seed, FINDERS), X, data.target)}


def finders(seed=0, names=("HDBSCAN", "variational")):
    """Models of scikit-learn that find a number of clusters too, by their labels."""
    # HDBSCAN reads the rows of the table, standardised where its name says so; the same for all
    own = {"HDBSCAN": {"copy": True}, "BayesianGaussianMixture": {"random_state": seed}}
    kinds = {"HDBSCAN": HDBSCAN, "BayesianGaussianMixture": BayesianGaussianMixture}
    return {name: kinds[CLASSES[name]](**own[CLASSES[name]], **PARAMETERS.get(name, {})) for name in names}


def found(models, X, labels):
    """Clusters, agreement, seconds and log joint above that of the labels, of each; ours come first.

    Partitions of other packages are judged under the prior of "full".
    """
    out = {}
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            predicted, seconds = spent(lambda model=model: model.fit_predict(X))
        judge = model if isinstance(model, StreamingNGGPMixture) else models["full"]
        noise = predicted.min() < 0
        above = None if noise else log_joint(judge, X, predicted) - log_joint(judge, X, labels)
        out[name] = judged(predicted, labels) | {"seconds": seconds, "above": above}
        del out[name]["true"]
    return out


def judged(predicted, labels):
    """Number of clusters and agreement with labels; noise, -1, is one more label and no cluster."""
    n_clusters, n_true = len(set(predicted.tolist()) - {-1}), len(set(labels.tolist()))
    return {
        "clusters": n_clusters, "true": n_true, "right": float(n_clusters == n_true),
        "ari": float(adjusted_rand_score(labels, predicted)),
    }  # fmt: skip


def log_joint(model, X, labels):
    """log p(partition, rows) under the prior that a model has taken, up to what all partitions share."""
    own = model._fitted.state.sums
    sizes = np.bincount(labels)
    sums = GaussianSlots(own.family, own.prior, len(sizes), own.shift)
    sums.clear()
    X = X - own.shift if own.scales is None else (X - own.shift) / own.scales
    kernel = sums.kernel(np.ascontiguousarray(X), len(sizes))
    for row, label in enumerate(labels.tolist()):
        kernel.move_one(row, label, 1.0)
    used = np.flatnonzero(sizes)
    return float(sums.evidence(used).sum() + gammaln(sizes[used]).sum())  # the concentration is 1


# -- power laws


def power_law(discount, grid, doc_length, n_features, word_prior, seed, marks, n_test):
    """Clusters and held-out score along a stream, with the hyperparameters that its first documents choose."""
    X, labels, _ = power_law_stream(doc_length, n_features, word_prior, seed, marks, n_test)
    held_out = X[marks[-1] :]
    model = StreamingNGGPMixture(discount=discount)
    model.set_params(**select_nggp_hyperparameters(model, X[:PREFIX], grid).best_by_score)
    start, points = 0, []
    for mark in marks:
        model.partial_fit(X[start:mark])
        points.append({
            "n_samples": mark, "n_clusters": model.n_clusters_, "score": model.score(held_out, per="token"),
            **agreement(labels[:mark], model.predict(X[:mark])),
        })  # fmt: skip
        start = mark
    return {"chosen": {name: getattr(model, name) for name in grid}, "points": points}


def power_law_truth(doc_length, n_features, word_prior, seed, marks, n_test):
    """The same with known clusters so far, their words and the urn."""
    X, labels, clusters = power_law_stream(doc_length, n_features, word_prior, seed, marks, n_test)
    held_out = X[marks[-1] :].astype(np.float64)
    lengths = held_out.sum(axis=1).view(np.ndarray).ravel()
    new = gammaln(n_features * word_prior) - gammaln(n_features * word_prior + lengths)
    each = held_out.copy()
    each.data = gammaln(word_prior + each.data) - gammaln(word_prior)
    new = new + each.sum(axis=1).view(np.ndarray).ravel()
    log_words = np.log(np.maximum(clusters, 1e-300))
    points = []
    for mark in marks:
        counts = np.bincount(labels[:mark])
        weights = np.append(counts - 0.5, 1.0 + 0.5 * len(counts)) / (mark + 1.0)  # Pitman and Yor's urn
        scores = np.column_stack([held_out @ log_words[: len(counts)].T, new]) + np.log(weights)
        score = logsumexp(scores, axis=1).sum() / lengths.sum()
        points.append({"n_samples": mark, "n_clusters": len(counts), "score": float(score)})
    return {"points": points}


def power_law_stream(doc_length, n_features, word_prior, seed, marks, n_test):
    return make_pitman_yor_mixture(
        marks[-1] + n_test, n_features, concentration=1.0, discount=0.5, doc_length=doc_length,
        cluster_word_prior=word_prior, random_state=seed,
    )  # fmt: skip


# -- held-out documents


def held_out(path, split_number, method, params, n_repeats, n_epochs, n_documents=None, as_published=False):
    """Score of held-out documents, over orders of the training documents, or chains.

    ``as_published`` holds out a fifth, counts multinomial coefficients, and averages logarithms over samples.
    """
    train, test = split(load(path, n_documents), split_number, 0.2 if as_published else TEST_SHARE)
    runs = []
    for seed in range(n_repeats):
        order = np.random.default_rng(seed).permutation(train.shape[0])
        model, seconds = learn(method, train[order], params, seed, n_epochs)
        run = {
            "total": float(model.score_samples(test).sum()), "n_clusters": model.n_clusters_, "seconds": seconds,
            "n_epochs": getattr(model, "n_iter_", 1),
        }  # fmt: skip
        if method == "gibbs":
            run["total_of_logs"] = float(model.score_samples(test, average="log").sum())
        if as_published:
            run["total"] = run.pop("total_of_logs", run["total"]) + coefficients(test)
        runs.append(run)
    return {"runs": runs, "n_train": train.shape[0], "n_test": test.shape[0], "test_tokens": float(test.sum())}


def coefficients(X):
    """Sum of the logarithms of the multinomial coefficients of documents."""
    return float(gammaln(np.asarray(X.sum(axis=1)).ravel() + 1.0).sum() - gammaln(X.data + 1.0).sum())


# -- streams


def stream(path, params, block, marks, n_documents=None):
    """Clusters, speed, memory and prequential score along a stream that comes in blocks."""
    X = load(path, n_documents)
    model, points = StreamingNGGPMixture(**params), []
    before, sums, since = resident_bytes(), np.zeros(3), 0
    stops = sorted({*range(block, X.shape[0], block), *(mark for mark in marks if mark < X.shape[0]), X.shape[0]})
    for start, stop in zip([0, *stops], stops, strict=False):
        rows = X[start:stop]
        if start:
            sums[:2] += model.score_samples(rows).sum(), rows.sum()
        sums[2] += spent(lambda rows=rows: model.partial_fit(rows))[1]
        if stop in marks or stop == X.shape[0]:
            points.append({
                "n_samples": stop, "n_clusters": model.n_clusters_, "seconds": float(sums[2]),
                "documents_per_second": (stop - since) / float(sums[2]),
                "prequential": float(sums[0] / sums[1]) if sums[1] else None,
                "bytes": resident_bytes() - before, "state_bytes": len(pickle.dumps(model)),
            })  # fmt: skip
            sums[...], since = 0.0, stop
    return {"points": points}


# -- short texts


def short(path, order, method, params, grid, n_epochs, n_batches, n_documents=None):
    """Agreement with labels: of each batch when it has been learned, and of all documents at the end."""
    X, true = load(path, n_documents), read_labels(path)[:n_documents]
    if order != "stream":
        rows = np.random.default_rng(int(order)).permutation(len(true))
        X, true = X[rows], true[rows]
    if method in ("ep", "gibbs"):
        model, seconds = learn(method, X, params, 0, n_epochs)
        labels = model.labels_ if method == "gibbs" else model.predict(X)
        return {"seconds": seconds, "n_clusters": model.n_clusters_, "at_end": agreement(true, labels)}
    model, seconds, labels, chosen = StreamingNGGPMixture(**params), 0.0, [], {}
    if method == "chosen":
        chosen = select_nggp_hyperparameters(model, X[:PREFIX], grid).best_by_score
        model.set_params(**chosen)
    for rows in np.array_split(np.arange(len(true)), n_batches):
        seconds += spent(lambda rows=rows: model.partial_fit(X[rows]))[1]
        labels.append(model.cluster_ids_[model.predict(X[rows])])
    labels = np.concatenate(labels)
    again = clone(model).set_params(shuffle=False).fit(X)  # the same, and it adds up
    return {
        "chosen": chosen,
        "seconds": seconds,
        "documents_per_second": len(true) / seconds,
        "n_clusters": model.n_clusters_,
        "prequential": again.history_[0]["log_predictive"] / float(X.sum()),
        "as_they_come": agreement(true, labels),
        "at_end": agreement(true, model.predict(X)),
    }


def read_labels(path):
    """Numbers of the true clusters, from ``labels.NAME.txt`` in the folder of ``docword.NAME.txt``."""
    name = Path(path).name.removeprefix("docword.").removesuffix(".gz")
    plain = Path(path).with_name(f"labels.{name}")
    text = plain.read_bytes() if plain.exists() else gzip.decompress(plain.with_name(f"{plain.name}.gz").read_bytes())
    return np.unique(text.decode().split("\n")[: text.count(b"\n")], return_inverse=True)[1]


# -- speed


def passes(path, params, n_epochs):
    """Seconds of an epoch of assumed density filtering, of an epoch after it, and of a sweep."""
    train, _ = split(load(path), 0)
    adf = best_of(lambda: StreamingNGGPMixture(**params).partial_fit(train))
    common = params | {"max_iter": n_epochs + 1, "tol": 0.0}
    _, epochs = spent(lambda: WithoutLabels(**common).fit(train))
    settings = [{"max_iter": n_epochs * factor, "burn_in": 2 * n_epochs} for factor in (1, 2)]
    sampling = {name: value for name, value in params.items() if name != "new_cluster_threshold"}
    chains = [GibbsNGGPMixture(**sampling, **setting, random_state=0) for setting in settings]
    once, twice = (spent(lambda chain=chain: chain.fit(train))[1] for chain in chains)
    return {"adf": adf, "epoch": (epochs - adf) / n_epochs, "sweep": (twice - once) / n_epochs}


def throughput(path, params, n_documents=None):
    """Documents a second of one epoch, the clusters it makes, the memory of the clusters."""
    train, _ = split(load(path), 0)
    train = train[:n_documents]
    before = resident_bytes()
    model = StreamingNGGPMixture(**params).partial_fit(train)
    n_bytes = resident_bytes() - before
    seconds = best_of(lambda: StreamingNGGPMixture(**params).partial_fit(train))
    return {
        "n_documents": train.shape[0], "n_words": train.shape[1], "tokens": float(train.sum()), "seconds": seconds,
        "documents_per_second": train.shape[0] / seconds, "n_clusters": model.n_clusters_,
        "bytes": n_bytes, "state_bytes": len(pickle.dumps(model)),
    }  # fmt: skip


def cost(path, params, n_clusters, n_first, n_timed):
    """Seconds of documents under about ``n_clusters`` clusters."""
    X, _ = split(load(path), 0)
    first = StreamingNGGPMixture(**params, max_components=n_clusters).partial_fit(X[:n_first])
    timed = X[n_first : n_first + n_timed]
    _, seconds = spent(lambda: first.partial_fit(timed))
    pairs = timed.nnz * first.n_clusters_
    return {
        "n_clusters": first.n_clusters_, "microseconds": 1e6 * seconds / n_timed, "nanoseconds": 1e9 * seconds / pairs,
    }  # fmt: skip


def best_of(function):
    """Least processor seconds of several runs: at least three, and half a second in all."""
    seconds = []
    while len(seconds) < 3 or sum(seconds) < LEAST_SECONDS:
        seconds.append(spent(function)[1])
    return min(seconds)


def chain(path, params, n_sweeps, n_documents=None):
    """Log joint of a chain on all documents, after a tenth of its sweeps, half and all of them."""
    X = load(path, n_documents)
    model, seconds = spent(lambda: GibbsNGGPMixture(**params, max_iter=n_sweeps, random_state=0).fit(X))
    joints = [model.history_[max(n_sweeps * part // 10, 1) - 1]["log_joint"] for part in (1, 5, 10)]
    return {"log_joint": joints, "n_clusters": model.n_clusters_, "seconds": seconds}


def merging(params, n_rows, path=None, n_clusters=None):
    """Rows a second of a stream without merges and with them; and again without, when its clusters are there."""
    if path is None:
        X, _ = make_blobs(n_rows, n_features=64, centers=n_clusters, random_state=0)
    else:
        X = load(path)
        X = X[np.random.default_rng(0).permutation(X.shape[0])[:n_rows]]

    def stream(**more):
        model = StreamingNGGPMixture(**params, **more)
        if path is None:  # which give the prior
            model.partial_fit(X[:1000])
        state = pickle.dumps(model)
        return model, min(spent(lambda: pickle.loads(state).partial_fit(X))[1] for _ in range(3))

    model, plain = stream(merge_criterion=None)
    _, merges = stream(merge_criterion="bayes_factor")
    model.partial_fit(X)
    n_found, settled = model.n_clusters_, spent(lambda: model.partial_fit(X))[1]
    return {
        "clusters": n_found, "plain": X.shape[0] / plain, "merging": X.shape[0] / merges,
        "left": plain / merges, "settled": X.shape[0] / settled,
    }  # fmt: skip
