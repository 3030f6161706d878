"""Advice of docstrings, measured: a row follows the advice, and names the figure that must move.

python benchmarks/advice.py                     all rows, eight seeds each: minutes
python benchmarks/advice.py --only SparseLDA    rows whose estimator, parameter or words contain this
python benchmarks/advice.py --quick             two seeds

A seed draws or splits the data, and seeds both fits. Advice holds if the mean difference has the right sign and is
larger than two of its standard errors. ``tests/benchmarks/test_advice.py`` finds the imperative sentences of all
docstrings, and requires rows that hold.
"""

import time
import warnings
from statistics import mean, stdev
from typing import NamedTuple

import _advice_data
from _advice_data import FIGURES
from _results import parser_of, recorder
from threadpoolctl import threadpool_limits

import sparsemix

DEFAULTS = {}


class Advice(NamedTuple):
    """Set ``parameter`` of ``estimator`` to ``advised``: ``figure`` of fits to ``data`` must grow (1) or fall (-1)."""

    words: str  # with which the sentence begins
    estimator: str
    parameter: str
    advised: object
    data: str
    figure: str
    sign: int
    others: dict = DEFAULTS  # of both fits, the base value too unless it is the default; "block": rows of a call


TOPICS = ("SparseLDA", "SparseSCVB0LDA", "CollapsedLDA")
TWENTY, FIFTY = {"n_components": 20}, {"n_components": 50}
VB = {**TWENTY, "inference": "vb"}
COUNTS, CHAIN = {"likelihood": "multinomial"}, {"max_iter": 20}
MIXTURES = {
    "SparseGaussianMixture": "overlapping_blobs", "SparseVonMisesFisherMixture": "directions",
    "SparseMultinomialMixture": "fewer_docstrings", "SparseBernoulliMixture": "dark_pixels",
    "SparseMixedMixture": "blobs_with_flags",
}  # fmt: skip
ROWS = [
    # topics
    *(Advice("Raise it to give documents more topics.", name, "doc_topic_prior", 1.0, "docstrings",
             "topics of a document", 1, TWENTY) for name in TOPICS),
    Advice("use it if some topics are in most documents.", "CollapsedLDA", "doc_topic_prior", "learned",
           "common_topics", "held-out words", 1, TWENTY),
    *(Advice("Raise it to give topics more words.", name, "topic_word_prior", 0.1, "docstrings",
             "words of a topic", 1, TWENTY) for name in TOPICS),
    Advice("Lower it to 2 to save time;", "SparseLDA", "n_nonzero", 2, "docstrings", "processor seconds", -1, FIFTY),
    Advice("1 gives lower held-out scores.", "SparseLDA", "n_nonzero", 1, "docstrings", "held-out words", -1, FIFTY),
    Advice("Set 5 for better held-out scores:", "SparseLDA", "n_restarts", 5, "docstrings", "held-out words", 1, FIFTY),
    Advice("Set False for a higher bound", "SparseLDA", "warm_documents", False, "docstrings", "bound", 1, FIFTY),
    Advice("Lower it to 0.05 to compare with [1]_: the bound fell", "SparseLDA", "doc_update_tol", 0.05, "docstrings",
           "bound", -1, FIFTY),
    Advice("Lower it to learn more in the first epochs, if batches still have tokens of every topic.", "SparseLDA",
           "batch_size", 250, "docstrings", "bound", 1, {**TWENTY, "max_iter": 3}),
    Advice("Raise it to give words more topics.", "SkipGramTopicModel", "input_topic_prior", 1.0,
           "docstrings_in_order", "topics of a word", 1, TWENTY),
    Advice("Raise it to give topics more words.", "SkipGramTopicModel", "topic_word_prior", 1.0,
           "docstrings_in_order", "words of a topic", 1, TWENTY),
    # mixtures
    *(Advice("Raise it while the held-out ``score`` increases;", name, "n_nonzero", 4, data, "held-out score", 1,
             {**TWENTY, "n_nonzero": 1}) for name, data in MIXTURES.items()),
    *(Advice("lower it to save time.", name, "n_nonzero", 1, data, "processor seconds", -1, FIFTY)
      for name, data in MIXTURES.items()),
    *(Advice("Raise it for more even weights.", name, "weight_concentration_prior", 10.0, data, "even weights", 1, VB)
      for name, data in (MIXTURES | {"SparseGaussianMixture": "diabetes"}).items()),
    Advice("Use it for rows of hundreds of numbers.", "SparseGaussianMixture", "covariance_type", "low_rank",
           "patches", "held-out score", 1, {"n_components": 5}),
    Advice('Use "vb" for many components with few rows each.', "SparseGaussianMixture", "inference", "vb", "diabetes",
           "held-out score", 1, {**TWENTY, "inference": "em"}),
    Advice('Use "learned" for densities if components have few rows.', "SparseGaussianMixture", "covariance_prior",
           "learned", "diabetes", "held-out score", 1, {**TWENTY, "covariance_prior": "fixed"}),
    Advice("Raise it to shrink the means of small components towards ``mean_prior``.", "SparseGaussianMixture",
           "mean_precision_prior", 5.0, "diabetes", "distance of means", -1, {"n_components": 10}),
    Advice("Raise it to make the covariances of small components more alike.", "SparseGaussianMixture",
           "degrees_of_freedom_prior", 40.0, "diabetes", "spread of log volumes", -1, {"n_components": 10}),
    Advice('Use "vb" for densities if components have ten rows or fewer.', "SparseVonMisesFisherMixture", "inference",
           "vb", "few_directions", "held-out score", 1, TWENTY),
    Advice("Lower it for components of fewer words.", "SparseMultinomialMixture", "word_prior", 0.01,
           "fewer_docstrings", "words of a topic", -1, TWENTY),
    Advice("Raise it to keep the probabilities of small components away from 0 and 1.", "SparseBernoulliMixture",
           "beta_prior", 1.0, "dark_pixels", "distance from 0 and 1", 1, TWENTY),
    # clusters
    Advice("Raise it to open more clusters.", "StreamingNGGPMixture", "concentration", 100.0, "blobs", "clusters", 1),
    Advice("Raise it for more clusters.", "GibbsNGGPMixture", "concentration", 20.0, "few_blobs", "clusters", 1, CHAIN),
    *(Advice("Lower it for more, and more specific, clusters.", name, "word_prior", 0.01, data, "clusters", 1, more)
      for name, data, more in (("StreamingNGGPMixture", "fewer_docstrings", COUNTS),
                               ("GibbsNGGPMixture", "few_docstrings", {**COUNTS, **CHAIN}))),
    *(Advice("Raise it for clusters of similar covariance.", name, "degrees_of_freedom_prior", 40.0, "few_blobs",
             "spread of log volumes", -1, {"likelihood": "full", "degrees_of_freedom_prior": 6.0, **more})
      for name, more in (("StreamingNGGPMixture", {}), ("GibbsNGGPMixture", CHAIN))),
    Advice("Lower the threshold if one kind of rows has several clusters.", "StreamingNGGPMixture", "merge_criterion",
           ("bayes_factor", -50.0), "blobs", "clusters", -1, {"max_iter": 1, "concentration": 100.0}),
    Advice("Set it if clusters drift or end.", "StreamingNGGPMixture", "half_life", 500.0, "moving_blobs",
           "held-out score", 1, {"block": 500}),
    Advice("Set False to save time.", "GibbsNGGPMixture", "split_merge", False, "few_blobs", "processor seconds", -1,
           CHAIN),
]  # fmt: skip


def fit(row, advised, seed):
    """The figure with the base value or with the advised one, and processor seconds."""
    train, test = getattr(_advice_data, row.data)(seed)
    parameters = {"random_state": seed, **row.others} | ({row.parameter: row.advised} if advised else {})
    block = parameters.pop("block", None)
    model = getattr(sparsemix, row.estimator)(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = time.process_time()
        if block is None:
            model.fit(train)
        else:
            for first in range(0, train.shape[0], block):
                model.partial_fit(train[first : first + block])
        model.seconds = time.process_time() - begun
        return FIGURES[row.figure](model, test), model.seconds


def label(row):
    """Name of the row in tables: parameter, values and words."""
    base = row.others.get(row.parameter, getattr(sparsemix, row.estimator)().get_params()[row.parameter])
    return f"``{row.parameter}`` {base} to {row.advised}: {row.words}".replace("]_", "]")


def holds(gains):
    """Whether the figure moves as advised by more than two standard errors."""
    return mean(gains) > 2.0 * stdev(gains) / len(gains) ** 0.5


def measure(record, row, n_seeds):
    """Fits of both settings for each seed, in turn."""
    seeds = list(range(n_seeds))
    fits = [[fit(row, advised, seed) for advised in (False, True)] for seed in seeds]
    base, advised = ([float(f"{pair[i][0]:.6g}") for pair in fits] for i in (0, 1))
    gain = [float(f"{row.sign * (new - old):.6g}") for old, new in zip(base, advised, strict=True)]
    record.add(
        "advice", row.data.replace("_", " "), row.estimator, {"base": base, "advised": advised, "gain": gain},
        label=label(row), parameters={**row.others, row.parameter: row.advised}, seed=seeds,
        seconds=[round(sum(seconds for _, seconds in pair), 2) for pair in fits],
        found=f"{row.figure} {'grows' if row.sign > 0 else 'falls'}: {'yes' if holds(gain) else 'no'}",
    )  # fmt: skip


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="rows with this in estimator, parameter or words")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--quick", action="store_true", help="two seeds")
    options = parser.parse_args()
    record = recorder(options)
    chosen = [row for row in ROWS if options.only in f"{row.estimator} {label(row)}"]
    with threadpool_limits(1):
        for row in chosen:
            measure(record, row, 2 if options.quick else options.seeds)


if __name__ == "__main__":
    main()
