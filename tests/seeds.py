"""Other seeds for all fits of the tests: does an assertion hold for every start, or for the one it was written with?

``pytest --other-seeds N`` adds a number to the integer that estimators get as ``random_state``. Data stay the same, and
so does every comparison of fits with the same seed. Another instruction set changes the last bits of a fit, and then
its topics, as another seed does. Tests that an honest draw can fail are judged over several seeds, and marked
``statistical``; ``make seeds`` runs ten seeds, and ``.ci/run`` these tests under every instruction set.
"""

import numbers
import sys

import sklearn.utils

STEP = 7919  # a prime, so that shifted seeds are none of the tests
FIXED = ("sparsemix.datasets", "sparsemix.metrics")


def one_of_three(succeeds):
    """Whether a fit succeeds from one of three starts, for what a single start misses once in a while."""
    return any(map(succeeds, range(3)))


def use_other_seeds(number):
    """Shift the seeds of estimators that are imported from now on."""
    given = sklearn.utils.check_random_state

    def check_random_state(seed):
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if isinstance(seed, numbers.Integral) and caller.startswith("sparsemix.") and not caller.startswith(FIXED):
            seed = (int(seed) + STEP * number) % 2**32
        return given(seed)

    sklearn.utils.check_random_state = check_random_state
