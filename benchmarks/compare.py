"""Time, memory and score of each estimator at another revision and in this folder, in one run: ``make compare``.

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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", help="a revision that git knows")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="estimators whose name holds this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sources = build(options.base, Path(folder)), ROOT
        print(f"{'':32s} {'base':>10s} {'head':>10s} {'ratio':>7s} and noise  memory beyond data   held-out score")
        for task in TASKS:
            if options.only not in task:
                continue
            rounds = [(run(sources[0], task), run(sources[1], task)) for _ in range(options.rounds)]
            base, head = ([r for r in side if r is not None] for side in zip(*rounds, strict=True))
            print(row(task, base, head) if base and head else f"{task:32s} in one of them only", flush=True)


if __name__ == "__main__":
    main()
