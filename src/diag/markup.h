// SPDX-License-Identifier: Apache-2.0
// Foreign text in pages and pictures. A label may hold anything: markup, quotes, control
// characters, bytes that are not UTF-8. Here it becomes text and nothing else. Pure functions,
// thread safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reprise {

/// Valid UTF-8 that every format below can carry: bytes that are not UTF-8 become U+FFFD; control
/// characters, and those that turn the direction of writing, are spelt out ("\x07", "\u202e").
std::string plain_text(std::string_view text);

/// plain_text() for the content of elements and for attributes in double quotes, in XML and HTML.
std::string markup_escaped(std::string_view text);

/// plain_text() as a quoted string of Graphviz, with its quotes; backslashes mean themselves.
std::string dot_quoted(std::string_view text);

/// Data in JSON (ASCII) so that it may stand in a <script> element: no '<', '>' or '&' stays.
std::string script_safe(std::string_view json);

/// At most `characters` characters of plain_text(), the last being "…" where something was cut.
std::string cut_to(std::string_view text, std::size_t characters);

/// How many characters valid UTF-8 holds.
std::size_t characters(std::string_view text) noexcept;

}  // namespace reprise
