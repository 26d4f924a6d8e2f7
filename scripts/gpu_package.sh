#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/gpu_package.sh: builds the program and all GPU tests for a machine that has a GPU and CUDA's libraries but
# not ours, and gathers them in gpu-package/ and gpu-package.tar.gz: copy this checkout with one of them there and run
# make gpu-test.
# NVIDIA's libraries are looked for in /usr/local/cuda/lib64 there, all others of ours lie beside the programs, and
# checkpoints that are not in the repository, taken from SHARED (default ../shared), lie in golden/ and models/.
# CUDA_ARCHITECTURES (default 90a-real): what to compile for.
source "$(dirname "$0")/lib.sh"

build=build-cuda
package=gpu-package
shared=${SHARED:-../shared}
most=60 # MiB of checkout and package together

log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset cuda -DCMAKE_CUDA_ARCHITECTURES="${CUDA_ARCHITECTURES:-90a-real}" >"$log" 2>&1 ||
  { cat "$log"; die "$build/ could not be configured: is nvcc here?"; }
ninja -C $build -j "$(jobs)" cuda_programs || die "the build failed; the first error above is the one to read"

rm -rf $package
cmake --install $build --component gpu_package --prefix $package --strip >"$log" || { cat "$log"; die "nothing to gather"; }

[ -x $package/reprise ] || die "cmake installed no program: is the component gpu_package what tests/CMakeLists.txt says?"

# What every Linux has, and what CUDA brings, stays out.
ldd $package/* | awk '$3 ~ /^\// { print $3 }' | sort -u |
  { grep -Ev '/(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+|ld-linux[^/]*|lib(cu|nv)[^/]*)\.so' || true; } |
  while read -r library; do cp -L "$library" $package/; done
if ldd $package/* | grep 'not found' >&2; then die "these libraries are missing here, so they cannot be carried"; fi

# take FOLDER-OF-SHARED FOLDER-OF-THE-PACKAGE
take() {
  if [ ! -f "$shared/$1/config.json" ]; then
    say "$shared/$1 is not there: make gpu-test will fail for want of it (tools/gpu_test.py --allow-skips does not)"
    return
  fi
  mkdir -p "$package/$2"
  cp "$shared/$1"/* "$package/$2/"
  chmod -R u+w "$package/$2"
}
take golden/llama-hd128-bf16 golden/llama-hd128-bf16
take models/stories260K models/stories260K

changed=''
[ -z "$(git status --porcelain)" ] || changed=' (modified)'
echo "$(git rev-parse HEAD)$changed" >$package/commit

# What travels: kernels for one GPU compress to less than half.
tar -czf $package.tar.gz $package
# A file that git knows and the tree lacks has no size.
kib=$(($({ git ls-files -z -co --exclude-standard | xargs -0 du -ck 2>/dev/null | tail -1 | cut -f1; } || true) + $(du -sk $package.tar.gz | cut -f1)))
say "$package/: $(cd $package && echo *) ($(du -sh $package | cut -f1)); $package.tar.gz with the checkout: $((kib / 1024)) MiB"
[ $kib -le $((most * 1024)) ] || die "checkout and gpu-package.tar.gz together are above $most MiB, which the way to a GPU machine may not take"
