// SPDX-License-Identifier: Apache-2.0
// The sections of bench_graph: each measures one thing that recording costs, and writes its
// members into the record.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <reprise/device.h>

#include "core/json_writer.h"

namespace reprise::bench_graph {

struct Setup {
  std::shared_ptr<Device> device;
  std::string model;        ///< of the ladders
  std::string small_model;  ///< same widths, few layers: for thousands of eager steps
  int largest = 256;        ///< batch of the first ladder; the second goes to twice that
  int random_steps = 10'000;
  std::size_t sleep_gib = 16;  ///< of cache that is put to sleep
};

/// Host time of a replay beside a hand-written launch of the same nodes, and of what travels with
/// it: {"launches": […], "inputs": {…}}.
void measure_launches(const Setup& setup, JsonWriter& json);
/// Time and memory of two ladders of the model: {"ladders": […]}.
void measure_ladders(const Setup& setup, JsonWriter& json);
/// Pool memory by order of recording, and by whether graphs share it: {"sharing": […]}.
void measure_sharing(const Setup& setup, JsonWriter& json);
/// After the ladder, and after thousands of steps of random sizes: {"fragmentation": {…}}.
void measure_fragmentation(const Setup& setup, JsonWriter& json);

/// Sleep and wake of memory that is discarded, and of memory that is saved: {"sleep": […]}.
void measure_sleep(const Setup& setup, JsonWriter& json);
/// A loop on the device against a launch per iteration: {"loops": […]}.
void measure_loops(const Setup& setup, JsonWriter& json);

}  // namespace reprise::bench_graph
