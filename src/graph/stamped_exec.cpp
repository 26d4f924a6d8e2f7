// SPDX-License-Identifier: Apache-2.0
#include "graph/stamped_exec.h"

#include <cstring>
#include <span>

#include "device/backend.h"

namespace reprise {
namespace {

Buffer make_buffer(Device& device, std::size_t words, MemorySpace space) {
  const std::size_t bytes = words * sizeof(std::uint64_t);
  return space == MemorySpace::pinned ? device.allocate_pinned(bytes, "stamps")
                                      : device.allocate(bytes, "stamps");
}

}  // namespace

StampedExec::StampedExec(const Graph& graph, MemorySpace space)
    : words_(2 * graph.node_count() + 1),
      buffer_(make_buffer(graph.device(), words_, space)),
      exec_(graph.device().shared_from_this(),
            graph.recorded().instantiate_stamped(static_cast<std::uint64_t*>(buffer_.data())),
            graph.signature()) {
  if (space == MemorySpace::pinned) std::memset(buffer_.data(), 0, buffer_.bytes());
}

void StampedExec::launch(Stream& stream) {
  if (buffer_.space() == MemorySpace::device) stream.fill(buffer_.view(), 0);
  exec_.launch(stream);
}

std::vector<std::uint64_t> StampedExec::stamps(Stream& stream) const {
  std::vector<std::uint64_t> words(words_);
  buffer_.to_host(stream, std::as_writable_bytes(std::span(words)));
  return words;
}

std::vector<std::uint64_t> StampedExec::pinned_stamps() const {
  std::vector<std::uint64_t> words(words_);
  std::memcpy(words.data(), buffer_.data(), words_ * sizeof(std::uint64_t));
  return words;
}

}  // namespace reprise
