// SPDX-License-Identifier: Apache-2.0
// A text on its way from characters to ids: cut into pieces that become added tokens or words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprise::tokenizer {

struct Piece {
  static constexpr std::int32_t kNone = -1;

  std::string_view text;
  /// Id of the added token that this piece is; such a piece is never touched again.
  std::int32_t token = kNone;
  /// How many leading bytes of `text` come from the very beginning of the input. What puts a space
  /// in front of "the first" word asks whether it is 0.
  std::size_t origin = 0;

  bool is_token() const noexcept { return token != kNone; }
};

struct Pieces {
  std::vector<Piece> items;

  /// Takes a text over; the view stays valid as long as these Pieces.
  std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }

 private:
  std::deque<std::string> kept_;
};

/// The part [begin, end) of a piece.
inline Piece part(const Piece& piece, std::size_t begin, std::size_t end) noexcept {
  return {piece.text.substr(begin, end - begin), Piece::kNone,
          begin < piece.origin ? piece.origin - begin : 0};
}

}  // namespace reprise::tokenizer
