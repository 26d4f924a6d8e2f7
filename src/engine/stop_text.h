// SPDX-License-Identifier: Apache-2.0
// Ends a text before any of some stop texts, though it arrives in pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reprise {

/// Text goes in as it is made and comes out once it cannot be part of a stop text any more. Of
/// stop texts that are completed by the same piece, the one that begins first cuts. Not thread
/// safe.
class StopText {
 public:
  /// Throws UsageError for an empty stop text. None at all is allowed: then all passes at once.
  explicit StopText(std::vector<std::string> stops);

  /// What may be shown after `piece`. Nothing more comes out once stopped().
  std::string push(std::string_view piece);
  /// The end of the text: what was kept back. Empty where a stop text was found.
  std::string flush();
  bool stopped() const noexcept { return stopped_; }

 private:
  std::size_t kept_back() const noexcept;

  std::vector<std::string> stops_;
  std::string pending_;
  bool stopped_ = false;
};

}  // namespace reprise
