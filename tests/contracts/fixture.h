// SPDX-License-Identifier: Apache-2.0
// What the recording suite's cases share.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <reprise/device.h>
#include <reprise/graph.h>

#include "contracts/kit.h"

namespace reprise::contract {

/// Work on a stream that ends when the gate is opened, at the latest by the destructor.
class Gate {
 public:
  Gate(Kit& kit, Device& device, Stream& stream)
      : flag_(device.allocate_pinned(sizeof(std::uint32_t), "gate")) {
    *word() = 0;
    kit.wait_for_flag(stream, word());
  }
  ~Gate() { open(); }
  void open() { std::atomic_ref<std::uint32_t>(*word()).store(1); }

 private:
  std::uint32_t* word() { return static_cast<std::uint32_t*>(flag_.data()); }
  Buffer flag_;
};

class RecordingTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kCount = 64;

  /// A buffer of kCount floats, each `value`.
  Buffer floats_on(Stream& stream, float value, std::string_view label = "x") {
    Buffer buffer = device_->allocate(kCount * sizeof(float), label);
    const std::vector<float> values(kCount, value);
    buffer.from_host(stream, std::as_bytes(std::span(values)));
    return buffer;
  }
  Buffer floats(float value, std::string_view label = "x") {
    return floats_on(main_, value, label);
  }
  /// The first element, after checking that all are the same; waits for `stream`.
  float value_of(const Buffer& buffer, Stream& stream) {
    std::vector<float> values(kCount);
    buffer.to_host(stream, std::as_writable_bytes(std::span(values)));
    for (const float value : values) EXPECT_EQ(value, values.front());
    return values.front();
  }
  float value_of(const Buffer& buffer) { return value_of(buffer, main_); }

  static float* data(const Buffer& buffer) { return static_cast<float*>(buffer.data()); }

  void add(Stream& stream, const Buffer& buffer, float c, std::string_view label = "add") {
    kit_->add(stream, data(buffer), kCount, c, label);
  }
  /// y = a * x
  void scale(Stream& stream, const Buffer& y, const Buffer& x, float a) {
    kit_->copy_scaled(stream, data(y), data(x), kCount, a);
  }

  /// Expects that `body` throws an Expected in one line; returns it. Another exception, or none,
  /// fails the test.
  template <class Expected, class Body>
  static std::optional<Expected> thrown_by(const Body& body) {
    try {
      body();
    } catch (const Expected& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "another exception: " << error.what();
      return std::nullopt;
    }
    ADD_FAILURE() << "nothing was thrown";
    return std::nullopt;
  }
  /// Expects that `body` throws a CaptureError of that fault; returns its text.
  template <class Body>
  static std::string fault_of(CaptureFault fault, const Body& body) {
    const auto error = thrown_by<CaptureError>(body);
    if (!error) return {};
    EXPECT_EQ(static_cast<int>(error->fault()), static_cast<int>(fault)) << error->what();
    return error->what();
  }
  template <class Body>
  static std::string usage_error_of(const Body& body) {
    const auto error = thrown_by<UsageError>(body);
    return error ? error->what() : "";
  }

  /// An eager operation and a capture with replay work on `stream`.
  void expect_usable(Stream& stream) {
    EXPECT_FALSE(stream.recording());
    Buffer probe = floats(1);
    add(stream, probe, 1);
    EXPECT_EQ(value_of(probe, stream), 2);
    GraphExec exec = capture(stream, [&] { add(stream, probe, 10); }).instantiate();
    EXPECT_EQ(value_of(probe, stream), 2);
    exec.launch(stream);
    EXPECT_EQ(value_of(probe, stream), 12);
  }

  std::size_t free_bytes() const { return device_->memory_info().free; }
  /// Larger than the steps in which any device gives and takes back memory.
  Buffer big_buffer() { return device_->allocate(std::size_t{16} << 20, "big"); }

  std::unique_ptr<Kit> kit_ = make_kit();
  std::shared_ptr<Device> device_ = kit_->open();
  Stream main_ = device_->create_stream("main");
  Stream side_ = device_->create_stream("side");
};

/// Expects that `text` holds each of `parts`.
inline void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
  }
}

}  // namespace reprise::contract
