"""Edits of formulas that ``make mutants`` tries: each stands where it says, and so do the tests that must fail."""

import shlex
import tomllib
from pathlib import Path

TESTS = Path(__file__).parent
MUTANTS = [
    mutant for path in sorted((TESTS / "mutants").glob("*.toml"))
    for mutant in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
]  # fmt: skip


def test_edits_and_their_tests_are_there():
    wrong = []
    for mutant in MUTANTS:
        place = f"{mutant['file']}: {mutant['old']}"
        if (TESTS.parent / mutant["file"]).read_text(encoding="utf-8").count(mutant["old"]) != 1:
            wrong.append(f"{place}: the formula has changed; change the edit with it")
        if mutant["new"] == mutant["old"]:
            wrong.append(f"{place}: the edit changes nothing")
        for word in shlex.split(mutant["tests"]):
            path, _, name = word.partition("::")
            text = (TESTS.parent / path).read_text(encoding="utf-8") if path.startswith("tests/") and name else None
            if text is not None and f"def {name.partition('[')[0]}(" not in text:
                wrong.append(f"{place}: there is no test {word}")
    assert MUTANTS
    assert not wrong, "\n".join(wrong)
