// SPDX-License-Identifier: Apache-2.0
// What is said when something cannot be recorded, and where the memory went: a host read inside a
// recording is refused at the call, the stream stays usable, and every byte has an owner.
#include <cstdio>
#include <span>
#include <string>

#include <reprise/graph.h>
#include <reprise/host.h>
#include <reprise/memory_pool.h>

int main() {
  const auto device = reprise::Device::open("host");
  reprise::Stream stream = device->create_stream("main");
  reprise::Buffer x = device->allocate(sizeof(float), "x");
  float value = 0;
  x.from_host(stream, std::as_bytes(std::span(&value, 1)));
  auto* const data = static_cast<float*>(x.data());
  const auto increment = [&] {
    const reprise::LabelScope layer(stream, "layer 0");
    reprise::host::enqueue(stream, "increment", [data] { *data += 1; });
  };

  std::string refusal;
  try {
    reprise::capture(stream, [&] {
      increment();
      x.to_host(stream, std::as_writable_bytes(std::span(&value, 1)));  // the host can't wait here
    });
  } catch (const reprise::CaptureError& error) {
    refusal = error.what();
  }
  std::printf("refused: %s\n", refusal.c_str());
  for (const char* part : {"Buffer::to_host", "'main'", "thread", "layer 0 / increment"}) {
    if (refusal.find(part) == std::string::npos) return 1;
  }

  // Nothing ran, and the stream records and runs as before.
  reprise::capture(stream, increment).instantiate().launch(stream);
  x.to_host(stream, std::as_writable_bytes(std::span(&value, 1)));
  std::printf("after one replay of a good recording: %.0f\n", value);

  const auto pool = reprise::MemoryPool::create(device, {.name = "scratch"});
  const reprise::PoolBlock hidden = pool->allocate(300'000, "layer 0 / hidden");
  const reprise::PoolBlock logits = pool->allocate(1'000'000, "logits");
  std::printf("%s", reprise::memory_summary(*pool).c_str());
  std::size_t owned = 0;
  for (const reprise::SegmentInfo& segment : pool->snapshot()) {
    for (const reprise::BlockInfo& block : segment.blocks) {
      std::printf("%9zu bytes at +%-9zu %s\n", block.bytes, block.offset,
                  block.allocated ? block.label.c_str() : "(free)");
      if (block.allocated) owned += block.requested_bytes;
    }
  }
  return value == 1 && owned == 1'300'000 ? 0 : 1;
}
