"""Tank, Foti and Fox: Streaming Variational Inference for Bayesian Nonparametric Mixture Models, AISTATS 2015.

Section 4: images of bars (4.1), a stream with a power law (4.2), KOS (4.3, Table 1), a long stream (4.4).

    python benchmarks/papers/tank_foti_fox_2015.py --data FOLDER     kos and arxiv there; docstrings without

A fifth of the documents is held out and multinomial coefficients count, which fits the scale of the published totals;
a = 10, beta = 0.1, the threshold 0.501. Splits, orders and merges of the paper are not known: differences of methods
are what to compare. Other tables of these clusters: ``benchmarks/clusters.py``.
"""

import numpy as np
from _paper import Paper, say, spent  # first: it knows where the others are

# isort: split
from _clusters_corpora import PAPER, PAPER_TABLE
from _clusters_tasks import learn, make_pitman_yor_mixture, split
from scipy.special import gammaln

from sparsemix import GibbsNGGPMixture, StreamingNGGPMixture
from sparsemix.datasets import make_bars_mixture

PRIORS = {"DP": {"discount": 0.0}, "IG": {"discount": 0.5}}
METHODS = {"ADF": "adf", "EP": "ep", "Gibbs": "gibbs"}


def parameters(method, prior):
    """As in the paper, as far as it says."""
    if method == "gibbs":  # the last 50 of 215 sweeps
        return PRIORS[prior] | PAPER | {"burn_in": 165, "thin": 1}
    return PRIORS[prior] | PAPER | {"new_cluster_threshold": 0.501}


def total(model, test, **how):
    """Log-probability of held-out documents with their multinomial coefficients."""
    lengths = np.asarray(test.sum(axis=1)).ravel()
    coefficients = gammaln(lengths + 1.0).sum() - gammaln(test.data + 1.0).sum()
    return float(model.score_samples(test, **how).sum() + coefficients)


def table(paper, corpus, X):
    """Table 1."""
    train, test = split(X, 0, share=0.2)
    repeats = {"ADF": paper.sized(20, 2), "EP": paper.sized(5, 2), "Gibbs": paper.sized(3, 2)}
    epochs = {"ADF": 1, "EP": paper.sized(50, 3), "Gibbs": 215}
    totals, clusters = {}, {}
    for name, method in METHODS.items():
        for prior in PRIORS:
            for seed in range(repeats[name]):
                order = np.random.default_rng(seed).permutation(train.shape[0])
                model, _ = learn(method, train[order], parameters(method, prior), seed, epochs[name])
                how = {"average": "log"} if method == "gibbs" else {}
                totals.setdefault(f"{name}-{prior}", []).append(total(model, test, **how))
                clusters.setdefault(f"{name}-{prior}", []).append(model.n_clusters_)
            say(f"  {name}-{prior}: {np.mean(totals[f'{name}-{prior}']):,.0f}")
    for low, high in (("ADF-DP", "ADF-IG"), ("EP-DP", "EP-IG"), ("Gibbs-DP", "Gibbs-IG"), ("ADF-DP", "EP-DP"),
                      ("ADF-IG", "EP-IG"), ("EP-DP", "Gibbs-DP")):  # fmt: skip
        gain, error = difference(totals[high], totals[low])
        shown = f"{PAPER_TABLE[high][0] - PAPER_TABLE[low][0]:+,} nats"
        verdict = judge(gain, error)
        paper.claim(
            f"{high} above {low}", shown, f"{gain:+,.0f} ± {error:,.0f} nats", verdict, corpus=corpus,
            why="within two standard errors" if abs(gain) <= 2 * error else "", gain=gain, error=error,
        )  # fmt: skip
    found = ", ".join(f"{name} {np.mean(values):.0f}" for name, values in clusters.items())
    known = ", ".join(f"{name} {PAPER_TABLE[name][1]}" for name in clusters)
    off = max(abs(np.mean(values) / PAPER_TABLE[name][1] - 1) for name, values in clusters.items())
    paper.claim("Numbers of clusters", known, found, True if off < 0.1 else None if off < 0.3 else False, corpus=corpus,
                why=f"{100 * off:.0f} % away at most", **{k: np.mean(v) for k, v in clusters.items()})  # fmt: skip
    return train, test


def judge(gain, error):
    """Whether a gain is more than two standard errors; None if it is one, but as little as that."""
    return True if gain > 2 * error else None if gain > 0 else False


def difference(first, second):
    """Of means, with its standard error; orders and chains of two methods are not paired."""
    error = sum(np.var(values, ddof=1) / len(values) for values in (first, second)) ** 0.5
    return float(np.mean(first) - np.mean(second)), float(error)


def passes(paper, corpus, train, test):
    """How much the first epoch gains, and after how many sweeps a chain has passed it."""
    order = np.random.default_rng(0).permutation(train.shape[0])
    words = np.asarray(train.sum(axis=0)).ravel() + PAPER["word_prior"]
    alike = float((test @ np.log(words / words.sum())).sum())
    lengths = np.asarray(test.sum(axis=1)).ravel()
    alike += float(gammaln(lengths + 1.0).sum() - gammaln(test.data + 1.0).sum())
    first, _ = learn("adf", train[order], parameters("adf", "DP"), 0, 1)
    last, _ = learn("ep", train[order], parameters("ep", "DP"), 0, paper.sized(50, 3))
    once, at_end = total(first, test), total(last, test)
    share = (once - alike) / (at_end - alike)
    paper.claim("Most of what EP gains, it gains in its first pass", "most",
                f"{100 * share:.0f} % of the gain over all words alike", share > 0.5, corpus=corpus,
                share=share)  # fmt: skip
    sampling = {name: value for name, value in parameters("gibbs", "DP").items() if name not in ("burn_in", "thin")}
    for sweeps in range(1, 11):
        chain = GibbsNGGPMixture(**sampling, max_iter=sweeps, burn_in=sweeps - 1, init_params="single", random_state=0)
        if total(chain.fit(train), test) > once:
            break
    else:
        sweeps = 11
    paper.claim("Sweeps that Gibbs sampling needs to pass ADF", "about 3", f"{sweeps} of a chain from one cluster",
                True if 2 <= sweeps <= 4 else None, corpus=corpus, sweeps=sweeps)  # fmt: skip


def bars(paper):
    """Images of one bar each."""
    exact, n_sets = 0, paper.sized(10, 2)
    for seed in range(n_sets):
        X, labels, _ = make_bars_mixture(5, random_state=seed)
        order = np.random.default_rng(seed).permutation(len(labels))
        model = StreamingNGGPMixture(discount=0.5, concentration=1.0, merge_criterion="bayes_factor", merge_every=50)
        found = model.partial_fit(X[order]).predict(X)
        exact += len({*zip(labels.tolist(), found.tolist(), strict=True)}) == len(set(labels)) == model.n_clusters_
    paper.claim("One pass finds the bars", "yes", f"{exact} of {n_sets} image sets exactly", exact > 0.8 * n_sets,
                corpus="bars, 200 images of 100 tokens", exact=exact)  # fmt: skip


def power_law(paper):
    """The inverse Gaussian process compared with Dirichlet's, on a stream that is neither."""
    n, gains, clusters = paper.sized(10_000, 500), [], {}
    for seed in range(paper.sized(5, 2)):
        X, _, truth = make_pitman_yor_mixture(n + n // 5, 500, concentration=1.0, discount=0.5, doc_length=20,
                                              cluster_word_prior=0.05, random_state=seed)  # fmt: skip
        scores = {}
        for prior, params in PRIORS.items():
            model = StreamingNGGPMixture(**params, word_prior=0.05).partial_fit(X[:n])
            scores[prior] = model.score(X[n:], per="token")
            clusters.setdefault(prior, []).append(model.n_clusters_)
        clusters.setdefault("truth", []).append(len(truth))
        gains.append(scores["IG"] - scores["DP"])
    gain, error = np.mean(gains), np.std(gains, ddof=1) / len(gains) ** 0.5
    found = ", ".join(f"{name} {np.mean(values):.0f}" for name, values in clusters.items())
    paper.claim("IG above DP on a stream with a power law", "yes",
                f"{gain:+.4f} ± {error:.4f} nats a token; clusters: {found}", judge(gain, error),
                corpus=f"Pitman-Yor mixture, {n:,} documents of 20 tokens", gain=gain, error=error)  # fmt: skip


def long_stream(paper):
    """Documents a second of one epoch, and memory that does not grow with it."""
    corpus, X = paper.counts("arxiv", paper.sized(200_000, 2_000))
    model, seconds = spent(lambda: StreamingNGGPMixture(**parameters("adf", "IG")).partial_fit(X))
    paper.claim("A long stream in one pass", "266,000 articles", f"{X.shape[0]:,} documents in {seconds:.1f} s, "
                f"{model.n_clusters_} clusters", None, corpus=corpus, why="other texts: the articles are not to be had",
                seconds=seconds, n_clusters=model.n_clusters_)  # fmt: skip


def main():
    """Section 4 from its first page on."""
    paper = Paper("Tank, Foti and Fox 2015", __doc__)
    bars(paper)
    power_law(paper)
    corpus, X = paper.counts("kos", paper.sized(None, 300))
    passes(paper, corpus, *table(paper, corpus, X))
    long_stream(paper)
    paper.end()


if __name__ == "__main__":
    main()
