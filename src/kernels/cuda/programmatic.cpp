// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/programmatic.h"

#include <string>

#include <reprise/cuda_launch.h>

#include "kernels/cuda/kernels.h"

namespace reprise::cuda_kernels {
namespace {

constexpr const char* kReason = "no_programmatic_launch";

std::string note_of(Device& device) {
  const std::string why = cuda::has_programmatic_launch(device)
                              ? "this program was built for older devices"
                              : "its compute capability is " +
                                    std::to_string(device.properties().compute_capability / 10) +
                                    "." +
                                    std::to_string(device.properties().compute_capability % 10);
  return "kernels on " + device.label() + " are launched one behind the other: overlapping them " +
         "needs compute capability 9.0, and " + why + " (reason " + kReason +
         ", counted from now on, not reported again)";
}

}  // namespace

// Code that cannot wait must not be launched so, on no device; a device that cannot launch so makes
// it plain by itself, and graphs then show that it was asked for.
ProgrammaticLaunches::ProgrammaticLaunches(Device& device, bool wanted)
    : device_(device),
      declared_(wanted && (!cuda::has_programmatic_launch(device) || compiled_to_wait())),
      missing_(wanted && !(cuda::has_programmatic_launch(device) && compiled_to_wait())) {}

Target ProgrammaticLaunches::on(Stream& stream) {
  if (missing_ && plain_.fetch_add(1) == 0 && on_note_) on_note_(note_of(device_));
  return {stream, declared_};
}

void ProgrammaticLaunches::add_to(std::vector<KernelFallback>& counts) const {
  const std::uint64_t calls = plain_.load();
  if (calls > 0) counts.push_back({.reason = kReason, .calls = calls});
}

}  // namespace reprise::cuda_kernels
