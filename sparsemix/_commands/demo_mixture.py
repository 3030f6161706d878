"""Demo of mixtures: hundreds of Gaussians of image patches, compared with L = 1 and with scikit-learn."""

import tempfile
import time
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from sparsemix import SparseGaussianMixture
from sparsemix._commands.console import printable
from sparsemix._estimator.writing import local_path, replacing
from sparsemix.datasets import load_image_patches
from sparsemix.metrics import basis_without_constant, mixture_log_likelihood


def check_picture(output):
    """Raise before the fit if the picture cannot be written."""
    output = local_path(output, "--output")
    if output.is_dir():
        raise IsADirectoryError(f"{output} is a folder; give --output the name of a file.")
    with tempfile.TemporaryFile(dir=output.parent) as probe:
        probe.write(b"can this folder be written to?")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return  # draw() reports the missing package
    kinds = Figure().canvas.get_supported_filetypes()
    if kind_of(output) not in kinds:
        raise ValueError(f"{output} is not the name of an image; end it with one of {', '.join(sorted(kinds))}.")


def kind_of(output):
    """Image format, from the ending of the file name; png if the name has no ending."""
    return Path(output).suffix[1:].lower() or "png"


def run(n_components, n_nonzero, max_iter, n_jobs, output):
    """Fit the three models, print their scores and draw the eigenvectors."""
    patches, held_out = load_image_patches(return_test=True)
    print(f"{len(patches)} patches of 8 x 8 pixels for training, {len(held_out)} held out")

    def fit(n_nonzero, verbose):
        mixture = SparseGaussianMixture(
            n_components, n_nonzero=n_nonzero, covariance_type="zero_mean", max_iter=max_iter, n_jobs=n_jobs,
            verbose=verbose, random_state=0,
        )  # fmt: skip
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            mixture.fit(patches)
        return mixture, time.perf_counter() - start

    mixture, seconds = fit(n_nonzero, verbose=5)
    print("the same with one responsibility per row ...", flush=True)
    hard, hard_seconds = fit(1, verbose=0)
    print("scikit-learn's GaussianMixture for the same number of seconds ...", flush=True)
    rival, rival_epochs, rival_seconds = fit_scikit_learn(patches, n_components, seconds)

    basis = basis_without_constant(patches.shape[1])
    rows = [
        (f"SparseGaussianMixture, L={n_nonzero}", mixture, mixture.n_iter_, seconds),
        ("SparseGaussianMixture, L=1", hard, hard.n_iter_, hard_seconds),
        ("scikit-learn GaussianMixture", rival, rival_epochs, rival_seconds),
    ]
    title = f"K={n_components}"
    print(f"\n{title:32s} {'epochs':>7s} {'seconds':>8s} {'s/epoch':>7s}  held-out log-likelihood per patch")
    for name, model, epochs, spent in rows:
        score = mixture_log_likelihood(held_out, model.weights_, model.means_, model.covariances_, basis=basis)
        print(f"{name:32s} {epochs:7d} {spent:8.1f} {spent / epochs:7.2f}  {score:.3f}")
    draw(mixture, output)


def fit_scikit_learn(patches, n_components, seconds):
    """Fit scikit-learn's mixture, epoch by epoch, until ``seconds`` are over."""
    model = GaussianMixture(n_components, reg_covar=1e-5, max_iter=1, tol=0.0, warm_start=True, random_state=0)
    epochs, start = 0, time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        while epochs == 0 or time.perf_counter() - start < seconds:
            model.fit(patches)
            epochs += 1
    return model, epochs, time.perf_counter() - start


def draw(mixture, output):
    """Draw the leading eigenvectors, if matplotlib is installed."""
    try:
        from sparsemix.plotting import plot_eigenvectors

        figure = plot_eigenvectors(mixture, (8, 8))
    except ImportError:
        print("\nno picture: matplotlib is missing (pip install 'sparsemix[plot]')")
        return
    with replacing(output) as file:
        figure.savefig(file, format=kind_of(output), dpi=150)
    print(f"\nleading eigenvectors of the largest components: {printable(output)}")
