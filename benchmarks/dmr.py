"""Topics with covariates of documents: SparseDMR next to tomotopy's DMRModel and to topics without covariates.

python benchmarks/dmr.py --data docword.20news.txt.gz --K 50
python benchmarks/dmr.py --quick       documents that are drawn, with known effects
python benchmarks/dmr.py --recovery    known coefficients by SparseDMR alone, 20 simulations each; with --quick 4

The first field of a line of the file of labels, up to a dot, is the group of a document, the only covariate. A tenth
of the documents, and at most 1,000, scores the topics by document completion under the prior of their group ("nats"),
and under one prior ("alone"). Documents that are drawn have 10 topics and four groups; "error" is the mean absolute
error of the differences of log alpha between groups, over the topics that a contestant has found (within .5 in total
variation), and "found" their number. Seconds are CPU seconds of training on one core.
"""

import gzip
from pathlib import Path

import numpy as np
from _measure import CORES, attempt
from _results import parser_of, recorder

MOST, TOPICS, GROUPS = 1000, 10, 4
# First seed of documents with known coefficients; the method was chosen on smaller ones.
FRESH = 100
# Iterations of tomotopy, whose DMRModel updates its coefficients every 10 (optim_interval=10, burn_in=0, its defaults).
ITERATIONS = 100, 400
# Documents, topics, covariates and intercept of simulations with known coefficients.
RECOVERED = [
    (200, 2, 1, -1.0), (200, 2, 1, 0.0), (200, 3, 3, -1.0), (200, 3, 5, -1.0),
    (1000, 2, 1, -1.0), (1000, 2, 1, 0.0), (1000, 5, 3, -1.0), (1000, 5, 5, -1.0),
]  # fmt: skip


def drawn(seed=0, n=6000, n_words=800, length=30):
    """Counts, groups, topics and log alpha of documents with known effects."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.05), TOPICS)
    logs = np.log(0.15) + 0.8 * rng.standard_normal((GROUPS, TOPICS))
    groups = rng.integers(GROUPS, size=n)
    X = np.array([rng.multinomial(length, rng.dirichlet(np.exp(logs[g])) @ topics) for g in groups], dtype=np.float32)
    return X, groups, topics, logs


def corpus(data, documents=None):
    """Counts and groups to learn from, and to score, of the first documents."""
    from scipy import sparse

    from sparsemix.datasets import load_bag_of_words

    if data is None:
        X, groups, *_ = drawn()
    else:
        X, path = load_bag_of_words(data).data, Path(data)
        names = path.name.replace("docword.", "labels.").removesuffix(".gz")
        path = path.with_name(names) if path.with_name(names).exists() else path.with_name(f"{names}.gz")
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
            groups = [line.split()[0].partition(".")[0] for line in file]
        X, groups = X[:documents], np.unique(groups[:documents], return_inverse=True)[1]
    X, held_out = sparse.csr_matrix(X), np.zeros(X.shape[0], dtype=bool)
    held_out[np.random.default_rng(0).permutation(len(held_out))[: min(MOST, len(held_out) // 10)]] = True
    return X[~held_out], groups[~held_out], X[held_out], groups[held_out]


def judged(topics, priors, mean, data, seconds):
    """Scores of topics (K, V); ``priors`` are those of the groups (G, K), ``mean`` is one for all."""
    from scipy.optimize import linear_sum_assignment

    from sparsemix.metrics import document_completion

    *_, X, groups = corpus(*data)
    scores = {
        "seconds": seconds,
        "nats": document_completion(topics, X, doc_topic_prior=priors[groups]),
        "alone": document_completion(topics, X, doc_topic_prior=mean),
    }
    if data[0] is None:
        _, _, truth, logs = drawn()
        far = 0.5 * np.abs(truth[:, None] - (topics / topics.sum(axis=1, keepdims=True))[None]).sum(axis=2)
        known, place = linear_sum_assignment(far)
        met = far[known, place] < 0.5
        error = (np.log(priors[:, place]) - logs)[:, met]
        scores |= {"found": int(met.sum()), "error": float(np.abs(error - error.mean(axis=0)).mean())}
    return scores


def by_ours(name, n_components, seed, data):
    """SparseDMR, or SparseSCVB0LDA, with its defaults."""
    from _measure import spent

    import sparsemix

    X, groups, *_ = corpus(*data)
    covariates = np.eye(groups.max() + 1)
    given = {"covariates": covariates[groups]} if name == "SparseDMR" else {}
    model = getattr(sparsemix, name)(n_components, random_state=seed, n_jobs=1)
    model, seconds = spent(lambda: model.fit(X, **given))
    mean = model.doc_topic_prior_
    priors = model.prior_of(covariates) if given else np.tile(mean, (len(covariates), 1))
    return judged(model.components_, priors, mean, data, seconds)


def by_tomotopy(iterations, n_components, seed, data):
    """DMRModel with its defaults."""
    import tomotopy
    from _measure import spent

    X, groups, *_ = corpus(*data)
    model = tomotopy.DMRModel(k=n_components, seed=1 + seed)
    for row, group in zip(X, groups, strict=True):
        words = np.repeat(row.indices, row.data.astype(int))
        model.add_doc([str(v) for v in words], metadata=str(group))
    _, seconds = spent(lambda: model.train(iterations, workers=1, parallel=tomotopy.ParallelScheme.NONE))
    topics = np.zeros((n_components, X.shape[1]))
    topics[:, [int(word) for word in model.used_vocabs]] = [
        model.get_topic_word_dist(k) for k in range(n_components)
    ]
    priors = np.array([model.get_topic_prior(str(g)) for g in range(groups.max() + 1)])
    mean = np.bincount(groups) @ priors / len(groups)
    return judged(topics, priors, mean, data, seconds)


def simulated(n, n_topics, n_covariates, intercept, seed, n_words=60, length=40):
    """Counts, covariates, topics and coefficients of documents; every second covariate is zero or one."""
    rng = np.random.default_rng(seed)
    topics, x = rng.dirichlet(np.full(n_words, 0.1), n_topics), rng.standard_normal((n, n_covariates))
    x[:, 1::2] = rng.integers(2, size=x[:, 1::2].shape)
    coef = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], size=(n_topics, n_covariates))
    coef = np.array([[1.0], [-1.0]]) if (n_topics, n_covariates) == (2, 1) else coef
    shares = np.array([rng.dirichlet(alpha) for alpha in np.exp(intercept + x @ coef.T)])
    return np.array([rng.multinomial(length, share @ topics) for share in shares]), x, topics, coef


def standard_errors(counts, x, topics, coefficients, n_draws=40, burn_in=20):
    """Of coefficients (P, K), at the truth with true topics: the information of the Dirichlet-multinomial regression on
    topics of tokens, less that lost because these are not known (Louis 1982). What topics lose is not in them."""
    from scipy import sparse

    from sparsemix._models.topics.covariates.count_regression import CountRegression
    from sparsemix.topics._covariates.chain import Tokens

    n, tokens = len(x), Tokens(sparse.csr_array(counts), len(topics))
    table, alpha = np.ascontiguousarray(topics.T + 1e-300), np.exp(x @ coefficients)
    slopes, curves, units = [], [], np.eye(coefficients.size).reshape(-1, *coefficients.shape)
    for step in range(burn_in + n_draws):
        tokens.draw(alpha, table, np.arange(n), 1, step)
        if step >= burn_in:
            found = sparse.csr_array(tokens.of_topics().astype(float))
            flat = np.zeros(coefficients.shape), np.zeros(len(coefficients))
            regression = CountRegression(x, np.arange(n), found, np.ones(n), *flat)
            slope, _, *parts = regression.expand(coefficients)
            slopes.append(slope.ravel())
            curves.append([regression.product(unit, *parts).ravel() for unit in units])
    covariance = np.linalg.inv(np.mean(curves, axis=0) - np.cov(np.transpose(slopes)))
    return np.sqrt(np.diag(covariance)).reshape(coefficients.shape)


def recovery(n_simulations):
    """Print how near coefficients of default fits come to known ones, over simulations whose topics were found."""
    from time import process_time
    from warnings import catch_warnings

    from scipy.optimize import linear_sum_assignment

    from sparsemix import SparseDMR

    print("documents topics covariates intercept found  within 2 s.e.  rms/s.e.  slope  s.e.  warned  CPU s")
    for setting in RECOVERED:
        n, n_topics, n_covariates, intercept = setting
        scores, slopes, sizes, seconds, warned = [], [], [], [], 0
        for seed in range(n_simulations):
            counts, x, topics, coef = simulated(*setting, FRESH + seed)
            with catch_warnings(record=True) as caught:
                started = process_time()
                model = SparseDMR(n_topics, random_state=seed, n_jobs=1).fit(counts, covariates=x)
                seconds.append(process_time() - started)
            warned += any("coef_" in str(warning.message) for warning in caught)
            far = 0.5 * np.abs(topics[:, None] - model.topic_word_distribution_[None]).sum(axis=2)
            known, place = linear_sum_assignment(far)
            if far[known, place].max() > 0.3:
                continue
            truth = np.vstack([np.full(n_topics, intercept), coef.T])
            error = standard_errors(counts, np.column_stack([np.ones(n), x]), topics, truth)[1:].T
            scores += ((model.coef_[place] - coef) / error).ravel().tolist()
            slopes.append((model.coef_[place] * coef).sum() / (coef**2).sum())
            sizes.append(error.mean())
        z = np.abs(scores)
        print(
            f"{n:9d} {n_topics:6d} {n_covariates:10d} {intercept:9.1f} {len(sizes):5d} {np.mean(z < 2.0):14.3f}"
            f"{np.sqrt(np.mean(z**2)):10.2f} {np.mean(slopes):6.3f} {np.mean(sizes):5.2f} {warned:7d}"
            f" {np.median(seconds):6.2f}",
            flush=True,
        )


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, help="file of counts in UCI format, with a file of labels next to it")
    parser.add_argument("--K", type=int, default=50)
    parser.add_argument("--documents", type=int, help="only so many")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--iterations", type=int, nargs="*", default=ITERATIONS)
    parser.add_argument("--quick", action="store_true", help="one seed, fewer iterations")
    parser.add_argument("--recovery", action="store_true", help="known coefficients only")
    args = parser.parse_args()
    if args.recovery:
        recovery(4 if args.quick else 20)
        return
    record, data = recorder(args), (args.data and str(args.data), args.documents)
    X, groups, *_ = corpus(*data)
    n_components = TOPICS if args.data is None else args.K
    name = "drawn" if args.data is None else args.data.name.removeprefix("docword.").partition(".")[0]
    name += f", {X.shape[0]:,} documents, {groups.max() + 1} groups"
    tasks = [(each, "by_ours", {"name": each}) for each in ("SparseDMR", "SparseSCVB0LDA")]
    for iterations in args.iterations[:1] if args.quick else args.iterations:
        tasks.append((f"tomotopy DMRModel, {iterations} iterations", "by_tomotopy", {"iterations": iterations}))
    for label, task, arguments in tasks:
        for seed in range(1 if args.quick else args.seeds):
            found = attempt(
                f"{label}, seed {seed}", f"dmr:{task}", CORES[-1:], n_components=n_components, seed=seed, data=data,
                **arguments,
            )  # fmt: skip
            if found is None:
                continue
            seconds = found.pop("seconds")
            record.add(
                "dmr", name, split="a tenth of the documents", estimator=label.partition(",")[0], label=label,
                parameters={"n_components": n_components}, prior="defaults", seed=seed,
                scores={key: round(value, 4) for key, value in found.items()}, seconds=round(seconds, 2),
            )  # fmt: skip


if __name__ == "__main__":
    main()
