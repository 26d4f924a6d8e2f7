#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/check_format.sh [--fix]: the C++ and CUDA sources are formatted as .clang-format says. Other versions of
# clang-format format differently, so only Debian 12's is taken.
source "$(dirname "$0")/../scripts/lib.sh"

formatter=""
for name in clang-format-14 clang-format; do
  if command -v $name >/dev/null 2>&1 && $name --version | grep -q 'version 14\.'; then
    formatter=$name
    break
  fi
done
[ -n "$formatter" ] || die "clang-format 14 is not installed. Try: scripts/install.sh checks"

mode=(--dry-run -Werror)
if [ "${1:-}" = --fix ]; then mode=(-i); fi
shopt -s globstar nullglob
files=()
for file in {include,src,cli,tests,examples,bench}/**/*.{h,hpp,cpp,cu,cuh}; do files+=("$file"); done
"$formatter" --style=file "${mode[@]}" "${files[@]}" || die "not formatted as .clang-format says. Try: make format"
echo "format: ok (${#files[@]} files)"
