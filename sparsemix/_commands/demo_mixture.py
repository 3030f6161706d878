"""Demo of mixtures: hundreds of Gaussians of image patches, one responsibility a row, scikit-learn."""

import tempfile
import time
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from sparsemix import SparseGaussianMixture
from sparsemix._commands.console import printable
from sparsemix._estimator.writing import replacing
from sparsemix.datasets import load_image_patches
from sparsemix.metrics import basis_without_constant, mixture_log_likelihood


def check_picture(output):
    """Before anything is learned: whether the picture can be written."""
    output = Path(output)
    if output.is_dir():
        raise IsADirectoryError(f"{output} is a folder; name a file by --output.")
    with tempfile.TemporaryFile(dir=output.parent) as probe:
        probe.write(b"can this folder be written to?")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return  # which is told in its place
    kinds = Figure().canvas.get_supported_filetypes()
    if kind_of(output) not in kinds:
        raise ValueError(f"{output} ends with no kind of picture; there are {', '.join(sorted(kinds))}.")


def kind_of(output):
    """What the name of a picture ends with, or png."""
    return Path(output).suffix[1:].lower() or "png"


def run(n_components, n_nonzero, max_iter, n_jobs, output):
    """Fit, compare and draw."""
    patches, held_out = load_image_patches(return_test=True)
    print(f"{len(patches)} patches of 8 x 8 pixels to learn from, {len(held_out)} held out")

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
    print("the same with one responsibility a row ...", flush=True)
    hard, hard_seconds = fit(1, verbose=0)
    print("scikit-learn's GaussianMixture for the same time ...", flush=True)
    rival, rival_passes, rival_seconds = fit_scikit_learn(patches, n_components, seconds)

    basis = basis_without_constant(patches.shape[1])
    rows = [
        (f"SparseGaussianMixture, L={n_nonzero}", mixture, mixture.n_iter_, seconds),
        ("SparseGaussianMixture, L=1", hard, hard.n_iter_, hard_seconds),
        ("scikit-learn GaussianMixture", rival, rival_passes, rival_seconds),
    ]
    title = f"K={n_components}"
    print(f"\n{title:32s} {'passes':>7s} {'seconds':>8s} {'s/pass':>7s}  held-out log-likelihood a patch")
    for name, model, passes, spent in rows:
        score = mixture_log_likelihood(held_out, model.weights_, model.means_, model.covariances_, basis=basis)
        print(f"{name:32s} {passes:7d} {spent:8.1f} {spent / passes:7.2f}  {score:.3f}")
    draw(mixture, output)


def fit_scikit_learn(patches, n_components, seconds):
    """scikit-learn's mixture after as many passes as begin within ``seconds``."""
    model = GaussianMixture(n_components, reg_covar=1e-5, max_iter=1, tol=0.0, warm_start=True, random_state=0)
    passes, start = 0, time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        while passes == 0 or time.perf_counter() - start < seconds:
            model.fit(patches)
            passes += 1
    return model, passes, time.perf_counter() - start


def draw(mixture, output):
    """The picture, where matplotlib is installed."""
    try:
        from sparsemix.plotting import plot_eigenvectors

        figure = plot_eigenvectors(mixture, (8, 8))
    except ImportError:
        print("\nno picture: matplotlib is missing (pip install 'sparsemix[plot]')")
        return
    with replacing(output) as file:
        figure.savefig(file, format=kind_of(output), dpi=150)
    print(f"\nleading eigenvectors of the largest components: {printable(output)}")
