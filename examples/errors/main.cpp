// SPDX-License-Identifier: Apache-2.0
// Makes every mistake of docs/errors.md and prints, a line each: name, type, message.
#include <cstdio>
#include <string>

#include "errors.h"

namespace {

using namespace reprise;

const char* name_of(CaptureFault fault) {
  switch (fault) {
    case CaptureFault::refused:
      return "refused";
    case CaptureFault::invalidated:
      return "invalidated";
    case CaptureFault::merged:
      return "merged";
    case CaptureFault::unmatched:
      return "unmatched";
    case CaptureFault::unjoined:
      return "unjoined";
    case CaptureFault::isolated:
      return "isolated";
    case CaptureFault::captured_event:
      return "captured_event";
    case CaptureFault::wrong_thread:
      return "wrong_thread";
    case CaptureFault::empty:
      return "empty";
    case CaptureFault::nested:
      return "nested";
  }
  return "?";
}

std::string type_of(const Error& error) {
  if (const auto* const capture = dynamic_cast<const CaptureError*>(&error)) {
    return std::string("CaptureFault::") + name_of(capture->fault());
  }
  if (dynamic_cast<const UsageError*>(&error) != nullptr) return "UsageError";
  if (dynamic_cast<const OutOfMemory*>(&error) != nullptr) return "OutOfMemory";
  if (dynamic_cast<const DeviceError*>(&error) != nullptr) return "DeviceError";
  return "Error";
}

bool print(const errors::Case& example) {
  errors::World world;
  try {
    example.provoke(world);
  } catch (const Error& error) {
    std::printf("%s\t%s\t%s\n", example.name, type_of(error).c_str(), error.what());
    return true;
  }
  std::printf("%s\tnothing was thrown\t\n", example.name);
  return false;
}

}  // namespace

int main() {
  bool all = true;
  for (const auto& cases : {errors::capture_cases(), errors::usage_cases(), errors::run_cases(),
                            errors::device_cases()}) {
    for (const errors::Case& example : cases) all = print(example) && all;
  }
  return all ? 0 : 1;
}
