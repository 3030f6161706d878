"""Learning rates: rho_t of step t, of a batch or of a token within its document."""

from functools import lru_cache

import numpy as np

# Learning rates are precomputed for this many steps (8 MB); longer documents reuse the last rate.
MOST_RATES = 1 << 20
# A product of a small scale and a large offset must not vanish, because averages divide by the last rate.
SMALLEST_RATE = 1e-308


def rule_of(step_size):
    """(decay, offset, scale) of a parameter (offset, decay) or (scale, offset, decay)."""
    *scale, offset, decay = step_size
    return decay, offset, *(scale or [1.0])


def learning_rate(step, decay, offset, scale=1.0):
    """rho_t = min(1, scale (offset + t)^-decay), where t = 1, 2, ... counts batches."""
    return min(1.0, max(SMALLEST_RATE, scale * max(1.0, offset + step) ** -decay))  # offset and step may be 0


def learning_rates(n, decay, offset, scale=1.0):
    """rho_t of the first n steps or more, at most ``MOST_RATES``."""
    return _rates(min(MOST_RATES, 1 << max(6, int(n).bit_length())), decay, offset, scale)


class LearningRates:
    """``learning_rates`` of a fixed rule: a function of n alone."""

    def __init__(self, decay, offset, scale=1.0):
        self.rule = decay, offset, scale

    def __call__(self, n):
        """rho_t of the first n steps or more."""
        return learning_rates(n, *self.rule)


@lru_cache(maxsize=64)
def _rates(n, decay, offset, scale):
    rates = np.minimum(1.0, scale * np.maximum(offset + np.arange(1.0, n + 1.0), 1.0) ** -decay)
    rates.flags.writeable = False
    return rates
