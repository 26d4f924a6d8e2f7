#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/check.sh: the static checks; all of them run, whatever the first ones find.
source "$(dirname "$0")/lib.sh"

scripts/install.sh build checks
failed=0
tools/check_format.sh || failed=1
tools/check_ranks.py || failed=1
tools/check_sizes.py || failed=1
tools/check_form.py || failed=1
tools/check_docs.py || failed=1
tools/bench_table.py --fill --check README.md docs/benchmarks/*.md || failed=1
if [ -e docs/benchmarks/h200-graph.json ]; then
  tools/graph_table.py --check docs/benchmarks/h200-graph.json docs/benchmarks/h200-graph.md || failed=1
fi
tools/pitfalls.py --check || failed=1
tools/mutants.py --check || failed=1
scripts/build.sh header_check header_check_src || failed=1
exit $failed
