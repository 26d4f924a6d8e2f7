// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <reprise/graph.h>
#include <reprise/host.h>

#include "guide.h"

bool guide::errors() {
  const auto device = reprise::Device::open("host");
  reprise::Stream stream = device->create_stream("main");
  reprise::Buffer x = device->allocate(sizeof(float), "x");
  std::string message;
  bool refused = false;
  // [catch]
  try {
    reprise::capture(stream, [&] {
      stream.fill(x.view(), 0);
      stream.synchronize();  // nothing has run, so there is nothing to wait for
    });
  } catch (const reprise::CaptureError& error) {
    refused = error.fault() == reprise::CaptureFault::refused;
    message = error.what();  // call, stream, thread, the live recording, what it holds, one fix
  }
  // [/catch]
  // [usable]
  stream.fill(x.view(), 0);  // the recording was discarded; the stream works on
  stream.synchronize();
  // [/usable]
  return refused && message.find("Stream::synchronize") != std::string::npos;
}
