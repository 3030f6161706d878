"""Hughes and Sudderth: Fast Learning of Clusters and Topics via Sparse Posteriors, 2016.

Responsibilities of at most L components, for mixtures of image patches and for topics.

    python benchmarks/papers/hughes_sudderth_2016.py --data FOLDER     nips, 20news, arxiv there; docstrings without

Fits of topics are the paper's: alpha 0.5 / K, lambda_0 0.1, documents that begin cold, five restarts, a tolerance of
0.05 tokens, Bregman k-means++. NIPS is the paper's corpus, with as many documents in each part. Newsgroups replace
Wikipedia, abstracts the New York Times. Patches are of the two photographs that come with scikit-learn; the paper has
3.6 million of 400 images. Seconds are those of the processor from the first epoch on: all L have the same start.
"""

from unittest.mock import patch

import numpy as np
from _curves import at_least, clocked, final, follow, speed_up
from _measure import spent
from _paper import Paper, because, listed, parameters_of, quietly, say, shown

# isort: split
from _topics_tasks import split
from scipy.special import softmax
from sklearn.decomposition._lda import _update_doc_distribution
from sparsemix._kernels.vectors._topl import top_l_responsibilities

from sparsemix import SparseGaussianMixture, SparseLDA
from sparsemix._models.mixture.model import VariationalMixture
from sparsemix._models.topics import variational_model
from sparsemix._models.topics.variational_model import TopicModel
from sparsemix.datasets import load_image_patches
from sparsemix.metrics import document_completion

DENSE = "K"  # in lists of L

NAME = "Hughes and Sudderth 2016"
# For each section its sizes: of the whole measurement, and of --quick.
SIZES = {
    "selection": {"rows": (20_000, 200), "components": ((100, 400, 1_600), (50, 200)), "widths": ((1, 4, 16), (1, 4))},
    "summary": {"step": (1, 20), "components": ((200, 800), (5, 10)), "widths": ((1, 4, 8, DENSE), (1, 4, DENSE)),
                "epochs": (4, 2)},
    "local_step": {"documents": (800, 60), "components": ((50, 200, 800), (10, 20)), "epochs": (3, 1),
                   "widths": ((1, 4, 8, 16, DENSE), (8, DENSE)), "repeats": (3, 1)},
    "patches": {"step": (1, 20), "components": ((50, 200), (5,)), "widths": ((1, 4, 8, DENSE), (1, 4, DENSE)),
                "epochs": (20, 3), "starts": (3, 1), "batches": (2, 2)},
    "nips": {"documents": (1_740, 200), "training": (1_392, 150), "test": (248, 20), "components": (100, 10),
             "widths": ((1, 2, 4, 8, 16, DENSE), (1, 8, DENSE)), "epochs": (15, 2), "starts": (3, 1)},
    "wikipedia": {"documents": (8_461, 200), "training": (7_961, 150), "test": (500, 20), "components": (200, 10),
                  "widths": ((1, 2, 4, 8, 16, DENSE), (1, 8, DENSE)), "epochs": (15, 2), "starts": (3, 1)},
    "new_york_times": {"documents": (60_500, 200), "training": (60_000, 150), "test": (500, 20),
                       "components": (100, 10), "widths": ((1, 2, 4, 8, 16, DENSE), (1, 8, DENSE)), "epochs": (4, 2),
                       "starts": (1, 1), "batch": (600, 50)},
    "learning": {"documents": (1_740, 200), "training": (1_392, 150), "test": (248, 20), "components": (100, 10),
                 "epochs": (15, 2), "starts": (3, 1), "batch": (140, 50),
                 "steps": (((1.0, 0.55), (1.0, 0.65), (10.0, 0.55), (10.0, 0.65)), ((1.0, 0.55),))},
    "selections": {"documents": (1_740, 200), "training": (1_392, 150), "test": (248, 20), "components": (100, 10),
                   "epochs": (15, 2), "starts": (3, 1)},
    "restarts": {"corpora": (("nips", "20news"), ("nips",)), "documents": (8_461, 200), "training": (7_961, 150),
                 "test": (348, 20), "components": (200, 10), "widths": ((1, 4, DENSE), (1, DENSE)), "epochs": (15, 2),
                 "starts": (3, 1)},
}  # fmt: skip


# -- what sections share


def topics_of_paper(paper, n_nonzero, seed=0, **parameters):
    """An estimator as the paper has it."""
    n_components = paper.size("components")
    return SparseLDA(n_components, **{
        "n_nonzero": None if n_nonzero == DENSE else n_nonzero, "doc_topic_prior": 0.5 / n_components,
        "topic_word_prior": 0.1, "init_params": "bregman", "warm_documents": False, "n_restarts": 5,
        "doc_update_tol": 0.05, "tol": 0.0, "max_iter": paper.size("epochs"), "random_state": seed, **parameters,
    })  # fmt: skip


def documents(paper, name):
    """What the training documents are, they, and held-out ones."""
    corpus, X = paper.counts(name, paper.size("documents"))
    train, test = split(X.astype(np.float32), paper.size("test"))
    train = train[: paper.size("training")]
    return f"{corpus.partition(',')[0]}, {train.shape[0]:,} documents", train, test


def compare_widths(paper, corpus, where, make, X, score):
    """For each L, checkpoints of each start; those of the first start are kept as curves."""
    found = {}
    for width in paper.size("widths"):
        label = f"L={width}"
        found[width] = [follow(make(width, seed), X, score, f"{where} {label}")
                        for seed in range(paper.size("starts"))]  # fmt: skip
        first, sizes = found[width][0], parameters_of(paper.sizes, paper.section)
        paper.curve(corpus, label, {"nats": first[-1]["nats"]}, seed=0, curve=first, seconds=first[-1]["seconds"],
                    parameters=sizes | {"n_components": make(width, 0).n_components})  # fmt: skip
    return found


# -- Figure 1: costs


def selection(paper):
    """Cost of the L largest of K weights, compared with the exponentials of all of them that a dense row takes."""
    n, times, sizes, widths = paper.size("rows"), {}, paper.size("components"), paper.size("widths")
    for n_components in sizes:
        weights = np.random.default_rng(0).standard_normal((n, n_components)).astype(np.float32)
        for width in widths:
            out = np.empty((n, width), np.int32), np.empty((n, width)), np.empty(n)
            times[n_components, width] = 1e6 * spent(lambda w=weights, o=out: top_l_responsibilities(w, *o))[1] / n
        times[n_components, DENSE] = 1e6 * spent(lambda w=weights: softmax(w, axis=1))[1] / n
    corpus, last = f"normal weights, {n:,} rows", sizes[-1]
    slope = times[last, 4] / times[sizes[0], 4] / (last / sizes[0])
    paper.claim(
        "Exact selection of the L best of K costs O(K)", "O(K), by introselect", "us a row at L=4: "
        + listed({f"K={k}": times[k, 4] for k in sizes}, ".2f"), True if slope < 1.3 else None, where="Section 3.2",
        corpus=corpus, slope=slope, why=because(slope < 1.3, "we keep a heap of L, whose worst case is O(K log L)"),
    )  # fmt: skip
    gains = {f"L={w}": times[last, DENSE] / times[last, w] for w in widths}
    paper.claim(
        f"L responsibilities cost less than all K={last}", "less for large K", "times as fast as softmax of all: "
        + listed(gains, ".1f"), at_least(1.0, [gains["L=4"]]), where="Figure 1b", corpus=corpus, gain=gains["L=4"],
    )  # fmt: skip


def mixture_of_paper(paper, n_components, n_nonzero, seed=0, **parameters):
    """Zero means, full covariances, every weight computed."""
    return SparseGaussianMixture(
        n_components, n_nonzero=n_components if n_nonzero == DENSE else n_nonzero, covariance_type="zero_mean",
        candidates="all", init_params="bregman", tol=0.0, max_iter=paper.size("epochs"), random_state=seed,
        **parameters,
    )  # fmt: skip


def patches_of(paper):
    """What they are, training and held-out patches."""
    X, X_test = (part[:: paper.size("step")] for part in load_image_patches(return_test=True))
    return f"patches of photographs, {len(X):,} rows", X, X_test


def summary(paper):
    """Seconds of the steps of an epoch on patches, and how much of the responsibilities L components keep."""
    corpus, X, X_test = patches_of(paper)
    for n_components in paper.size("components"):
        costs = {}
        for width in paper.size("widths"):
            with clocked(VariationalMixture, "local_step", "accumulate", "global_step") as seconds:
                fitted = quietly(mixture_of_paper(paper, n_components, width), X)
            costs[f"L={width}"] = {name: one / paper.size("epochs") for name, one in seconds.items()}
            say(f"  patches K={n_components} L={width}: {seconds}")
        report_summary(paper, corpus, n_components, costs)
    missing = 1.0 - np.cumsum(-np.sort(-fitted.predict_proba(X_test), axis=1), axis=1).mean(axis=0)
    far = {f"L={w}": missing[w - 1] for w in paper.size("widths") if w != DENSE}
    paper.claim(
        f"A few responsibilities are nearly all of the dense ones, patches, K={n_components}",
        "nearly identical for a modest L", "mean probability that is left out: " + listed(far, ".3f"),
        at_least(-0.1, [-missing[3]]), where="Figure 1d", corpus=corpus, four=missing[3],
    )  # fmt: skip


def report_summary(paper, corpus, n_components, costs):
    dense, few = ([cost["local_step"], cost["accumulate"]] for cost in (costs["L=K"], costs["L=4"]))
    less, faster, label = dense[1] / few[1], sum(dense) / sum(few), f"patches, K={n_components}"
    verdict = at_least(10.0, [less], 1.2)
    paper.claim(
        f"The summary step almost vanishes, {label}", "it virtually disappears", f"L=4: {less:.1f} times less than "
        "dense; seconds an epoch: " + listed({w: cost["accumulate"] for w, cost in costs.items()}, ".3f"), verdict,
        where="Figure 1c", corpus=corpus, less=less,
        why=because(verdict, "more than the tenth that we call almost nothing: components have few rows here"),
    )  # fmt: skip
    verdict = at_least(2.0, [faster], 1.05)
    paper.claim(
        f"An iteration is more than twice as fast, {label}", "over 2 times; weights remain the bottleneck",
        f"local and summary steps: {faster:.1f} times; weights and selection are {few[0] / sum(few):.0%} of them; "
        f"global steps take {costs['L=4']['global_step']:.2f} s more for any L", verdict, where="Figure 1a",
        corpus=corpus, faster=faster, why=because(verdict, "no L saves the weights of all K components"),
    )  # fmt: skip


def local_step(paper):
    """Seconds to infer documents under given topics: sparse, our dense step, and scikit-learn's."""
    corpus, X = paper.counts("nips", paper.size("documents"))
    X, ratios, plain, sparse_seconds, dense_of = X.astype(np.float32), {}, {}, {}, {}
    sizes = paper.size("components")
    for k in sizes:
        given = {"doc_topic_prior": 0.5 / k, "topic_word_prior": 0.1, "doc_update_tol": 0.05, "tol": 0.0,
                 "random_state": 0, "warm_documents": False, "learning_method": "batch"}  # fmt: skip
        first = quietly(SparseLDA(k, init_params="bregman", max_iter=paper.size("epochs"), **given), X)
        of = {}
        for width in paper.size("widths"):
            lda = SparseLDA(k, n_nonzero=None if width == DENSE else width, max_iter=1,
                            init_params=first.components_, **given)  # fmt: skip
            of[width] = min(local_seconds(lda, X) for _ in range(paper.size("repeats")))
        theirs = min(plain_seconds(X, first) for _ in range(paper.size("repeats")))
        say(f"  local step K={k}: {of}, scikit-learn {theirs:.2f}")
        name = f"K={k}"
        ratios[name], plain[name], sparse_seconds[name] = of[DENSE] / of[8], theirs / of[8], of[8]
        dense_of = {f"L={w}": one for w, one in of.items()}
    report_local_steps(paper, corpus, sizes, ratios, plain, sparse_seconds, dense_of)


def local_seconds(lda, X):
    """Of the local steps of one epoch."""
    with clocked(TopicModel, "local_step") as seconds:
        quietly(lda, X)
    return seconds["local_step"]


def plain_seconds(X, lda):
    """Of scikit-learn's dense steps under the same topics, to the same change, summed over topics."""
    table, K = np.ascontiguousarray(lda.exp_dirichlet_component_, dtype=np.float64), len(lda.components_)
    given = X.astype(np.float64), table, 0.5 / K, 100, 0.05 / K, False, np.random.RandomState(0)
    return spent(lambda: _update_doc_distribution(*given))[1]


def report_local_steps(paper, corpus, sizes, ratios, plain, seconds, widths):
    last = f"K={sizes[-1]}"
    paper.claim(
        f"The local step is at least 3 times as fast, {last}, our dense step", "can be at least 3 times",
        f"L=8: {listed(ratios, '.1f')}; seconds, {last}: {listed(widths, '.2f')}", at_least(3.0, [ratios[last]], 1.2),
        where="Figure 3b", corpus=corpus, ratio=ratios[last], why=because(ratios[last] >= 3, "our dense step "
        "is vectorised in float32"),
    )  # fmt: skip
    paper.claim(
        f"The local step is at least 3 times as fast, {last}, scikit-learn's dense step",
        "can be at least 3 times", f"L=8: {listed(plain, '.1f')}", at_least(3.0, [plain[last]], 1.2),
        where="Figure 3b", corpus=corpus, ratio=plain[last],
    )  # fmt: skip
    growth = seconds[last] / seconds[f"K={sizes[0]}"]
    paper.claim(
        "Time of sparse inference against K", "depends on the active topics, not on K", f"{growth:.1f} times as long "
        f"for {sizes[-1] // sizes[0]} times as many topics", growth < sizes[-1] / sizes[0], where="Section 5",
        corpus=corpus, growth=growth,
    )  # fmt: skip


# -- Figure 2: patches


def patches(paper):
    """Held-out score against seconds for K and L."""
    corpus, X, X_test = patches_of(paper)
    for k in paper.size("components"):
        size = -(-len(X) // paper.size("batches"))

        def make(width, seed, k=k, size=size):
            return mixture_of_paper(paper, k, width, seed, batch_size=size)

        found = compare_widths(paper, corpus, f"patches K={k}", make, X, lambda mixture: mixture.score(X_test))
        dense, few, one = (final(found[w]) for w in (DENSE, 4, 1))
        faster, equal = speed_up(found[DENSE], found[4], 0.05), at_least(-0.05, few - dense)
        paper.claim(
            f"L=4 scores as well as dense, patches, K={k}", "good scores; Section 3.2: no noticeable sacrifice",
            f"{shown(few - dense)} nats a patch", equal, where="Figure 2", corpus=corpus, gain=np.mean(few - dense),
            why=because(equal, "starts differ by more than L=4 and dense do"),
        )  # fmt: skip
        paper.claim(
            f"L=1 ends below L=4, patches, K={k}", "often below", f"{shown(one - few)} nats a patch",
            at_least(0.0, few - one), where="Figure 2", corpus=corpus, gain=np.mean(one - few),
        )  # fmt: skip
        paper.claim(
            f"L=4 reaches the score of dense 2 to 4 times as fast, patches, K={k}", "2 to 4 times",
            f"{shown(faster)} times (to 0.05 nats below dense's last score)", at_least(2.0, faster, 1.0),
            where="Figure 2", corpus=corpus, faster=faster.mean(),
            why=because(at_least(2.0, faster), "no L saves the weights of all K components and the global steps"),
        )  # fmt: skip


# -- Figures 3 and 4: topics


# Corpus, how many times as fast, what the paper says of it and of L=1, what replaces its corpus, and parameters.
TOPICS = {
    "nips": ("nips", 2.0, "several times faster", "may plateau early, noticeably worse", "", {}),
    "wikipedia": (
        "20news", 5.0, "200 s where dense takes over 1,000", "may fall into progressively worse optima",
        "newsgroups in the place of Wikipedia", {},
    ),
    "new_york_times": (
        "arxiv", 2.0, "several times faster", "can fail catastrophically",
        "60,000 abstracts in the place of 1.8 million articles of the New York Times, one start",
        {"learning_method": "online"},
    ),
}  # fmt: skip


def topics(paper):
    """Held-out score against seconds for L, on the corpus of the section."""
    name, wanted, published, failure, instead, parameters = TOPICS[paper.section]
    if "learning_method" in parameters:
        parameters = parameters | {"batch_size": paper.size("batch")}
    corpus, train, test = documents(paper, name)
    label = f"{corpus.partition(',')[0]}, K={paper.size('components')}"
    found = compare_widths(
        paper, corpus, label, lambda width, seed: topics_of_paper(paper, width, seed, **parameters), train,
        lambda lda: document_completion(lda, test),
    )  # fmt: skip
    dense, few, one = (final(found[w]) for w in (DENSE, 8, 1))
    about = {"where": "Figure 4", "corpus": corpus}
    paper.claim(
        f"L=8 predicts as well as dense, {label}", "indistinguishable",
        f"{shown(few - dense)} nats a token; " + listed({f"L={w}": final(found[w]).mean() for w in found}, ".3f"),
        at_least(-0.01, few - dense), gain=np.mean(few - dense), why=instead, **about,
    )  # fmt: skip
    faster, ends = speed_up(found[DENSE], found[8], 0.01), [found[w][0][-1]["seconds"] for w in (DENSE, 8)]
    verdict = at_least(wanted, faster, 1.0)
    paper.claim(
        f"L=8 learns in a fraction of the time, {label}", published, f"{shown(faster)} times as fast to 0.01 nats "
        f"below dense's last score; an epoch {ends[0] / ends[1]:.1f} times", verdict, faster=faster.mean(),
        why=together(instead, because(verdict, "our dense step is fast: vectorised, in float32 (Figure 3b)")), **about,
    )  # fmt: skip
    failed = at_least(0.05, dense - one, 0.01)
    paper.claim(
        f"L=1 can fail badly, {label}", failure, f"{shown(one - dense)} nats a token", failed,
        gain=np.mean(one - dense), **about,
        why=together(instead, because(failed, "L=1 is clearly below, but about as far as we call bad, 0.05 nats")),
    )  # fmt: skip


def together(*reasons):
    """One sentence of those that there are."""
    return "; ".join(filter(None, reasons))


def scores_of(train, test, estimators, label):
    """Held-out score of each estimator."""
    found = []
    for estimator in estimators:
        fitted, seconds = spent(lambda one=estimator: quietly(one, train))
        found.append(document_completion(fitted, test))
        say(f"  {label}: {found[-1]:.4f} in {seconds:.1f} s")
    return np.array(found)


def learning(paper):
    """Memoized and stochastic learning; what the initialisation is worth."""
    corpus, train, test = documents(paper, "nips")
    seeds, batch, steps = range(paper.size("starts")), paper.size("batch"), paper.size("steps")
    found = {}
    for start in ("bregman", "random"):
        for method, step in [("memoized", steps[0]), *(("online", step) for step in steps)]:
            given = {"init_params": start, "learning_method": method, "batch_size": batch, "step_size": step}
            fits = [topics_of_paper(paper, 8, seed, **given) for seed in seeds]
            found[start, method, step] = scores_of(train, test, fits, f"{start} {method} {step}")
    best = {start: max((one for key, one in found.items() if key[:2] == (start, "online")), key=np.mean)
            for start in ("bregman", "random")}  # fmt: skip
    memoized = {start: found[start, "memoized", steps[0]] for start in best}
    label, gain = f"{corpus.partition(',')[0]}, K={paper.size('components')}", memoized["bregman"] - best["bregman"]
    equal = at_least(-0.01, gain)
    paper.claim(
        f"Memoized learning predicts as well as stochastic, {label}", "both plateau after 200 s (Wikipedia)",
        f"{shown(gain)} nats a token: memoized {memoized['bregman'].mean():.4f}, online "
        f"{best['bregman'].mean():.4f} with the best of {len(steps)} step sizes", equal, where="Section 6",
        corpus=corpus, gain=gain.mean(), why=because(equal, "the held-out documents choose the step size"),
    )  # fmt: skip
    worth = memoized["bregman"] - memoized["random"]
    paper.claim(
        f"Bregman k-means++ against a random initialisation, {label}", "used, not compared",
        f"memoized {shown(worth)}, online {shown(best['bregman'] - best['random'])} nats a token",
        at_least(0.0, worth), where="Section 6", corpus=corpus, worth=worth.mean(), kind="ablation",
    )  # fmt: skip


def selections(paper):
    """What it gains to select topics in some iterations of a document only, not in each."""
    corpus, train, test = documents(paper, "nips")
    found = {}
    for name, every in (("some", variational_model.SELECT_EVERY), ("each", 1)):
        with patch.object(variational_model, "SELECT_EVERY", every):
            for seed in range(paper.size("starts")):
                with clocked(TopicModel, "local_step") as seconds:
                    fitted = quietly(topics_of_paper(paper, 8, seed), train)
                found.setdefault(name, []).append((document_completion(fitted, test), seconds["local_step"]))
                say(f"  {name}: {found[name][-1]}")
    (some, fast), (each, slow) = (np.array(rows).T for rows in (found["some"], found["each"]))
    equal, faster = at_least(-0.01, some - each), at_least(1.0, slow / fast)
    paper.claim(
        f"Selection in some iterations only is faster and as good, {corpus.partition(',')[0]}, "
        f"K={paper.size('components')}", "large speedups without loss in quality",
        f"local steps {shown(slow / fast)} times as fast; {shown(some - each)} nats a token",
        equal if equal is not True else None if faster is True and np.mean(slow / fast) < 1.5 else faster,
        where="Section 5", corpus=corpus, faster=np.mean(slow / fast), gain=np.mean(some - each),
        why=because(faster is True and np.mean(slow / fast) >= 1.5, "selection is a small part of our local steps"),
    )  # fmt: skip


def restarts(paper):
    """Restarts accepted, what they are worth, and documents that begin cold or warm."""
    worth = {}
    for name in paper.size("corpora"):
        corpus, train, test = documents(paper, name)
        found = {(warm, n): [] for warm in (False, True) for n in (5, 0)}
        for (warm, n), rows in found.items():
            for seed in range(paper.size("starts")):
                lda = quietly(topics_of_paper(paper, 8, seed, warm_documents=warm, n_restarts=n), train)
                rows.append((document_completion(lda, test), lda.lower_bound_ / train.sum(), lda.restart_acceptance_))
            say(f"  {name} warm={warm} restarts={n}: {np.mean(rows, axis=0)}")
        widths = {f"L={width}": 100 * quietly(topics_of_paper(paper, width), train).restart_acceptance_
                  for width in paper.size("widths")}  # fmt: skip
        found = {key: np.array(rows).T for key, rows in found.items()}
        report_restarts(paper, corpus, found, widths)
        worth[corpus] = (found[False, 5] - found[False, 0])[:2]
    report_worth(paper, worth)


def report_restarts(paper, corpus, found, widths):
    """Two claims; rows of ``found`` are scores, bounds a token, and shares accepted, for each start."""
    label = f"{corpus.partition(',')[0]}, K={paper.size('components')}"
    accepted, warm = (100 * found[key, 5][2] for key in (False, True))
    enough = at_least(40.0, accepted, 10.0)
    paper.claim(
        f"Proposed restarts are accepted, {label}", "40 to 80 % (a typical run on Wikipedia)",
        f"L=8: {accepted.mean():.0f} % in the last epoch ({listed(widths, '.0f')}; warm documents: {warm.mean():.0f})",
        enough, where="Section 5", corpus=corpus, cold=accepted.mean(), warm=warm.mean(),
        why=because(enough, "the share depends on the corpus and on L"),
    )  # fmt: skip
    score, bound = (found[False, 5][i] - found[True, 5][i] for i in (0, 1))
    paper.claim(
        f"Cold documents end above warm ones, {label}", "much higher bounds",
        f"bound {shown(bound)}, score {shown(score)} nats a token", at_least(0.0, bound), where="Appendix D.4, Figure "
        "5", corpus=corpus, bound=bound.mean(), score=score.mean(),
    )  # fmt: skip


def report_worth(paper, worth):
    """One claim of all corpora; rows of ``worth`` are what restarts gain in score and bound a token, by start."""
    verdicts = [at_least(0.0, bound) for _, bound in worth.values()]
    verdict = verdicts[0] if len({str(one) for one in verdicts}) == 1 else None
    means = {f"{kind}_{corpus.partition(',')[0]}": gain.mean() for corpus, gains in worth.items()
             for kind, gain in zip(("score", "bound"), gains, strict=True)}  # fmt: skip
    paper.claim(
        f"Cold documents need restarts, K={paper.size('components')}", "the bound can fall badly without", "; ".join(
            f"{corpus.partition(',')[0]}: bound {shown(bound)}, score {shown(score)} nats a token"
            for corpus, (score, bound) in worth.items()), verdict, where="Appendix D.4, Figure 5",
        corpus=" and ".join(corpus.partition(",")[0] for corpus in worth), **means,
        why=because(verdict, "a restart raises the bound of its document under the topics of that visit, not that of "
                    "the topics that follow; which of both weighs more depends on the corpus"),
    )  # fmt: skip


def main():
    paper = Paper(NAME, __doc__, SIZES)
    paper.run(selection, summary, local_step, patches, learning, selections, restarts, **dict.fromkeys(TOPICS, topics))


if __name__ == "__main__":
    main()
