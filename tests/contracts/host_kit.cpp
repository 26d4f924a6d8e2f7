// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <reprise/host.h>

#include "contracts/kit.h"

namespace reprise::contract {
namespace {

class HostKit final : public Kit {
 public:
  // Limited, so that what other processes take does not show in the free memory.
  std::shared_ptr<Device> open() override {
    return host::open({.memory_limit = std::size_t{256} << 20});
  }

  void add(Stream& stream, float* x, std::size_t n, float c, std::string_view label) override {
    host::enqueue(stream, label, [=] {
      for (std::size_t i = 0; i < n; ++i) x[i] += c;
    });
  }
  void add_declared(Stream& stream, float* x, std::size_t n, float c,
                    const LaunchDeclaration& declaration, std::string_view label) override {
    host::enqueue(stream, label, declaration, [=] {
      for (std::size_t i = 0; i < n; ++i) x[i] += c;
    });
  }
  void axpy(Stream& stream, float* y, const float* x, std::size_t n, float a) override {
    host::enqueue(stream, "axpy", [=] {
      for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
    });
  }
  void copy_scaled(Stream& stream, float* y, const float* x, std::size_t n, float a) override {
    host::enqueue(stream, "copy_scaled", [=] {
      for (std::size_t i = 0; i < n; ++i) y[i] = a * x[i];
    });
  }
  void add_at(Stream& stream, float* x, const std::uint32_t* index, std::size_t stride,
              std::size_t n, float c) override {
    host::enqueue(stream, "add_at", [=] {
      for (std::size_t i = 0; i < n; ++i) x[*index * stride + i] += c;
    });
  }
  void fill_index(Stream& stream, float* x, std::size_t n) override {
    host::enqueue(stream, "fill_index", [=] {
      for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i);
    });
  }
  void add_integer(Stream& stream, std::int32_t* x, std::int32_t c) override {
    host::enqueue(stream, "add_integer", [=] { *x += c; });
  }
  void wait_for_flag(Stream& stream, std::uint32_t* flag) override {
    host::enqueue(stream, "wait_for_flag", [flag] {
      const std::atomic_ref<std::uint32_t> opened(*flag);
      for (int round = 0; opened.load() == 0; ++round) {
        // A test that forgot to open its gate is to fail, not to hang.
        if (round > 300'000) throw std::runtime_error("the gate was never opened");
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
  }
  // A recording is the library's own data here.
  bool can_invalidate_recording() const override { return false; }
  void invalidate_recording(Stream&) override {}
  bool can_lose_device() const override { return true; }
  void lose_device(Stream& stream, std::string_view reason) override {
    host::enqueue(stream, "fault",
                  [text = std::string(reason)] { throw std::runtime_error(text); });
  }
};

}  // namespace

std::unique_ptr<Kit> make_kit() { return std::make_unique<HostKit>(); }

}  // namespace reprise::contract
