"""Islam and Foulds: Scalable Collapsed Inference for High-Dimensional Topic Models, NAACL 2019.

Section 6: time of a token against the number of topics, coherence and held-out likelihood against time with a thousand
topics, ten thousand topics, and skip-gram topics. All is measured as published (``published``): priors 0.1 and 0.01,
five samples, five passes of burn-in, the published step sizes, a random start. "SparseSCVB0" is ``sampler="mhw"``,
"SCVB0" is ``sampler="dense"``, by all vector instructions of the processor, or by those of four numbers only, which are
nearest to the scalar programs of the paper. "ours" is the exact sampler with its default start and steps.

    python benchmarks/papers/islam_foulds_2019.py --data FOLDER     nips, arxiv, reuters21578 there; else docstrings

The paper's PubMed Central and Wikipedia are not available here: abstracts replace them. More of skip-gram topics is
in ``benchmarks/skipgram.py``. Seconds are those of the processor.
"""

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
from _paper import Paper, because, curve_of, judge, moments, say

# isort: split
import _skipgram_tasks
from _measure import peak_resident_bytes, spent
from _topics_ours import UNLIMITED
from _topics_tasks import split
from scipy import sparse

from sparsemix import SkipGramTopicModel, SparseLDA, SparseSCVB0LDA
from sparsemix._kernels.vectors import _simd
from sparsemix.metrics import document_completion, topic_coherence
from sparsemix.topics._collapsed import assemble_stochastic

NAME = "Islam and Foulds 2019"
AGAINST = {
    "n_components": (1_000, 20), "n_documents": (None, 200), "n_test": (150, 20), "batch": (20, 20),
    "budget": (40, 0.1),
}  # fmt: skip
SIZES = {
    "ten_thousand": {
        "n_components": (10_000, 50), "n_documents": (1_000_000, 300), "length": (30, 30), "n_words": (20_000, 500),
        "n_epochs": (2, 2), "n_test": (200, 20), "n_published": (20_000, 300), "batch": (100, 100),
    },
    "data_sets": {},
    "time_of_a_token": {
        "n_components": ((10, 100, 1_000, 5_000), (10, 40)), "n_documents": (5_000, 200), "batch": (100, 100),
    },
    "against_time_nips": AGAINST,
    "against_time_arxiv": AGAINST | {"n_documents": (21_000, 300), "n_test": (1_000, 20), "batch": (100, 100)},
    "svi_nips": AGAINST,
    "svi_arxiv": AGAINST | {"n_documents": (21_000, 300), "n_test": (1_000, 20), "batch": (100, 100)},
    "threshold": {
        "n_components": (1_000, 20), "n_documents": (6_000, 200), "n_test": (1_000, 20), "batch": (100, 100),
        "n_epochs": (6, 2), "noise": (0.05, 0.05),
    },
    "exact_counts": {
        "n_components": (1_000, 20), "n_documents": (21_000, 200), "n_test": (1_000, 20), "batch": (100, 100),
        "n_epochs": (8, 2),
    },
    "samples": {
        "n_components": (1_000, 20), "n_documents": (21_000, 200), "n_test": (1_000, 20), "batch": (100, 100),
        "n_epochs": (8, 2), "n_samples": ((5, 50), (2, 5)),
    },
    "skip_gram_time": {"n_components": ((100, 500, 1_000, 5_000), (10, 40)), "n_documents": (1_000, 60)},
    "skip_gram_coherence": {
        "n_components": (500, 10), "n_documents": (4_000, 100), "n_epochs": (10, 2), "batch": (100, 20),
    },
    "skip_gram_same_time": {
        "corpora": (("nips_seq", "reuters21578"), ("reuters21578",)), "n_components": (500, 10),
        "n_documents": (4_000, 100), "n_epochs": (10, 2), "batch": (100, 20),
    },
    "topics_shown": {"n_components": (100, 5), "n_documents": (4_000, 100), "n_epochs": (10, 2), "batch": (100, 20)},
}  # fmt: skip

ALPHA, BETA = 0.1, 0.01
PARTS = 10  # of held-out documents, for the error of a difference
OURS = {"sampler": "gibbs", "local_step_size": None, "burn_in": 1, "init_params": "random", "step_size": (1.0, 0.51),
        "batch_size": None}  # fmt: skip
CONTESTANTS = {
    "SparseSCVB0": {"sampler": "mhw"},
    "SCVB0, four numbers at once": {"sampler": "dense"},
    "SCVB0, vectors": {"sampler": "dense"},
    "ours, exact": OURS,
}
NARROW = "SCVB0, four numbers at once"
NOT_THERE = "not compared"  # in rows that are ours


def published(n_components, n_words, batch, **parameters):
    """The estimator as published; the schedule of documents is written for batches."""
    start = np.random.default_rng(0).standard_exponential((n_components, n_words), dtype=np.float32)
    settings = {
        "n_samples": 5, "burn_in": 5, "doc_topic_prior": ALPHA, "topic_word_prior": BETA, "n_averaged_iter": 0,
        "batch_size": batch, "step_size": (100 / batch**0.9, 1000 / batch, 0.9), "local_step_size": (10.0, 0.9),
        "init_params": start, "early_stopping": False, "random_state": 0,
    }  # fmt: skip
    return SparseSCVB0LDA(n_components, **(settings | parameters))


def variational(n_components, n_words, batch, **parameters):
    """Stochastic variational inference with the same start, priors, batches, step sizes and passes over a document."""
    same = published(n_components, n_words, batch)
    return SparseLDA(
        n_components, n_nonzero=None, learning_method="online", max_doc_update_iter=same.burn_in + 1, tol=0.0,
        doc_topic_prior=ALPHA, topic_word_prior=BETA, batch_size=batch, step_size=same.step_size,
        init_params=same.init_params, random_state=0, **parameters,
    )  # fmt: skip


@contextmanager
def instructions(name):
    """The narrowest vector instructions for the contestant that replaces a scalar program."""
    before = _simd.instruction_set()
    _simd.use_instruction_set("baseline" if name == NARROW else before)
    try:
        yield
    finally:
        _simd.use_instruction_set(before)


def seconds_of_an_epoch(make, X):
    """Seconds of an epoch after the first: of fits of three epochs and of one."""
    one, three = (spent(lambda n=n: make(n).fit(X))[1] for n in (1, 3))
    return max(three - one, 1e-9) / 2


def power_of(times, sizes):
    """How time grows with the number of topics, at the end: like K to this power."""
    return float(np.log(times[sizes[-1]] / times[sizes[-2]]) / np.log(sizes[-1] / sizes[-2]))


def shown(times):
    """Text: microseconds by number of topics."""
    return ", ".join(f"K={k}: {t:.2f}" for k, t in times.items())


def record_times(paper, corpus, name, times):
    """A row of the table of times for every number of topics."""
    for k, t in times.items():
        paper.curve(corpus, name, {"us": t}, parameters={"section": paper.section, "n_components": k})


# -- Figures 1 to 3


def data_sets(paper):
    """What the paper measures on, and what takes its place here."""
    paper.claim("Corpora", "NIPS 1,740 documents, Reuters-150 15,500, PubMed Central 165,000, Wikipedia 4.6 million",
                "NIPS 1,740, Reuters-21578 19,043, arXiv abstracts 199,999; parts of them where a row says so", None,
                where="Section 6.1", corpus="all", kind="ablation",
                why="PubMed Central and Wikipedia are not available here")  # fmt: skip


def time_of_a_token(paper):
    """Microseconds a token of the second and third epoch, for every contestant and number of topics."""
    corpus, X = paper.counts("arxiv", paper.size("n_documents"))
    X, sizes, times = X.astype(np.float32), paper.size("n_components"), {}
    for name, parameters in CONTESTANTS.items():
        own = {key: value for key, value in parameters.items() if key != "init_params"}  # no dense start
        times[name] = {}
        with instructions(name):
            for k in sizes:
                def make(n, k=k, own=own):
                    return published(k, X.shape[1], paper.size("batch"), max_iter=n, **own)

                times[name][k] = 1e6 * seconds_of_an_epoch(make, X) / float(X.sum())
                say(f"  {name}, K={k}: {times[name][k]:.2f} us a token")
        record_times(paper, corpus, name, times[name])
    for name in ("SparseSCVB0", "ours, exact"):
        power = power_of(times[name], sizes)
        of_paper = name == "SparseSCVB0"
        paper.claim(f"Time of a token grows more slowly than K, {name}", "sublinear" if of_paper else NOT_THERE,
                    f"us a token {shown(times[name])}; like K to the power {power:.2f} at the end", power < 0.9,
                    where="Figure 1a", kind="claim" if of_paper else "ablation", corpus=corpus,
                    power=power)  # fmt: skip
    for k in sizes[-2:]:
        ratios = {name: times[name][k] / times["SparseSCVB0"][k] for name in CONTESTANTS}
        narrow, wide, ours = (ratios[name] for name in (NARROW, "SCVB0, vectors", "ours, exact"))
        paper.claim(f"SparseSCVB0 is faster than SCVB0, K={k}", "sublinear against linear in K",
                    f"{narrow:.1f} times as fast as by four numbers at once, {wide:.1f} times as by vectors; ours, "
                    f"exact, takes {ours:.2f} of its time", True if wide > 1 else None if narrow > 1 else False,
                    where="Figure 1a", corpus=corpus, narrow=narrow, wide=wide,
                    why="" if wide > 1 else "vector instructions make dense inference cheaper than in the paper's "
                    "scalar programs, so chains pay from more topics on")  # fmt: skip


def scorer(train, test):
    """Scores of topics: held-out likelihood of a token, by parts of documents, and coherence with its error."""
    rows = [part for part in np.array_split(np.arange(test.shape[0]), PARTS) if len(part)]

    def score(topics):
        parts = [document_completion(topics, test[part], doc_topic_prior=ALPHA, split="token", test_fraction=0.5)
                 for part in rows]  # fmt: skip
        umass = topic_coherence(topics, train, measure="umass", n_top_words=10)
        return {"nats": float(np.mean(parts)), "umass": float(umass.mean()), "parts": np.array(parts),
                "error": float(umass.std() / np.sqrt(len(umass)))}  # fmt: skip

    return score


def run_against_time(paper, name, contestants):
    """Checkpoints of every contestant; they are recorded, and drawn by the documentation."""
    corpus, X = paper.counts(name, paper.size("n_documents"))
    train, test = split(X.astype(np.float32), paper.size("n_test"))
    train, score, out = sparse.csr_matrix(train), scorer(train, test), {}
    for label, parameters in contestants.items():
        make = variational if label == "SVI" else published
        lda = make(paper.size("n_components"), train.shape[1], paper.size("batch"), max_iter=UNLIMITED, **parameters)
        with instructions(label):
            out[label] = curve_of(lda, train, score, paper.size("budget"), lambda lda: lda.components_, begin=True)
        last = out[label][-1]
        say(f"  {label}: {last['passes']} passes, {last['nats']:.3f}, {last['umass']:.1f}")
        curve = [{k: v for k, v in point.items() if k not in ("parts", "error")} for point in out[label]]
        paper.curve(corpus, label, {k: last[k] for k in ("nats", "umass", "passes")}, curve=curve)
    return corpus, out


def at_most(checkpoints, key, value):
    """The last checkpoint before a number of passes or seconds, or the first one."""
    return [point for point in checkpoints if point[key] <= value + 1e-9][-1:] or checkpoints[:1]


def compared(ours, theirs, other, large):
    """For each score of two checkpoints: its name, the claim, what the paper says, the figure, and what was found."""
    gains = {"nats": moments(ours["parts"] - theirs["parts"]),
             "umass": (ours["umass"] - theirs["umass"], np.hypot(ours["error"], theirs["error"]))}  # fmt: skip
    published = {"umass": "higher", "nats": "better on large corpora" if large else "similar on small ones"}
    for score, what, figure in (("nats", "Held-out likelihood", "Figure 3"),
                                ("umass", "Coherence (UMass)", "Figure 2")):  # fmt: skip
        gain, error = gains[score]
        better = large or score == "umass"
        claim = f"{what} {'better than' if better else 'as good as'} {other}"
        verdict = judge(gain, error) if better else bool(gain >= -2 * error)
        yield score, claim, published[score], figure, gain, error, verdict


def listed_points(points, score):
    """The scores of checkpoints as text."""
    return ", ".join(f"{label} {point[score]:.3f} ({point['passes']} passes)" for label, point in points.items())


def against_time(paper):
    """SparseSCVB0 compared with SCVB0 after the same seconds, and after the same passes; abstracts replace PubMed."""
    large = paper.section == "against_time_arxiv"
    corpus, out = run_against_time(paper, paper.section.removeprefix("against_time_"), CONTESTANTS)
    budget, words = paper.size("budget"), corpus.partition(",")[0]
    for other, key in ((NARROW, "seconds"), ("SCVB0, vectors", "seconds"), ("SCVB0, vectors", "passes")):
        end = min(out[label][-1][key] for label in ("SparseSCVB0", other))
        points = {label: at_most(out[label], key, end)[0] for label in ("SparseSCVB0", other, "ours, exact")}
        where = f"{budget} s" if key == "seconds" else "equal passes"
        found = compared(points["SparseSCVB0"], points[other], other, large)
        for score, claim, published, figure, gain, error, verdict in found:
            paper.claim(f"{claim}, {words}, {where}", published if key == "seconds" else NOT_THERE,
                        f"{listed_points(points, score)}; gain {gain:.3f} ± {error:.3f}", verdict, where=figure,
                        kind="claim" if key == "seconds" else "ablation", corpus=corpus,
                        why=reason(score, verdict, large or score == "umass"), gain=gain, error=error)  # fmt: skip


def svi(paper):
    """SparseSCVB0 compared with stochastic variational inference after the same seconds."""
    contestants = {"SparseSCVB0": {"sampler": "mhw"}, "SVI": {}}
    corpus, out = run_against_time(paper, paper.section.removeprefix("svi_"), contestants)
    points = {label: out[label][-1] for label in contestants}
    found = compared(*points.values(), "SVI", paper.section == "svi_arxiv")
    for score, claim, published, figure, gain, error, verdict in found:
        paper.claim(f"{claim}, {corpus.partition(',')[0]}, {paper.size('budget')} s", published,
                    f"{listed_points(points, score)}; gain {gain:.3f} ± {error:.3f}", verdict, where=figure,
                    corpus=corpus, gain=gain, error=error,
                    why=because(verdict, "SVI is ahead by UMass, and its topics repeat no more words"
                                if score == "umass" else "SVI is ahead"))  # fmt: skip


def reason(score, verdict, better):
    """Why a row of Figures 2 and 3 is not reproduced."""
    if verdict is True:
        return ""
    if verdict == "undecided":
        return "the difference is below two standard errors over documents or topics"
    if score == "umass":
        return "topics of SCVB0 repeat the same frequent words, which often occur together, so that UMass is high"
    return ("running means of five samples are noisy counts for abstracts of 70 tokens: fifty samples close almost "
            "half of the gap, exact counts nearly all of it (last table)"
            if better else "running means of five samples are noisy counts")  # fmt: skip


def variants(paper, settings):
    """Scores and microseconds a token of the published estimator with other parameters and a threshold, by name."""
    corpus, X = paper.counts("arxiv", paper.size("n_documents"))
    train, test = split(X.astype(np.float32), paper.size("n_test"))
    score, epochs, out = scorer(train, test), paper.size("n_epochs"), {}
    for name, (tau, parameters) in settings.items():
        lda = published(paper.size("n_components"), train.shape[1], paper.size("batch"), max_iter=epochs, **parameters)
        with patch.object(assemble_stochastic, "SPARSITY", tau):
            _, seconds = spent(lambda lda=lda: lda.fit(train))
        top = np.argsort(-lda.components_, axis=1)[:, :10]
        out[name] = score(lda.components_) | {"us": 1e6 * seconds / epochs / float(train.sum()),
                                              "distinct": len(np.unique(top)) / top.size}  # fmt: skip
        say(f"  {name}: {out[name]['nats']:.3f}, {out[name]['umass']:.1f}, {out[name]['us']:.2f} us")
    return corpus, out


def threshold(paper):
    """What the threshold 1 / K of a document's counts is worth."""
    corpus, out = variants(paper, {"with": (1.0, {"sampler": "mhw"}), "without": (0.0, {"sampler": "mhw"})})
    gain, error = moments(out["with"]["parts"] - out["without"]["parts"])
    faster, lost = out["without"]["us"] / out["with"]["us"], -gain
    equal, noise = bool(lost <= 2 * error), paper.size("noise")
    verdict = (True if faster > 1 + noise else None) if equal else False
    paper.claim("The threshold 1 / K makes inference faster at equal quality", "a benefit after burn-in, K = 10,000",
                f"with: {out['with']['us']:.2f} us a token, {out['with']['nats']:.3f}; without: "
                f"{out['without']['us']:.2f} us, {out['without']['nats']:.3f}; lost {lost:.4f} ± {error:.4f} nats. Our "
                "exact sampler needs none", verdict, where="Figure 1b", corpus=corpus, faster=faster, lost=lost,
                why="" if verdict else "the score stays, and the gain in time is within its noise" if equal
                else "the score falls")  # fmt: skip


def exact_counts(paper):
    """What exact counts of documents, our default, are worth for chains."""
    corpus, out = variants(paper, {
        "SparseSCVB0": (1.0, {"sampler": "mhw"}),
        "with exact counts": (1.0, {"sampler": "mhw", "local_step_size": None}),
        "SCVB0": (1.0, {"sampler": "dense"}),
    })  # fmt: skip
    gain, error = moments(out["SparseSCVB0"]["parts"] - out["with exact counts"]["parts"])
    verdict = judge(gain, error)
    paper.claim("Running means of samples give better topics than exact counts", "used, not compared", "; ".join(
        f"{name} {run['nats']:.3f}, UMass {run['umass']:.1f}, distinct words {run['distinct']:.2f}"
        for name, run in out.items()), verdict, where="Section 3", kind="ablation", corpus=corpus, gain=gain,
        error=error,
        why=because(verdict, "exact counts are sums over all tokens of a document, with less noise"))  # fmt: skip


def samples(paper):
    """How far SparseSCVB0 stays behind SCVB0 with few samples and with many: whether the gap is their noise."""
    numbers = paper.size("n_samples")
    chains = {f"S={n}": (1.0, {"sampler": "mhw", "n_samples": n}) for n in numbers}
    corpus, out = variants(paper, chains | {"SCVB0": (1.0, {"sampler": "dense"})})
    gaps = {name: moments(out["SCVB0"]["parts"] - out[name]["parts"]) for name in chains}
    (few, error), (many, _) = (gaps[f"S={n}"] for n in (numbers[0], numbers[-1]))
    paper.claim("More samples bring SparseSCVB0 to the held-out likelihood of SCVB0", "S = 5 is used, not compared",
                f"SCVB0 {out['SCVB0']['nats']:.3f}; " + "; ".join(
                    f"{name} {out[name]['nats']:.3f}, behind by {gap:.3f} ± {one:.3f}, {out[name]['us']:.1f} us a token"
                    for name, (gap, one) in gaps.items()),
                True if many < few / 4 else judge(few - many, error) and None, where="Section 6.2", kind="ablation",
                corpus=corpus, few=few, many=many,
                why=f"noise of few samples, which is the algorithm's: {1 - many / few:.0%} of the gap")  # fmt: skip


# -- ten thousand topics


def corpus_of(n_documents, n_topics, n_words, length):
    """Documents of two topics each, whose sixty words have frequencies 1 / rank, in blocks."""
    rng = np.random.default_rng(0)
    words = rng.integers(n_words, size=(n_topics, 60), dtype=np.int32)
    ranks = np.cumsum(1.0 / np.arange(1, 61))
    blocks = []
    for n in np.diff(np.append(np.arange(0, n_documents, 50_000), n_documents)):
        topics = rng.integers(n_topics, size=(n, 2))
        chosen = topics[np.arange(n)[:, None], rng.integers(2, size=(n, length))]
        drawn = words[chosen, np.searchsorted(ranks, rng.random((n, length)) * ranks[-1])].astype(np.int32)
        indptr = np.arange(0, n * length + 1, length)
        block = sparse.csr_matrix((np.ones(n * length, np.float32), drawn.ravel(), indptr), shape=(n, n_words))
        block.sum_duplicates()
        blocks.append(block)
    return sparse.vstack(blocks, format="csr")


def ten_thousand(paper):
    """Seconds and memory of two passes; first, so that the peak of memory is that of this section."""
    k, n, n_test = (paper.size(name) for name in ("n_components", "n_documents", "n_test"))
    X = corpus_of(n + n_test, k, paper.size("n_words"), paper.size("length"))
    train, test, corpus = X[:n], X[n:], f"made, {n:,} documents"
    lda = SparseSCVB0LDA(k, doc_topic_prior=ALPHA, topic_word_prior=BETA, max_iter=paper.size("n_epochs"),
                         n_averaged_iter=0, random_state=0)  # fmt: skip
    _, seconds = spent(lambda: lda.fit(train))
    peak = peak_resident_bytes()
    say(f"  {seconds:.0f} s, {peak / 1e9:.2f} GB")
    nats = document_completion(lda, test, doc_topic_prior=5 / k)
    words = document_completion(np.asarray(train.sum(axis=0)), test, doc_topic_prior=1.0)
    part = train[: paper.size("n_published")]
    chains = published(k, part.shape[1], paper.size("batch"), sampler="mhw", init_params="random",
                       max_iter=paper.size("n_epochs"))  # fmt: skip
    us = 1e6 * spent(lambda: chains.fit(part))[1] / float(part.sum()) / paper.size("n_epochs")
    ours = 1e6 * seconds / float(train.sum()) / paper.size("n_epochs")
    n_epochs = paper.size("n_epochs")
    paper.claim(f"{k:,} topics are feasible", "36 hours on Wikipedia, of which 5 are a dense start",
                f"{n_epochs} passes over {n:,} made documents ({train.sum():,.0f} tokens) in {seconds:.0f} s and "
                f"{peak / 1e9:.1f} GB, documents included, by ours, exact; {nats:.2f} nats a hidden token, "
                f"word frequencies {words:.2f}; as published {us:.1f} us a token on {part.shape[0]:,} documents, ours "
                f"{ours:.1f}", None, where="Section 6.2, Table 5", corpus=corpus, seconds=seconds, peak=peak, nats=nats,
                frequencies=words, us=us,
                why="made documents in place of Wikipedia, and the whole corpus by the exact sampler only")  # fmt: skip


# -- skip-gram topics


def prepared(paper, folder, name="reuters21578"):
    """Documents in their order: what they are, word numbers, words, their file."""
    path = Path(paper.options.data or ".", f"tokens.{name}.txt.gz")
    path = path if paper.options.data and path.exists() else None
    texts = _skipgram_tasks.prepare(path, paper.size("n_documents"), folder)
    X, names = _skipgram_tasks.sequences(texts["path"])
    return f"{texts['name']}, {texts['n_documents']:,} documents", X, names, texts["path"]


def skip_gram_time(paper):
    """Microseconds a token by number of topics."""
    sizes, times = paper.size("n_components"), {}
    with TemporaryDirectory() as folder:
        corpus, _, _, path = prepared(paper, folder)
        for kind in ("scvb0, chains", "scvb0, dense", "gibbs"):
            times[kind] = {}
            for k in sizes:
                found = _skipgram_tasks.token_seconds(path, None, kind, k, 1)
                times[kind][k] = 1e6 * max(float(found["cpu"]), 1e-9)
            say(f"  {kind}: {shown(times[kind])}")
            record_times(paper, corpus, f"skip-gram, {kind}", times[kind])
    power = power_of(times["scvb0, chains"], sizes)
    paper.claim("Time of a token grows more slowly than K, skip-gram chains", "amortized O(1)",
                f"us a token {shown(times['scvb0, chains'])}; like K to the power {power:.2f} at the end",
                True if power < 0.1 else None if power < 0.9 else False, where="Figure 4a", corpus=corpus, power=power,
                why="" if power < 0.1 else "more slowly than K, but not constant")  # fmt: skip
    for k in sizes[-2:]:
        dense, gibbs = (times[kind][k] / times["scvb0, chains"][k] for kind in ("scvb0, dense", "gibbs"))
        paper.claim(f"Skip-gram chains are faster than dense inference, K={k}", "substantially",
                    f"{dense:.2f} times; than Gibbs sampling {gibbs:.2f} times", dense > 1, where="Figure 4a",
                    corpus=corpus, dense=dense, gibbs=gibbs,
                    why="" if dense > 1 else "dense inference adds sixteen topics at a time here")  # fmt: skip


def skip_gram_settings(paper):
    """The published chains and our defaults, at both final temperatures, and Gibbs sampling."""
    cold, warm = {"annealing": (10.0, 1e-5, 0.9**5)}, {"annealing": (10.0, 1.0, 0.9**5)}
    priors = {"input_topic_prior": ALPHA, "topic_word_prior": BETA}
    chains = {"sampler": "mhw", "step_size": (5.0, 0.9), "batch_size": paper.size("batch"), **priors}
    gibbs, n = {"inference": "gibbs", **priors}, paper.size("n_epochs")
    return {
        "as published": chains | cold, "as published, T = 1": chains | warm, "ours": warm, "ours, T = 1e-5": cold,
        "Gibbs": gibbs, "Gibbs, twice the passes": gibbs | {"max_iter": 2 * n},
    }


def skip_gram_coherence(paper):
    """Coherence compared with that of Gibbs sampling, and the final temperature."""
    out = {}
    with TemporaryDirectory() as folder:
        corpus, X, names, _ = prepared(paper, folder)
    train, test = (X[rows] for rows in _skipgram_tasks.split(X.shape[0]))
    counts = _skipgram_tasks.counts_of(train, len(names))
    for name, parameters in skip_gram_settings(paper).items():
        settings = {"n_words": len(names), "max_iter": paper.size("n_epochs"), "random_state": 0} | parameters
        model = SkipGramTopicModel(paper.size("n_components"), **settings)
        _, seconds = spent(lambda model=model: model.fit(train))
        umass = topic_coherence(model, counts, measure="umass", n_top_words=10)
        out[name] = {"umass": umass.mean(), "error": umass.std() / np.sqrt(len(umass)), "seconds": seconds,
                     "npmi": topic_coherence(model, counts).mean(), "score": model.score(test)}  # fmt: skip
        say(f"  {name}: " + ", ".join(f"{key} {value:.3f}" for key, value in out[name].items()))
    for other in ("Gibbs", "Gibbs, twice the passes"):
        claim_coherence(paper, corpus, out, "as published", other)
    claim_coherence(paper, corpus, out, "ours", "Gibbs, twice the passes")
    for warm, cold in (("as published, T = 1", "as published"), ("ours", "ours, T = 1e-5")):
        gain, fit = out[cold]["umass"] - out[warm]["umass"], out[cold]["score"] - out[warm]["score"]
        verdict = judge(gain, np.hypot(out[cold]["error"], out[warm]["error"]))
        paper.claim(f"Ending near T = 0 gives more coherent topics than T = 1, {warm.removesuffix(', T = 1')}",
                    "1e-5 is used, not compared", "; ".join(said(n, out[n]) for n in (cold, warm)), verdict,
                    where="Section 6.3", kind="ablation", corpus=corpus, gain=gain, fit=fit,
                    why="" if verdict is True else
                    "our default ends at T = 1, where it samples from the model")  # fmt: skip


def skip_gram_same_time(paper):
    """Coherence of chains as published, and of dense inference for as many epochs as take the same time."""
    epochs, priors = paper.size("n_epochs"), {"input_topic_prior": ALPHA, "topic_word_prior": BETA}
    ways = {"SparseSCVB0": {"sampler": "mhw", "annealing": (10.0, 1e-5, 0.9**5)},
            "SCVB0": {"sampler": "dense", "annealing": (0.0, 1.0, 0.9**5)}}  # fmt: skip
    for name in paper.size("corpora"):
        with TemporaryDirectory() as folder:
            corpus, X, names, _ = prepared(paper, folder, name)
        train, test = (X[rows] for rows in _skipgram_tasks.split(X.shape[0]))
        counts, out, visits = _skipgram_tasks.counts_of(train, len(names)), {}, {}

        def make(way, n, names=names):
            return SkipGramTopicModel(paper.size("n_components"), n_words=len(names), max_iter=n, random_state=0,
                                      step_size=(5.0, 0.9), batch_size=paper.size("batch"), **priors, **ways[way])

        given = spent(lambda train=train: make("SparseSCVB0", epochs).fit(train))[1]
        dense = spent(lambda train=train: make("SCVB0", 2).fit(train))[1] / 2
        for way, n in (("SparseSCVB0", epochs), ("SCVB0", max(1, round(given / dense)))):
            model, seconds = spent(lambda way=way, n=n, train=train: make(way, n).fit(train))
            umass = topic_coherence(model, counts, measure="umass", n_top_words=10)
            out[way] = {"umass": umass.mean(), "error": umass.std() / np.sqrt(len(umass)), "seconds": seconds,
                        "npmi": topic_coherence(model, counts).mean(), "score": model.score(test)}  # fmt: skip
            visits[way] = n
            say(f"  {corpus}, {way}, {n} epochs: " + ", ".join(f"{key} {value:.3f}" for key, value in out[way].items()))
        gain, error = (out["SparseSCVB0"]["umass"] - out["SCVB0"]["umass"],
                       np.hypot(out["SparseSCVB0"]["error"], out["SCVB0"]["error"]))  # fmt: skip
        by_npmi = max(out, key=lambda way: out[way]["npmi"])
        paper.claim(f"Skip-gram topics are more coherent than those of SCVB0 after the same time, {name}", "higher",
                    "; ".join(f"{said(way, out[way])}, {n} epochs" for way, n in visits.items()),
                    judge(gain, error), where="Figure 5", corpus=corpus, gain=gain, error=error,
                    why=f"by UMass, the paper's measure; by NPMI {by_npmi} is ahead")  # fmt: skip


def said(name, run):
    """Text: scores of one setting."""
    return (f"{name} {run['umass']:.1f} ± {run['error']:.1f} (NPMI {run['npmi']:.3f}, held-out {run['score']:.3f}, "
            f"{run['seconds']:.0f} s)")  # fmt: skip


def claim_coherence(paper, corpus, out, name, other):
    """Equal or better coherence than Gibbs sampling."""
    gain, error = out[name]["umass"] - out[other]["umass"], np.hypot(out[name]["error"], out[other]["error"])
    by_npmi = bool(out[name]["npmi"] >= out[other]["npmi"])
    verdict = bool(gain >= -2 * error)
    paper.claim(f"Skip-gram topics at least as coherent as by Gibbs sampling: {name}, {other}", NOT_THERE,
                "; ".join(said(n, out[n]) for n in (name, other)), verdict and (by_npmi or None), where="Figure 5",
                kind="ablation", corpus=corpus, gain=gain, error=error, why="" if verdict and by_npmi else
                "UMass, the paper's measure, is higher for topics of frequent words; by NPMI Gibbs sampling is ahead"
                if verdict else "UMass is higher for topics of frequent words")  # fmt: skip


def topics_shown(paper):
    """Top words of topics of both kinds, which the paper shows side by side."""
    with TemporaryDirectory() as folder:
        corpus, X, names, _ = prepared(paper, folder)
    k, n = paper.size("n_components"), paper.size("n_epochs")
    counts = sparse.csr_matrix(_skipgram_tasks.counts_of(X, len(names)))
    lda = published(k, len(names), paper.size("batch"), sampler="mhw", max_iter=n).fit(counts)
    skip_gram = SkipGramTopicModel(k, n_words=len(names), max_iter=n, sampler="mhw", random_state=0).fit(X)
    for model, kind, where in ((lda, "SparseSCVB0", "Tables 1 to 3"), (skip_gram, "Skip-gram", "Table 4")):
        best = np.argsort(-topic_coherence(model, counts))[[0, k // 4, k // 2]]
        words = "; ".join(" ".join(names[np.argsort(-model.components_[t])[:6]]) for t in best)
        paper.claim(f"{kind} topics are meaningful", "topics shown side by side",
                    f"most coherent, upper quartile, median of {k}: {words}", None, where=where, corpus=corpus,
                    why="a comparison by eye has no number")  # fmt: skip


def main():
    """Section 6 from its first page on, after what needs clean memory."""
    paper = Paper(NAME, __doc__, SIZES)
    paper.run(ten_thousand, data_sets, time_of_a_token, threshold, exact_counts, samples, skip_gram_time,
              skip_gram_coherence, skip_gram_same_time, topics_shown, against_time_nips=against_time,
              against_time_arxiv=against_time, svi_nips=svi, svi_arxiv=svi)  # fmt: skip


if __name__ == "__main__":
    main()
