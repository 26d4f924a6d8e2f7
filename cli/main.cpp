// SPDX-License-Identifier: Apache-2.0
// Exit status: 0; 2 for wrong use; 1 for a bad model or a failure while running.
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include <reprise/error.h>

#include "core/text.h"
#include "options.h"
#include "output.h"

namespace {

constexpr std::size_t kLongestMessage = 2000;  // bytes

int fail(int status, std::string_view message) {
  // One line, whatever a message quotes.
  std::string line(message);
  for (char& c : line) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  reprise::cli::write_err("reprise: error: " + reprise::printable(line, kLongestMessage) + "\n");
  return status;
}

int run(int argc, char** argv) {
  try {
    return reprise::cli::parse_command_line(argc, argv)();
  } catch (const reprise::CaptureError& fault) {
    return fail(1, fault.what());  // a UsageError to the library's user, not the fault of ours
  } catch (const reprise::UsageError& fault) {
    return fail(2, fault.what());
  } catch (const std::bad_alloc&) {
    return fail(1, "out of memory; use a smaller model, batch or context");
  } catch (const std::exception& fault) {
    return fail(1, fault.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    reprise::cli::prepare_standard_streams();
    return run(argc, argv);
  } catch (...) {  // no memory even for the message
    return 1;
  }
}
