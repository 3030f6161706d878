"""Which cases of a test the suite runs: a covering design instead of every combination of its parameters.

``pytest --all-cases`` runs every combination, and so does ``make nightly``. A case that the command line names always
runs. By default a test runs these cases:

- A test with one parameter runs all of its values.
- A test with two parameters runs each value of both.
- A test with three or more parameters runs each pair of values of its quick cases, and each value of its slow cases.
- A test over settings of estimators runs each class of estimator with each value of every other parameter, and one of
  ``SHARES`` parts of the settings. Tests that follow each other in a file take different parts.
- The mark ``every_setting_with(*values)`` is for a test of further settings, where another test runs the first setting
  of each class in full. Every setting then meets each of these values of another parameter.

The quick cases cover by themselves all that they can. Slow cases add the rest.
"""

from itertools import combinations
from math import gcd

from sklearn.base import BaseEstimator

# A test with so few cases runs all of them.
FEW = 3
# A test over settings alone runs one of so many parts of the settings.
SHARES = 8


def cover(wanted, n_first=0):
    """Places of cases that together have everything that is wanted of any of them.

    Parameters
    ----------
    wanted : list of set
        What each case has.
    n_first : int
        So many of the first cases are a covering design by themselves.

    Returns
    -------
    chosen : list of int
        Sorted. The same for the same arguments.
    """
    missing, chosen = set().union(*wanted), []
    for places in (range(n_first), range(n_first, len(wanted))):
        places = spread(places)
        for gain in range(max(map(len, wanted), default=0), 0, -1):
            for place in places:
                if len(wanted[place] & missing) >= gain:
                    missing -= wanted[place]
                    chosen.append(place)
    return sorted(chosen)


def spread(places):
    """The same places in an order in which neighbours differ in all parameters."""
    step = max(1, round(0.618 * len(places)))
    while gcd(step, len(places)) > 1:
        step += 1
    return [places[step * i % len(places)] for i in range(len(places))]


def class_of(value):
    """Class of estimator and kind of data of a setting; None for other values."""
    if hasattr(value, "estimator") and hasattr(value, "data"):  # a Case of estimator_cases.py, without its import
        return type(value.estimator), value.data.kind
    return type(value) if isinstance(value, BaseEstimator) else None


def name_of(function):
    """Name of a function or of a partial one, which has its arguments behind it."""
    arguments = ",".join(f"{name}={value}" for name, value in getattr(function, "keywords", {}).items())
    return getattr(function, "func", function).__name__ + (f"({arguments})" if arguments else "")


def axes_of(items):
    """What tells the values of each parameter of a test apart, for each case: (settings, others), dictionaries by name.

    Names that one decorator gives together are one parameter, unless one of them is a setting.
    """
    groups = [mark.args[0] for mark in items[0].iter_markers("parametrize")]
    groups = [names.replace(" ", "").split(",") if isinstance(names, str) else list(names) for names in groups]
    groups += [[name] for name in items[0].callspec.params if not any(name in group for group in groups)]
    groups = [(",".join(group), group) for group in groups]
    texts, axes = {}, []  # one text of each estimator, since scikit-learn takes a while for it
    for params in (item.callspec.params for item in items):
        settings, others = {}, {}
        for joined, group in groups:
            if all(class_of(params[name]) is None for name in group):
                others[joined] = tuple(id(params[name]) for name in group)
                continue
            for name in group:
                value = params[name]
                if isinstance(value, BaseEstimator):
                    settings[name] = texts.get(id(value)) or texts.setdefault(id(value), repr(value))
                elif class_of(value) is not None:
                    settings[name] = id(value)
                else:  # a check of scikit-learn is a new partial function in each case
                    others[name] = name_of(value) if callable(value) else id(value)
        axes.append((settings, others))
    return axes


def chosen_items(items, part):
    """Of all cases of one test, those that run by default; tests that follow each other have different parts."""
    n_quick = sum(item.get_closest_marker("slow") is None for item in items)
    items = sorted(items, key=lambda item: item.get_closest_marker("slow") is not None)
    axes = axes_of(items)
    varied = [name for name in axes[0][1] if len({others.get(name) for _, others in axes}) > 1]
    if not axes[0][0] and len(varied) < 2:
        return items
    wanted, numbers, settled = [], {}, items[0].get_closest_marker("every_setting_with")
    for place, (item, (settings, others)) in enumerate(zip(items, axes, strict=True)):
        values = [(name, others[name]) for name in varied]
        tuples = set(values)
        if len(values) > 2 and (place < n_quick or not n_quick):
            tuples |= set(combinations(values, 2))
        for name, setting in settings.items():
            if settled is None:
                kind = name, class_of(item.callspec.params[name])
                tuples |= {kind, *((kind, value) for value in values)}
            else:
                failing = item.get_closest_marker("xfail") is not None  # which the first setting shows
                tuples |= {(setting, value) for _, value in values if value in settled.args and not failing}
            if numbers.setdefault(setting, len(numbers)) % SHARES == part % SHARES:
                tuples.add((name, setting))
        wanted.append(tuples)
    return [items[place] for place in cover(wanted, n_quick)]
