// SPDX-License-Identifier: Apache-2.0
// Byte pair encoding: a word's characters become symbols, and neighbours merge in the order of the
// merges' ranks, leftmost first.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/json_field.h"
#include "model/tokenizer/merge_table.h"
#include "model/tokenizer/vocabulary.h"

namespace reprise::tokenizer {

/// Immutable and thread safe once read.
class Bpe {
 public:
  /// Reads `model` of tokenizer.json. Throws ModelError where it is another kind of model,
  /// malformed, or its merges name tokens it does not have.
  static Bpe read(const JsonField& field);

  const Vocabulary& vocabulary() const noexcept { return vocabulary_; }

  /// Encodes words one after another; holds the scratch memory for it. Not thread safe: one for
  /// each call. Time for a word of n characters: n log n.
  class Encoder {
   public:
    explicit Encoder(const Bpe& model) : model_(model) {}
    void append(std::string_view word, std::vector<std::int32_t>& ids);

   private:
    struct Symbol {
      std::int32_t id;  // kGone once it has merged into its left neighbour
      std::int32_t previous;
      std::int32_t next;
    };
    /// Rank, then position, in one number: comparing these is most of a long word's time.
    using Candidate = std::uint64_t;
    static constexpr std::int32_t kGone = -1;

    void add_symbol(std::int32_t id);
    void spell(std::string_view word);
    std::int32_t unknown() const;
    bool spell_as_bytes(std::string_view text);
    void merge();
    bool propose(std::int32_t position);

    const Bpe& model_;
    std::vector<Symbol> symbols_;
    std::vector<Candidate> candidates_;
    std::string affixed_;
  };

 private:
  Bpe() = default;
  void read_vocabulary(const JsonField& field);
  void read_merges(const JsonField& field);
  void read_options(const JsonField& field);

  Vocabulary vocabulary_;
  MergeTable merges_;
  std::string prefix_;        // of every character but a word's first
  std::string suffix_;        // of a word's last character
  std::string unknown_name_;  // empty: unknown characters vanish
  std::optional<std::int32_t> unknown_;
  bool fuse_unknown_ = false;
  bool byte_fallback_ = false;
  bool ignore_merges_ = false;
  std::array<std::int32_t, 256> byte_tokens_{};  // "<0x00>" …; -1 where there is none
};

}  // namespace reprise::tokenizer
