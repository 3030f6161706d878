"""The covering design of the suite: what the cases of a test must have, the chosen ones have."""

from collections import Counter
from itertools import product
from types import SimpleNamespace

import costs
import pytest
from covering import FEW, SHARES, chosen_items, cover, spread
from estimator_cases import CASES

SETTINGS = [case for case in CASES if case.data.kind != "words"]


def items_of(*axes, slow=lambda **_: False):
    """Cases of a test with one decorator for each of ``axes``, (name, values)."""
    names = [name for name, _ in axes]
    marks = [SimpleNamespace(args=(name, values)) for name, values in axes]
    for values in product(*(values for _, values in axes)):
        params = dict(zip(names, values, strict=True))
        found = {"slow": slow(**params) or None}
        yield SimpleNamespace(
            callspec=SimpleNamespace(params=params), iter_markers=lambda _: marks, get_closest_marker=found.get
        )


def values_of(items, *names):
    return {tuple(item.callspec.params[name] for name in names) for item in items}


@pytest.mark.parametrize("n", range(8))
def test_order_has_every_place_once(n):
    assert sorted(spread(range(3, 3 + n))) == list(range(3, 3 + n))


@pytest.mark.parametrize("n_first", [0, 5, 12])
def test_cover_has_all_that_is_wanted_and_nothing_twice(n_first):
    wanted = [{("a", i), ("b", j)} for i, j in product(range(3), range(4))]
    chosen = cover(wanted, n_first)
    assert set().union(*(wanted[place] for place in chosen)) == set().union(*wanted)
    assert set().union(*(wanted[i] for i in chosen if i < n_first)) == set().union(*wanted[:n_first])
    assert len(chosen) == len(set(chosen)) < len(wanted)


def test_two_parameters_give_every_value():
    items = list(items_of(("a", range(20)), ("b", range(7))))
    chosen = chosen_items(items, 1)
    assert values_of(chosen, "a") == values_of(items, "a")
    assert values_of(chosen, "b") == values_of(items, "b")
    assert len(chosen) == 20


def test_three_parameters_give_every_pair():
    items = list(items_of(("a", range(7)), ("b", range(4)), ("c", range(3)), ("d", range(3))))
    chosen = chosen_items(items, 1)
    for pair in ("ab", "ac", "ad", "bc", "bd", "cd"):
        assert values_of(chosen, *pair) == values_of(items, *pair)
    assert len(chosen) < len(items) / 5


def test_quick_cases_cover_what_they_can():
    items = list(items_of(("a", range(7)), ("b", range(4)), ("c", range(3)), slow=lambda a, **_: a > 2))
    chosen = chosen_items(items, 1)
    quick = [item for item in chosen if item.callspec.params["a"] <= 2]
    assert values_of(quick, "b", "c") == values_of(items, "b", "c")
    assert values_of(chosen, "a") == values_of(items, "a")


def class_of(case):
    return type(case.estimator), case.data.kind


def test_every_class_meets_every_value_and_neighbouring_tests_share_the_settings():
    items = list(items_of(("case", SETTINGS), ("form", range(5))))
    seen = set()
    for part in range(SHARES):
        chosen = chosen_items(items, part)
        met = {(class_of(case), form) for case, form in values_of(chosen, "case", "form")}
        assert met == {(class_of(case), form) for case, form in values_of(items, "case", "form")}
        assert len(chosen) < len(items) / 4
        seen |= values_of(chosen, "case")
    assert seen == values_of(items, "case")


def test_a_list_of_values_stays_whole():
    items = list(items_of(("a", range(20 * FEW))))
    assert chosen_items(items, 1) == items


def test_costs_are_of_tests_that_exist():
    """A listed name that no test has would be a test that ``make test`` runs in full."""
    missing = []
    for name in costs.COSTS:
        path, _, function = name.partition("::")
        file = costs.LIST.parent / path
        if not file.exists() or f"def {function}(" not in file.read_text(encoding="utf-8"):
            missing.append(name)
    assert costs.COSTS
    assert not missing, "remove from tests/costs.txt: " + ", ".join(missing)


def test_quick_cases_are_all_of_cheap_tests_and_a_few_of_costly_ones(monkeypatch):
    items = [SimpleNamespace(nodeid=f"tests/a.py::test[{i}]") for i in range(10)]
    monkeypatch.setattr(costs, "BUDGET", 0.1)
    monkeypatch.setattr(costs, "COSTS", {})
    assert costs.quick_cases(items, 3) == [items[(3 + i) % 10] for i in range(10)]
    monkeypatch.setattr(costs, "COSTS", {"a.py::test": 0.05})
    assert costs.quick_cases(items, 0) == [items[0], items[5]]
    assert costs.quick_cases(items, 3) == [items[3], items[8]]
    monkeypatch.setattr(costs, "COSTS", {"a.py::test": 0.2})
    assert costs.quick_cases(items, 3) == []
    monkeypatch.setattr(costs, "GUARDS", {"a.py::test"})
    assert costs.quick_cases(items, 13) == [items[3]]
    monkeypatch.setattr(costs, "GUARDS", {"a.py"})
    assert costs.quick_cases(items, 3) == [items[3]]
    monkeypatch.setattr(costs, "GUARDS", {"a.py::test[7]", "a.py::test"})
    assert costs.quick_cases(items, 3) == [items[7]]
    monkeypatch.setattr(costs, "COSTS", {"a.py::test": 0.1})
    assert costs.quick_cases(items, 3) == [items[3], items[7]]
    assert costs.quick_cases(items, 7) == [items[7]]


def test_every_case_has_its_turn(monkeypatch):
    items = [SimpleNamespace(nodeid=f"tests/a.py::test[{i}]") for i in range(7)]
    monkeypatch.setattr(costs, "COSTS", {"a.py::test": costs.BUDGET / 2})
    chosen = [place for turn in range(4) for place in map(items.index, costs.quick_cases(items, turn))]
    assert sorted(set(chosen)) == list(range(7))


def test_names_of_test_files_differ():
    """pytest imports test files by their names alone."""
    names = Counter(path.name for path in costs.LIST.parent.rglob("test_*.py"))
    assert not [name for name, n in names.items() if n > 1]
