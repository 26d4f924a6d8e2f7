#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/mutants.sh: breaks the sources of graph, memory and the host device in small places, one at a time, and shows
# which test notices. SEED and COUNT choose the mutants; AGAIN=1 tries only what survived the last run.
source "$(dirname "$0")/lib.sh"

scripts/install.sh build
options=(--seed "${SEED:-1}" --count "${COUNT:-64}")
[ -z "${AGAIN:-}" ] || options=(--again)
say "Mutants, in build-mutants/ (an idle processor takes about 15 minutes)"
nice -n 19 tools/mutants.py "${options[@]}"
tools/mutants.py --write
tools/mutants.py --check || die "the record in docs/mutants.md is not as it must be; what is missing stands above"
