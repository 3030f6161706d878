"""Constraints of parameters that topic estimators share."""

import numbers

from sparsemix._compat import Interval, StrOptions
from sparsemix._estimator.input.checks import COUNT, N_JOBS, POSITIVE, STEP_SIZE, Several
from sparsemix._models.topics.gibbs_sampler import DENSE_SUMS
from sparsemix.topics._word_prior import WordPrior

# C ints count the updates and visits of a document; sums of two such numbers must fit too.
MOST_VISITS = 1 << 30
# Documents of a mini-epoch, and their visits.
MINI_EPOCH = Several(*2 * [Interval(numbers.Integral, 1, None, closed="left")])
# Parameters of all topic estimators.
OF_TOPICS = {
    "n_components": [Interval(numbers.Integral, 1, None, closed="left")],
    "doc_topic_prior": [POSITIVE, "array-like", StrOptions({"learned"}), None],
    "topic_word_prior": [POSITIVE, WordPrior, "array-like", "sparse matrix", StrOptions({"learned"}), None],
    "max_iter": [Interval(numbers.Integral, 0, None, closed="left")],
    "max_doc_update_iter": [Interval(numbers.Integral, 1, MOST_VISITS, closed="both")],
    "warm_start": ["boolean"],
    "n_jobs": [*N_JOBS],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
}
# Parameters of estimators that learn by steps from statistics.
OF_STEPS = {
    **OF_TOPICS,
    "batch_size": [Interval(numbers.Integral, 1, None, closed="left"), None],
    "total_samples": [COUNT, None],
    "step_size": STEP_SIZE,
}
# Parameters of estimators that fit documents in memory by online steps with sampled topics, and what others have in
# addition: the values of SparseSCVB0LDA.
OF_ONLINE = {
    **{name: kinds for name, kinds in OF_TOPICS.items() if name not in ("doc_topic_prior", "warm_start")},
    "n_components": [Interval(numbers.Integral, 1, DENSE_SUMS, closed="both")],
    "batch_size": OF_STEPS["batch_size"],
    "burn_in": [Interval(numbers.Integral, 0, MOST_VISITS, closed="both")],
    "n_averaged_iter": [Interval(numbers.Integral, 0, None, closed="left"), None],
    "init_params": [StrOptions({"em", "random", "uniform", "bregman"}), "array-like"],
    "max_iter": [Interval(numbers.Integral, 0, None, closed="left"), None],
}
FIXED_ONLINE = {
    "tol": 0.0, "doc_topic_prior": "learned", "sampler": "gibbs", "local_step_size": None, "learning_method": "online",
    "mini_epoch": None, "total_samples": None, "step_size": (1.0, 0.51), "early_stopping": "auto", "warm_start": False,
}  # fmt: skip
