#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/demo.sh: text out of the bundled model through recorded decode steps, then eager against recorded.
source "$(dirname "$0")/lib.sh"

model=models/demo
[ -f "$model/config.json" ] || die "$model is not there: this checkout is incomplete. Try: git checkout -- models"
scripts/build.sh reprise
[ -x build/reprise ] || die "the build left no program at build/reprise. Try: make clean, then make demo"

device=host
if [ "$(cuda_choice)" != OFF ] && gpu_present; then device=auto; fi
text=$(mktemp)
trap 'rm -f "$text"' EXIT

# show command...: prints it, so that it can be typed again, and runs it.
show() {
  local line="\$" word
  for word in "$@"; do
    if [[ $word = *" "* ]]; then word="\"$word\""; fi
    line+=" $word"
  done
  printf '\n%s\n' "$line" >&2
  "$@"
}

prompt="It was a fine morning in early spring, and"
show build/reprise generate $model -p "$prompt" --max-tokens 160 --ignore-eos --device $device --stats | tee "$text" ||
  die "the program did not generate; its message above says why"
words=$(wc -w <"$text")
[ "$words" -ge 60 ] || die "only $words words came out; at least 60 were expected of $model"

show build/reprise bench $model --device $device --batch 1,4,8 --steps 40 ||
  die "the benchmark did not run; its message above says why"
