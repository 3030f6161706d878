"""Fits of tiny corpora, which check formulas, need not predict better than word frequencies."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:the topics predict hidden words worse"))
