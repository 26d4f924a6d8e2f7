// SPDX-License-Identifier: Apache-2.0
// The memory pool alone: the same requests yield the same addresses, which is why a step that ran
// once can be recorded; and inside a recording the pool refuses to grow instead of moving anything.
#include <cstdio>

#include <reprise/graph.h>
#include <reprise/host.h>
#include <reprise/memory_pool.h>

int main() {
  const auto device = reprise::Device::open("host");
  reprise::Stream stream = device->create_stream("main");
  const auto pool = reprise::MemoryPool::create(device, {.name = "scratch"});

  const auto step = [&] {
    const reprise::PoolBlock a = pool->allocate(3000, "a");
    const reprise::PoolBlock b = pool->allocate(5000, "b");
    auto* const sum = static_cast<float*>(b.data());
    reprise::host::enqueue(stream, "sum", [sum] { *sum += 1; });
    return b.data();
  };
  void* const warm = step();
  stream.synchronize();
  void* recorded = nullptr;
  reprise::GraphExec exec = reprise::capture(stream, [&] { recorded = step(); }).instantiate();
  exec.launch(stream);
  stream.synchronize();
  std::printf("the same address in warm-up and recording: %s\n", warm == recorded ? "yes" : "no");

  bool refused = false;
  try {
    reprise::capture(stream, [&] { (void)pool->allocate(std::size_t{64} << 20, "too much"); });
  } catch (const reprise::CaptureError& error) {
    refused = true;
    std::printf("refused: %s\n", error.what());
  }
  std::printf("%s", reprise::memory_summary(*pool).c_str());
  return warm == recorded && refused ? 0 : 1;
}
