// SPDX-License-Identifier: Apache-2.0
// Runs the snippets of the guide.
#include <cstdio>

#include "guide.h"

int main() {
  struct Page {
    const char* name;
    bool (*run)();
  };
  bool all = true;
  for (const Page& page :
       {Page{"device and streams", guide::device_and_streams}, Page{"recording", guide::recording},
        Page{"runner", guide::runner}, Page{"pool and ladder", guide::pool_and_ladder},
        Page{"bindings", guide::bindings}, Page{"memory pool", guide::memory_pool},
        Page{"errors", guide::errors}, Page{"diagnostics", guide::diagnostics},
        Page{"timeline", guide::timeline}}) {
    const bool right = page.run();
    std::printf("%s: %s\n", page.name, right ? "as the page says" : "NOT as the page says");
    all = all && right;
  }
  return all ? 0 : 1;
}
