// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cupti.h"

#include <array>

#include <dlfcn.h>
#include <fmt/format.h>

#include <reprise/error.h>

namespace reprise::cuda {
namespace {

/// By name first, which asks the loader's own places and those of the program.
constexpr std::array kPlaces{
    "libcupti.so.13",
    "libcupti.so.12",
    "libcupti.so",
    "/usr/local/cuda/lib64/libcupti.so",
    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
};

constexpr int kMaxLimitReached = 12;
constexpr int kMultipleSubscribers = 39;

template <class Function>
bool load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

Cupti::Cupti() {
  for (const char* const place : kPlaces) {
    library_ = dlopen(place, RTLD_NOW | RTLD_LOCAL);
    if (library_ != nullptr) break;
  }
  if (library_ == nullptr) {
    throw DeviceError(
        "watching CUDA's calls needs CUPTI (libcupti.so), which was not found beside the program, "
        "among the system's libraries or in /usr/local/cuda; it comes with NVIDIA's CUDA toolkit: "
        "install it, or add its folder to LD_LIBRARY_PATH");
  }
  const bool whole = load(library_, "cuptiSubscribe", subscribe_) &&
                     load(library_, "cuptiUnsubscribe", unsubscribe_) &&
                     load(library_, "cuptiEnableDomain", enable_domain_) &&
                     load(library_, "cuptiGetDeviceId", get_device_id_) &&
                     load(library_, "cuptiGetResultString", get_result_string_);
  if (whole) return;
  dlclose(library_);
  throw DeviceError(
      "the CUPTI that was found lacks calls that the watch needs; install the one of "
      "this machine's CUDA toolkit");
}

// The library stays loaded: it has hooks in the driver that outlive a subscription.
Cupti::~Cupti() { unsubscribe(); }

void Cupti::check(int status, const char* call) {
  if (status == 0) return;
  if (status == kMaxLimitReached || status == kMultipleSubscribers) {
    throw DeviceError(
        "CUPTI lets one tool in at a time, and one is there already: end the profiler or the other "
        "RecordingWatch first",
        status);
  }
  const char* text = nullptr;
  get_result_string_(status, &text);
  throw DeviceError(fmt::format("{}: {} ({})", call, text == nullptr ? "unknown" : text, status),
                    status);
}

void Cupti::subscribe(CuptiCallback callback, void* user) {
  check(subscribe_(&subscriber_, callback, user), "cuptiSubscribe");
  try {
    check(enable_domain_(1, subscriber_, CuptiDomain::runtime), "cuptiEnableDomain");
    check(enable_domain_(1, subscriber_, CuptiDomain::driver), "cuptiEnableDomain");
  } catch (...) {
    unsubscribe();
    throw;
  }
}

void Cupti::unsubscribe() noexcept {
  if (subscriber_ == nullptr) return;
  unsubscribe_(subscriber_);
  subscriber_ = nullptr;
}

int Cupti::device_of(CUcontext context) const noexcept {
  std::uint32_t device = 0;
  if (context == nullptr || get_device_id_(context, &device) != 0) return -1;
  return static_cast<int>(device);
}

}  // namespace reprise::cuda
