"""Some hundred random cases, the same ones every time; ``make fuzz`` looks at others for as long as one likes."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz import look_for

CASES, PARTS = 300, 3


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.slow
def test_random_cases_break_no_promise(part):
    size = CASES // PARTS
    findings, outcomes = look_for(part * size, (part + 1) * size)
    assert findings == []
    assert sum(n for outcome, n in outcomes.items() if outcome.endswith("good")) > size / 4


@pytest.mark.parametrize(
    ("doing", "limits", "status"),
    [
        ("while True: pass", (0, 600), -signal.SIGXCPU),  # busy
        ("time.sleep(600)", (600, 1), 1),  # waiting
        ("time.sleep(2)", (0, 600), 0),  # on a busy machine
    ],
)
def test_what_takes_too_long_says_where(doing, limits, status):
    code = f"import time, fuzz; fuzz.limit_time(*{limits})\n{doing}"
    here = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert ('File "<string>", line 2' in done.stderr) == (status != 0)
