"""Pickles of earlier versions name modules that have moved: models of the command, reports, memories of rows."""

import importlib
import pickle

import pytest

MOVED = {
    "_commands.reading.words.vectorizers cleaned_lower": "texts._reading.words.vectorizers",
    "_commands.reading.words.tokens Analyzer": "texts._reading.words.tokens",
    "_commands.reading.words.tokens Tokenizer": "texts._reading.words.tokens",
    "_report.report Report": "texts._report.report",
    "_engine.documents DocumentMemory": "_rows.documents",
    "_engine.sequences TokenMemory": "_rows.sequences",
}


@pytest.mark.parametrize("name", MOVED)
def test_names_in_pickles_of_earlier_versions_are_found(name):
    module, _, attribute = name.partition(" ")
    found = pickle.loads(f"csparsemix.{module}\n{attribute}\n.".encode())
    assert found is getattr(importlib.import_module(f"sparsemix.{MOVED[name]}"), attribute)
