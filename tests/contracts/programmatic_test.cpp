// SPDX-License-Identifier: Apache-2.0
// Programmatic launches: what a kernel declares, what is refused when a recording ends, and what
// becomes of the edges (<reprise/launch_declaration.h>).
#include <array>

#include "contracts/fixture.h"

namespace reprise::contract {
namespace {

constexpr LaunchDeclaration kProgrammatic{
    .programmatic = true, .waits = true, .triggers_early = true, .prefetches = {}, .writes = {}};

class Programmatic : public RecordingTest {
 protected:
  void launch(Stream& stream, const Buffer& buffer, const LaunchDeclaration& declaration,
              std::string_view label = "add") {
    kit_->add_declared(stream, data(buffer), kCount, 1, declaration, label);
  }
  static DeclaredRange all_of(const Buffer& buffer, std::string_view label) {
    return {.data = buffer.data(), .bytes = buffer.bytes(), .label = label};
  }
  /// A programmatic launch that reads `range` before it waits.
  void launch_with_prefetch(const Buffer& buffer, const DeclaredRange& range,
                            std::string_view label) {
    LaunchDeclaration declaration = kProgrammatic;
    declaration.prefetches = {&range, 1};
    launch(main_, buffer, declaration, label);
  }
  /// A plain launch that says what it writes.
  void launch_writing(const Buffer& buffer, std::string_view label) {
    const DeclaredRange range = all_of(buffer, "");
    launch(main_, buffer, {.writes = {&range, 1}}, label);
  }
  bool supported() const {
    return device_->kind() == DeviceKind::host || device_->properties().compute_capability >= 90;
  }
  /// How many of each node's edges are programmatic.
  static std::vector<std::size_t> edges_of(const Graph& graph) {
    std::vector<std::size_t> counts;
    for (const GraphNode& node : graph.nodes()) counts.push_back(node.programmatic.size());
    return counts;
  }
  std::size_t one() const { return supported() ? 1 : 0; }
};

TEST_F(Programmatic, AChainKeepsItsEdgesAndItsOrder) {
  Buffer x = floats(0);
  const Graph graph = capture(main_, [&] {
    for (int i = 0; i < 4; ++i) launch(main_, x, kProgrammatic);
  });
  EXPECT_EQ(edges_of(graph), (std::vector<std::size_t>{0, one(), one(), one()}));
  const auto expected = supported() ? ProgrammaticLaunch::made : ProgrammaticLaunch::unsupported;
  for (const GraphNode& node : graph.nodes()) EXPECT_EQ(node.programmatic_launch, expected);
  GraphExec exec = graph.instantiate();
  for (int i = 0; i < 100; ++i) exec.launch(main_);
  EXPECT_EQ(value_of(x), 400);
  for (int i = 0; i < 100; ++i) launch(main_, x, kProgrammatic);
  EXPECT_EQ(value_of(x), 500);
}

TEST_F(Programmatic, PlainLaunchesHaveOrdinaryEdges) {
  Buffer x = floats(0);
  const Graph plain = capture(main_, [&] {
    launch(main_, x, {});
    launch(main_, x, {.waits = true, .triggers_early = true});
  });
  EXPECT_EQ(edges_of(plain), (std::vector<std::size_t>{0, 0}));
  EXPECT_EQ(plain.nodes()[1].programmatic_launch, ProgrammaticLaunch::none);
  const Graph programmatic = capture(main_, [&] {
    launch(main_, x, {});
    launch(main_, x, kProgrammatic);
  });
  if (!supported()) return;
  EXPECT_NE(plain.signature(), programmatic.signature());
  GraphExec exec = plain.instantiate();
  EXPECT_EQ(exec.update(programmatic), UpdateResult::topology_differs);
}

TEST_F(Programmatic, ALaunchWithoutADeclaredWaitIsRefused) {
  Buffer x = floats(0);
  const std::string text = fault_of(CaptureFault::refused, [&] {
    capture(main_, [&] {
      add(main_, x, 1);
      const LabelScope scope(main_, "layer 0");
      launch(main_, x, {.programmatic = true}, "norm");
    });
  });
  expect_parts(text, {"'main'", "node 1 (kernel 'layer 0 / norm')",
                      "does not declare that it waits", "LaunchDeclaration::waits"});
  expect_usable(main_);
  const std::string eager =
      usage_error_of([&] { launch(main_, x, {.programmatic = true}, "norm"); });
  expect_parts(eager, {"'norm'", "'main'", "does not declare that it waits"});
  EXPECT_EQ(value_of(x), 0);
}

TEST_F(Programmatic, APrefetchOfWhatTheGraphWritesIsRefused) {
  Buffer x = floats(0);
  Buffer weights = floats(1, "weights");
  const std::vector<std::pair<std::string, std::function<void()>>> writers = {
      {"copy 'load", [&] { main_.copy(weights.view(), x.view()); }},
      {"fill 'load", [&] { main_.fill(weights.view(8, 4), 0); }},
      {"kernel 'load / quantize'", [&] { launch_writing(weights, "quantize"); }},
  };
  for (const auto& [writer, write] : writers) {
    for (const bool before : {true, false}) {
      const auto written = [&] {
        const LabelScope scope(main_, "load");
        write();
      };
      const std::string text = fault_of(CaptureFault::refused, [&] {
        capture(main_, [&] {
          if (before) written();
          launch_with_prefetch(x, all_of(weights, "gate_up.weight"), "product");
          if (!before) written();
        });
      });
      expect_parts(text, {"(kernel 'product') reads 'gate_up.weight' before it waits", writer,
                          before ? "but node 0" : "but node 1"});
      expect_usable(main_);
    }
  }
}

TEST_F(Programmatic, APrefetchOfWhatNobodyWritesIsTaken) {
  Buffer x = floats(0);
  Buffer weights = floats(1, "weights");
  const auto record = [&] {
    main_.fill(weights.view(0, 64), 0);
    launch_writing(x, "before");
    DeclaredRange rest = all_of(weights, "rest");
    rest.data = static_cast<const std::byte*>(weights.data()) + 64;
    rest.bytes -= 64;
    launch_with_prefetch(x, rest, "product");
  };
  GraphExec exec = capture(main_, record).instantiate();
  exec.launch(main_);
  EXPECT_EQ(value_of(x), 2);
  // One that is launched plainly starts when all writes are done.
  const DeclaredRange all = all_of(weights, "all");
  capture(main_, [&] {
    main_.fill(weights.view(), 0);
    launch(main_, x, {.waits = true, .prefetches = {&all, 1}});
  });
}

TEST_F(Programmatic, CopiesFillsAndOtherStreamsBreakTheChain) {
  Buffer x = floats(0);
  Buffer y = floats(0);
  Event fork = device_->create_event();
  Event join = device_->create_event();
  const Graph graph = capture(main_, [&] {
    launch(main_, x, kProgrammatic, "a");
    main_.copy(y.view(), x.view());
    launch(main_, x, kProgrammatic, "after copy");
    main_.fill(y.view(), 0);
    launch(main_, x, kProgrammatic, "after fill");
    launch(main_, x, kProgrammatic, "kept");
    main_.record(fork);
    side_.wait(fork);
    launch(side_, y, kProgrammatic, "forked");
    side_.record(join);
    main_.wait(join);
    launch(main_, x, kProgrammatic, "joined");
  });
  for (const GraphNode& node : graph.nodes()) {
    // Across streams it is the device's to say; the kernels wait for all before them either way.
    const bool crosses = node.label == "forked" || node.label == "joined";
    if (crosses && device_->kind() != DeviceKind::host) continue;
    EXPECT_EQ(node.programmatic.size(), node.label == "kept" ? one() : 0) << node.label;
  }
  GraphExec exec = graph.instantiate();
  exec.launch(main_);
  EXPECT_EQ(value_of(x), 5);
  EXPECT_EQ(value_of(y), 1);
}

}  // namespace
}  // namespace reprise::contract
