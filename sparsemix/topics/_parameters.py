"""Constraints of parameters that topic estimators share."""

import numbers

from sparsemix._compat import Interval, StrOptions
from sparsemix._estimator.input.checks import COUNT, N_JOBS, POSITIVE, STEP_SIZE, Several
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
