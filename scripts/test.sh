#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/test.sh: builds everything and runs every test that needs no GPU.
source "$(dirname "$0")/lib.sh"

scripts/build.sh
say "Running the tests that need no GPU"
options=(--test-dir build --output-on-failure --no-tests=error --label-exclude '^gpu$' --parallel "$(jobs)"
  --output-junit tests.xml)
[ -t 1 ] && options+=(--progress)
if ! ctest "${options[@]}"; then
  cat >&2 <<'END'
error: tests failed; what they printed stands above. To go on from here:
  ctest --test-dir build --rerun-failed --output-on-failure    run the failed ones again
  ctest --test-dir build -R NAME -V                            run one and see all it prints
A test that fails on a clean checkout of Debian 12 is a bug of this project: please report it with its output.
END
  exit 1
fi
