// SPDX-License-Identifier: Apache-2.0
// From the command line to the command to run.
#pragma once

#include <functional>

namespace reprise::cli {

/// What main() is to run; returns the exit status.
using Command = std::function<int()>;

/// Reads the command line; for --help and --version the command prints what was asked for. Throws
/// UsageError, one line that names the option at fault.
Command parse_command_line(int argc, const char* const* argv);

}  // namespace reprise::cli
