// SPDX-License-Identifier: Apache-2.0
#include "diag/support/fake_graph.h"

#include <array>

namespace reprise::testing {
namespace {

void add(std::vector<NodeInfo>& nodes, std::string label, std::string function,
         std::uint32_t blocks, std::size_t shared, int registers) {
  const auto before = static_cast<std::uint32_t>(nodes.size() - 1);
  NodeInfo node = fake_node(std::move(label), {before});
  node.function = std::move(function);
  node.launch = LaunchGeometry{.grid = {blocks, 1, 1},
                               .block = {256, 1, 1},
                               .cluster = {1, 1, 1},
                               .dynamic_shared_bytes = shared,
                               .static_shared_bytes = 0,
                               .registers = registers};
  nodes.push_back(std::move(node));
}

}  // namespace

std::vector<NodeInfo> fake_step(int layers) {
  struct Kernel {
    const char* label;
    const char* function;
    std::uint32_t blocks;
    std::size_t shared;
    int registers;
  };
  constexpr std::array<Kernel, 9> kLayer{{
      {"qkv / norm", "reprise::cuda::rms_norm_kernel<__nv_bfloat16>", 4, 128, 32},
      {"qkv / product", "reprise::cuda::matmul_mma_kernel<__nv_bfloat16, 16, 8>", 132, 153600, 168},
      {"qkv / rope", "reprise::cuda::rotate_append_kernel<__nv_bfloat16>", 96, 0, 40},
      {"attend", "reprise::cuda::attend_kernel<__nv_bfloat16, 128>", 128, 34816, 128},
      {"project", "reprise::cuda::matmul_mma_kernel<__nv_bfloat16, 16, 8>", 132, 153600, 168},
      {"gate_up / norm", "reprise::cuda::rms_norm_kernel<__nv_bfloat16>", 4, 128, 32},
      {"gate_up / product", "reprise::cuda::matmul_mma_kernel<__nv_bfloat16, 16, 8>", 132, 153600,
       168},
      {"gate_up / silu", "reprise::cuda::silu_mul_kernel<__nv_bfloat16>", 172, 0, 24},
      {"down", "reprise::cuda::matmul_mma_kernel<__nv_bfloat16, 16, 8>", 132, 153600, 168},
  }};
  std::vector<NodeInfo> nodes{fake_node("inputs", {}, NodeKind::copy)};
  nodes.back().bytes = 4096;
  nodes.push_back(fake_node("", {}, NodeKind::fill));
  nodes.back().bytes = 512;
  add(nodes, "embed", "reprise::cuda::embed_kernel<__nv_bfloat16>", 4, 0, 20);
  nodes.back().dependencies = {0, 1};
  for (int layer = 0; layer < layers; ++layer) {
    const std::string name = "layer " + std::to_string(layer) + " / ";
    for (const Kernel& kernel : kLayer) {
      add(nodes, name + kernel.label, kernel.function, kernel.blocks, kernel.shared,
          kernel.registers);
    }
    // The residual goes round attention: the second norm waits for the layer's beginning too.
    const auto norm = nodes.size() - 4;
    nodes[norm].dependencies = {static_cast<std::uint32_t>(norm - 5),
                                static_cast<std::uint32_t>(norm - 1)};
  }
  add(nodes, "head / norm", "reprise::cuda::rms_norm_kernel<__nv_bfloat16>", 4, 128, 32);
  add(nodes, "head / logits", "reprise::cuda::matmul_mma_kernel<__nv_bfloat16, 16, 8>", 132, 153600,
      168);
  add(nodes, "head / select", "reprise::cuda::select_kernel", 4, 2048, 48);
  return nodes;
}

std::vector<NodeInfo> fake_loop() {
  const auto conditional = [](std::string label, std::string function,
                              std::vector<std::uint32_t> dependencies,
                              std::vector<std::vector<NodeInfo>> bodies) {
    NodeInfo node = fake_node(std::move(label), std::move(dependencies), NodeKind::conditional);
    node.function = std::move(function);
    node.bodies = std::move(bodies);
    return node;
  };
  const NodeInfo tokens = conditional("decode / more", "while", {}, {{fake_node("one token")}});
  const NodeInfo branch = conditional("decode / chosen", "if", {0},
                                      {{tokens, fake_node("count", {0})}, {fake_node("skip")}});
  NodeInfo embed = fake_node("decode / embed", {}, NodeKind::copy);
  embed.bytes = 4096;
  return {fake_node("begin"), conditional("decode / steps", "while", {0}, {{embed, branch}}),
          fake_node("end", {1})};
}

std::vector<std::string> hostile_labels() {
  return {
      "<script>alert(1)</script>",
      "</script><img src=x onerror=alert(1)>",
      "<!--<script>",
      "]]></style></svg><b>out</b>",
      "\" onload=\"alert(1)",
      "'; } n0 -> n0 [label=\"",
      "ends in a backslash\\",
      "back\\\\\" slashes\\N\\G\\l",
      "&lt;b&gt; &amp; &#60;",
      std::string("nul\0bell\a line\nbreak\r\x1b[31m", 25),
      "not UTF-8: \xff\xfe \xc3( \xed\xa0\x80 \xf8\x88",
      "turned \xe2\x80\xae"
      "detrever",
      "no character \xef\xbf\xbf",
      "${alert(1)} `x` {{x}} %s %n {}",
      std::string(5000, 'x'),
      " / ",
      "layer 99999999999999999999 / x",
      "layer -1 / x",
  };
}

}  // namespace reprise::testing
