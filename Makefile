# Shortcuts; `make help` lists them. The work is done by CMake presets and the programs in scripts/ and bench/.
PYTHON ?= python3
PRESET ?= release
export PYTHON

VENV := .venv/bin/python

.PHONY: help setup setup-torch build wheel demo test test-long test-torch test-opinfo test-interop bench bench-suite bench-peers bench-operators bench-products bench-gpu test-gpu gpu-kit bench-torchscript fuzz fuzz-programs coverage docs format lint clean

help:  ## This list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' Makefile

setup:
	@scripts/setup build

setup-torch:  ## Debian's PyTorch, for test-interop and bench-torchscript alone
	@scripts/setup build torch

build: setup  ## The library, the `weft` command and the Python package, in build/release and .venv
	@scripts/build $(PRESET)

wheel: setup  ## Wheels that carry their libraries, for Python 3.11 to 3.14, and weft-compiler; in build/wheel/dist
	@scripts/wheel

demo: build  ## k-means on 20 million points: NumPy beside weft, one table and build/demo/kmeans.png; a TorchScript archive
	@scripts/build $(PRESET) weft_stream
	@$(VENV) examples/demo_kmeans.py
	@$(VENV) examples/demo_torchscript.py

test:  ## The release build, C++ tests, Python tests of one Python
	@scripts/test

test-long:  ## Everything: sanitizers, every Python, wheels, fuzzing, …; what has passed on these files is not run again
	@scripts/test long

test-torch: build  ## PyTorch 2.15 in .venv-torch (or TORCH_PYTHON=…, which has it), and tests/torch/programs under both
ifndef TORCH_PYTHON
	@[ -x .venv-torch/bin/python ] || $(PYTHON) -m venv .venv-torch
	@.venv-torch/bin/python -m pip install --quiet 'torch==2.15.*' torchvision timm transformers numpy
endif
	@$(or $(TORCH_PYTHON),.venv-torch/bin/python) tests/torch/record_programs.py --check
	@WEFT_TORCH_PYTHON=$(or $(TORCH_PYTHON),.venv-torch/bin/python) $(VENV) -m pytest -q tests/torch
	@$(VENV) bench/torch_programs.py --torch $(or $(TORCH_PYTHON),.venv-torch/bin/python)

test-opinfo: build  ## The calls of PyTorch's OpInfo database, recorded by PyTorch 2.15, on weft
	@[ -x .venv-torch/bin/python ] || $(PYTHON) -m venv .venv-torch
	@.venv-torch/bin/python -m pip install --quiet 'torch==2.15.*' numpy expecttest
	@scripts/test opinfo

test-interop: setup-torch  ## The tests that exchange archives with PyTorch
	@scripts/test interop

bench: build  ## Benchmarks as a table and JSON in build/bench
	@$(VENV) bench/run.py

bench-suite: build  ## The suite of NumPy programs (bench/programs) beside NumPy, a table in build/bench
	@$(VENV) bench/suite.py

bench-peers: build  ## All of these beside numba, jax, torch and numexpr; text generation beside torch, ctranslate2, llama.cpp
	@bench/setup_peers
	@$(VENV) bench/run.py --peers
	@$(VENV) bench/suite.py --peers
	@$(VENV) bench/llm_peers.py

bench-operators: build  ## Eager operators, beside PyTorch's where .venv-torch has it (make test-torch)
	@$(VENV) bench/operators.py $$([ -x .venv-torch/bin/python ] && echo --torch .venv-torch/bin/python)

bench-products: build  ## bfloat16 products of 40 shapes, beside PyTorch's where .venv-torch has it (make test-torch)
	@$(VENV) bench/products.py $$([ -x .venv-torch/bin/python ] && echo --torch .venv-torch/bin/python)

test-gpu: build  ## The tests of the device cuda on this machine's GPU; says so where there is none (docs/GPU.md)
	@scripts/test_gpu $(VENV)

gpu-kit: setup  ## What a machine with a GPU and Python 3.12 needs to run these, in build/gpu-kit, below 60 MB
	@scripts/gpu_kit

bench-gpu: build  ## Kernels and models on this machine's GPU beside what it can do, NumPy and PyTorch; says so where there is none
	@$(VENV) bench/gpu.py

bench-torchscript: setup-torch build  ## TorchScript in weft beside PyTorch, alternating; a table in build/bench
	@$(VENV) bench/torchscript.py

fuzz-programs: build  ## Random NumPy programs, compiled against plain: PROGRAMS=10000 SEED=1
	@.venv/bin/python tests/fuzz/program_fuzz.py --workers 2 --programs $${PROGRAMS:-10000} --seed $${SEED:-1} --corpus tests/fuzz/programs

fuzz:  ## A long fuzz run of every target: FUZZ_SECONDS=600 each
	@scripts/setup build test
	@scripts/fuzz fuzz $${FUZZ_SECONDS:-600}

coverage:  ## Line coverage of the C++ tests in build/coverage/coverage.txt
	@scripts/setup build
	@scripts/coverage

docs: build  ## docs/operators.md from the operator table, docs/WHAT_COMPILES.md from sample calls
	@$(VENV) scripts/docs

format:  ## clang-format and ruff, in place
	@scripts/setup build lint
	@scripts/lint --fix

lint:  ## clang-format, clang-tidy on changed files, ruff; changes nothing
	@scripts/setup build lint
	@scripts/lint

clean:  ## Removes build/ (keeps .venv and compiled-kernel caches)
	rm -rf build
