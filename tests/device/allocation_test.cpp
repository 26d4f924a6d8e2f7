// SPDX-License-Identifier: Apache-2.0
// The replay path allocates nothing once it is warm (DESIGN §4.10): counted by replacing operator
// new for this test program.
#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include <reprise/graph.h>
#include <reprise/host.h>

namespace {

std::atomic<bool> counting{false};
std::atomic<int> allocations{0};

void* counted(std::size_t bytes) {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1);
  if (void* data = std::malloc(bytes == 0 ? 1 : bytes)) return data;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* data) noexcept { std::free(data); }
void operator delete[](void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }
void operator delete[](void* data, std::size_t) noexcept { std::free(data); }

namespace reprise::host {
namespace {

TEST(Allocation, AReplayWithItsCopiesAndEventsAllocatesNothing) {
  const auto device = open({.threads = 2});
  Stream stream = device->create_stream("a stream with a name too long for a short string");
  Stream other = device->create_stream("other");
  Event event = device->create_event();
  Buffer x = device->allocate(256, "x");
  Buffer input = device->allocate_pinned(256, "input");
  GraphExec exec = capture(stream, [&] {
                     for (int i = 0; i < 20; ++i) {
                       enqueue(stream, "a label too long for a short string of the library", [&] {
                         parallel_for(*device, 64, 8, [](std::size_t, std::size_t) {});
                       });
                     }
                     stream.fill(x.view(), 0);
                   }).instantiate();
  const auto round = [&] {
    stream.copy(x.view(), input.view());
    exec.launch(stream);
    stream.record(event);
    other.wait(event);
    exec.launch(other);
    other.record(event);
    stream.wait(event);
    event.synchronize();
    stream.synchronize();
  };
  for (int i = 0; i < 50; ++i) round();
  allocations = 0;
  counting = true;
  for (int i = 0; i < 200; ++i) round();
  counting = false;
  EXPECT_EQ(allocations, 0);
  const auto probe = std::make_unique<int>(1);  // the counter itself works
  counting = true;
  const auto counted_one = std::make_unique<int>(*probe);
  counting = false;
  EXPECT_EQ(allocations, 1);
}

}  // namespace
}  // namespace reprise::host
