# Two commands for a fresh machine with python3, a C compiler and make:
#   make demo    learn a mixture from image patches and topics from docstrings, compare, draw
#   make test    run the tests
# Each makes .venv when it is missing and installs the package into it.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
SOURCES = pyproject.toml setup.py $(shell find sparsemix -name '*.py' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.h')

.PHONY: demo test bounds lint dist doc examples clean

demo: $(VENV)/.demo
	cd $(VENV) && bin/python -m sparsemix demo --output "$(CURDIR)/sparsemix-demo.png"

test: $(VENV)/.test
	$(BIN)/pytest tests

# The kernel tests against kernels with bounds checks: built from a copy, so that no file of that build stays here.
BOUNDS = $(VENV)-bounds
bounds:
	$(PYTHON) -m venv --clear $(BOUNDS)
	mkdir $(BOUNDS)/src
	cp -r pyproject.toml setup.py README.md LICENSE sparsemix $(BOUNDS)/src
	find $(BOUNDS)/src/sparsemix -name '*.c' -o -name '*.so' | xargs rm -f
	SPARSEMIX_BOUNDSCHECK=1 $(BOUNDS)/bin/python -m pip install --quiet "$(BOUNDS)/src[test]"
	$(BOUNDS)/bin/pytest tests/test_kernels.py tests/test_topl.py tests/test_document_kernels.py tests/test_cvb_kernels.py \
		tests/test_gaussian_clusters.py tests/test_pairs.py tests/test_sequential_kernels.py \
		tests/test_nggp.py

lint: $(VENV)/.test
	$(BIN)/ruff check .
	. $(BIN)/activate && cython-lint sparsemix  # it looks for pycodestyle on the path

dist: $(VENV)/.test
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

examples: $(VENV)/.demo
	for script in examples/plot_*.py; do MPLBACKEND=Agg $(BIN)/python -W error "$$script" || exit 1; done

doc: $(VENV)/.doc
	$(BIN)/sphinx-build -W -b html doc doc/_build/html

# One stamp for each set of extras; all of them hold the package as it is in this folder.
$(VENV)/.%: $(SOURCES) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet ".[$*]"
	touch $@

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

clean:
	rm -rf $(VENV) $(BOUNDS) build dist *.egg-info doc/_build doc/auto_examples doc/generated
	find sparsemix -name '*.c' -o -name '*.so' | xargs rm -f
