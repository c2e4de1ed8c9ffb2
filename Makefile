# Front end to CMake and the scripts; `make help` lists the targets.
# A target can be run again at any time, asks nothing, and skips what is already done.

PREFIX ?= /usr/local
DESTDIR ?=
WERROR ?= ON
FUZZ_SECONDS ?= 300
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Number of Python test files that run at once; each starts processes and threads.
TEST_JOBS ?= 2

# CMake reads this only when it first configures a folder. Without ninja it uses make.
ifneq ($(shell command -v ninja 2>/dev/null),)
export CMAKE_GENERATOR ?= Ninja
endif
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
# PYTHON=/path/to/python selects the interpreter; by default scripts/find-python.sh selects it.
export PYTHON

.PHONY: all help deps web screenshots python demo test test-c test-asan test-web test-python test-observer-off \
        test-pythons test-gpu soak-gpu soak-records test-peers peers test-torch test-x86 test-arm test-arm-torch coverage \
        stress-serve bench bench-gpu bench-efficiency bench-hardware efficiency \
        fuzz lint format docs verify-models verify-formats verify-ops catalog verify-catalog install clean

all:
	@command -v cmake >/dev/null || { echo "cmake is missing; 'make deps' installs it" >&2; exit 1; }
	@scripts/configure.sh release $(CMAKE_FLAGS)
	@cmake --build --preset release

help:
	@sed -n 's/^#: //p' Makefile

#: make                build the tool (build/pyrometer) and the library
#: make demo           install missing packages, build, and show what models cost
#: make test           install missing packages, build, make .venv, and run all tests
#: make web            build the page of pyrometer report (needs Node 18; installs it if missing)
#: make test-web       run the tests of the page in Node and in Chromium
#: make screenshots    take a picture of every view of the page, light and dark: build/screenshots/
#: make python         make .venv with pinned torch and the package
#: make install        install under PREFIX (/usr/local), staged under DESTDIR
#: make test-x86       run the unit tests on x86-64, under qemu if needed (test-arm: on AArch64)
#: make test-arm-torch run the capture tests on AArch64 with torch, under qemu: 250 MB, 15 minutes
#: make test-gpu       run the GPU tests with python3's torch; SECONDS=420 runs a part of them
#: make test-peers     compare results with HTA, TensorBoard's plugin and hooks, each in its own environment
#: make peers          remake the stored results of Apache Otava that the tests compare with
#: make test-torch TORCH=2.8.0  run the capture tests with another torch, in its own environment
#: make coverage       print line coverage of src/ per room by the C tests; list the rest in build-coverage/uncovered.txt
#: make bench-gpu      measure capturing on a GPU beside torch.profiler; PART=ladder, files or profiler, ONLY=vit_b_16
#: make soak-records   record an hour's worth of simulated kernels without a GPU; FORWARDS=10000 records fewer
#: make soak-gpu       train for four minutes under continuous capture on a GPU; SECONDS=100 runs a part
#: make bench-hardware compare predictions with measurements; DIR= has those of bench/hardware/gpu.py
#: make bench          run the benchmarks, also against fvcore, FlopCounterMode and simdjson
#: make stress-serve   load pyrometer serve with 1,000 connections and hostile requests for 60 s
#: make verify-models  check every model of the test zoo against torch
#: make verify-formats check the readers of ONNX files and folders against onnx, torch, transformers
#: make verify-ops     check all operators of torch's own database against FlopCounterMode
#: make catalog        export the built-in models again (NAMES="resnet18 gpt2": only those)
#: make verify-catalog check every built-in model against torch, at default and other sizes
#: make fuzz           install clang, then fuzz each reader for FUZZ_SECONDS (300)
#: make lint           check the format of C, Python and shell, and the wording of documents
#: make format         reformat C and Python for make lint
#: make docs           build the documentation site: build/site/index.html (downloads 30 MB once)
#: make deps           install the build dependencies (Debian, Ubuntu)
#: make clean          remove the build folders; .venv stays
#: make help           print this list
#: PYTHON=... selects the Python interpreter; JOBS=... sets the number of parallel compile jobs,
#: TEST_JOBS=... the number of Python test files that run at once (2).

deps:
	@scripts/install-deps.sh build

python:
	@scripts/make-venv.sh torch --plan
	@scripts/install-deps.sh build python
	@scripts/make-venv.sh torch

web:
	@scripts/install-deps.sh web
	@scripts/build-web.sh --strict

demo:
	@scripts/install-deps.sh build web
	@scripts/build-web.sh
	@$(MAKE) --no-print-directory all
	@scripts/demo.sh

# In this order, because the Python tests need what the C tests check.
test:
	@scripts/make-venv.sh test --plan
	@scripts/install-deps.sh test web
	@scripts/build-web.sh
	@$(MAKE) --no-print-directory test-c
	@$(MAKE) --no-print-directory test-asan
	@$(MAKE) --no-print-directory test-web
	@$(MAKE) --no-print-directory test-python
	@echo "All tests passed."

test-c:
	@echo "== Library, tool, unit tests, command line tests, installed copy"
	@$(MAKE) --no-print-directory all CMAKE_FLAGS="-DPYRO_TESTS=ON -DPYRO_WERROR=$(WERROR) \
	    -DPython3_EXECUTABLE=$$(scripts/find-python.sh)"
	@ctest --preset release -j $(JOBS)

test-asan:
	@echo "== Unit tests and fuzz corpora under AddressSanitizer and UndefinedBehaviorSanitizer"
	@scripts/configure.sh asan -DPYRO_WERROR=$(WERROR) \
	    -DPython3_EXECUTABLE="$$(scripts/find-python.sh)"
	@cmake --build --preset asan
	@ctest --preset asan -j $(JOBS)

test-web:
	@echo "== The page, in Node and in Chromium"
	@scripts/install-deps.sh web chromium
	@scripts/build-web.sh --strict
	@cd web && PYRO_TOOL=$(CURDIR)/build/pyrometer npm test --silent

screenshots:
	@scripts/install-deps.sh web chromium
	@scripts/build-web.sh --strict
	@$(MAKE) --no-print-directory all
	@cd web && PYRO_TOOL=$(CURDIR)/build/pyrometer node tools/screenshots.mjs $(CURDIR)/build/screenshots $(NAMES)

test-python:
	@echo "== Python package and models"
	@scripts/make-venv.sh test
	@PYRO_TOOL=build/pyrometer .venv/bin/python -m pytest -n $(TEST_JOBS) --dist loadfile --no-loadscope-reorder
	@$(MAKE) --no-print-directory -j 2 --output-sync=target test-observer-off test-pythons

test-observer-off:
	@echo "== Capturing without the observer"
	@PYRO_TOOL=build/pyrometer PYROMETER_OBSERVER=off .venv/bin/python -m pytest \
	    tests/python/capture/test_capture.py

test-pythons:
	@scripts/test-pythons.sh

# Installs nothing. With SECONDS it stops in time, and the next call resumes.
test-gpu:
	@scripts/test-gpu.sh $(SECONDS)

# Installs nothing. Each part takes less than eight minutes.
bench-gpu:
	@scripts/bench-gpu.sh --part $(or $(PART),overhead) $(if $(ONLY),--only "$(ONLY)")

# Predictions of pyrometer map beside measurements: on this processor, or DIR of hardware/gpu.py.
bench-hardware: all
	@$(if $(DIR),python3 bench/hardware/evaluate.py gpu $(DIR),.venv/bin/python bench/hardware/evaluate.py cpu)

# Lookups in a table of a million learnt efficiencies.
bench-efficiency: all
	@$(CC) -O3 -D_GNU_SOURCE -Iinclude -Isrc -o build/bench_efficiency bench/efficiency.c \
	    build/libpyrometer.a -lz -lzstd -lm -ldl -pthread
	@build/bench_efficiency

# Writes the table of efficiencies that ships, from the traces and recordings in TRACES.
efficiency: all
	@scripts/make-efficiency.sh $(TRACES)

soak-gpu:
	@scripts/soak-gpu.sh $(SECONDS)

# Needs no GPU: the stub of CUPTI. By default an hour's worth of records, in a few minutes.
soak-records:
	@$(MAKE) --no-print-directory all CMAKE_FLAGS="-DPYRO_TESTS=ON"
	@$(CC) -O2 -D_GNU_SOURCE -Iinclude -o build/device_records tests/gpu/device_records.c \
	    build/libpyrometer.a -lz -lzstd -lm -ldl -pthread
	@build/device_records build/libcupti_stub.so build/device_records.pyro $(FORWARDS)

test-peers:
	@scripts/install-deps.sh test
	@$(MAKE) --no-print-directory all CMAKE_FLAGS="-DPYRO_TESTS=ON"
	@scripts/make-venv.sh test
	@scripts/test-peers.sh

peers:
	@scripts/install-deps.sh python
	@scripts/test-peers.sh --answers

test-torch:
	@scripts/install-deps.sh test
	@scripts/test-torch.sh $(TORCH)

test-x86:
	@scripts/install-deps.sh test
	@scripts/test-foreign.sh x86_64

test-arm:
	@scripts/install-deps.sh test
	@scripts/test-foreign.sh aarch64

test-arm-torch:
	@scripts/test-arm-torch.sh $(TESTS)

# A CLI test runs the tool where it cannot write files; libgcov's errors must not mix with its output.
coverage:
	@scripts/install-deps.sh test
	@scripts/configure.sh coverage -DPython3_EXECUTABLE="$$(scripts/find-python.sh)"
	@cmake --build --preset coverage
	@find build-coverage -name '*.gcda' -delete
	@GCOV_ERROR_FILE=$(CURDIR)/build-coverage/gcov-errors.txt ctest --preset coverage -j $(JOBS)
	@scripts/coverage.py build-coverage

bench:
	@scripts/make-venv.sh test --plan
	@scripts/install-deps.sh test bench
	@$(MAKE) --no-print-directory all
	@scripts/make-venv.sh test
	@.venv/bin/python bench/cost.py
	@.venv/bin/python bench/catalog.py
	@.venv/bin/python bench/trace.py
	@.venv/bin/python bench/profiler_cost.py
	@.venv/bin/python bench/graph.py
	@.venv/bin/python bench/capture.py
	@.venv/bin/python bench/capture_files.py
	@.venv/bin/python bench/training.py
	@.venv/bin/python bench/bench.py
	@.venv/bin/python bench/model.py
	@.venv/bin/python bench/verdicts.py
	@.venv/bin/python bench/history.py

# SECONDS=10 CONNECTIONS=200: a shorter run.
stress-serve: all
	@"$$(scripts/find-python.sh)" tests/python/live/serve_load.py --tool build/pyrometer \
	    --seconds $(or $(SECONDS),60) --connections $(or $(CONNECTIONS),1000)

verify-models:
	@scripts/make-venv.sh test --plan
	@scripts/install-deps.sh test
	@$(MAKE) --no-print-directory all
	@scripts/make-venv.sh test
	@.venv/bin/python tests/models/verify.py --all

verify-formats:
	@scripts/make-venv.sh test --plan
	@scripts/install-deps.sh test
	@$(MAKE) --no-print-directory all
	@scripts/make-venv.sh test
	@scripts/verify-formats.sh

verify-ops:
	@scripts/make-venv.sh test --plan
	@scripts/install-deps.sh test
	@$(MAKE) --no-print-directory all
	@scripts/make-venv.sh test
	@.venv/bin/python tests/models/verify_ops.py

# The index contains costs, so the tool is built after the skeletons and before the index.
catalog:
	@scripts/make-venv.sh catalog --plan
	@scripts/install-deps.sh test
	@scripts/make-venv.sh catalog
	@.venv/bin/python -m catalog.build $(NAMES)
	@$(MAKE) --no-print-directory all
	@.venv/bin/python -m catalog.index
	@$(MAKE) --no-print-directory all

verify-catalog:
	@scripts/make-venv.sh catalog --plan
	@scripts/install-deps.sh test
	@$(MAKE) --no-print-directory all
	@scripts/make-venv.sh catalog
	@.venv/bin/python tests/models/verify_catalog.py $(NAMES) --rows build/verify-catalog.jsonl

fuzz:
	@scripts/install-deps.sh fuzz
	@scripts/configure.sh fuzz
	@cmake --build --preset fuzz
	@scripts/fuzz.sh build-fuzz $(FUZZ_SECONDS)

lint:
	@scripts/install-deps.sh python
	@scripts/lint.sh

format:
	@scripts/install-deps.sh python
	@scripts/lint.sh --fix

docs: all
	@scripts/build-docs.sh

install: all
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ] && command -v ldconfig >/dev/null; then \
	    ldconfig; fi

clean:
	rm -rf build build-gpu build-debug build-asan build-tsan build-fuzz build-python build-live \
	    build-x86_64 build-aarch64 build-coverage
