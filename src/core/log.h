// SPDX-License-Identifier: Apache-2.0
// Notes for the person at the terminal: one line each, to standard error by default. The library
// writes few: a fallback seen for the first time, a retry, a slow start. Thread safe.
#pragma once

#include <functional>
#include <string_view>

namespace reprise {

/// Takes a line without its newline.
using LogSink = std::function<void(std::string_view line)>;

/// Sink that writes "reprise: note: …" to standard error.
LogSink stderr_sink();

}  // namespace reprise
