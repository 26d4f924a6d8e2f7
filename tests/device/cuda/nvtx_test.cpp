// SPDX-License-Identifier: Apache-2.0
// Ranges for profilers. NVTX looks for a profiler once per process, so each case runs in a process
// of its own that has one of ours (nvtx_injection.cpp), or none: gtest's death tests start the
// program anew for that.
#include "device/cuda/nvtx.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <reprise/cuda.h>
#include <reprise/graph_pool.h>
#include <reprise/graph_runner.h>

#include "device/profiler_range.h"

namespace reprise {
namespace {

constexpr const char* kVariable = "NVTX_INJECTION64_PATH";

/// It lies beside this program.
std::string injection() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "nvtx_injection.so";
}

/// What the profiler wrote down.
std::string notes() {
  void* const library = ::dlopen(injection().c_str(), RTLD_NOW);
  if (library == nullptr) return ::dlerror();
  const auto read = reinterpret_cast<const char* (*)()>(::dlsym(library, "reprise_nvtx_notes"));
  return read != nullptr ? read() : "it has no reprise_nvtx_notes";
}

/// 0 if the notes hold the first line and each of `ranges`; else tells what is missing.
int missing(const std::vector<std::string>& ranges) {
  const std::string text = notes();
  int failures = text.starts_with("reprise 0 0\n") ? 0 : 1;  // domain, none open, no pop too many
  for (const std::string& range : ranges) {
    if (text.find("\n" + range + "\n") == std::string::npos) {
      std::fprintf(stderr, "no range '%s'\n", range.c_str());
      ++failures;
    }
  }
  if (failures > 0) std::fprintf(stderr, "%s", text.c_str());
  return failures;
}

/// A state that only opens ranges: a device without a device.
struct Ranges final : DeviceState {
  Ranges() { profiled = nvtx::attached(); }
  MemoryInfo memory_info() const override { return {}; }
  void* allocate(std::size_t, MemorySpace) override { return nullptr; }
  void free(void*, std::size_t, MemorySpace) noexcept override {}
  std::size_t mapping_granularity() override { return 1; }
  void* reserve_addresses(std::size_t) override { return nullptr; }
  void release_addresses(void*, std::size_t, const MappingTable&) noexcept override {}
  void map(void*, std::size_t) override {}
  void unmap(void*, std::size_t) override {}
  bool wait_for_work() noexcept override { return true; }
  std::shared_ptr<StreamState> create_stream(std::string) override { return nullptr; }
  std::shared_ptr<StreamState> create_default_stream() override { return nullptr; }
  std::unique_ptr<EventState> create_event() override { return nullptr; }
  const void* register_range(const std::string& name) override {
    ++registered;
    return nvtx::name(name);
  }
  void push_range(const void* name) noexcept override { nvtx::push(name); }
  void push_range(std::string_view name) override { nvtx::push(name); }
  void pop_range() noexcept override { nvtx::pop(); }
  int registered = 0;
};

int names_nest() {
  Ranges device;
  if (!device.profiled) return 100;
  const RangeName outer(device, [] { return std::string("replay decode[8]"); });
  {
    const RangeScope replay(outer);
    const std::string long_text = "layer 0, and not the rest of this text";
    nvtx::push(std::string_view(long_text).substr(0, 7));
    nvtx::pop();
  }
  const RangeScope again(outer);
  const RangeScope nothing{RangeName()};
  return missing({}) == 0 ? 101 : 0;  // `again` is open, and the notes say so
}

int no_profiler_no_cost() {
  Ranges device;
  const RangeName name(device, []() -> std::string { std::abort(); });
  const RangeScope scope(name);
  nvtx::push("nobody listens");
  nvtx::pop();
  return device.profiled || device.registered != 0 ? 1 : 0;
}

Step step() {
  Step step;
  step.name = "decode";
  step.bindings = {{.name = "x"}, {.name = "out", .kind = BindingKind::output}};
  step.run = [](StepContext& context) {
    const LabelScope layer(context.stream(), "layer 0");
    const LabelScope part(context.stream(), "attention");
    const auto bytes = static_cast<std::size_t>(context.rows()) * sizeof(float);
    context.stream().copy({context.tensor("out").data, bytes, MemorySpace::device},
                          {context.tensor("x").data, bytes, MemorySpace::device});
  };
  return step;
}

int pool_and_runner_open_ranges() {
  const auto device = Device::open("cuda");
  const std::vector<float> x(8, 1);
  const NamedInput input{"x", host_tensor(std::span<const float>(x))};
  GraphPool pool(device, step(), {.sizes = {4, 8}});
  pool.record();
  pool.run(8, {input});
  pool.run(8, {input}, RunMode::eager);
  GraphRunner runner(device, step(), {.rows = 8});
  runner.capture({input});
  runner.replay();
  device->synchronize();
  const std::string layer = "layer 0 > attention";
  return missing({"warm up decode[8]", "warm up decode[4] > " + layer, "record decode[8]",
                  "record decode[4] > " + layer, "self-test decode[8]",
                  "self-test decode[4] > " + layer, "replay decode[8]", layer});
}

class Nvtx : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void TearDown() override { ::unsetenv(kVariable); }
  static void listen() { ::setenv(kVariable, injection().c_str(), 1); }
};

TEST_F(Nvtx, RangesNestAndNamesAreRegisteredOnce) {
  listen();
  EXPECT_EXIT(std::_Exit(names_nest()), ::testing::ExitedWithCode(0),
              "replay decode\\[8\\] > layer 0\n");
}
TEST_F(Nvtx, WithoutAProfilerNoNameIsMade) {
  EXPECT_EXIT(std::_Exit(no_profiler_no_cost()), ::testing::ExitedWithCode(0), "");
}
TEST_F(Nvtx, PoolRunnerAndLayersOpenRanges) {
  listen();
  EXPECT_EXIT(std::_Exit(pool_and_runner_open_ranges()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace reprise
