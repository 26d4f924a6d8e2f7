// SPDX-License-Identifier: Apache-2.0
#include "graph/result_staging.h"

#include <algorithm>
#include <cstring>

#include <reprise/error.h>

namespace reprise {
namespace {

constexpr std::size_t kPiece = std::size_t{4} << 20;  // small enough for a processor's cache

MemoryView part(const MemoryView& view, std::size_t offset, std::size_t bytes) {
  return {static_cast<std::byte*>(view.data) + offset, bytes, view.space};
}

std::size_t total(std::span<const MemoryView> views) {
  std::size_t bytes = 0;
  for (const MemoryView& view : views) bytes += view.bytes;
  return bytes;
}

}  // namespace

MemoryView ResultStaging::memory(Buffer& pinned, std::vector<std::byte>& ordinary,
                                 std::size_t bytes) {
  if (!missing_ && (!pinned || pinned.bytes() < bytes)) {
    pinned = Buffer();  // first, so that no two of them need room
    try {
      pinned = device_.allocate_pinned(bytes, "results of the self-test");
    } catch (const OutOfMemory&) {
      missing_ = true;
    }
  }
  if (pinned && pinned.bytes() >= bytes) return {pinned.data(), bytes, MemorySpace::pinned};
  if (ordinary.size() < bytes) ordinary.resize(bytes);
  return {ordinary.data(), bytes, MemorySpace::pageable};
}

void ResultStaging::keep(std::span<const MemoryView> results, Stream& stream) {
  kept_memory_ = memory(kept_, ordinary_kept_, total(results));
  std::size_t offset = 0;
  for (const MemoryView& result : results) {
    stream.copy(part(kept_memory_, offset, result.bytes), result);
    offset += result.bytes;
  }
  stream.synchronize();
}

std::optional<ResultStaging::Difference> ResultStaging::compare(std::span<const MemoryView> results,
                                                                Stream& stream) {
  const MemoryView piece = memory(part_, ordinary_part_, std::min(kPiece, total(results)));
  const auto* const now = static_cast<const std::byte*>(piece.data);
  const auto* kept = static_cast<const std::byte*>(kept_memory_.data);
  for (std::size_t index = 0; index < results.size(); ++index) {
    const MemoryView& result = results[index];
    for (std::size_t done = 0; done < result.bytes;) {
      const std::size_t bytes = std::min(piece.bytes, result.bytes - done);
      stream.copy(part(piece, 0, bytes), part(result, done, bytes));
      stream.synchronize();
      if (std::memcmp(now, kept, bytes) != 0) {
        const auto first = std::mismatch(now, now + bytes, kept).first;
        return Difference{.result = index, .byte = done + static_cast<std::size_t>(first - now)};
      }
      done += bytes;
      kept += bytes;
    }
  }
  return std::nullopt;
}

std::string ResultStaging::take_note() {
  if (!missing_ || noted_) return "";
  noted_ = true;
  return "the self-test compares in ordinary memory, which is slower: " + device_.label() +
         " has no pinned memory left for the results (not reported again)";
}

}  // namespace reprise
