"""A few faults, the same ones every time; ``make faults`` makes them in every setting."""

import shutil
import sys

import pytest
from faults import look_for

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="faults are made as Linux has them")
FEW = ["lda", "stream full"]
SLOW = ["mixture", "mixture low rank em", "scvb0 mhw", "skip-gram"]
SETTINGS = [*FEW, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler for the library whose allocations fail")
@pytest.mark.skipif(sys.maxsize < 1 << 32, reason="of 64 bits")
@pytest.mark.parametrize("name", SETTINGS)
def test_memory_that_is_refused_changes_nothing(name):
    findings, counts = look_for("allocations", [name], 4)
    assert findings == []
    assert counts["refused"] > 0


@pytest.mark.parametrize("name", SETTINGS)
def test_ctrl_c_at_random_moments(name):
    findings, counts = look_for("interrupts", [name], 4)
    assert findings == []
    assert sum(counts.values()) > 0


@pytest.mark.parametrize("name", FEW[:1])
def test_little_address_space(name):
    findings, counts = look_for("memory", [name], 5)
    assert findings == []
    assert sum(counts.values()) == 5


def test_the_command_on_full_disks_and_killed():
    findings, counts = look_for("command", ["topics"], 3)
    assert findings == []
    assert counts["killed"] + counts["ended before"] == counts["disk full"] + counts["disk large enough"] == 3
