#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/build.sh [target]...: installs what is missing, configures build/ and builds it (default: everything).
# CUDA=1|0 builds with or without the CUDA backend; unset, it is built where there is a GPU and a toolkit.
source "$(dirname "$0")/lib.sh"

scripts/install.sh build
if [ -f build/CMakeCache.txt ]; then
  home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' build/CMakeCache.txt)
  if [ "$home" != "$PWD" ] || ! grep -q '^CMAKE_GENERATOR:INTERNAL=Ninja$' build/CMakeCache.txt; then
    say "build/ was configured elsewhere or for another generator; configuring anew"
    rm -rf build/CMakeCache.txt build/CMakeFiles
  fi
fi
cuda=$(cuda_choice)
say "Configuring build/ (CUDA: $cuda)"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake -G Ninja -S . -B build -DREPRISE_CUDA="$cuda" -DREPRISE_TESTS=ON >"$log" 2>&1; then
  cat "$log" >&2
  die "build/ could not be configured; CMake's message above says what is missing (docs/dependencies.md lists all)"
fi
say "Building with $(jobs) jobs: ${*:-everything}"
ninja -C build -j "$(jobs)" "${@:-all}" ||
  die "the build failed; the first error above is the one to read. 'make clean' starts over"
