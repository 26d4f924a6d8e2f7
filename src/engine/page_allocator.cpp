// SPDX-License-Identifier: Apache-2.0
#include "engine/page_allocator.h"

#include <algorithm>
#include <functional>
#include <string>

#include <reprise/error.h>

#include "kernels/ops.h"

namespace reprise {

PageAllocator::PageAllocator(std::int32_t pages) {
  if (pages < 2) {
    throw UsageError("a KV cache needs the sink page and at least one more, got " +
                     std::to_string(pages));
  }
  used_.assign(static_cast<std::size_t>(pages), false);
  used_[kSinkPage] = true;
  for (std::int32_t page = 1; page < pages; ++page) heap_.push_back(page);
  available_ = pages - 1;
}

std::optional<std::int32_t> PageAllocator::allocate() {
  if (heap_.empty()) return std::nullopt;
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
  const std::int32_t page = heap_.back();
  heap_.pop_back();
  used_[static_cast<std::size_t>(page)] = true;
  --available_;
  return page;
}

void PageAllocator::free(std::int32_t page) {
  if (page <= kSinkPage || page >= total() || !used_[static_cast<std::size_t>(page)]) {
    throw UsageError("page " + std::to_string(page) + " of the KV cache is not in use");
  }
  used_[static_cast<std::size_t>(page)] = false;
  heap_.push_back(page);
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  ++available_;
}

}  // namespace reprise
