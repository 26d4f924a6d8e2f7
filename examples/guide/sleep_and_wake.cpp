// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <vector>

#include <reprise/device.h>
#include <reprise/graph.h>
#include <reprise/host.h>
#include <reprise/memory_budget.h>
#include <reprise/sleepable_memory.h>

#include "guide.h"

bool guide::sleep_and_wake() {
  const auto device = reprise::host::open({.memory_limit = std::size_t{128} << 20});
  const std::vector<float> file(1024, 0.5F);
  // [allocate]
  const auto memory = reprise::SleepableMemory::create(device, {.name = "engine"});
  const reprise::SleepableBuffer weights =
      memory->allocate(file.size() * sizeof(float), reprise::SleepClass::reload, "weights",
                       [&file](reprise::Stream& stream, reprise::MemoryView to) {
                         stream.copy(to, reprise::pageable(std::span(file)));
                       });
  reprise::SleepableBuffer kv =
      memory->allocate(memory->granularity(), reprise::SleepClass::discard, "kv", nullptr,
                       device->memory_info().total);  // addresses for all there could be
  // [/allocate]
  // [pool]
  const auto scratch = reprise::MemoryPool::create(
      device, {.name = "scratch"}, memory->resource(reprise::SleepClass::discard, "scratch"));
  // [/pool]
  reprise::Stream stream = device->create_stream("main");
  stream.copy(weights.view(), reprise::pageable(std::span(file)));
  const auto* const from = static_cast<const float*>(weights.data());
  auto* const to = static_cast<float*>(kv.data());
  const auto exec =
      std::make_unique<reprise::GraphExec>(reprise::capture(stream, [&] {
                                             reprise::host::enqueue(stream, "double", [=] {
                                               for (int i = 0; i < 1024; ++i) to[i] = 2 * from[i];
                                             });
                                           }).instantiate());
  // [sleep]
  const reprise::SleepReport given_back = memory->sleep();
  const std::size_t kv_bytes = given_back.of(reprise::SleepClass::discard).bytes;
  // … the device's memory is somebody else's …
  memory->wake();
  exec->launch(stream);  // recorded before, at the same addresses
  // [/sleep]
  stream.synchronize();
  const bool replayed = to[1023] == 1.0F;
  // [budget]
  const std::size_t margin = std::size_t{16} << 20;
  kv.extend(reprise::mappable_bytes(device->memory_info(), margin, memory->granularity()));
  const reprise::MemoryBudget budget = reprise::make_budget(
      device->memory_info(), {.weights = weights.bytes(), .kv = kv.bytes()}, margin);
  // [/budget]
  return replayed && kv_bytes == memory->granularity() && budget.margin == margin &&
         !scratch->asleep() && budget.free < memory->granularity();
}
