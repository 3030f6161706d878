"""Teh, Newman and Welling: A Collapsed Variational Bayesian Inference Algorithm for Latent Dirichlet Allocation, 2007.

Section 4: KOS with 8 topics and NIPS with 40, both priors 0.1, a tenth of the tokens of every document held out, random
starts of at most 100 epochs; exact expectations (appendix A) compared with second-order ones. The paper's NIPS has
1,675 documents, ours 1,740.

    python benchmarks/papers/teh_newman_welling_2007.py --data FOLDER     kos and nips there; docstrings without

Test probabilities are the paper's: by the proportions that a fit inferred for its documents (Eq. 19), and for Gibbs
sampling averaged over the samples of the last half of the epochs (Eq. 20). VB infers proportions with topics fixed,
which is its own coordinate ascent. The paper has 50 starts. It has no numbers of final values but the axes of their
histograms.
"""

import numpy as np
from _paper import Paper, judge, moments, quietly, say, shown, split_tokens

# isort: split
from _clock import Epochs
from _measure import spent
from _topics_tasks import log_likelihood, probabilities

from sparsemix import CollapsedLDA, GibbsLDA, SparseLDA

PRIORS = {"doc_topic_prior": 0.1, "topic_word_prior": 0.1}
METHODS = "vb", "cvb", "gibbs"
NAME = "Teh, Newman and Welling 2007"
# The start is the tokens' own: responsibilities at random, no look at the words.
SIZES = {
    "kos": {"documents": (3_430, 150), "components": (8, 8), "starts": (10, 2), "epochs": (100, 12), "thin": (5, 3),
            "held_out": (0.1, 0.1)},
    "nips": {"documents": (1_740, 100), "components": (40, 10), "starts": (3, 2), "epochs": (100, 12), "thin": (5, 3),
             "held_out": (0.1, 0.1)},
    "speed": {"documents": (3_430, 100), "components": (8, 8), "epochs": ((3, 6, 12, 25, 50, 100), (3, 6)),
              "held_out": (0.1, 0.1)},
    "documents": {"documents": ((500, 1_000, 1_500, 2_000, 2_500), (50, 150)), "components": (8, 8), "starts": (3, 1),
                  "epochs": (100, 8), "held_out": (0.1, 0.1)},
    "exact": {"documents": ((150, 1_000), (6,)), "components": (8, 2), "starts": (3, 1), "epochs": (40, 3),
              "held_out": (0.1, 0.1)},
}  # fmt: skip
PUBLISHED = {"kos": ("-7.8 to -7.55", "-7.7 to -7.4"), "nips": ("-7.65 to -7.4", "-7.5 to -7.2")}


class Averaged(Epochs):
    """Callback: probabilities of test tokens, averaged over epochs (Eq. 20)."""

    def __init__(self, test, first, thin):
        super().__init__(lambda: None, self.add)
        self.test, self.first, self.thin, self.epoch, self.samples = test, first, thin, 0, []

    def add(self, lda):
        """A fit without samples publishes its last sweep, which is a sample here."""
        self.epoch += 1
        if self.epoch > self.first and (self.epoch - self.first) % self.thin == 0:
            theta, phi = lda.doc_topic_distribution_, lda.topic_word_distribution_
            self.samples.append(probabilities(theta, phi, self.test))


def run(method, train, test, n_components, epochs, seed, thin=5):
    """Bound and test log-probability a word of one start."""
    common = PRIORS | {"init_params": "random", "max_iter": epochs, "random_state": seed}
    if method == "vb":
        lda = quietly(SparseLDA(n_components, n_nonzero=None, learning_method="batch", tol=1e-5, doc_update_tol=1e-2,
                                **common), train)  # fmt: skip
        return lda.lower_bound_ / train.sum(), log_likelihood(lda.transform(train), lda.topic_word_distribution_, test)
    if method == "gibbs":
        average = Averaged(test, epochs // 2, thin)
        quietly(GibbsLDA(n_components, burn_in=epochs, **common).set_callbacks(average), train)
        return None, float(test.data @ np.log(np.mean(average.samples, axis=0)) / test.sum())
    lda = quietly(CollapsedLDA(n_components, inference=method, warm_start=True, **common), train)
    theta, phi = lda.doc_topic_distribution_, lda.topic_word_distribution_
    return lda.lower_bound_ / train.sum(), log_likelihood(theta, phi, test)


def corpus_of(paper, name, n_documents):
    """(what it is, training and test counts of the same documents)."""
    corpus, X = paper.counts(name, n_documents)
    return corpus, *split_tokens(X, paper.size("held_out"))


def starts(paper):
    """Bounds and test log-probabilities of every method and start, on the corpus that names the section."""
    name = paper.section
    corpus, train, test = corpus_of(paper, name, paper.size("documents"))
    found = {method: {"bound": [], "test": []} for method in METHODS}
    for method in METHODS:
        for seed in range(paper.size("starts")):
            bound, score = run(method, train, test, paper.size("components"), paper.size("epochs"), seed,
                               paper.size("thin"))  # fmt: skip
            found[method]["bound"].append(bound)
            found[method]["test"].append(score)
        say(f"  {name} {method}: test {shown(found[method]['test'])}")
    where = f"{corpus.partition(',')[0]}, K = {paper.size('components')}"
    for kind, published in zip(("bound", "test"), PUBLISHED[name], strict=True):
        vb, cvb = found["vb"][kind], found["cvb"][kind]
        paper.claim(
            f"CVB has the better {kind} a word, {where}", f"higher (axis of the histograms: {published})",
            f"VB {shown(vb)}, CVB {shown(cvb)}", above(cvb, vb), where="Figure 1", corpus=corpus,
            why=f"{len(vb)} starts; " + ("every CVB above every VB" if min(cvb) > max(vb) else "they overlap"),
            vb=np.mean(vb), cvb=np.mean(cvb),
        )  # fmt: skip
    gibbs, cvb = found["gibbs"]["test"], found["cvb"]["test"]
    paper.claim(
        f"Gibbs sampling is best in the end, {where}", "test log-probability above CVB's",
        f"Gibbs {shown(gibbs)}, CVB {shown(cvb)}", above(gibbs, cvb), where="Figure 1", corpus=corpus,
        why=f"{len(cvb)} starts", gibbs=np.mean(gibbs), cvb=np.mean(cvb),
    )  # fmt: skip


def above(values, others):
    """Whether the first of two methods has the larger mean; starts are not paired."""
    error = sum(np.var(each, ddof=1) / len(each) for each in (values, others)) ** 0.5 if len(values) > 1 else 0.0
    return judge(float(np.mean(values) - np.mean(others)), float(error))


def speed(paper):
    """Test log-probability against epochs: CVB rises faster than Gibbs sampling, and VB stays below."""
    corpus, train, test = corpus_of(paper, "kos", paper.size("documents"))
    curves = {method: [] for method in METHODS}
    for method in METHODS:
        for epochs in paper.size("epochs"):
            (_, score), seconds = spent(
                lambda m=method, e=epochs: run(m, train, test, paper.size("components"), e, 0, max(1, e // 10))
            )
            curves[method].append({"seconds": seconds, "passes": epochs, "nats": score})
        say(f"  speed {method}: {curves[method][-1]['nats']:.3f}")
        paper.curve(corpus, method, {"nats": curves[method][-1]["nats"]}, curve=curves[method],
                    parameters={"section": "speed"})  # fmt: skip
    middle = len(paper.size("epochs")) // 2
    left = {method: points[-1]["nats"] - points[middle]["nats"] for method, points in curves.items()}
    paper.claim(
        "CVB converges in fewer epochs than Gibbs sampling", "converges faster",
        f"nats a word that the epochs after {curves['cvb'][middle]['passes']} still gain: "
        + ", ".join(f"{method} {gain:.3f}" for method, gain in left.items()) + "; at the end "
        + ", ".join(f"{method} {points[-1]['nats']:.3f}" for method, points in curves.items()),
        left["cvb"] < left["gibbs"], where="Figure 1", corpus=corpus, **left,
    )  # fmt: skip


def documents(paper):
    """Gaps between the methods against the number of documents, those of the paper's figure."""
    gaps = {"test": {}, "bound": {}}
    for n_documents in paper.size("documents"):
        corpus, train, test = corpus_of(paper, "kos", n_documents)
        found = {m: np.array([run(m, train, test, paper.size("components"), paper.size("epochs"), seed)
                              for seed in range(paper.size("starts"))]).mean(axis=0)
                 for m in ("vb", "cvb")}  # fmt: skip
        gaps["bound"][n_documents], gaps["test"][n_documents] = (found["cvb"] - found["vb"]).tolist()
        say(f"  {n_documents} documents: {found}")
    corpus = f"{corpus.partition(',')[0]}, {min(paper.size('documents')):,} to {n_documents:,} documents"
    for kind, of in gaps.items():
        fewest, most = of[min(of)], of[max(of)]
        better = min(of.values()) > 0
        paper.claim(
            f"CVB is better for every number of documents, {kind} a word", "yes, and VB suffers more from few",
            "CVB above VB by " + ", ".join(f"{gap:.3f} ({n:,} documents)" for n, gap in of.items()) + " nats a word",
            None if better and fewest <= most else better, where="Figure 2", corpus=corpus, fewest=fewest, most=most,
            why="" if fewest > most else "the gap does not shrink with more documents",
        )  # fmt: skip


def exact(paper):
    """Second-order expectations compared with exact ones, from the same starts."""
    for n_documents in paper.size("documents"):
        corpus, train, test = corpus_of(paper, "kos", n_documents)
        found = {}
        for method in ("cvb", "cvb_exact"):
            runs, seconds = spent(lambda m=method, train=train, test=test: [
                run(m, train, test, paper.size("components"), paper.size("epochs"), seed)
                for seed in range(paper.size("starts"))
            ])  # fmt: skip
            found[method] = *(np.array(values) for values in zip(*runs, strict=True)), seconds
            say(f"  {method}: {shown(found[method][1])} in {seconds:.1f} s")
        (bound, score, seconds), (exact_bound, exact_score, exact_seconds) = found["cvb"], found["cvb_exact"]
        gap, error = moments(score - exact_score)
        same = abs(gap) <= max(0.01, 2 * error)
        paper.claim(
            "Expectations to second order are as good as exact ones", "identical results (not shown)",
            f"test {gap:+.4f} ± {error:.4f} nats a word (exact {shown(exact_score)}); bound "
            f"{np.mean(bound - exact_bound):+.4f}; an exact epoch takes {exact_seconds / seconds:.0f} times as long",
            same, where="Section 4", corpus=corpus, gap=gap, error=error, exact=np.mean(exact_score),
            why="" if same else "bound and test fall alike, so the loss is real: with so few documents most counts are "
            "below one, where two moments say too little; the paper's corpora are larger",
        )  # fmt: skip


def main():
    Paper(NAME, __doc__, SIZES).run(speed, documents, exact, kos=starts, nips=starts)


if __name__ == "__main__":
    main()
