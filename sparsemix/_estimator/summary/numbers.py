"""Numbers and shares as people write them."""

import numpy as np


def number(value, spread):
    """A value with the digits that its spread leaves it: two digits of the spread; without a spread three digits."""
    scale = spread if spread > 0.0 else 0.1 * abs(value)
    if not np.isfinite(value) or not np.isfinite(scale) or scale == 0.0:
        return f"{value:g}"
    decimals = 1 - int(np.floor(np.log10(scale)))
    if decimals > 9 or abs(value) >= 1e15:  # more digits than a double has, or than anyone reads
        return f"{value:.4g}"
    return f"{round(value, decimals) + 0.0:,.{max(decimals, 0)}f}"  # without the sign of -0


def percent(share):
    """A share with two digits, and three near 100 %."""
    if 0.0 < share < 1e-6:
        return "< 0.0001 %"
    value = 100.0 * float(share)
    return f"{value:.{3 if value > 99.0 else 2}g} %"
