// SPDX-License-Identifier: Apache-2.0
// Foreign text inside our own lines. Names and values read from files may hold line breaks, control
// characters or megabytes; an error message is one short line. Pure functions, thread safe.
#pragma once

#include <string>
#include <string_view>

namespace reprise {

/// `text` without control characters (each becomes \xNN) and cut to about `limit` bytes, never in
/// the middle of a UTF-8 character; a cut is shown by "…".
std::string printable(std::string_view text, std::size_t limit = 160);

/// printable(text) between single quotes: 'model.norm.weight'.
std::string in_quotes(std::string_view text);

/// `text` as a JSON string with its quotes. `text` must be valid UTF-8; it is passed through.
std::string json_quoted(std::string_view text);

}  // namespace reprise
