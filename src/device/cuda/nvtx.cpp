// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/nvtx.h"

#include <nvtx3/nvToolsExt.h>

namespace reprise::nvtx {
namespace {

/// Null where no profiler listens. The domain lives as long as the process, as its names do.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t handle = nvtxDomainCreateA("reprise");
  return handle;
}

nvtxEventAttributes_t attributes() noexcept {
  nvtxEventAttributes_t result{};
  result.version = NVTX_VERSION;
  result.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return result;
}

}  // namespace

bool attached() { return domain() != nullptr; }

const void* name(const std::string& text) {
  return attached() ? nvtxDomainRegisterStringA(domain(), text.c_str()) : nullptr;
}

void push(const void* name) noexcept {
  nvtxEventAttributes_t range = attributes();
  range.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  range.message.registered = static_cast<nvtxStringHandle_t>(const_cast<void*>(name));
  nvtxDomainRangePushEx(domain(), &range);
}

void push(std::string_view text) {
  const std::string terminated(text);
  nvtxEventAttributes_t range = attributes();
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = terminated.c_str();
  nvtxDomainRangePushEx(domain(), &range);
}

void pop() noexcept { nvtxDomainRangePop(domain()); }

}  // namespace reprise::nvtx
