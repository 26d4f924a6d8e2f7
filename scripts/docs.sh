#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/docs.sh: the reference of the public headers, as pages in build/reference/. Every warning is an error.
source "$(dirname "$0")/lib.sh"

scripts/install.sh checks
command -v doxygen >/dev/null || die "there is no doxygen here: install it (Debian's package: doxygen)"
mkdir -p build
doxygen Doxyfile || die "Doxygen's warnings above name the header and the line"
say "build/reference/index.html"
