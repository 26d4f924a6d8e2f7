#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/bare_check.sh: runs `make demo` and `make test` of the last commit in a fresh Debian 12 that holds git
# and make and nothing else, and prints how long each took. This machine's apt settings (mirror, proxies, keys)
# are carried in; everything is removed again at the end. LIMIT is in seconds per command.
source "$(dirname "$0")/lib.sh"
limit=${LIMIT:-360}

[ "$(id -u)" -eq 0 ] || die "make bare-check needs root (debootstrap and chroot do). Try: sudo make bare-check"
scripts/install.sh bare
git rev-parse --verify -q HEAD >/dev/null || die "this is no git checkout with a commit, so there is nothing to clone"
[ -z "$(git status --porcelain)" ] || say "Note: the last commit is checked; uncommitted changes are not in it"

root=$(mktemp -d "${TMPDIR:-/tmp}/reprise-bare.XXXXXX")
chmod 755 "$root"  # as / is: apt reads its downloads as another user
log=$(mktemp "${TMPDIR:-/tmp}/reprise-bare-log.XXXXXX")
cleanup() {
  local mounted
  for mounted in "$root/proc" "$root/dev/shm"; do
    if mountpoint -q "$mounted"; then umount "$mounted" || umount -l "$mounted" || true; fi
  done
  if grep -q " $root/" /proc/mounts; then
    echo "error: something is still mounted below $root; it was not removed" >&2
  else
    rm -rf --one-file-system "$root"
  fi
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# The mirror and the proxy that this machine's own apt uses; on another Debian, debootstrap's default mirror.
mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Identifier: Packages' 2>/dev/null |
  awk '$1 == "bookworm" { print $2; exit }')
if [ -z "${http_proxy:-}" ]; then
  eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
  if [ -n "${http_proxy:-}" ]; then export http_proxy; fi
fi

say "Making a fresh Debian 12 (a minute or two)"
debootstrap --variant=minbase --include=git,make,ca-certificates bookworm "$root" ${mirror:+"$mirror"} >"$log" 2>&1 || {
  tail -n 20 "$log" >&2
  die "debootstrap failed; its last lines stand above, the rest in $log"
}
if [ -n "$mirror" ]; then
  rm -rf "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d
  for item in sources.list sources.list.d apt.conf apt.conf.d auth.conf.d keyrings trusted.gpg.d; do
    if [ -e "/etc/apt/$item" ]; then cp -aL "/etc/apt/$item" "$root/etc/apt/"; fi
  done
  cp -a /usr/share/keyrings/. "$root/usr/share/keyrings/"
fi
for item in resolv.conf hosts; do
  if [ -e "/etc/$item" ]; then cp -L "/etc/$item" "$root/etc/$item"; fi
done
mount -t proc proc "$root/proc" 2>/dev/null || mount --bind /proc "$root/proc" 2>/dev/null ||
  say "Note: /proc could not be mounted in the fresh system; going on without"
mkdir -p "$root/dev/shm"
mount -t tmpfs tmpfs "$root/dev/shm" 2>/dev/null || true

mkdir -p "$root/home/newcomer"
git clone -q --no-hardlinks "file://$PWD" "$root/home/newcomer/reprise"

# in_bare command...: with the environment of a fresh login, plus the proxies.
in_bare() {
  chroot "$root" /usr/bin/env -i HOME=/root TERM="${TERM:-dumb}" PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    ${no_proxy:+no_proxy="$no_proxy"} ${JOBS:+JOBS="$JOBS"} \
    /bin/bash -c 'cd /home/newcomer/reprise && "$@"' bare "$@"
}

say "The fresh system has: $(in_bare git --version), $(in_bare make --version | head -n 1), $(nproc) processors"
failed=0
table=()
for target in demo test; do
  say "make $target"
  start=$SECONDS
  verdict=ok
  in_bare make "$target" </dev/null 2>&1 | tee "$log" || verdict=FAILED
  seconds=$((SECONDS - start))
  if [ $verdict = ok ] && [ $seconds -gt "$limit" ]; then verdict="TOO SLOW"; fi
  [ "$verdict" = ok ] || failed=1
  table+=("$(printf '%-12s %5d s  (limit %d s)  %s' "make $target" $seconds "$limit" "$verdict")")
  grep -E 'tests passed' "$log" || true
done

say "In a fresh Debian 12 with git and make:"
printf '   %s\n' "${table[@]}"
rm -f "$log"
exit $failed
