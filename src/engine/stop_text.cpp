// SPDX-License-Identifier: Apache-2.0
#include "engine/stop_text.h"

#include <algorithm>
#include <utility>

#include <reprise/error.h>

namespace reprise {

StopText::StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_) {
    if (stop.empty()) throw UsageError("a stop text is empty; give at least one character");
  }
}

std::string StopText::push(std::string_view piece) {
  if (stopped_) return {};
  pending_ += piece;
  std::size_t cut = std::string::npos;
  for (const std::string& stop : stops_) cut = std::min(cut, pending_.find(stop));
  stopped_ = cut != std::string::npos;
  const std::size_t shown = stopped_ ? cut : pending_.size() - kept_back();
  std::string out = pending_.substr(0, shown);
  pending_.erase(0, stopped_ ? pending_.size() : shown);
  return out;
}

std::string StopText::flush() { return std::exchange(pending_, {}); }

// The longest end of the pending text that begins a stop text.
std::size_t StopText::kept_back() const noexcept {
  std::size_t longest = 0;
  for (const std::string& stop : stops_) {
    std::size_t length = std::min(stop.size() - 1, pending_.size());
    const std::string_view text = pending_;
    while (length > longest && !stop.starts_with(text.substr(text.size() - length))) --length;
    longest = std::max(longest, length);
  }
  return longest;
}

}  // namespace reprise
