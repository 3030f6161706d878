# Two commands for a fresh machine with python3, a C compiler and make:
#   make demo    learn a mixture from image patches and topics from docstrings, compare, draw
#   make test    run the tests, of costly ones a few cases (make test-all: all cases)
# Each makes .venv when it is missing and installs the package into it, as it stands in this folder: kernels are compiled
# once for all commands, and again when their sources change.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PYTEST = $(BIN)/pytest -n auto --dist worksteal
KERNELS = setup.py $(shell find sparsemix/_kernels -name '*.pyx' -o -name '*.pxd' -o -name '*.h')

ifeq ($(shell command -v $(firstword $(CC))),)
$(error there is no C compiler '$(firstword $(CC))', which the kernels need (Debian: apt install gcc libc6-dev, macOS: xcode-select --install))
endif

.PHONY: demo kernels test test-all costs cpus seeds bounds plain sanitize faults fuzz mutants kills large all-cases nightly compare gate evidence evidence-quick figures picture lint dist wheel doc examples clean

demo: $(VENV)/.demo
	$(BIN)/sparsemix demo

# Compiles what has changed, and nothing else.
kernels: $(VENV)/.kernels

# All cases of cheap tests and a few of costly ones: tests/costs.py.
test: $(VENV)/.test
	$(PYTEST) -m "not slow" tests

# And then the cases that it leaves out.
test-all: test
	$(PYTEST) -m slow tests

# Measures every test on one core, for twenty minutes, and writes tests/costs.txt.
costs: $(VENV)/.test
	$(BIN)/pytest -q --record-costs build/costs.log tests

# All tests as older processors run them; half an hour, before every release. .ci/run has the statistical ones.
cpus: $(VENV)/.test
	PYTHON=$(BIN)/python .ci/cpus

# All tests with ten other seeds of every fit: an assertion that falls is judged over
# seeds from then on (tests/seeds.py).
seeds: $(VENV)/.test
	failed=; for number in 1 2 3 4 5 6 7 8 9 10; do \
	    $(PYTEST) --other-seeds $$number tests || failed="$$failed $$number"; done; \
	test -z "$$failed" || { echo "failed with other seeds:$$failed"; exit 1; }

# Kernels built in other ways, each from a copy, so that no file of that build stays here: $(call build,FOLDER,ENVIRONMENT)
define build
	rm -rf $(1)
	mkdir -p $(1)
	cp -r pyproject.toml setup.py README.md LICENSE sparsemix $(1)
	find $(1)/sparsemix -name '*.so' -delete
	cd $(1) && $(2) $(abspath $(BIN))/python setup.py --quiet build_ext --inplace
endef

# The kernel tests against kernels with bounds checks, which need no optimised loops.
BOUNDS = $(VENV)-bounds
bounds: $(VENV)/.test
	$(call build,$(BOUNDS),SPARSEMIX_BOUNDSCHECK=1 SPARSEMIX_COMPILE_ARGS="-O1 -g0 -w")
	PYTHONPATH=$(abspath $(BOUNDS)) SPARSEMIX_BOUNDSCHECK=1 $(PYTEST) tests/kernels tests/stats/test_nggp.py

# Against kernels without extensions of gcc and clang, as other compilers make them.
PLAIN = $(VENV)-plain
plain: $(VENV)/.test
	$(call build,$(PLAIN),CFLAGS=-DSPARSEMIX_PLAIN_C)
	PYTHONPATH=$(abspath $(PLAIN)) $(PYTEST) tests/kernels

# Kernels that watch their addresses and for undefined behaviour, by gcc: kernel tests, and every setting at every
# instruction set of this machine. A report ends the process, so pytest must not catch it. Then kernels that watch for
# data races, in every setting that takes threads.
SANITIZED = $(VENV)-sanitized
RACES = $(VENV)-races
SANITIZE = -O0 -g1 -w -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
# A variable, since a comma in the call would end its argument.
LINKED = -fsanitize=address,undefined
WATCHED = LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" PYTHONMALLOC=malloc \
	ASAN_OPTIONS=detect_leaks=0:halt_on_error=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
sanitize: $(VENV)/.test
	$(call build,$(SANITIZED),CC=gcc SPARSEMIX_COMPILE_ARGS="$(SANITIZE)" LDFLAGS="$(LINKED)")
	PYTHONPATH=$(abspath $(SANITIZED)):tests $(WATCHED) $(BIN)/python tests/sanitize/every_setting.py
	PYTHONPATH=$(abspath $(SANITIZED)) $(WATCHED) $(BIN)/pytest -q --capture=sys tests/kernels --deselect tests/kernels/test_portable.py
	$(call build,$(RACES),CC=gcc SPARSEMIX_COMPILE_ARGS="-O1 -g1 -w -fno-omit-frame-pointer -fsanitize=thread" \
	    LDFLAGS="-fsanitize=thread")
	PYTHONPATH=$(abspath $(RACES)):tests LD_PRELOAD="$$(gcc -print-file-name=libtsan.so)" PYTHONMALLOC=malloc \
	    OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/sanitize/threads.py

# Memory that is refused, signals at random moments, full disks, every setting: make faults POINTS=50
POINTS = 20
faults: $(VENV)/.test
	for kind in allocations interrupts memory command; do \
	    $(BIN)/python tests/faults/faults.py $$kind --points $(POINTS) || failed=1; done; test -z "$$failed"

# Random cases for as long as one likes: make fuzz SECONDS=3600 FIRST=100000
SECONDS = 600
FIRST = 10000
fuzz: $(VENV)/.test
	$(BIN)/python tests/fuzz/fuzz.py --first $(FIRST) --seconds $(SECONDS)

# Edits one formula at a time, in copies, and runs the tests that must fail; ONLY=text takes those that hold it.
mutants: $(VENV)/.test
	$(BIN)/python tests/mutants/run.py --only "$(ONLY)"

# Every combination of the parameters of every test, where the suite runs a covering design.
all-cases: $(VENV)/.test
	$(PYTEST) --all-cases tests

# What takes hours; the last line names the parts that failed.
nightly:
	failed=; for part in all-cases examples cpus seeds bounds plain kills large mutants fuzz faults sanitize; do \
	    $(MAKE) $$part || failed="$$failed $$part"; done; test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

# Seconds, memory and scores of this folder beside those of another revision: make compare BASE=main
compare: $(VENV)/.test
	$(BIN)/python benchmarks/compare.py $(BASE)

# Settings whose results have other bits than at another revision: make gate BASE=main ONLY=mixture/
gate: $(VENV)/.test
	$(BIN)/python tests/gate.py --base $(BASE) --files $(ONLY)

# Every benchmark, ours and the peers that are installed: hours, or a tenth of each. DATA is a folder of corpora, which
# may be missing; RECORD=1 keeps the results of a whole run.
EVIDENCE = $(BIN)/python benchmarks/evidence.py $(if $(DATA),--data $(DATA)) $(if $(RECORD),--record)
evidence: $(VENV)/.bench
	$(EVIDENCE)

evidence-quick: $(VENV)/.bench
	$(EVIDENCE) --quick

# Fits of every setting, killed again and again at random moments: what goes on from their checkpoints has the same bits.
kills: $(VENV)/.test
	$(BIN)/pytest -q --all-cases tests/scale/kills.py

# Fits over files ten times as large as the memory that they may take.
large: $(VENV)/.test
	$(BIN)/pytest -q -s --all-cases tests/scale/large.py

lint: $(VENV)/.test
	$(BIN)/ruff check .
	. $(BIN)/activate && cython-lint sparsemix  # it looks for pycodestyle on the path
	$(BIN)/python benchmarks/readme.py --check
	$(BIN)/python tests/way.py --check
	$(BIN)/mypy
	$(BIN)/zizmor --offline --quiet --persona auditor .github

# The fast rows of the README's table, measured again: fails if a score moved beyond its noise. DATA as for evidence.
figures: $(VENV)/.test
	$(BIN)/python benchmarks/readme.py --verify $(if $(DATA),--data $(DATA))

# The pictures of a report in doc/_static, from the README's code.
picture: $(VENV)/.test
	$(BIN)/python doc/picture.py

# The second source distribution is built from the first, elsewhere and under another umask: both have the same bytes.
dist: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
dist: $(VENV)/.test
	rm -rf dist build/unpacked
	$(BIN)/python -m build --outdir dist .
	mkdir -p build/unpacked
	tar -xzf dist/*.tar.gz --strip-components 1 -C build/unpacked
	umask 077 && $(BIN)/python -m build --sdist --outdir build/unpacked/dist build/unpacked
	$(BIN)/python .ci/sources.py dist/*.tar.gz build/unpacked/dist/*.tar.gz

# A wheel for every Python from 3.11 on, and its test in bare environments. Kernels of earlier builds, which may have
# other names, would be packed too.
wheel: $(VENV)/.release
	rm -rf dist/*.whl dist/built build/lib.*
	$(BIN)/python -m build --wheel --no-isolation --outdir dist/built .
	BIN=$(abspath $(BIN)) .ci/wheel

examples: $(VENV)/.doc
	for script in examples/plot_*.py; do MPLBACKEND=Agg $(BIN)/python -W error "$$script" || exit 1; done

doc: $(VENV)/.doc
	$(BIN)/sphinx-build -W -b html doc doc/_build/html
	$(BIN)/python doc/check.py doc/_build/html

# One stamp for each set of extras; pip finds the kernels compiled.
$(VENV)/.%: pyproject.toml $(VENV)/.kernels
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[$*]"
	touch $@

# The stamp has the time at which the build began: what is saved meanwhile is compiled next time.
$(VENV)/.kernels: $(KERNELS) | $(VENV)/.tools
	@echo "compiling the kernels that are new or have changed, on all cores; from scratch this takes about a minute"
	@touch $@.begun
	$(BIN)/python setup.py --quiet build_ext --inplace
	@mv $@.begun $@

# What pyproject.toml asks of a build, in the environment itself: builds then share it.
REQUIRES = import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")
$(VENV)/.tools:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -c '$(REQUIRES)' | $(BIN)/python -m pip install --quiet --requirement /dev/stdin
	touch $@

clean:
	rm -rf $(VENV) $(BOUNDS) $(PLAIN) $(SANITIZED) $(RACES) build dist *.egg-info doc/_build doc/auto_examples doc/generated
	find sparsemix -name '*.so' -delete
