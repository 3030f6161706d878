"""Time, memory and score of each estimator at another revision and in this folder, in one run: ``make compare``.

python benchmarks/compare.py main
python benchmarks/compare.py main --speed --data FOLDER
python benchmarks/compare.py main --corpora docword.kos.txt.gz books-50-1000 docstrings --epochs 1 5 None --seeds 3

The second form measures peers in the same process, which brackets name: fits of tables of 100 to 5,000 rows
(GaussianMixture), fits of titles, fits and labels of embeddings (SuperKMeans), and an import (sklearn.mixture). It also
measures the share of a fit that one thread does alone, one epoch with 1,000 topics (with 100), and peak memory in
tables of K V numbers of four bytes. Seconds are those of the processor on one core. FOLDER has the corpora.

The third form compares topics, after each number of epochs (None: the default). Run it before a change of a sampler
or of a default of topics. Corpora are UCI files, "docstrings", and drawn documents of unequal lengths: 1,000 of 50
words, of which books-n-L makes n of L words with one topic, long-F one F times as long, and lengths-s log-normal ones
of standard deviation s. The columns are held-out score (document completion in nats a token, common alpha .1), NPMI and
the share of distinct words in the first eight of all topics, the L1 distance of the word totals of ``components_``
from those of the corpus as a share of its tokens, and CPU seconds, each the mean of the seeds, with the standard error
of the score.

Both are compiled, and then every task runs in turn at the one and at the other, each in its own process, so that
what else the machine does meets both. A ratio is of medians; next to it is the noise, the spread of a task's own
ratios between neighbouring rounds. What differs by more than noise is marked.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from _measure import CORES
from _measure import run as measured
from _topics_tasks import corpus as named_counts
from scipy import sparse

from sparsemix.metrics import document_completion, top_words, topic_coherence

ROOT = Path(__file__).parents[1]
# Fits small enough for several rounds; the last expression is the held-out score.
DOCUMENTS = "X, _, _ = make_sparse_lda(4000, 2000, 20, random_state=0); A, B = X[:3500], X[3500:]"
ROWS = "X = make_blobs(20500, 16, centers=60, random_state=0)[0]; A, B = X[:20000], X[20000:]"
# Every parameter but the number of components is a default, so that a changed default shows. Chains are shorter.
TASKS = {
    "SparseGaussianMixture": (ROWS, "SparseGaussianMixture(100, random_state=0)"),
    "SparseGaussianMixture, low rank": (ROWS, "SparseGaussianMixture(60, covariance_type='low_rank', random_state=0)"),
    "SparseGaussianMixture, stream": (ROWS, "Stream(SparseGaussianMixture(60, random_state=0))"),
    "SparseVonMisesFisherMixture": (ROWS, "SparseVonMisesFisherMixture(60, random_state=0)"),
    "SparseBernoulliMixture": (
        f"{DOCUMENTS}; A, B = (A > 0).astype(float), (B > 0).astype(float)",
        "SparseBernoulliMixture(60, random_state=0)",
    ),
    "SparseMixedMixture": (
        f"{ROWS}; A, B = (np.column_stack([each, each[:, 0] > 0]) for each in (A, B))",
        "SparseMixedMixture(60, random_state=0)",
    ),
    "SparseMultinomialMixture": (DOCUMENTS, "SparseMultinomialMixture(60, random_state=0)"),
    "StreamingNGGPMixture": (ROWS, "StreamingNGGPMixture(random_state=0)"),
    "GibbsNGGPMixture": (ROWS, "GibbsNGGPMixture(max_iter=4, n_chains=1, random_state=0)"),
    "SparseLDA": (DOCUMENTS, "SparseLDA(100, random_state=0)"),
    "SparseLDA, stream": (DOCUMENTS, "Stream(SparseLDA(50, random_state=0))"),
    "SparseHDP": (DOCUMENTS, "SparseHDP(100, random_state=0)"),
    "SparseSCVB0LDA": (DOCUMENTS, "SparseSCVB0LDA(100, random_state=0)"),
    "SparseDMR": (DOCUMENTS, "SparseDMR(100, random_state=0)"),
    "CollapsedLDA": (DOCUMENTS, "CollapsedLDA(50, max_iter=15, random_state=0)"),
    "GibbsLDA": (DOCUMENTS, "GibbsLDA(50, max_iter=15, random_state=0)"),
    "SkipGramTopicModel": (
        "D = load_docstrings().texts[:1500]; S = TokenSequences(min_df=5).fit_transform(D); A, B = S[:1300], S[1300:]",
        "SkipGramTopicModel(30, random_state=0)",
    ),
}
PROGRAM = """
import json, resource, time, warnings
warnings.simplefilter("ignore")
from sklearn.datasets import make_blobs
from sparsemix import *
from sparsemix.datasets import load_docstrings, make_sparse_lda
class Stream:
    def __init__(self, model):
        self.model, self.score = model, model.score
    def fit(self, X):
        for start in range(0, X.shape[0], 1000):
            self.model.partial_fit(X[start : start + 1000])
{data}
model = {model}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
model.fit(A)
seconds = time.process_time() - start
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps([seconds, memory / 1024, float(model.score(B))]))
"""
# A fit of topics: its topics are scored here, by the same code for all revisions.
TOPICS = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from scipy import sparse
import sparsemix
name, folder, parameters = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
X = sparse.load_npz(f"{folder}/train.npz")
model = getattr(sparsemix, name)(**parameters)
start = time.process_time()
model.fit(X)
seconds = time.process_time() - start
np.save(f"{folder}/topics.npy", model.components_ - model.topic_word_prior_)
print(json.dumps({"seconds": seconds, "prior": float(model.topic_word_prior_)}))
"""
DRAWN = "books", "long", "lengths"
SPEED = "seconds", "peer", "ratio", "worst", "two", "score", "peer score"
COLUMNS = "nats", "npmi", "distinct", "counts", "seconds"
MOST_HELD_OUT, SPLITS, DISTINCT, COMMON_ALPHA = 1000, 4, 8, 0.1


def build(revision, folder):
    """Where the sources of a revision are, compiled."""
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    if same_kernels(folder):  # then they need not be compiled again
        for built in (ROOT / "sparsemix").rglob("*.so"):
            target = folder / built.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(built, target)
        return folder
    compiling = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    subprocess.run(compiling, cwd=folder, check=True, stdout=sys.stderr)
    return folder / "src" if (folder / "src").is_dir() else folder  # where older revisions have them


def same_kernels(folder):
    """Whether all kernels of a revision are those of this folder."""
    kernels = Path("sparsemix/_kernels")
    sources = [[p.relative_to(top) for ending in ("pyx", "pxd", "h") for p in (top / kernels).rglob(f"*.{ending}")]
               for top in (ROOT, folder)]  # fmt: skip
    return sorted(sources[0]) == sorted(sources[1]) and all(
        (ROOT / path).read_bytes() == (folder / path).read_bytes() for path in sources[0]
    )


def run(source, task):
    """Seconds, MB beyond the data and score of one fit; None where the revision has no such estimator."""
    data, model = TASKS[task]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(data=data, model=model)], env=environment, cwd=source, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode:
        print(f"{task} does not run in {source}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def noise(values):
    """Relative spread of what should be equal: the median distance from the median, over it."""
    middle = statistics.median(values)
    return statistics.median(abs(value - middle) for value in values) / max(abs(middle), 1e-12)


def row(task, base, head):
    """A line of the table from the rounds of both."""
    seconds, memory = ([statistics.median(r[i] for r in rounds) for rounds in (base, head)] for i in (0, 1))
    ratio, spread = seconds[1] / seconds[0], noise([r[0] for r in base]) + noise([r[0] for r in head])
    scores = [statistics.median(r[2] for r in rounds) for rounds in (base, head)]
    marks = "".join((
        " slower" if ratio > 1.0 + max(0.05, 3 * spread) else " faster" if ratio < 1.0 - max(0.05, 3 * spread) else "",
        " larger" if memory[1] > 1.1 * memory[0] + 5 else " smaller" if memory[1] < 0.9 * memory[0] - 5 else "",
        " worse" if scores[1] < scores[0] - 0.01 else " better" if scores[1] > scores[0] + 0.01 else "",
    ))  # fmt: skip
    return (
        f"{task:32s} {seconds[0]:8.2f} s {seconds[1]:8.2f} s {ratio:7.2f} +- {spread:.2f}   {memory[0]:6.0f} MB "
        f"{memory[1]:6.0f} MB   {scores[0]:9.4f} {scores[1]:9.4f} {marks}"
    )


# -- topics


def drawn(name, n=1000, n_words=300, n_topics=10, seed=0):
    """Counts of documents of unequal lengths, and of others of 50 words."""
    kind, *numbers = name.split("-")
    rng = np.random.default_rng(seed)
    topics, lengths = rng.dirichlet(np.full(n_words, 0.1), n_topics), np.full(n, 50)
    shares, held_out = (rng.dirichlet(np.full(n_topics, 0.1), size) for size in (n, n // 2))
    if kind == "books":
        n_books = int(numbers[0])
        lengths[:n_books], shares[:n_books] = int(numbers[1]), np.eye(n_topics)[0]
    elif kind == "long":
        lengths[0] = 50 * int(numbers[0])
    else:
        lengths = np.maximum(1, 50 * np.exp(float(numbers[0]) * rng.standard_normal(n))).astype(int)
    counts = [rng.multinomial(length, share @ topics) for length, share in zip(lengths, shares, strict=True)]
    scored = [rng.multinomial(50, share @ topics) for share in held_out]
    return tuple(sparse.csr_array(np.array(part, dtype=np.float64)) for part in (counts, scored))


def corpus(name, most):
    """At most ``most`` documents of a file or of the docstrings, chosen at random, to learn from and to score."""
    X = sparse.csr_array(named_counts(None if name == "docstrings" else name)[1], dtype=np.float64)
    order = np.random.default_rng(0).permutation(np.flatnonzero(np.diff(X.indptr) > 1))[:most]
    n = min(MOST_HELD_OUT, len(order) // 10)
    train, held_out = X[np.sort(order[n:])], X[np.sort(order[:n])]
    known = np.unique(train.indices)
    return train[:, known], held_out[:, known]


def topics_of(source, estimator, folder, parameters):
    """One fit at a revision: its columns, or None where it has no such estimator."""
    command = [sys.executable, "-c", TOPICS, estimator, str(folder), json.dumps(parameters)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(source)}, cwd=source, text=True, capture_output=True, check=False
    )  # fmt: skip
    if done.returncode:
        print(f"{estimator} does not run in {source}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    counts, out = np.load(folder / "topics.npy"), json.loads(done.stdout.splitlines()[-1])
    train, held_out = (sparse.load_npz(folder / f"{part}.npz") for part in ("train", "held_out"))
    totals, topics = train.sum(axis=0), counts + out["prior"]
    words = top_words(topics, DISTINCT)
    scores = [document_completion(topics, held_out, doc_topic_prior=COMMON_ALPHA, random_state=i)
              for i in range(SPLITS)]  # fmt: skip
    return [
        float(np.mean(scores)), float(np.mean(topic_coherence(topics, train, n_top_words=DISTINCT))),
        len(np.unique(words)) / np.size(words), float(np.abs(counts.sum(axis=0) - totals).sum() / totals.sum()),
        out["seconds"],
    ]  # fmt: skip


def compare_topics(sources, options, folder):
    """A line for each corpus, number of epochs and revision."""
    heads = "".join(f"{column:>10s}" for column in COLUMNS)
    print(f"{'corpus':14s} {'epochs':>7s} {'revision':10s}{heads}  (se of nats)")
    for name in options.corpora:
        is_drawn = name.split("-")[0] in DRAWN
        train, held_out = drawn(name) if is_drawn else corpus(name, options.documents)
        sparse.save_npz(folder / "train.npz", train), sparse.save_npz(folder / "held_out.npz", held_out)
        label = Path(name).name.removeprefix("docword.").split(".")[0] if Path(name).exists() else name
        n_components = options.components or (10 if is_drawn else 50)
        for epochs in options.epochs:
            rows = {revision: [] for revision in sources}
            for seed in range(options.seeds):
                for revision, source in sources.items():
                    parameters = {"n_components": n_components, "random_state": seed, **options.params}
                    parameters |= {} if epochs is None else {"max_iter": epochs}
                    rows[revision].append(topics_of(source, options.estimator, folder, parameters))
            for revision, found in rows.items():
                values = np.array([row for row in found if row is not None])
                if not len(values):
                    continue
                error = values[:, 0].std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
                numbers = "".join(f"{value:10.3f}" for value in values.mean(axis=0))
                print(f"{label:14s} {epochs!s:>7s} {revision:10s}{numbers}  ({error:.3f})", flush=True)


# -- work in which Python or one thread takes the time


def speed_tasks(data):
    """Name of each row, its task, and its arguments; those of ``data`` need that folder."""
    def of_corpus(name):
        return next((str(path) for path in sorted(Path(data or ".").glob(f"docword.{name}.txt*"))), None)

    titles, abstracts = of_corpus("tweets_t"), of_corpus("arxiv")
    rows = [(f"small tables, {kind}", "small", {"covariance_type": kind}) for kind in ("full", "diag")]
    rows += [("titles, K = 100", "topics", {"path": titles, "n_components": 100})]
    rows += [(f"embeddings, K = {k:,}", "embeddings", {"data": data, "n_components": k}) for k in (1000, 4000)]
    rows += [("labels of embeddings, K = 1,000", "labels", {"data": data, "n_components": 1000})]
    rows += [(f"alone: {kind}", "alone", {"covariance_type": kind}) for kind in ("full", "diag")]
    rows += [("alone: titles", "alone", {"path": titles}), ("alone: abstracts", "alone", {"path": abstracts})]
    rows += [("one epoch, K = 1,000", "first_epoch", {"n_components": 1000})]
    rows += [("memory, K = 1,000", "tables", {"path": abstracts, "n_components": 1000})]
    return [*rows, ("import", "imports", {})]


def compare_speed(sources, options):
    """A line for each row and revision: seconds, the peer's, the ratio of both or what the row counts, and scores."""
    print(f"{'':34s} {'revision':10s}" + "".join(f"{name:>10s}" for name in SPEED))
    for name, task, arguments in speed_tasks(options.data):
        if options.only not in name or None in arguments.values():
            continue
        ends = {revision: [] for revision in sources}
        for _ in range(options.rounds):
            for revision, source in sources.items():
                os.environ["PYTHONPATH"] = str(source)
                ends[revision].append(measured(f"_speed_tasks:{task}", CORES[:1], **arguments))
        for revision, rounds in ends.items():
            known = [field for field, value in rounds[0].items() if value is not None]
            row = {field: statistics.median(each[field] for each in rounds) for field in known}
            if "ratio" not in row and "peer" in row:
                row["ratio"] = row["seconds"] / row["peer"]
            numbers = "".join(f"{row[field]:10.4f}" if field in row else f"{'':>10s}" for field in SPEED)
            print(f"{name:34s} {revision:10s}{numbers}", flush=True)


def compare_estimators(sources, options):
    """A line for each estimator, from several rounds at the revision and here."""
    print(f"{'':32s} {'base':>10s} {'head':>10s} {'ratio':>7s} and noise  memory beyond data   held-out score")
    for task in TASKS:
        if options.only not in task:
            continue
        rounds = [[run(source, task) for source in sources] for _ in range(options.rounds)]
        base, head = ([r for r in side if r is not None] for side in zip(*rounds, strict=True))
        print(row(task, base, head) if base and head else f"{task:32s} in one of them only", flush=True)


def main():
    def epochs(text):
        return None if text == "None" else int(text)

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", nargs="+", help="revisions that git knows; several only with --corpora")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="estimators, or rows of --speed, whose name holds this")
    parser.add_argument("--speed", action="store_true", help="work in which Python or one thread takes the time")
    parser.add_argument("--data", metavar="FOLDER", help="corpora of --speed")
    parser.add_argument("--corpora", nargs="+", help="compare topics of these")
    parser.add_argument("--epochs", nargs="+", type=epochs, default=[1, 5, None])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--components", type=int, help="topics (50; of drawn documents 10)")
    parser.add_argument("--documents", type=int, default=20_000, help="largest number of documents of a file")
    parser.add_argument("--estimator", default="SparseSCVB0LDA")
    parser.add_argument("--params", type=json.loads, default={}, help="other parameters, as JSON")
    options = parser.parse_args()
    if len(options.base) > 1 and not options.corpora:
        parser.error("several revisions need --corpora")
    with tempfile.TemporaryDirectory() as folder:
        sources = {}
        for revision in options.base:
            Path(folder, revision).mkdir(parents=True)
            sources[revision] = build(revision, Path(folder, revision))
        sources["head"] = ROOT
        if options.speed:
            compare_speed(sources, options)
        elif options.corpora:
            compare_topics(sources, options, Path(folder))
        else:
            compare_estimators(list(sources.values()), options)


if __name__ == "__main__":
    main()
