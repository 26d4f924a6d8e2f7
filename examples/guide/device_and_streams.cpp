// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <span>

#include <reprise/device.h>
#include <reprise/host.h>

#include "guide.h"

bool guide::device_and_streams() {
  // [open]
  const auto device = reprise::Device::open("host");  // or "cuda", "cuda:1", "auto"
  reprise::Stream main = device->create_stream("main");
  reprise::Stream side = device->create_stream("side");
  // [/open]
  // [copy]
  std::array<float, 3> values = {1, 2, 3};
  reprise::Buffer x = device->allocate(sizeof values, "x");
  x.from_host(main, std::as_bytes(std::span(values)));
  // [/copy]
  // [order]
  auto* const data = static_cast<float*>(x.data());
  reprise::Event filled = device->create_event();
  main.record(filled);  // the work on `main` up to here
  side.wait(filled);    // comes before what is enqueued on `side` from here on
  reprise::host::enqueue(side, "double", [data] {
    for (int i = 0; i < 3; ++i) data[i] *= 2;
  });
  x.to_host(side, std::as_writable_bytes(std::span(values)));  // after that, and waits
  // [/order]
  return values == std::array<float, 3>{2, 4, 6};
}
