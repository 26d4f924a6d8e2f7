// SPDX-License-Identifier: Apache-2.0
// The few calls of CUPTI that the watch needs, loaded at run time: neither building nor starting
// the program asks for CUPTI. Declared here as its documentation gives them, because a toolkit may
// come without CUPTI's headers; tests/device/cuda/watch_test.cu compares with those where they are.
#pragma once

#include <cstdint>
#include <string>

#include <cuda.h>

namespace reprise::cuda {

enum class CuptiDomain : int { driver = 1, runtime = 2 };
enum class CuptiSite : int { enter = 0, exit = 1 };

/// What a callback is given for a call of the driver's or the runtime's API.
struct CuptiCall {
  CuptiSite site;
  const char* function;
  const void* parameters;  ///< a structure of the call's parameters, in their order
  void* result;
  const char* symbol;  ///< of a launch: the kernel's mangled name; may be null
  CUcontext context;   ///< null before the first call that makes one
  std::uint32_t context_id;
  std::uint64_t* correlation_data;
  std::uint32_t correlation_id;
};
using CuptiCallback = void (*)(void* user, CuptiDomain domain, std::uint32_t id, const void* call);

class Cupti {
 public:
  /// Throws DeviceError where the library is not found, naming where it was looked for.
  Cupti();
  ~Cupti();
  Cupti(const Cupti&) = delete;
  Cupti& operator=(const Cupti&) = delete;

  /// Calls of both domains from now on; throws DeviceError where another subscriber is there.
  void subscribe(CuptiCallback callback, void* user);
  void unsubscribe() noexcept;
  /// Ordinal of the device that a context belongs to; -1 where that is not known.
  int device_of(CUcontext context) const noexcept;

 private:
  void check(int status, const char* call);

  void* library_ = nullptr;
  void* subscriber_ = nullptr;
  int (*subscribe_)(void** subscriber, CuptiCallback callback, void* user) = nullptr;
  int (*unsubscribe_)(void* subscriber) = nullptr;
  int (*enable_domain_)(std::uint32_t enable, void* subscriber, CuptiDomain domain) = nullptr;
  int (*get_device_id_)(CUcontext context, std::uint32_t* device) = nullptr;
  int (*get_result_string_)(int status, const char** text) = nullptr;
};

}  // namespace reprise::cuda
