# SPDX-License-Identifier: Apache-2.0
# reprise_flags: what every target of this project is compiled with.
#
# No -march here: the program runs on any x86-64, and the fast host kernels choose their instructions
# at run time (function target attributes). Products and sums are fused only where the code says fma,
# so that a kernel's bits don't depend on what the optimiser felt like.
# assert() guards our own invariants: on in Debug (the sanitizer builds), off in Release. What a user can
# get wrong is checked by exceptions, always.
add_library(reprise_flags INTERFACE)
target_compile_options(
  reprise_flags
  INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wnon-virtual-dtor
            -Woverloaded-virtual
            -Wcast-qual
            -Wimplicit-fallthrough
            -Wundef
            -Wvla
            -ffp-contract=off>
            $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr
            -lineinfo
            --diag-suppress=20054
            -Xcompiler=-Wall,-Wextra,-ffp-contract=off>)
target_compile_definitions(reprise_flags INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
if(REPRISE_SANITIZE)
  # Every finding ends the program: one that only prints is one that nobody reads.
  target_compile_options(
    reprise_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${REPRISE_SANITIZE}
                            -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  target_link_options(reprise_flags INTERFACE -fsanitize=${REPRISE_SANITIZE})
endif()

# precompile(target header): for the C++ files of `target`. -fpch-preprocess lets ccache see through it.
function(precompile target header)
  target_precompile_headers(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${header}>)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endfunction()
