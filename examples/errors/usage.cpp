// SPDX-License-Identifier: Apache-2.0
#include <reprise/address_range.h>
#include <reprise/memory_adaptors.h>

#include "errors.h"

namespace errors {

using namespace reprise;

namespace {

void device_spec(World&) {
  // [device-spec]
  Device::open("gpu");
  // [/device-spec]
}

void copy_too_large(World& w) {
  // [copy-too-large]
  w.stream.copy(w.x.view(0, 16), w.weights.view());
  // [/copy-too-large]
}

void outside_buffer(World& w) {
  // [outside-buffer]
  w.x.tensor(DType::f32, Shape{9, 8});
  // [/outside-buffer]
}

void other_device(World& w) {
  // [other-device]
  const auto other = host::open({});
  Stream stream = other->create_stream("other");
  stream.record(w.event);
  // [/other-device]
}

void time_of_nothing(World& w) {
  // [time-of-nothing]
  Event end = w.device->create_event();
  end.elapsed_ms_since(w.event);  // neither was recorded
  // [/time-of-nothing]
}

void moved_from(World& w) {
  // [moved-from]
  GraphExec exec = capture(w.stream, [&] { w.stream.fill(w.x.view(), 0); }).instantiate();
  const GraphExec owner = std::move(exec);
  exec.launch(w.stream);
  // [/moved-from]
}

void ladder(World&) {
  // [ladder]
  default_ladder(0);
  // [/ladder]
}

void no_upstream(World&) {
  // [no-upstream]
  LimitResource(nullptr, 1024);
  // [/no-upstream]
}

void misaligned_map(World& w) {
  // [misaligned-map]
  AddressRange range = w.device->reserve(std::size_t{8} << 20, "cache");
  range.map(100, range.granularity());
  // [/misaligned-map]
}

void unmapped_view(World& w) {
  // [unmapped-view]
  AddressRange range = w.device->reserve(std::size_t{8} << 20, "cache");
  range.view(0, range.granularity());
  // [/unmapped-view]
}

void two_bindings(World& w) {
  // [two-bindings]
  Step step = w.step();
  step.bindings.push_back(step.bindings[0]);
  GraphRunner(w.device, step, {.rows = 4});
  // [/two-bindings]
}

void no_function(World& w) {
  // [no-function]
  Step step = w.step();
  step.run = nullptr;
  GraphRunner(w.device, step, {.rows = 4});
  // [/no-function]
}

}  // namespace

std::vector<Case> usage_cases() {
  return {{"device-spec", device_spec},
          {"copy-too-large", copy_too_large},
          {"outside-buffer", outside_buffer},
          {"other-device", other_device},
          {"time-of-nothing", time_of_nothing},
          {"moved-from", moved_from},
          {"ladder", ladder},
          {"no-upstream", no_upstream},
          {"misaligned-map", misaligned_map},
          {"unmapped-view", unmapped_view},
          {"two-bindings", two_bindings},
          {"no-function", no_function}};
}

}  // namespace errors
