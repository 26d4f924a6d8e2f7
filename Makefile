# SPDX-License-Identifier: Apache-2.0
# The door: each target is a script of scripts/, which can be read and run by itself.
# CUDA=1 builds with the CUDA backend, CUDA=0 without; unset, it is built where there is a GPU.
# JOBS=N limits what runs at once (default: all processors).
SHELL := /bin/bash
.NOTPARALLEL:
export CUDA JOBS NAME MODELS BATCHES STEPS CUDA_ARCHITECTURES SHARED ORACLE_SECONDS SEED COUNT AGAIN
unexport MAKEFLAGS MFLAGS

.PHONY: help build demo test gpu-package gpu-test gpu-bench gpu-bench-graph mutants check docs format bare-check ci clean

help: ## Show this list
	@echo "Reprise: what make can do"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20
	@echo "CUDA=1 builds with the CUDA backend, CUDA=0 without (default: where there is a GPU). JOBS=N limits jobs."

build: ## Install what is missing and build all; the program is build/reprise
	@scripts/build.sh

demo: ## Build the program, generate text with the bundled model, compare eager and recorded
	@scripts/demo.sh

test: ## Build all and run every test that needs no GPU
	@scripts/test.sh

gpu-package: ## Build the program and the GPU tests for another machine, into gpu-package/ (needs nvcc)
	@scripts/gpu_package.sh

gpu-test: ## Run gpu-package/'s tests on this machine's GPU, record in docs/gpu-test-GPU.txt
	@scripts/gpu_test.sh

gpu-bench: ## Measure decode steps on this machine's GPU into docs/benchmarks/ (NAME=text names the run)
	@scripts/gpu_bench.sh

mutants: ## Break the sources in 64 places, one at a time: which test notices? Record in docs/mutants.md
	@scripts/mutants.sh

gpu-bench-graph: ## Measure what recording and replaying cost on this machine's GPU, into docs/benchmarks/
	@scripts/gpu_bench_graph.sh

check: ## Static checks: format, ranks, sizes, licence lines, links, headers alone
	@scripts/check.sh

docs: ## Make the reference of the public headers, build/reference/
	@scripts/docs.sh

format: ## Reformat the sources in place
	@tools/check_format.sh --fix

bare-check: ## Run make demo and make test in a fresh Debian 12 (needs root)
	@scripts/bare_check.sh

ci: ## Everything CI runs
	@.ci/run

clean: ## Remove what was built
	rm -rf build build-* gpu-package gpu-package.tar.gz
