// SPDX-License-Identifier: Apache-2.0
#include "device/spec.h"

#include <charconv>

#include <fmt/format.h>

namespace reprise {

DeviceSpec parse_device_spec(std::string_view text) {
  if (text == "auto") return {.automatic = true};
  if (text == "host") return {};
  if (text == "cuda") return {.kind = DeviceKind::cuda};
  constexpr std::string_view kPrefix = "cuda:";
  if (text.starts_with(kPrefix)) {
    const std::string_view digits = text.substr(kPrefix.size());
    DeviceSpec spec{.kind = DeviceKind::cuda};
    const char* end = digits.data() + digits.size();
    const auto [stop, fault] = std::from_chars(digits.data(), end, spec.ordinal);
    if (fault == std::errc() && stop == end && digits.front() != '-') return spec;
  }
  throw UsageError(fmt::format(
      "device '{}' is unknown; use auto, host, cuda or cuda:N with N counting from 0", text));
}

}  // namespace reprise
