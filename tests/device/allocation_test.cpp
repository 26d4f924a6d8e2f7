// SPDX-License-Identifier: Apache-2.0
// The replay path allocates nothing once it is warm (DESIGN §4.10): counted by replacing operator
// new for this test program.
#include <memory>

#include <gtest/gtest.h>

#include <reprise/graph.h>
#include <reprise/host.h>

#include "support/counting_new.h"

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
  const auto rounds = [&] {
    for (int i = 0; i < 200; ++i) round();
  };
  EXPECT_EQ(test::allocations_in(rounds), 0);
  EXPECT_EQ(test::allocations_in([] { (void)std::make_unique<int>(1); }), 1);  // it does count
}

}  // namespace
}  // namespace reprise::host
