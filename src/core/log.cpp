// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"

#include <cstdio>
#include <string>

namespace reprise {

LogSink stderr_sink() {
  return [](std::string_view line) {
    // One write per line, so that lines of several threads do not mix.
    const std::string text = "reprise: note: " + std::string(line) + "\n";
    std::fwrite(text.data(), 1, text.size(), stderr);
  };
}

}  // namespace reprise
