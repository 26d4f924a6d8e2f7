#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/install.sh [build|checks|bare]...: installs the Debian packages that are missing; where nothing is,
# it runs nothing and needs neither root nor a network. docs/dependencies.md says what each is for.
source "$(dirname "$0")/lib.sh"

packages_of() {
  case "$1" in
    build)
      echo g++ cmake ninja-build ccache pkg-config libfmt-dev nlohmann-json3-dev libcli11-dev libpcre2-dev \
        libutf8proc-dev libgtest-dev libgmock-dev librapidcheck-dev python3
      ;;
    checks) echo clang-format-14 doxygen ;;
    bare) echo debootstrap ;;
    *) die "scripts/install.sh: '$1' is not a set of packages; there are build, checks and bare" ;;
  esac
}

wanted=()
for set in "${@:-build}"; do
  names=$(packages_of "$set")
  read -ra names <<<"$names"
  wanted+=("${names[@]}")
done

if ! command -v dpkg-query >/dev/null 2>&1; then
  say "This is not Debian, so nothing is installed. What must be there (Debian's names): ${wanted[*]}"
  exit 0
fi

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

by_hand="apt-get install --no-install-recommends ${missing[*]}"
as_root=(env)
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null 2>&1; then
    die "packages are missing, and there is neither root nor sudo to install them. As root: $by_hand"
  elif [ ! -t 0 ] && ! sudo -n true 2>/dev/null; then
    die "packages are missing, and sudo wants a password but there is no terminal. First: sudo $by_hand"
  fi
  as_root=(sudo env)
fi
apt() {
  "${as_root[@]}" DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get -q -y \
    -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 -o Acquire::Retries=2 "$@"
}

say "Installing ${#missing[@]} packages: ${missing[*]}"
apt -o APT::Update::Error-Mode=any update ||
  say "The package lists could not be fetched (no network?); trying with those that are here"
apt install --no-install-recommends "${missing[@]}" ||
  die "the packages could not be installed; apt's messages above say why (no network, or no Debian 12 sources in" \
    "/etc/apt?). Where they can: $by_hand"
