#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/gpu_bench.sh: measures decode steps, eager and recorded, on this machine's GPU. Writes one record per model,
# docs/benchmarks/GPU-NAME-MODEL.json, and a page of tables, docs/benchmarks/GPU-NAME.md, beside other systems' figures.
# NAME=text (default: try) names the run; MODELS, BATCHES and STEPS say what is measured.
source "$(dirname "$0")/lib.sh"

name=${NAME:-try}
models=${MODELS:-random:llama-2-7b random:llama-2-13b random:tinyllama-1.1b}
batches=${BATCHES:-1,2,4,8,16,32,64,128,256}
steps=${STEPS:-40}
peers=docs/benchmarks/peers-h200.json

[[ $name =~ ^[a-z0-9-]+$ ]] || die "NAME=$name becomes part of a file's name: use small letters, digits and -"
gpu_present || die "no NVIDIA GPU is visible here"
unpack_gpu_package
program=gpu-package/reprise
[ -x $program ] || program=build/reprise
[ -x $program ] || die "there is no program: make gpu-package builds one for another machine, CUDA=1 make build for this"

gpu=$(gpu_name)
start="docs/benchmarks/$gpu-$name"
records=()
for model in $models; do
  record="$start-$(basename "${model#random:}").json"
  say "$model -> $record"
  $program bench "$model" --device cuda --batch "$batches" --steps "$steps" --json "$record" ||
    die "$model was not measured; the message above says why"
  records+=("$record")
done
beside=-
[ "$gpu" = h200 ] && beside=$peers
{
  printf '# Decode steps on %s: %s\n\n' "$gpu" "$name"
  printf 'Made by `make gpu-bench NAME=%s STEPS=%s`. Context 128 in every row, greedy choice included, back to\n' "$name" "$steps"
  printf 'back; median of all steps of 5 repeats. Where other systems stand beside, their source is in peers-h200.json.\n\n'
  printf '<!-- bench-table %s %s -->\n<!-- end of bench-table -->\n' "$beside" "${records[*]}"
} >"$start.md"
python3 tools/bench_table.py --fill "$start.md"
