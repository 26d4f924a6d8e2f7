// SPDX-License-Identifier: Apache-2.0
// Which pages of the KV cache are free. Integers only; no device.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace reprise {

/// Hands out pages 1 … pages - 1; page 0 is the sink (kernels/ops.h) and never handed out. The
/// lowest free page comes first. Not thread safe.
class PageAllocator {
 public:
  /// Throws UsageError for fewer than 2 pages.
  explicit PageAllocator(std::int32_t pages);

  /// Nothing when no page is free.
  std::optional<std::int32_t> allocate();
  /// Throws UsageError for a page that is not handed out.
  void free(std::int32_t page);

  std::int32_t total() const noexcept { return static_cast<std::int32_t>(used_.size()); }
  std::int32_t available() const noexcept { return available_; }

 private:
  std::vector<bool> used_;
  std::vector<std::int32_t> heap_;  // free pages, smallest on top
  std::int32_t available_ = 0;
};

}  // namespace reprise
