"""A few faults, the same ones every time; ``make faults`` makes them in every setting."""

import shutil
import sys

import pytest
from faults import look_for

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="faults are made as Linux has them")
MEMORY = ["mixture", "scvb0 mhw"]
INTERRUPTS = ["skip-gram", "stream full"]


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler for the library whose allocations fail")
@pytest.mark.skipif(sys.maxsize < 1 << 32, reason="of 64 bits")
@pytest.mark.parametrize("name", MEMORY)
def test_memory_that_is_refused_changes_nothing(name):
    findings, counts = look_for("allocations", [name], 4)
    assert findings == []
    assert counts["refused"] > 0


@pytest.mark.parametrize("name", INTERRUPTS)
def test_ctrl_c_at_random_moments(name):
    findings, counts = look_for("interrupts", [name], 4)
    assert findings == []
    assert sum(counts.values()) > 0


def test_little_address_space():
    findings, counts = look_for("memory", ["lda"], 3)
    assert findings == []
    assert sum(counts.values()) == 3


def test_the_command_on_full_disks_and_killed():
    findings, counts = look_for("command", ["topics"], 3)
    assert findings == []
    assert counts["killed"] + counts["ended before"] == counts["disk full"] + counts["disk large enough"] == 3
