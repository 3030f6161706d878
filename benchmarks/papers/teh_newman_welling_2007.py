"""Teh, Newman and Welling: A Collapsed Variational Bayesian Inference Algorithm for Latent Dirichlet Allocation, 2007.

Section 4: KOS with 8 topics and NIPS with 40, both priors 0.1, a tenth of the tokens of every document held out, 50
random starts of at most 100 epochs: bounds and test log-probabilities of a word by VB and CVB, compared with
Gibbs sampling; and exact expectations compared with second-order ones, on documents few and short enough for both.

    python benchmarks/papers/teh_newman_welling_2007.py --data FOLDER     kos and nips there; docstrings without

The shares of a document are inferred with topics held fixed, by the same rule for all, from its training tokens; the
published ones are those of the last epoch.
"""

import sys
from pathlib import Path

import numpy as np
from _paper import Paper, log_likelihood, mean_and_error, say, split_tokens

from sparsemix import CollapsedLDA, SparseLDA

sys.path.append(str(Path(__file__).parents[2] / "tests"))
import reference_collapsed as exact

PRIORS = {"doc_topic_prior": 0.1, "topic_word_prior": 0.1}
CORPORA = {"kos": (8, "-7.8 to -7.55", "-7.7 to -7.4"), "nips": (40, "-7.65 to -7.4", "-7.5 to -7.2")}
HELD_OUT = 0.1
# The start is the tokens' own: responsibilities at random, no look at the words.
SWEEPS = {"init_params": "random", "max_iter": 100}


def estimator(method, n_components, seed):
    """As in the paper: random starts, at most 100 epochs, nothing sparse."""
    if method == "vb":
        return SparseLDA(n_components, n_nonzero=None, learning_method="batch", random_state=seed, tol=1e-5,
                         doc_update_tol=1e-2, **SWEEPS, **PRIORS)  # fmt: skip
    return CollapsedLDA(n_components, inference=method, random_state=seed, **SWEEPS, **PRIORS)


def starts(X, n_components, n_starts):
    """Bounds and test log-probabilities a word of every method and start."""
    train, test = split_tokens(X, HELD_OUT)
    tokens = train.data.sum()
    out = {}
    for method in ("vb", "cvb", "gibbs"):
        runs = [estimator(method, n_components, seed).fit(train) for seed in range(n_starts)]
        out[method] = {
            "test": [log_likelihood(run.transform(train), run.topic_word_distribution_, test) for run in runs],
            "bound": [run.lower_bound_ / tokens for run in runs if method != "gibbs"],
        }
        say(f"  {method}: test {mean_and_error(out[method]['test'])}")
    return out


def histogram(values):
    """Where the values lie, in a line."""
    counts, edges = np.histogram(values, bins=8)
    marks = "".join(" .:-=+*#%@"[round(9 * n / counts.max())] for n in counts)
    return f"{edges[0]:.3f} |{marks}| {edges[-1]:.3f}"


def expectations(n_documents, n_words, length, n_sweeps, n_starts):
    """Bounds a token after sweeps with exact expectations and with those to second order, from the same starts."""
    bounds = {"exact": [], "second order": []}
    for seed in range(n_starts):
        rng = np.random.default_rng(seed)
        topics, theta = rng.dirichlet(np.full(n_words, 0.2), 2), rng.dirichlet([0.3, 0.3], n_documents)
        documents = [rng.choice(n_words, length, p=share @ topics).tolist() for share in theta]
        alpha, beta, start = np.full(2, 0.1), 0.1, rng.dirichlet([1.0, 1.0], n_documents * length)
        for name, update in (("exact", exact.exact_cvb_update), ("second order", second_order)):
            gamma = start.copy()
            for _ in range(n_sweeps):
                for token in range(len(gamma)):
                    gamma[token] = update(documents, gamma, token, alpha, beta, n_words)
            bounds[name].append(exact.exact_cvb_bound(documents, gamma, alpha, beta, n_words) / len(gamma))
    return bounds


def second_order(documents, gamma, token, alpha, beta, n_words):
    """Eq. 17: the logarithm at the mean of the others' count, corrected by their variance."""
    owner, words = exact.flat(documents)
    others = np.arange(len(owner)) != token
    out = np.zeros(len(alpha))
    for sign, chosen, prior in (
        (1, others & (owner == owner[token]), alpha),
        (1, others & (words == words[token]), beta),
        (-1, others, n_words * beta),
    ):
        mean, variance = gamma[chosen].sum(axis=0), (gamma[chosen] * (1 - gamma[chosen])).sum(axis=0)
        out += sign * (np.log(prior + mean) - variance / (2 * (prior + mean) ** 2))
    weight = np.exp(out - out.max())
    return weight / weight.sum()


def main():
    """Both corpora, then the exact expectations."""
    paper = Paper("Teh, Newman and Welling 2007", __doc__)
    for name, (n_components, bound, test) in CORPORA.items():
        n_starts = paper.sized({"kos": 10, "nips": 2}[name], 2)  # 50 and 50 in the paper
        corpus, X = paper.counts(name, paper.sized(None, 150))
        say(f"{corpus}, K = {n_components}, {n_starts} starts")
        found = starts(X, n_components, n_starts)
        for method, kinds in found.items():
            for kind, values in kinds.items():
                if values:
                    say(f"  {method:5} {kind:5} {histogram(values)}")
        means = {(m, kind): np.mean(v) for m, kinds in found.items() for kind, v in kinds.items() if v}
        where = f"{corpus.partition(',')[0]}, K = {n_components}"
        for kind, published in (("bound", bound), ("test", test)):
            best_vb, worst_cvb = max(found["vb"][kind]), min(found["cvb"][kind])
            paper.claim(
                f"CVB has the better {kind} a word, {where}", f"histograms from {published}",
                f"VB {mean_and_error(found['vb'][kind])}, CVB {mean_and_error(found['cvb'][kind])}",
                means["cvb", kind] > means["vb", kind], corpus=corpus,
                why=f"{n_starts} starts; " + ("every CVB above every VB" if worst_cvb > best_vb else "they overlap"),
                vb=means["vb", kind], cvb=means["cvb", kind],
            )  # fmt: skip
        paper.claim(
            f"Gibbs sampling is best in the end, {where}", "test log-probability above CVB's",
            f"Gibbs {mean_and_error(found['gibbs']['test'])}, CVB {mean_and_error(found['cvb']['test'])}",
            means["gibbs", "test"] > means["cvb", "test"], corpus=corpus, why="mean of the samples of 100 sweeps",
            gibbs=means["gibbs", "test"], cvb=means["cvb", "test"],
        )  # fmt: skip
    bounds = expectations(*paper.sized((12, 8, 12, 25, 10), (4, 4, 5, 4, 2)))
    gap = np.subtract(bounds["exact"], bounds["second order"])
    paper.claim(
        "Expectations to second order are as good as exact ones", "indistinguishable",
        f"exact {mean_and_error(bounds['exact'])}, second order {mean_and_error(bounds['second order'])}",
        abs(gap.mean()) < 0.01, corpus="synthetic, 12 documents of 12 tokens",
        why=f"exact bound a token, largest difference of a start {np.abs(gap).max():.4f}",
        exact=np.mean(bounds["exact"]), second_order=np.mean(bounds["second order"]),
    )  # fmt: skip
    paper.end()


if __name__ == "__main__":
    main()
