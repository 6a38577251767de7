# Two commands on a fresh machine: `make demo` and `make test`.
# Both need Python 3.10+, make and a C++17 compiler; everything else goes into .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := $(shell find src cpp -type f) CMakeLists.txt pyproject.toml
STRICT := -C cmake.define.DEFRAG_WERROR=ON

.PHONY: demo test lint check-cpp bench docs format sanitize clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# One stamp per set of extras, so that `make demo` does not wait for the test tools.
$(VENV)/.demo: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet ".[report]"
	touch $@

$(VENV)/.test: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet $(STRICT) ".[report,test]"
	touch $@

demo: $(VENV)/.demo
	$(BIN)/defrag demo

test: lint check-cpp
	$(BIN)/python -m pytest --pyargs defrag
	$(BIN)/python -m pytest

lint: $(VENV)/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/clang-format --dry-run --Werror $$(find cpp tests/cpp -name '*.[ch]pp')
	$(BIN)/python tools/check_house_rules.py

check-cpp: $(VENV)/.test
	$(BIN)/cmake -S . -B build/cpp -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
	  -DDEFRAG_BUILD_TESTS=ON -DDEFRAG_WERROR=ON > build-cpp.log || (cat build-cpp.log; exit 1)
	$(BIN)/cmake --build build/cpp
	rm build-cpp.log
	build/cpp/defrag_tests

bench: $(VENV)/.test
	for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

docs: $(VENV)/.test
	$(BIN)/python -m pip install --quiet ".[docs]"
	$(BIN)/sphinx-build -q -W --keep-going docs docs/build

# The whole Python suite on a build with AddressSanitizer and UndefinedBehaviorSanitizer.
sanitize: $(BIN)/python
	$(PYTHON) -m venv $(VENV)-sanitize
	$(VENV)-sanitize/bin/python -m pip install --quiet \
	  -C cmake.define.DEFRAG_SANITIZE=address,undefined -C cmake.build-type=RelWithDebInfo \
	  -C build-dir=build/sanitize ".[report,test]"
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0:halt_on_error=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	  PYTHONMALLOC=malloc $(VENV)-sanitize/bin/python -m pytest tests --timeout 3000

format: $(VENV)/.test
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $$(find cpp tests/cpp -name '*.[ch]pp')

clean:
	rm -rf $(VENV) build dist
