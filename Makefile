# Two commands on a fresh machine: `make demo` and `make test`.
# Both need Python 3.10+, make and a C++17 compiler; everything else goes into .venv.
# `make help` lists the targets.
PYTHON ?= python3
VENV ?= .venv
WORKERS ?= auto
WERROR ?= ON
TORTURE_MINUTES ?= 60
TORTURE_SEED ?= 0
# Containers often disable bytecode files, without which every process compiles the tests again.
unexport PYTHONDONTWRITEBYTECODE
BIN := $(abspath $(VENV))/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
PYTEST := $(BIN)/python -m pytest
# Tests of a file run on one worker; a worker that is done takes tests from another.
SPREAD := -n $(WORKERS) --dist worksteal
# Ninja chooses its own number of jobs; it cannot share those of make.
CMAKE := MAKEFLAGS= PATH="$(BIN):$$PATH" $(BIN)/cmake
SOURCES := $(shell find src cpp -type f -not -name '*.pyc' -not -name '_core*') \
  CMakeLists.txt pyproject.toml
CPP_TESTS := $(shell find tests/cpp -type f)
CPP_FILES := $(shell find cpp tests/cpp -name '*.[ch]pp')

# $(call wheel,NAME,OPTIONS): compile in build/NAME, which keeps its objects, and leave the only
# wheel of build/NAME/dist there.
wheel = rm -rf build/$(1)/dist && PATH="$(BIN):$$PATH" $(BIN)/python -m build --wheel \
  --no-isolation --outdir build/$(1)/dist -C build-dir=build/$(1) $(2)

# An instrumented build is installed into a folder of its own, which precedes .venv in the path.
instrumented = $(call wheel,$(1),-C cmake.build-type=RelWithDebInfo \
  -C cmake.define.DEFRAG_BUILD_TESTS=ON $(2)) && rm -rf build/$(1)/site && \
  $(PIP) --no-deps --target build/$(1)/site build/$(1)/dist/*.whl
with = PYTHONPATH="$(abspath build/$(1)/site)"

.PHONY: help demo test check lint check-cpp check-python bench results docs format tidy wheel oldest \
  sanitize sanitize-quick tsan coverage torture mutants clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 16

demo: $(VENV)/.demo ## build, install into .venv and run `defrag demo` on the bundled data
	$(BIN)/defrag demo --report build/demo.html

# Linters and the compiler run at the same time, since each uses one core.
test: $(VENV)/.test ## everything that must pass before a change is merged
	$(MAKE) --no-print-directory --jobs 2 --output-sync lint check-cpp
	$(MAKE) --no-print-directory check-python

check: lint ## linters and the tests not marked slow
	$(PYTEST) $(SPREAD) -m "not slow" --pyargs defrag tests docs README.md

check-python: $(VENV)/.test ## all Python tests and doctests
	$(PYTEST) $(SPREAD) --pyargs defrag tests docs README.md

lint: $(VENV)/.test ## ruff, mypy, import-linter, clang-format and the rules of tools/check_house_rules.py
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/clang-format --dry-run --Werror $(CPP_FILES)
	$(BIN)/python tools/check_house_rules.py

check-cpp: $(VENV)/.test $(CPP_TESTS) ## the C++ tests, linked to the objects of the installed extension
	$(CMAKE) --build build/dev --target defrag_tests
	build/dev/defrag_tests

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# One stamp per set of packages, so that `make demo` does not install the test tools.
$(VENV)/.build: $(VENV)/bin/python pyproject.toml
	$(PIP) --upgrade pip
	@echo "Installing the build tools into $(VENV)"
	$(PIP) --group build
	@touch $@

$(VENV)/.dev: $(VENV)/.build
	@echo "Installing the test tools into $(VENV)"
	$(PIP) --group lint --group test
	@touch $@

# One build for all targets; ninja prints each file it compiles.
$(VENV)/.installed: $(VENV)/.build $(SOURCES)
	$(call wheel,dev,-C cmake.define.DEFRAG_WERROR=$(WERROR) -C cmake.define.DEFRAG_BUILD_TESTS=ON)
	@echo "Installing defrag and what it needs into $(VENV)"
	$(PIP) build/dev/dist/*.whl
	$(PIP) --force-reinstall --no-deps build/dev/dist/*.whl
	@touch $@

$(VENV)/.data: $(VENV)/.build data/pyproject.toml
	$(PIP) --no-build-isolation --no-deps ./data
	@touch $@

# Other compilers may warn about more, which is no reason to refuse a demonstration.
$(VENV)/.demo: $(VENV)/.data $(SOURCES)
	$(MAKE) --no-print-directory $(VENV)/.installed || \
	  $(MAKE) --no-print-directory WERROR=OFF $(VENV)/.installed
	$(PIP) "$$(ls build/dev/dist/*.whl)[report]"
	@touch $@

$(VENV)/.test: $(VENV)/.installed $(VENV)/.data $(VENV)/.dev
	@touch $@

bench: $(VENV)/.test ## run the benchmarks that the README cites
	for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

results: $(VENV)/.test ## write the tables and the picture of the README from docs/results/records
	$(BIN)/python tools/build_results.py

docs: $(VENV)/.installed ## build the manual in docs/build
	$(PIP) --group docs
	$(BIN)/sphinx-build -q -W --keep-going docs docs/build

format: $(VENV)/.dev ## fix what can be fixed automatically
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CPP_FILES)

tidy: $(VENV)/.installed ## run clang-tidy on the core
	$(PIP) --group tidy
	$(BIN)/run-clang-tidy.py -clang-tidy-binary $(BIN)/clang-tidy -quiet -p build/dev '/cpp/core/'

wheel: $(VENV)/.test ## build a wheel in dist/ and test it in an environment without a compiler
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m build --wheel --outdir dist data
	$(BIN)/python tools/check_wheel.py dist/*.whl

oldest: $(VENV)/.build ## run the tests with the oldest dependencies that pyproject.toml allows
	$(PYTHON) -m venv $(VENV)-oldest
	mkdir -p build && $(BIN)/python tools/oldest.py > build/oldest.txt
	$(VENV)-oldest/bin/python -m pip install --quiet --upgrade pip
	$(VENV)-oldest/bin/python -m pip install --quiet --group test -r build/oldest.txt
	PATH="$(BIN):$$PATH" $(VENV)-oldest/bin/python -m pip install --quiet --no-build-isolation \
	  --no-deps --force-reinstall -C build-dir=build/oldest .
	PATH="$(BIN):$$PATH" $(VENV)-oldest/bin/python -m pip install --quiet --no-build-isolation ./data
	$(VENV)-oldest/bin/python -m pytest -n $(WORKERS) --pyargs defrag tests docs README.md

# Sanitizers. `setarch -R`: ThreadSanitizer of gcc fails with some random memory layouts.
# One thread for OpenBLAS: it is not instrumented, so that its locks would be reported as races.
ASAN := LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0:halt_on_error=1 PYTHONMALLOC=malloc \
  UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
TSAN := LD_PRELOAD="$$(gcc -print-file-name=libtsan.so) $$(gcc -print-file-name=libstdc++.so)" \
  TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 OPENBLAS_NUM_THREADS=1

build/asan/.built: $(VENV)/.test $(CPP_TESTS)
	$(call instrumented,asan,-C cmake.define.DEFRAG_SANITIZE=address,undefined)
	$(CMAKE) --build build/asan --target defrag_tests
	@touch $@

build/tsan/.built: $(VENV)/.test $(CPP_TESTS)
	$(call instrumented,tsan,-C cmake.define.DEFRAG_SANITIZE=thread)
	$(CMAKE) --build build/tsan --target defrag_tests
	@touch $@

sanitize: build/asan/.built ## all tests under AddressSanitizer and UndefinedBehaviorSanitizer
	build/asan/defrag_tests
	$(call with,asan) $(ASAN) $(PYTEST) $(SPREAD) tests --timeout 3000

sanitize-quick: build/asan/.built ## the same for the tests marked `sanitize`
	build/asan/defrag_tests
	$(call with,asan) $(ASAN) $(PYTEST) $(SPREAD) tests -m sanitize --timeout 600

# Tests of threads have "threads" in their names.
tsan: build/tsan/.built ## C++ tests and tests of threads under ThreadSanitizer
	setarch -R build/tsan/defrag_tests
	$(call with,tsan) $(TSAN) setarch -R $(PYTEST) tests -k threads --timeout 3000

coverage: $(VENV)/.test ## lines of Python and C++ that the tests execute, reported in build/coverage
	$(PIP) --group coverage
	$(call instrumented,coverage,-C cmake.define.DEFRAG_COVERAGE=ON)
	$(CMAKE) --build build/coverage --target defrag_tests
	find build/coverage -name '*.gcda' -delete
	build/coverage/defrag_tests
	$(call with,coverage) $(PYTEST) $(SPREAD) --cov --cov-report=html:build/coverage/python \
	  --cov-report=term:skip-covered --pyargs defrag tests
	$(BIN)/gcovr --root . --filter cpp/core build/coverage --html-details build/coverage/cpp.html \
	  --txt --print-summary

torture: $(VENV)/.test ## fuzz all inputs for TORTURE_MINUTES at most; report in build/torture.txt
	$(BIN)/python -m tests.fuzz.torture --minutes $(TORTURE_MINUTES) --jobs 2 \
	  --seed $(TORTURE_SEED) --output build/torture.txt

mutants: $(VENV)/.test ## check that the tests notice the changes of tests/mutation/table.toml
	PATH="$(BIN):$$PATH" $(BIN)/python tools/mutate.py --jobs 2

clean: ## remove everything that make has built
	rm -rf $(VENV) build dist docs/build docs/generated
