// SPDX-License-Identifier: Apache-2.0
// The examples of docs/errors.md: each function makes one mistake, on a world of its own, and the
// program prints what was thrown. tools/check_errors.py holds the page to it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <reprise/graph.h>
#include <reprise/graph_pool.h>
#include <reprise/graph_runner.h>
#include <reprise/host.h>
#include <reprise/step.h>

namespace errors {

/// What the examples have at hand.
struct World {
  static constexpr std::size_t kFloats = 64;

  std::shared_ptr<reprise::Device> device =
      reprise::host::open({.threads = 1, .memory_limit = std::size_t{64} << 20});
  reprise::Stream stream = device->create_stream("main");
  reprise::Stream side = device->create_stream("side");
  reprise::Event event = device->create_event();
  reprise::Buffer x = device->allocate(kFloats * sizeof(float), "x");
  reprise::Buffer weights = device->allocate(kFloats * sizeof(float), "weights");
  std::vector<float> values = std::vector<float>(kFloats);

  /// `rows` rows of 8 floats in host memory.
  reprise::TensorView rows(int count) const;
  /// The same of `weights`, on the device.
  reprise::TensorView weight_rows(int count) const;
  /// out = x + weights, rows of 8 floats.
  reprise::Step step() const;
  /// One runner of 4 rows, captured; a pool of the sizes 2, 4 and 8, recorded.
  reprise::GraphRunner captured_runner() const;
  reprise::GraphPool recorded_pool() const;
};

struct Case {
  const char* name;  // as the page calls it
  void (*provoke)(World& w);
};

std::vector<Case> capture_cases();
std::vector<Case> usage_cases();
std::vector<Case> run_cases();
std::vector<Case> device_cases();

}  // namespace errors
