#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/gpu_test.sh: runs gpu-package/'s tests on this machine's GPU: contracts, golden checkpoints, random
# comparisons, and the small ones once more under compute-sanitizer; writes docs/gpu-test-GPU.txt.
# ORACLE_SECONDS=N (default 60): how long the random comparisons run. JOBS=N: processes at once (default: all cores).
# tools/gpu_test.py --help tells how to run some sections alone.
source "$(dirname "$0")/lib.sh"

unpack_gpu_package
exec python3 tools/gpu_test.py --jobs "$(jobs)" --oracle-seconds "${ORACLE_SECONDS:-60}"
