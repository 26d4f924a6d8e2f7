#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/gpu_bench_graph.sh: measures what recording and replaying cost on this machine's GPU (bench/graph). Writes
# docs/benchmarks/GPU-graph.json and its page, GPU-graph.md.
source "$(dirname "$0")/lib.sh"

gpu_present || die "no NVIDIA GPU is visible here"
unpack_gpu_package
program=gpu-package/bench_graph
[ -x $program ] || program=build-cuda/bench/bench_graph
[ -x $program ] || die "there is no program: make gpu-package builds one"
start="docs/benchmarks/$(gpu_name)-graph"
$program --device cuda --json "$start.json"
tools/graph_table.py "$start.json" "$start.md"
