#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/gpu_package.sh: builds the program and all GPU tests for a machine that has a GPU and CUDA's libraries but
# not ours, and gathers them in gpu-package/: copy this checkout there and run make gpu-test.
# NVIDIA's libraries are looked for in /usr/local/cuda/lib64 there, all others of ours lie beside the programs.
source "$(dirname "$0")/lib.sh"

build="build-gpu"
package=gpu-package
# shellcheck disable=SC2016  # $ORIGIN is for the loader
cmake -G Ninja -S . -B $build -DREPRISE_CUDA=ON -DREPRISE_TESTS=ON -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON \
  '-DCMAKE_INSTALL_RPATH=$ORIGIN;/usr/local/cuda/lib64' >/dev/null || die "$build/ could not be configured: is nvcc here?"
ninja -C $build -j "$(jobs)" cuda_programs || die "the build failed; the first error above is the one to read"

rm -rf $package
mkdir $package
cp $build/reprise $package/
for program in $build/tests/*_cuda; do
  if [ -f "$program" ] && [ -x "$program" ]; then cp "$program" $package/; fi
done
cp $build/tests/nvtx_injection.so $package/
for program in $package/*; do
  strip "$program"
  # What every Linux has, and what CUDA brings, stays out.
  ldd "$program" | awk '$3 ~ /^\// { print $3 }' |
    grep -Ev '/(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+|ld-linux[^/]*)\.so|/(libcu|libnv)[^/]*\.so' |
    while read -r library; do cp -Lu "$library" $package/; done || true  # grep: nothing to carry
done
git rev-parse HEAD >$package/commit
say "$package/: $(cd $package && echo *) ($(du -sh $package | cut -f1))"
