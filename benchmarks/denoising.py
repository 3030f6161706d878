"""Denoising by a mixture of patches, compared with BM3D and non-local means: PSNR and CPU seconds of five pictures.

python benchmarks/denoising.py                     pictures of scikit-image (pip install bm3d scikit-image)
python benchmarks/denoising.py --size 128 --pictures camera

The mixture learns patches of scikit-learn's two photographs, once for all pictures. Pictures are grey, their middle
SIZE x SIZE pixels, with normal noise of standard deviation 25 of 255 grey levels.
"""

import tempfile
from pathlib import Path

from _measure import CORES, attempt, run
from _results import by_commas, figures, parser_of, recorder

PICTURES = "camera", "astronaut", "coins", "coffee", "chelsea"
METHODS = {"sparsemix": "SparseGaussianMixture", "sparsemix, EPLL": "SparseGaussianMixture", "BM3D": "BM3D",
           "non-local means": "denoise_nl_means"}  # fmt: skip


def main():
    options = parse()
    record = recorder(options)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "mixture.npz"))
        seconds = run("_denoising_tasks:learn", CORES[:1], n_components=options.n_components, n_rows=options.rows,
                      out=path)  # fmt: skip
        parameters = {"n_components": options.n_components, "n_rows": options.rows}
        record.add("denoising", "patches of china and flower", "SparseGaussianMixture", {}, label="learning", seed=0,
                   parameters=parameters, seconds=seconds)  # fmt: skip
        for picture in options.pictures:
            for label, estimator in METHODS.items():
                found = attempt(f"{picture}, {label}", "_denoising_tasks:measure", CORES[:1], picture=picture,
                                method=label, size=options.size, path=path)  # fmt: skip
                if found:
                    record.add(
                        "denoising", f"{picture}, {options.size} x {options.size}", estimator,
                        figures(found, without=["seconds"]), label=label, seed=0, seconds=found["seconds"],
                        parameters=parameters if estimator == "SparseGaussianMixture" else {},
                    )  # fmt: skip


def parse(arguments=None):
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("--pictures", type=by_commas(), default=list(PICTURES), help="some of: " + ", ".join(PICTURES))
    add("--size", type=int, default=256, help="pixels of a side (default: %(default)s)")
    add("--K", type=int, default=100, dest="n_components", help="components (default: %(default)s)")
    add("--rows", type=int, default=40_000, help="patches to learn from (default: %(default)s)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
