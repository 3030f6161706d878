"""Demo: compare a mixture and a topic model with scikit-learn's, on the same rows and in the same time."""

import time
import warnings
from itertools import cycle

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.utils import check_random_state, gen_batches
from threadpoolctl import threadpool_limits

import sparsemix
from sparsemix import SparseGaussianMixture, SparseLDA
from sparsemix.datasets import load_docstrings, load_image_patches
from sparsemix.extend import local_path, replacing
from sparsemix.metrics import basis_without_constant, distinctive_words, document_completion, mixture_log_likelihood
from sparsemix.texts._commands.console import printable, status_of_interrupt

N_HELD_OUT, N_SHOWN, BATCH, WIDTH = 600, 8, 512, 80
# What the parts learn, and their seconds on two idle cores.
PARTS = {"mixture": ("a mixture of image patches", 30), "topics": ("topics of docstrings", 15)}


def run(options, parser):
    """Run the chosen parts, then print one summary. Wrong options and missing packages print one line and exit with
    status 2."""
    parts = [part for part in (mixture, topics) if options.only in (None, part.__name__)]
    try:
        output = checked_output(options.output)  # wrong names are refused before the fit
        announce(parts)
        found = [part(options) for part in parts]
        print(f"\n{'Held-out log-likelihood: higher is better':47s} epochs  seconds  score")
        for table, _ in found:
            print("\n".join(table))
        for _, conclude in reversed(found):  # the place of the picture is the last line
            conclude(output)
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        parser.exit(status_of_interrupt(), f"{parser.prog}: interrupted\n")


def checked_output(name):
    """The absolute path of the picture, for which there is a folder."""
    output = local_path(name, "--output")
    if output.is_dir() or not output.parent.is_dir():
        raise ValueError(f"{output} cannot be written; give --output the name of an image in a folder that exists.")
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:  # then there is no picture
        return output.absolute()
    if kind_of(output) not in (kinds := FigureCanvasBase.get_supported_filetypes()):
        raise ValueError(f"{output} cannot be written; give --output one of the endings .{', .'.join(sorted(kinds))}.")
    return output.absolute()


def kind_of(output):
    """The kind of picture that a name asks for."""
    return output.suffix[1:].lower() or "png"


def announce(parts):
    """Say what follows, and how long it takes."""
    learned, seconds = zip(*(PARTS[part.__name__] for part in parts), strict=True)
    print(f"Learns {' and '.join(learned)}; compares scores with")
    print(f"scikit-learn's after equal time. Defaults take about {sum(seconds)} s on two idle cores.\n", flush=True)


def mixture(options):
    """Hundreds of Gaussians of image patches, compared with L = 1 and with scikit-learn: rows of the table, and what
    shows the result."""
    patches, held_out = load_image_patches(return_test=True)
    print(f"{len(patches):,} patches of 8 x 8 pixels for training, {len(held_out):,} held out", flush=True)

    def fit(n_nonzero, verbose):
        model = SparseGaussianMixture(
            options.n_components, n_nonzero=n_nonzero, covariance_type="zero_mean", max_iter=options.max_iter,
            n_jobs=options.n_jobs, verbose=verbose, random_state=0,
        )  # fmt: skip
        model._stop_after = options.seconds
        return model, *timed(lambda: model.fit(patches).n_iter_)

    model, epochs, seconds = fit(options.n_nonzero, 5)
    print("the same with one responsibility per row ...", flush=True)
    hard = fit(1, 0)
    print(f"scikit-learn's GaussianMixture for the same {seconds:.1f} seconds ...", flush=True)
    rival = GaussianMixture(
        options.n_components, reg_covar=1e-5, tol=0.0, warm_start=True, random_state=0
    )
    with threadpool_limits(effective_n_jobs(options.n_jobs)):
        other = rival, *timed(lambda: epochs_until(seconds, rival, patches))
    rows = [
        (f"SparseGaussianMixture, L={options.n_nonzero} Gaussians a patch", model, epochs, seconds),
        ("SparseGaussianMixture, L=1 Gaussian a patch", *hard), ("scikit-learn GaussianMixture", *other),
    ]  # fmt: skip
    basis = basis_without_constant(patches.shape[1])
    title = f"{options.n_components} Gaussians of {len(patches):,} image patches"
    table = compared(title, "nats per patch", rows, lambda found: mixture_log_likelihood(
        held_out, found.weights_, found.means_, found.covariances_, basis=basis
    ))  # fmt: skip
    return table, lambda output: draw(model, output)


def topics(options):
    """Docstrings of numpy, scipy and scikit-learn, compared with scikit-learn's LDA: rows of the table, and what shows
    the result."""
    print("reading the docstrings of numpy, scipy and scikit-learn ...", flush=True)
    docstrings = load_docstrings()
    order = check_random_state(0).permutation(docstrings.data.shape[0])
    X, X_held_out = docstrings.data[order[N_HELD_OUT:]], docstrings.data[order[:N_HELD_OUT]]
    print(f"{X.shape[0]:,} docstrings with {X.shape[1]:,} words for training, {N_HELD_OUT} held out", flush=True)
    model = SparseLDA(
        options.n_topics, n_nonzero=options.n_topics_of_a_word, max_iter=10_000, n_jobs=options.n_jobs, verbose=5,
        random_state=0,
    )  # fmt: skip
    model._stop_after = options.seconds
    epochs, seconds = timed(lambda: model.fit(X).n_iter_)
    print(f"scikit-learn's LatentDirichletAllocation for the same {seconds:.1f} seconds ...", flush=True)
    rival = LatentDirichletAllocation(
        options.n_topics, learning_method="online", batch_size=BATCH, total_samples=X.shape[0], n_jobs=options.n_jobs,
        random_state=0,
    )  # fmt: skip
    clone(rival).partial_fit(X[:BATCH])  # starts the worker processes before the clock
    batches = [X[rows] for rows in gen_batches(X.shape[0], BATCH)]
    n, spent = timed(lambda: until(seconds, ((lambda rows=rows: rival.partial_fit(rows)) for rows in cycle(batches))))
    rows = [
        (f"SparseLDA, L={options.n_topics_of_a_word} topics a word", model, epochs, seconds),
        ("scikit-learn LDA, online", rival, n / len(batches), spent),
    ]
    table = compared(f"{options.n_topics} topics of {X.shape[0]:,} docstrings", "nats per token", rows, lambda found: (
        document_completion(found, X_held_out)
    ))  # fmt: skip
    weights = np.asarray(X.sum(axis=1)).ravel() @ model.transform(X) / X.sum()
    words = distinctive_words(model.components_, 8)

    def conclude(_):
        largest = np.argsort(-weights, kind="stable")[:N_SHOWN]
        print(f"\nThe largest {len(largest)} topics: share of all words, most distinctive words")
        for k in largest:
            print(f"{weights[k]:6.1%}  {' '.join(docstrings.feature_names[words[k]])}"[:WIDTH])

    return table, conclude


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


def epochs_until(seconds, mixture, rows):
    """Fit scikit-learn's mixture until the time is over; its number of epochs.

    A call cannot be stopped, and computes all responsibilities once more than it has epochs. So each call has as many
    epochs as the last one says will fit.
    """
    now, n, epochs = time.perf_counter(), 0, 1
    end = now + seconds
    while now < end:
        start = now
        mixture.set_params(max_iter=epochs).fit(rows)
        now, n = time.perf_counter(), n + epochs
        epochs = max(1, round((end - now) * epochs / (now - start)))
    return n


def compared(title, unit, rows, score):
    """Lines of the table: a title with the unit of the scores; the epochs, seconds and score of each model."""
    return [f"{title:64s}{unit}"] + [
        f"  {name:44s}{epochs:8.1f}{seconds:9.1f}  {score(model):.3f}" for name, model, epochs, seconds in rows
    ]


def draw(mixture, output):
    """Draw the leading eigenvectors, if matplotlib is installed."""
    try:
        figure = sparsemix.plotting.plot_eigenvectors(mixture, (8, 8))
    except ImportError:
        print("\nno picture: matplotlib is missing (pip install 'sparsemix[plot]')")
        return
    figure.suptitle(
        f"The largest of {len(mixture.weights_)} Gaussians of 8 x 8 patches of photographs, one a row:\n"
        "weight and variance, then the directions in which its patches vary most", fontsize=9,
    )  # fmt: skip
    with replacing(output) as file:
        figure.savefig(file, format=kind_of(output), dpi=150)
    print(f"\nPicture of the largest Gaussians:\n{printable(output)}")
