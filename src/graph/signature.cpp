// SPDX-License-Identifier: Apache-2.0
#include "graph/signature.h"

#include <algorithm>
#include <string_view>

namespace reprise {
namespace {

// 64-bit FNV-1a: the same on every machine, so that signatures may be written to disk.
class Hash {
 public:
  void add(std::uint64_t value) noexcept {
    for (int byte = 0; byte < 8; ++byte) add_byte(static_cast<unsigned char>(value >> (8 * byte)));
  }
  void add(std::string_view text) noexcept {
    add(text.size());
    for (const char letter : text) add_byte(static_cast<unsigned char>(letter));
  }
  void add(std::span<const NodeInfo> nodes) noexcept {
    add(nodes.size());
    for (const NodeInfo& node : nodes) add(node);
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  void add(const NodeInfo& node) noexcept {
    add(static_cast<std::uint64_t>(node.kind));
    add(node.function);
    add(node.attributes);
    add(node.dependencies.size());
    for (const std::uint32_t dependency : node.dependencies) add(dependency);
    if (node.kind != NodeKind::conditional) return;
    add(node.bodies.size());
    for (const auto& body : node.bodies) add(body);
  }
  void add_byte(unsigned char byte) noexcept {
    value_ ^= byte;
    value_ *= 0x100000001b3ULL;
  }
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace

std::uint64_t structural_signature(std::span<const NodeInfo> nodes) noexcept {
  Hash hash;
  hash.add(nodes);
  return hash.value();
}

bool has_conditional(std::span<const NodeInfo> nodes) noexcept {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const NodeInfo& node) { return node.kind == NodeKind::conditional; });
}

}  // namespace reprise
