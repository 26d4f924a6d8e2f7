// SPDX-License-Identifier: Apache-2.0
// A strict reader of what our pictures and pages are written in, so that tests see what a browser
// would: which elements there are, with which attributes, and which text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::testing {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;  // decoded
  std::string text;                               // decoded; of the element itself
};

/// `html`: with a doctype, elements that are never closed, and scripts and styles read raw; else
/// XML, in which all elements are closed. Throws std::runtime_error that says what is wrong: an
/// element not closed or closed twice, an attribute without quotes or given twice, an unknown
/// entity, a bare '<' or '&', a byte that is not UTF-8, a control character.
std::vector<Element> read_markup(std::string_view text, bool html);

/// The same for Graphviz's language as graph_dot() writes it: statements of nodes, edges,
/// attributes and subgraphs, braces balanced, strings closed.
struct DotGraph {
  std::map<std::string, std::map<std::string, std::string>> nodes;  // attributes, as Graphviz shows
  std::vector<std::pair<std::string, std::string>> edges;
  std::vector<std::string> clusters;  // labels
};
DotGraph read_dot(std::string_view text);

}  // namespace reprise::testing
