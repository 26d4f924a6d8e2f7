// SPDX-License-Identifier: Apache-2.0
// Fields that config.json and generation_config.json share, and the parts config.cpp is made of.
// Internal to model/.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/config.h"
#include "model/json.h"

namespace reprise {

/// Bounds of sizes: far beyond any model, small enough that products of two, times layers and
/// bytes, stay within 64 bits.
inline constexpr std::int64_t kMaxWidth = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxLayers = 4096;
inline constexpr std::int64_t kMaxVocabulary = std::int64_t{1} << 24;
inline constexpr std::int64_t kMaxPositions = std::int64_t{1} << 30;

/// The token id in `key`, or nothing if it is absent or null.
std::optional<std::int32_t> token_id(const JsonValue& root, std::string_view key,
                                     std::int64_t vocabulary);
/// The id or list of ids in `key`, without repetitions; nothing if it is absent or null.
std::optional<std::vector<std::int32_t>> token_ids(const JsonValue& root, std::string_view key,
                                                   std::int64_t vocabulary);
/// As token_id, and -1 means none: a padding token is never computed with.
std::optional<std::int32_t> pad_id(const JsonValue& root, std::int64_t vocabulary);

RopeConfig read_rope(const JsonValue& root);

}  // namespace reprise
