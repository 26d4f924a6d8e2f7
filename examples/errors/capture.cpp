// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "errors.h"

namespace errors {

using namespace reprise;

namespace {

void refused(World& w) {
  // [refused]
  capture(w.stream, [&] {
    const LabelScope layer(w.stream, "layer 0");
    w.stream.fill(w.x.view(), 0);
    w.stream.synchronize();  // nothing has run: there is nothing to wait for
  });
  // [/refused]
}

void refused_host_read(World& w) {
  std::vector<std::byte> bytes(4);
  // [refused-host-read]
  capture(w.stream, [&] {
    w.stream.fill(w.x.view(), 0);
    w.x.to_host(w.stream, bytes);  // x does not hold its value yet
  });
  // [/refused-host-read]
}

void refused_allocation(World& w) {
  // [refused-allocation]
  capture(w.stream, [&] {
    w.stream.fill(w.x.view(), 0);
    w.device->allocate(1024, "scratch");
  });
  // [/refused-allocation]
}

void refused_growth(World& w) {
  // [refused-growth]
  const auto pool = MemoryPool::create(w.device, {.name = "scratch"});
  capture(w.stream, [&] {
    w.stream.fill(w.x.view(), 0);
    pool->allocate(1024, "first");  // never warmed up: the pool is empty
  });
  // [/refused-growth]
}

void refused_default_stream(World& w) {
  // [refused-default-stream]
  capture(w.stream, [&] {
    w.stream.fill(w.x.view(), 0);
    w.device->default_stream().fill(w.weights.view(), 0);
  });
  // [/refused-default-stream]
}

void merged(World& w) {
  // [merged]
  capture(w.stream, [&] {
    w.stream.fill(w.x.view(), 0);
    w.stream.record(w.event);
    std::exception_ptr thrown;
    std::thread([&] {
      try {
        capture(w.side, [&] {
          w.side.fill(w.weights.view(), 0);
          w.side.wait(w.event);  // which belongs to the other recording
        });
      } catch (...) {
        thrown = std::current_exception();
      }
    }).join();
    if (thrown) std::rethrow_exception(thrown);
  });
  // [/merged]
}

void unjoined(World& w) {
  // [unjoined]
  capture(w.stream, [&] {
    w.stream.record(w.event);
    w.side.wait(w.event);  // fork
    w.side.fill(w.x.view(), 0);
    // missing: w.side.record(other); w.stream.wait(other);
  });
  // [/unjoined]
}

void isolated(World& w) {
  // [isolated]
  w.side.record(w.event);
  capture(w.stream, [&] { w.stream.wait(w.event); });
  // [/isolated]
}

void captured_event(World& w) {
  // [captured-event]
  capture(w.stream, [&] {
    w.stream.fill(w.x.view(), 0);
    w.stream.record(w.event);
  });
  w.event.synchronize();  // an edge of the graph, not a point in time
  // [/captured-event]
}

void wrong_thread(World& w) {
  // [wrong-thread]
  capture(w.stream, [&] {
    w.stream.fill(w.x.view(), 0);
    std::exception_ptr thrown;
    std::thread([&] {
      try {
        w.stream.fill(w.weights.view(), 0);
      } catch (...) {
        thrown = std::current_exception();
      }
    }).join();
    if (thrown) std::rethrow_exception(thrown);
  });
  // [/wrong-thread]
}

void empty(World& w) {
  // [empty]
  capture(w.stream, [&] { w.side.fill(w.x.view(), 0); });  // the wrong stream: it runs at once
  // [/empty]
}

void nested(World& w) {
  // [nested]
  capture(w.stream, [&] {
    w.stream.fill(w.x.view(), 0);
    capture(w.side, [&] { w.side.fill(w.weights.view(), 0); });
  });
  // [/nested]
}

void in_replay_stream(World& w) {
  // [refused-launch]
  GraphExec exec = capture(w.side, [&] { w.side.fill(w.x.view(), 0); }).instantiate();
  capture(w.stream, [&] {
    w.stream.fill(w.weights.view(), 0);
    exec.launch(w.stream);
  });
  // [/refused-launch]
}

}  // namespace

std::vector<Case> capture_cases() {
  return {{"refused", refused},
          {"refused-host-read", refused_host_read},
          {"refused-allocation", refused_allocation},
          {"refused-growth", refused_growth},
          {"refused-default-stream", refused_default_stream},
          {"refused-launch", in_replay_stream},
          {"merged", merged},
          {"unjoined", unjoined},
          {"isolated", isolated},
          {"captured-event", captured_event},
          {"wrong-thread", wrong_thread},
          {"empty", empty},
          {"nested", nested}};
}

}  // namespace errors
