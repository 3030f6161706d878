"""Tank, Foti and Fox: Streaming Variational Inference for Bayesian Nonparametric Mixture Models, AISTATS 2015.

Section 4: images of bars (4.1), a stream with a power law (4.2), KOS (4.3, Table 1), a long stream (4.4). Equations,
figures and sections of the supplement are said to be so.

    python benchmarks/papers/tank_foti_fox_2015.py --data FOLDER     kos and arxiv there; docstrings without

As in the paper, the first rows of a stream choose the concentration of each prior (supplement 4.1); the tilt is 1, for
only concentration * tilt ** discount matters. A fifth of KOS is held out and multinomial coefficients count, which fits
the scale of the published totals; beta = 0.1, the threshold 0.501. Splits, orders, merges and Dirichlet parameters of
the paper are not known: differences of methods are what to compare. Gibbs sampling is that of the paper: chains from
one cluster that move one document at a time; section "chains" has those of the library, which split and merge.
Other tables of these clusters: ``benchmarks/clusters.py``.
"""

import warnings

import numpy as np
from _paper import Paper, judge, moments, say  # first: it knows where other modules are

# isort: split
from _clusters_corpora import PAPER_TABLE
from _clusters_tasks import coefficients, learn, power_law_stream, power_law_truth, split
from _measure import spent
from sklearn.exceptions import ConvergenceWarning

from sparsemix import StreamingNGGPMixture
from sparsemix._engine.chains import r_hat
from sparsemix.clusters import select_nggp_hyperparameters
from sparsemix.datasets import make_bars_mixture

GRID = [0.1, 1.0, 10.0, 100.0, 1000.0]
KOS = {"documents": (None, 300), "test_share": (0.2, 0.2), "word_prior": (0.1, 0.1), "threshold": (0.501, 0.501),
       "first": (0.1, 0.3), "concentrations": (GRID, GRID[:2])}  # fmt: skip
NAME = "Tank, Foti and Fox 2015"
SIZES = {
    "bars": {"image_sets": (50, 2), "side": (5, 5), "images": (200, 200), "merge_every": (50, 50)},
    "power_law": {
        "streams": (20, 2), "marks": ([1000, 2000, 3000, 5000, 7000, 10_000], [100, 500]), "held_out": (2000, 100),
        "first": (1000, 100), "words": (500, 500), "tokens": (20, 20), "word_prior": (0.05, 0.05),
        "concentrations": (GRID, GRID[:2]), "merge_every": (100, 100), "merge_above": (0.8, 0.8),
    },
    "power_law_epochs": {
        "streams": (5, 2), "documents": (10_000, 300), "held_out": (2000, 100), "first": (1000, 100),
        "words": (500, 500), "tokens": (20, 20), "word_prior": (0.05, 0.05), "concentrations": (GRID, GRID[:2]),
        "epochs": (50, 3),
    },
    "table": KOS | {"orders": (20, 2), "epochs": (50, 3), "chains": (5, 2), "sweeps": (215, 6), "kept": (50, 2)},
    "more_orders": KOS | {"orders": (100, 2), "epochs": (50, 3)},
    "chains": KOS | {"chains": (2, 2), "sweeps": (215, 6), "kept": (50, 2),
                     "starts": (["streaming", "single", "sequential"],) * 2},
    "epochs": KOS | {"orders": (5, 2), "chains": (2, 2), "epochs": ([1, 2, 3, 5, 10, 20, 50], [1, 3]),
                     "sweeps": ([1, 2, 3, 4, 5, 10, 20, 50, 100, 215], [1, 3])},
    "long_stream": {
        "documents": (200_000, 2_000), "block": (10_000, 200), "first": (10_000, 200), "train_size": (0.95, 0.95),
        "concentrations": (GRID, GRID[:2]), "word_priors": ([0.01, 0.03, 0.1, 0.3], [0.1]),
    },
}  # fmt: skip
PRIORS = {"DP": {"discount": 0.0}, "IG": {"discount": 0.5}}
CHAINS = 'chains end far apart (rows "Chains agree"): this compares chains of this length, not posteriors'


# -- shared


def choose(X, base, grid, train_size=0.8):
    """Parameters, those of the grid by the score of the last of these rows."""
    choice = select_nggp_hyperparameters(StreamingNGGPMixture(**base), X, grid, train_size=train_size)
    return base | choice.best_by_score


def shown(chosen):
    """The concentrations of the priors."""
    return ", ".join(f"{prior} {params['concentration']:g}" for prior, params in chosen.items())


def gain_of(high, low):
    """Mean difference and its standard error: of pairs where both have the same orders."""
    if len(high) == len(low):
        return moments(np.subtract(high, low))
    (top, one), (bottom, other) = moments(high), moments(low)
    return top - bottom, float(np.hypot(one, other))


def add_curve(paper, corpus, label, points):
    """Keep the mean of several lists of checkpoints as a curve of the current section."""
    curve = [{name: float(np.mean([point[name] for point in alike])) for name in alike[0]}
             for alike in zip(*points, strict=True)]  # fmt: skip
    scores = {name: value for name, value in curve[-1].items() if name not in ("seconds", "passes")}
    paper.curve(corpus, label, scores, seconds=curve[-1]["seconds"], curve=curve)
    return curve


# -- Section 4.1

PUBLISHED_BARS = {"with merges": "the correct clusters", "without merges": "the correct clusters, and redundant ones"}


def bars(paper):
    """Images of one bar each, with merges and without."""
    n_sets, n_bars = paper.size("image_sets"), 2 * paper.size("side")
    merging = {"merge_criterion": "bayes_factor", "merge_every": paper.size("merge_every")}
    for name, merges in (("with merges", merging), ("without merges", {"merge_criterion": None})):
        exact, clusters, found = [], [], []
        for seed in range(n_sets):
            X, labels, words = make_bars_mixture(paper.size("side"), paper.size("images"), random_state=seed)
            order = np.random.default_rng(seed).permutation(len(labels))
            model = StreamingNGGPMixture(discount=0.5, concentration=1.0, **merges).partial_fit(X[order])
            pairs = {*zip(labels.tolist(), model.predict(X).tolist(), strict=True)}
            exact.append(len(pairs) == n_bars == model.n_clusters_)
            clusters.append(model.n_clusters_)
            distance = 0.5 * np.abs(model.means_[:, None] - words).sum(axis=2)
            found.append((distance.min(axis=0) < 0.1).sum())
        paper.claim(
            f"One pass finds the bars, {name}", PUBLISHED_BARS[name], f"{np.mean(found):.1f} of {n_bars} bars; "
            f"{sum(exact)} of {n_sets} image sets exactly, {np.mean(clusters):.2f} clusters",
            True if np.mean(exact) > 0.8 else None,
            where="Figure 1", corpus="bars, 200 images of 100 tokens", exact=sum(exact), clusters=np.mean(clusters),
            found=np.mean(found), why="" if np.mean(exact) > 0.8 else "one pass divides some bars into two clusters",
        )  # fmt: skip


# -- Section 4.2


def power_law(paper):
    """The inverse Gaussian process compared with Dirichlet's, on a stream that is neither."""
    ways = {"DP": "DP", "IG": "IG", "IG, clusters counted": "IG", "IG, frequent merges": "IG"}
    more = {
        "IG, clusters counted": {"u_rule": ("mode", "count")}, "IG, frequent merges":
        {"merge_criterion": ("similarity", paper.size("merge_above")), "merge_every": paper.size("merge_every")},
    }  # fmt: skip
    curves, chosen = {}, {prior: [] for prior in PRIORS}
    for seed in range(paper.size("streams")):
        stream = (paper.size("tokens"), paper.size("words"), paper.size("word_prior"), seed, paper.size("marks"),
                  paper.size("held_out"))  # fmt: skip
        X, _, _ = power_law_stream(*stream)
        params = {}
        for prior, discount in PRIORS.items():
            base = discount | {"word_prior": paper.size("word_prior")}
            params[prior] = choose(X[: paper.size("first")], base, {"concentration": paper.size("concentrations")})
            chosen[prior].append(params[prior]["concentration"])
        for way, prior in ways.items():
            points = along(StreamingNGGPMixture(**params[prior], **more.get(way, {})), X, paper.size("marks"))
            curves.setdefault(way, []).append(points)
        truth = power_law_truth(*stream)["points"]
        curves.setdefault("truth", []).append([
            point | {"score": known["score"], "clusters": known["n_clusters"]}
            for point, known in zip(curves["IG"][-1], truth, strict=True)
        ])
    claim_power_law(paper, curves, chosen)


def along(model, X, marks):
    """Checkpoints of a stream: seconds so far, score of the last rows, clusters."""
    seconds, start, points = 0.0, 0, []
    for mark in marks:
        rows = X[start:mark]
        seconds += spent(lambda rows=rows: model.partial_fit(rows))[1]
        score = model.score(X[marks[-1] :], per="token")
        points.append({"seconds": seconds, "passes": mark / marks[-1], "score": score, "clusters": model.n_clusters_})
        start = mark
    return points


def claim_power_law(paper, curves, chosen):
    corpus = f"Pitman-Yor mixture, {paper.size('marks')[-1]:,} documents of {paper.size('tokens')} tokens"
    for label in ("DP", "IG", "truth"):
        add_curve(paper, corpus, label, curves[label])
    ends = {way: [points[-1] for points in several] for way, several in curves.items()}
    scores = {way: [end["score"] for end in several] for way, several in ends.items()}
    found = {way: float(np.mean([end["clusters"] for end in several])) for way, several in ends.items()}
    values = "; ".join(f"{prior} " + ", ".join(f"{a:g} ({several.count(a)})" for a in sorted(set(several)))
                       for prior, several in chosen.items())  # fmt: skip
    gain, error = gain_of(scores["IG"], scores["DP"])
    paper.claim("IG above DP on a stream with a power law", "increasingly, as data grow",
                f"{gain:+.4f} ± {error:.4f} nats a token, concentrations (streams): {values}", judge(gain, error),
                where="Figure 2", corpus=corpus, gain=gain, error=error)  # fmt: skip
    off = {prior: abs(found[prior] / found["truth"] - 1) for prior in PRIORS}
    paper.claim("IG follows the number of clusters, DP less so", "a better fit of IG",
                ", ".join(f"{way} {found[way]:.0f}" for way in ("DP", "IG", "truth")), off["IG"] < off["DP"],
                where="Figure 2", corpus=corpus, **{way: found[way] for way in ("DP", "IG", "truth")})  # fmt: skip
    gain, error = gain_of(scores["IG, clusters counted"], scores["IG"])
    paper.claim("The count of clusters does as well as their expectation", "comparable performance",
                f"{gain:+.4f} ± {error:.4f} nats a token", abs(gain) + 2 * error < 0.001,
                where="Supplement 2.2, Equations 18 and 19", corpus=corpus, gain=gain, error=error)  # fmt: skip
    gain, error = gain_of(scores["IG"], scores["IG, frequent merges"])
    verdict = judge(gain, error)
    paper.claim("Frequent merges hurt IG", "they degrade prediction", f"{-gain:+.4f} ± {error:.4f} nats a token, "
                f"clusters {found['IG']:.0f} to {found['IG, frequent merges']:.0f}", verdict, where="Section 3.3",
                corpus=corpus,
                why="" if verdict is True else "few clusters of this stream are alike enough to merge",
                gain=-gain, error=error)  # fmt: skip


def power_law_epochs(paper):
    """What epochs of expectation propagation after the first gain on the stream with a power law."""
    gains, clusters, seconds = {}, {}, {}
    for seed in range(paper.size("streams")):
        n, held_out = paper.size("documents"), paper.size("held_out")
        stream = paper.size("tokens"), paper.size("words"), paper.size("word_prior"), seed, [n], held_out
        X, _, _ = power_law_stream(*stream)
        clusters.setdefault("truth", []).append(power_law_truth(*stream)["points"][0]["n_clusters"])
        for prior, discount in PRIORS.items():
            base = discount | {"word_prior": paper.size("word_prior")}
            params = choose(X[: paper.size("first")], base, {"concentration": paper.size("concentrations")})
            once, _ = learn("adf", X[:n], params, 0, 1)
            often, time = learn("ep", X[:n], params | {"tol": 0.0}, 0, paper.size("epochs"))
            gains.setdefault(prior, []).append(often.score(X[n:], per="token") - once.score(X[n:], per="token"))
            for name, model in (("ADF", once), ("EP", often)):
                clusters.setdefault(f"{name}-{prior}", []).append(model.n_clusters_)
            seconds.setdefault(prior, []).append(time)
        say(f"  stream {seed}: " + ", ".join(f"{name} {several[-1]}" for name, several in clusters.items()))
    corpus = f"Pitman-Yor mixture, {n:,} documents of {paper.size('tokens')} tokens"
    found = {name: float(np.mean(several)) for name, several in clusters.items()}
    for prior, several in gains.items():
        gain, error = moments(several)
        verdict = judge(gain, error)
        paper.claim(f"{paper.size('epochs') - 1} more epochs of EP improve predictions, {prior}", "they do",
                    f"{gain:+.4f} ± {error:.4f} nats a token, in {np.mean(seconds[prior]):.1f} s", verdict,
                    where="Section 4.2, Figure 2", corpus=corpus, gain=gain, error=error)  # fmt: skip
        once, often = (abs(found[f"{name}-{prior}"] - found["truth"]) for name in ("ADF", "EP"))
        shown_numbers = ", ".join(f"{name} {found[name]:.0f}" for name in (f"ADF-{prior}", f"EP-{prior}", "truth"))
        paper.claim(f"{paper.size('epochs') - 1} more epochs of EP bring the number of clusters nearer, {prior}",
                    "they do", shown_numbers, often < once, where="Section 4.2, Figure 2", corpus=corpus, once=once,
                    often=often)  # fmt: skip


# -- Section 4.3


def kos(paper):
    """What it is, training and test documents, and parameters for each prior."""
    corpus, X = paper.counts("kos", paper.size("documents"))
    train, test = split(X, 0, share=paper.size("test_share"))
    return corpus, train, test, chosen_on(paper, train)


def chosen_on(paper, train):
    """Parameters of each prior that the first of these documents choose."""
    first = train[: round(paper.size("first") * train.shape[0])]
    return {prior: choose(first, base | {"word_prior": paper.size("word_prior"),
                                         "new_cluster_threshold": paper.size("threshold")},
                          {"concentration": paper.size("concentrations")})
            for prior, base in PRIORS.items()}  # fmt: skip


def total(model, test, **how):
    """Log-probability of held-out documents with their multinomial coefficients."""
    return float(model.score_samples(test, **how).sum()) + coefficients(test)


def sample(train, params, seed, sweeps, kept, **more):
    """A chain, as in the paper by default, and its seconds; it need not converge."""
    params = {name: value for name, value in params.items() if name != "new_cluster_threshold"}
    params |= {"init_params": "single", "split_merge": False, "burn_in": sweeps - kept, "thin": 1} | more
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return learn("gibbs", train, params, seed, sweeps)


def orders(paper, train):
    """The training documents in one order after another."""
    for seed in range(paper.size("orders")):
        yield train[np.random.default_rng(seed).permutation(train.shape[0])]


def compare(paper, high, low, totals, corpus, why, suffix=""):
    """A row of Table 1: one method above another."""
    gain, error = gain_of(totals[high], totals[low])
    # chains stay at different modes (rows "Chains agree"): two standard errors over a few of them decide nothing
    verdict = "undecided" if high.startswith("Gibbs") else judge(gain, error)
    reasons = [why, "within two standard errors" * (abs(gain) <= 2 * error), CHAINS * high.startswith("Gibbs")]
    paper.claim(f"{high} above {low}{suffix}", f"{PAPER_TABLE[high][0] - PAPER_TABLE[low][0]:+,} nats",
                f"{gain:+,.0f} ± {error:,.0f} nats", verdict, where="Table 1", corpus=corpus,
                why="; ".join(filter(None, reasons)), gain=gain, error=error)  # fmt: skip


def table(paper):
    corpus, train, test, chosen = kos(paper)
    totals, clusters = {}, {}

    def add(name, model, **how):
        totals.setdefault(name, []).append(total(model, test, **how))
        clusters.setdefault(name, []).append(model.n_clusters_)

    for prior, params in chosen.items():
        for X in orders(paper, train):
            add(f"ADF-{prior}", learn("adf", X, params, 0, 1)[0])
            add(f"EP-{prior}", learn("ep", X, params, 0, paper.size("epochs"))[0])
        for seed in range(paper.size("chains")):
            add(f"Gibbs-{prior}", sample(train, params, seed, paper.size("sweeps"), paper.size("kept"))[0],
                average="log")  # fmt: skip
    for name, values in totals.items():
        say("  {}: {:,.0f} ± {:,.0f}, {:.1f} clusters".format(name, *moments(values), np.mean(clusters[name])))
    why = f"concentrations chosen on a tenth: {shown(chosen)}"
    for high, low in (("ADF-IG", "ADF-DP"), ("EP-IG", "EP-DP"), ("Gibbs-IG", "Gibbs-DP"), ("EP-DP", "ADF-DP"),
                      ("EP-IG", "ADF-IG"), ("Gibbs-DP", "EP-DP"), ("Gibbs-IG", "EP-IG")):  # fmt: skip
        compare(paper, high, low, totals, corpus, why)
    found = ", ".join(f"{name} {np.mean(values):.0f}" for name, values in clusters.items())
    known = ", ".join(f"{name} {PAPER_TABLE[name][1]}" for name in clusters)
    off = max(abs(np.mean(values) / PAPER_TABLE[name][1] - 1) for name, values in clusters.items())
    paper.claim("Numbers of clusters", known, found, True if off < 0.1 else None if off < 0.3 else False,
                where="Table 1", corpus=corpus, why=f"{100 * off:.0f} % away at most; {why}",
                **{name: np.mean(values) for name, values in clusters.items()})  # fmt: skip


def more_orders(paper):
    """The same for more orders, each of which chooses its concentrations on its own first tenth."""
    corpus, train, test, _ = kos(paper)
    totals = {}
    for X in orders(paper, train):
        for prior, params in chosen_on(paper, X).items():
            totals.setdefault(f"ADF-{prior}", []).append(total(learn("adf", X, params, 0, 1)[0], test))
            model = learn("ep", X, params, 0, paper.size("epochs"))[0]
            totals.setdefault(f"EP-{prior}", []).append(total(model, test))
    for method in ("ADF", "EP"):
        compare(paper, f"{method}-IG", f"{method}-DP", totals, corpus,
                f"each order chooses its concentrations on its first tenth, from {GRID[0]:g} to {GRID[-1]:g}",
                f", {paper.size('orders')} orders")  # fmt: skip


def chains(paper):
    """Whether chains that also split and merge agree, and what their disagreement means for the score."""
    corpus, train, test, chosen = kos(paper)
    totals, clusters = {}, {}
    for prior, params in chosen.items():
        runs = []
        for start in paper.size("starts"):
            for seed in range(paper.size("chains")):
                model, _ = sample(train, params, seed, paper.size("sweeps"), paper.size("kept"), init_params=start,
                                  split_merge=True)  # fmt: skip
                runs.append((model.chain_log_joints_[0], total(model, test, average="log"), model.n_clusters_))
                say(f"  {prior}, {start}: {runs[-1][0][-1]:,.0f}, {runs[-1][1]:,.0f}, {runs[-1][2]} clusters")
        joints, totals[f"Gibbs-{prior}"], clusters[prior] = zip(*runs, strict=True)
        kept = [joint[-paper.size("kept") :] for joint in joints]
        means = [float(joint.mean()) for joint in kept]
        gap, spread, hat = max(means) - min(means), float(np.std(totals[f"Gibbs-{prior}"], ddof=1)), float(r_hat(kept))
        published = {"DP": 11, "IG": 338}[prior]
        paper.claim(
            f"Chains agree, Gibbs-{prior}", f"total ± {published} of 5 chains; no trouble with mixing expected",
            f"log joint {gap:,.0f} nats apart, R-hat {hat:.1f}; totals {np.ptp(totals[f'Gibbs-{prior}']):,.0f} apart, "
            f"± {moments(totals[f'Gibbs-{prior}'])[1]:,.0f}", hat < 1.1, where="Section 4.3, Table 1", corpus=corpus,
            why=f"{len(runs)} chains that split and merge, from {', '.join(paper.size('starts'))}, stay at different "
            f"modes; the held-out total depends on the mode by ± {spread:,.0f} (standard deviation)",
            gap=gap, r_hat=hat, spread=spread,
        )  # fmt: skip
    found = ", ".join(f"{prior} {np.mean(values):.0f}" for prior, values in clusters.items())
    compare(paper, "Gibbs-IG", "Gibbs-DP", totals, corpus, f"clusters: {found}; published: DP 119, IG 128",
            ", with splits and merges")  # fmt: skip
    level = float(np.mean(totals["Gibbs-DP"]))
    low, high = min(totals["Gibbs-DP"]), max(totals["Gibbs-DP"])
    paper.claim("Total of Gibbs-DP, with splits and merges", f"{PAPER_TABLE['Gibbs-DP'][0]:,}",
                f"{level:,.0f}, from {low:,.0f} to {high:,.0f}", None, where="Table 1", corpus=corpus, level=level,
                why="the split of the paper is not known and moves totals by thousands; " + CHAINS)  # fmt: skip


def epochs(paper):
    """Scores against epochs, what the first epoch gains, the sweeps that a chain needs to pass it, and seconds."""
    corpus, train, test, chosen = kos(paper)
    curves = {}
    for prior, params in chosen.items():
        for X in orders(paper, train):
            points = [checkpoint(n, *learn("ep", X, params | {"tol": 0.0}, 0, n), test) for n in paper.size("epochs")]
            curves.setdefault(f"EP-{prior}", []).append(points)
            curves.setdefault(f"ADF-{prior}", []).append([checkpoint(1, *learn("adf", X, params, 0, 1), test)])
        for seed in range(paper.size("chains")):
            curves.setdefault(f"Gibbs-{prior}", []).append(
                [checkpoint(n, *sample(train, params, seed, n, 1), test) for n in paper.size("sweeps")]
            )
    means = {label: add_curve(paper, corpus, label, points) for label, points in curves.items()}
    words = np.asarray(train.sum(axis=0)).ravel() + paper.size("word_prior")
    alike = float((test @ np.log(words / words.sum())).sum()) + coefficients(test)
    why = f"concentrations: {shown(chosen)}"
    for prior in PRIORS:
        once, end = means[f"ADF-{prior}"][0]["total"], means[f"EP-{prior}"][-1]["total"]
        share = (once - alike) / (end - alike)
        paper.claim(f"Most of what EP gains, it gains in its first pass, {prior}", "most",
                    f"{100 * share:.0f} % of the gain over all words alike", share > 0.5, where="Figure 3",
                    corpus=corpus, share=share, why=why)  # fmt: skip
        passed = [point["passes"] for point in means[f"Gibbs-{prior}"] if point["total"] > once]
        needed = passed[0] if passed else np.inf
        paper.claim(f"Sweeps that Gibbs sampling needs to pass ADF, {prior}", "about 3",
                    f"{needed:g} of chains from one cluster", True if 2 <= needed <= 4 else None,
                    where="Section 4.3; supplement, Figure 2", corpus=corpus, sweeps=min(needed, 1e3),
                    why=f"{why}; {CHAINS}")  # fmt: skip
    claim_seconds(paper, corpus, means)


def checkpoint(n, model, seconds, test):
    return {"seconds": seconds, "passes": n, "total": total(model, test), "clusters": model.n_clusters_}


def claim_seconds(paper, corpus, means):
    seconds = {"ADF": means["ADF-IG"][0]["seconds"]}
    for method in ("EP", "Gibbs"):
        first, *_, last = means[f"{method}-IG"]
        seconds[method] = (last["seconds"] - first["seconds"]) / (last["passes"] - first["passes"])
    slower = seconds["ADF"] > seconds["Gibbs"]
    alike = max(seconds.values()) < 3 * min(seconds.values())
    paper.claim("Seconds of an epoch (IG): ADF takes longer than Gibbs sampling", "ADF 220 s, Gibbs 160 s, in Python",
                ", ".join(f"{name} {1000 * value:.1f} ms" for name, value in seconds.items()),
                True if slower and alike else None if slower or alike else False, where="Supplement 4.2",
                corpus=corpus, **seconds, why="" if slower else "they are alike, but in the other order")  # fmt: skip


# -- Section 4.4


def long_stream(paper):
    """Each block scored before it is learned; the first rows choose concentration and beta of each prior."""
    corpus, X = paper.counts("arxiv", paper.size("documents"))
    block, first = paper.size("block"), paper.size("first")
    grid = {"concentration": paper.size("concentrations"), "word_prior": paper.size("word_priors")}
    chosen, points, models = {}, {}, {}
    for prior, base in PRIORS.items():
        chosen[prior] = choose(X[:first], base, grid, paper.size("train_size"))
        models[prior], points[prior] = StreamingNGGPMixture(**chosen[prior]), []
        seconds = 0.0
        for start in range(0, X.shape[0], block):
            rows = X[start : start + block]
            score = models[prior].score(rows, per="token") if start else None
            seconds += spent(lambda rows=rows, model=models[prior]: model.partial_fit(rows))[1]
            if start:
                points[prior].append({"seconds": seconds, "passes": min(start + block, X.shape[0]) / X.shape[0],
                                      "score": score, "clusters": models[prior].n_clusters_})  # fmt: skip
        add_curve(paper, corpus, prior, [points[prior]])
    scores = {prior: [point["score"] for point in several] for prior, several in points.items()}
    why = "abstracts, because the 266,000 articles are not available; chosen on the first rows: " + ", ".join(
        f"{prior} a = {params['concentration']:g}, beta = {params['word_prior']:g}" for prior, params in chosen.items()
    )
    gain, error = gain_of(scores["IG"], scores["DP"])
    paper.claim("IG above DP along a long stream", "above on held-out documents",
                f"{gain:+.4f} ± {error:.4f} nats a token, over blocks of {block:,}", judge(gain, error),
                where="Figure 4", corpus=corpus, why=why, gain=gain,
                error=error)  # fmt: skip
    end = points["IG"][-1]
    whole = round(float(models["IG"].counts_.sum()))
    paper.claim("A long stream in one pass", "266,000 articles", f"{whole:,} documents in {end['seconds']:.1f} s, "
                f"{end['clusters']} clusters (IG)", None, where="Section 4.4", corpus=corpus, why=why,
                seconds=end["seconds"], n_clusters=end["clusters"], documents=whole)  # fmt: skip


if __name__ == "__main__":
    Paper(NAME, __doc__, SIZES).run(
        bars, power_law, power_law_epochs, table, more_orders, chains, epochs, long_stream
    )
