# SPDX-License-Identifier: Apache-2.0
# Shared by the scripts; sourced, not run. Sets the repository root as working directory.
set -euo pipefail
export LC_ALL=C.UTF-8 LANG=C.UTF-8
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '== %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

jobs() { echo "${JOBS:-$(nproc)}"; }

gpu_present() {
  [ -e /dev/nvidia0 ] && return 0
  [ -n "$(ls -A /proc/driver/nvidia/gpus 2>/dev/null)" ] && return 0
  command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi -L 2>/dev/null | grep -q '^GPU '
}

# "NVIDIA H200" -> h200, as tools/gpu_test.py names its record
gpu_name() {
  nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | tr '[:upper:]' '[:lower:]' |
    sed -E 's/^nvidia //; s/[^a-z0-9]+/-/g; s/^-|-$//g'
}

# What REPRISE_CUDA is to be: CUDA=1 insists, CUDA=0 refuses, unset looks for a GPU.
cuda_choice() {
  case "${CUDA:-}" in
    1 | ON | on | yes) echo ON ;;
    0 | OFF | off | no) echo OFF ;;
    '') if gpu_present; then echo AUTO; else echo OFF; fi ;;
    *) die "CUDA=$CUDA is neither 0 nor 1" ;;
  esac
}

# unpack_gpu_package: where only gpu-package.tar.gz travelled, or it is newer than the folder, it becomes the folder.
unpack_gpu_package() {
  [ -f gpu-package.tar.gz ] || return 0
  [ -d gpu-package ] && [ gpu-package -nt gpu-package.tar.gz ] && return 0
  rm -rf gpu-package
  tar -xzf gpu-package.tar.gz
  touch gpu-package
}
