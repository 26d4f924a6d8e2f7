#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/gpu_test.sh: runs gpu-package/'s tests on this machine's GPU, one section per kind, and the small ones once
# more under compute-sanitizer. SECONDS_PER_TEST=N (default 5): how long each random comparison runs.
source "$(dirname "$0")/lib.sh"

package=gpu-package
[ -x $package/reprise ] || die "$package/ is not there: make gpu-package builds it, on any machine with nvcc"
gpu_present || die "no NVIDIA GPU is visible here"
say "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1), $(date -u +%F), commit $(cat $package/commit)"

failed=0
# section NAME command...
section() {
  say "$1"
  shift
  "$@" || { failed=1; echo "FAILED (status $?): $*"; }
}

section contract $package/contract_cuda --gtest_brief=1
if [ -x $package/test_device_cuda ]; then section device $package/test_device_cuda --gtest_brief=1; fi
for example in $package/example_*_cuda; do section "$(basename "$example")" "$example"; done
section oracle $package/test_kernels_cuda --gtest_brief=1 --seconds="${SECONDS_PER_TEST:-5}"
if command -v compute-sanitizer >/dev/null; then
  section memcheck compute-sanitizer --tool memcheck --error-exitcode 9 $package/test_kernels_cuda --gtest_brief=1 --seconds=0
else
  failed=1
  echo "FAILED: compute-sanitizer is not on the PATH, memcheck did not run"
fi
exit $failed
