"""Demo: compare a mixture and a topic model with scikit-learn's, on the same rows and in the same time."""

import time
import warnings
from itertools import cycle

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.utils import check_random_state, gen_batches

from sparsemix import SparseGaussianMixture, SparseLDA
from sparsemix._commands.console import printable, status_of_interrupt
from sparsemix._estimator.writing import local_path, replacing
from sparsemix.datasets import load_docstrings, load_image_patches
from sparsemix.metrics import basis_without_constant, distinctive_words, document_completion, mixture_log_likelihood

N_HELD_OUT, N_SHOWN, BATCH = 600, 12, 512


def run(options, parser):
    """Run the chosen parts. Wrong options and missing packages print one line and exit with status 2."""
    try:
        if options.only != "topics":
            mixture(options)
        if options.only != "mixture":
            topics(options)
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        parser.exit(status_of_interrupt(), f"{parser.prog}: interrupted\n")


def mixture(options):
    """Hundreds of Gaussians of image patches, compared with L = 1 and with scikit-learn."""
    output = local_path(options.output, "--output")  # wrong names are refused before the fit
    if output.is_dir() or not output.parent.is_dir():
        raise ValueError(f"{output} cannot be written; give --output the name of an image in a folder that exists.")
    patches, held_out = load_image_patches(return_test=True)
    print(f"{len(patches)} patches of 8 x 8 pixels for training, {len(held_out)} held out")

    def fit(n_nonzero, verbose):
        model = SparseGaussianMixture(
            options.n_components, n_nonzero=n_nonzero, covariance_type="zero_mean", max_iter=options.max_iter,
            n_jobs=options.n_jobs, verbose=verbose, random_state=0,
        )  # fmt: skip
        return model, *timed(lambda: model.fit(patches).n_iter_)

    model, epochs, seconds = fit(options.n_nonzero, 5)
    print("the same with one responsibility per row ...", flush=True)
    hard = fit(1, 0)
    print("scikit-learn's GaussianMixture for the same number of seconds ...", flush=True)
    rival = GaussianMixture(
        options.n_components, reg_covar=1e-5, max_iter=1, tol=0.0, warm_start=True, random_state=0
    )
    other = rival, *timed(lambda: until(seconds, (lambda: rival.fit(patches) for _ in cycle([0]))))
    rows = [
        (f"SparseGaussianMixture, L={options.n_nonzero}", model, epochs, seconds),
        ("SparseGaussianMixture, L=1", *hard), ("scikit-learn GaussianMixture", *other),
    ]  # fmt: skip
    basis = basis_without_constant(patches.shape[1])
    compare(options.n_components, rows, "held-out log-likelihood per patch", lambda found: mixture_log_likelihood(
        held_out, found.weights_, found.means_, found.covariances_, basis=basis
    ))  # fmt: skip
    draw(model, output)


def topics(options):
    """Docstrings of numpy, scipy and scikit-learn, compared with scikit-learn's LDA."""
    docstrings = load_docstrings()
    order = check_random_state(0).permutation(docstrings.data.shape[0])
    X, X_held_out = docstrings.data[order[N_HELD_OUT:]], docstrings.data[order[:N_HELD_OUT]]
    print(f"{X.shape[0]} docstrings with {X.shape[1]} words for training, {N_HELD_OUT} held out", flush=True)
    model = SparseLDA(
        options.n_topics, n_nonzero=options.n_topics_of_a_word, max_iter=10_000, n_jobs=options.n_jobs, verbose=5,
        random_state=0,
    )  # fmt: skip
    model._stop_after = options.seconds
    epochs, seconds = timed(lambda: model.fit(X).n_iter_)
    print("scikit-learn's LatentDirichletAllocation for the same number of seconds ...", flush=True)
    rival = LatentDirichletAllocation(
        options.n_topics, learning_method="online", batch_size=BATCH, total_samples=X.shape[0], n_jobs=options.n_jobs,
        random_state=0,
    )  # fmt: skip
    clone(rival).partial_fit(X[:BATCH])  # starts the worker processes before the clock
    batches = [X[rows] for rows in gen_batches(X.shape[0], BATCH)]
    n, spent = timed(lambda: until(seconds, ((lambda rows=rows: rival.partial_fit(rows)) for rows in cycle(batches))))
    rows = [
        (f"SparseLDA, L={options.n_topics_of_a_word}", model, epochs, seconds),
        ("scikit-learn LDA, online", rival, n / len(batches), spent),
    ]
    compare(options.n_topics, rows, "held-out log-likelihood per token", lambda found: document_completion(
        found, X_held_out
    ))  # fmt: skip
    weights = np.asarray(X.sum(axis=1)).ravel() @ model.transform(X) / X.sum()
    words = distinctive_words(model.components_, 8)
    print(f"\nlargest {N_SHOWN} of {len(weights)} topics: share of tokens, most distinctive words")
    for k in np.argsort(-weights, kind="stable")[:N_SHOWN]:
        print(f"{weights[k]:6.1%}  {' '.join(docstrings.feature_names[words[k]])}")


def timed(fit):
    """What a fit returns, and its seconds."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(), time.perf_counter() - start


def until(seconds, steps):
    """Take steps until the time is over, and at least one; their number."""
    end = time.perf_counter() + seconds
    for n, step in enumerate(steps, start=1):
        step()
        if time.perf_counter() >= end:
            return n


def compare(n_components, rows, label, score):
    """Print the epochs, seconds and scores of models."""
    title = f"K={n_components}"
    print(f"\n{title:32s} {'epochs':>7s} {'seconds':>8s}  {label}")
    for name, model, epochs, seconds in rows:
        print(f"{name:32s} {epochs:7.1f} {seconds:8.1f}  {score(model):.3f}")


def draw(mixture, output):
    """Draw the leading eigenvectors, if matplotlib is installed."""
    try:
        from sparsemix.plotting import plot_eigenvectors

        figure = plot_eigenvectors(mixture, (8, 8))
    except ImportError:
        print("\nno picture: matplotlib is missing (pip install 'sparsemix[plot]')")
        return
    with replacing(output) as file:
        figure.savefig(file, format=output.suffix[1:].lower() or "png", dpi=150)
    print(f"\nleading eigenvectors of the largest components: {printable(output)}\n")
