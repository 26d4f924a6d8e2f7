// SPDX-License-Identifier: Apache-2.0
#include "diag/support/markup_reader.h"

#include <algorithm>
#include <stdexcept>

namespace reprise::testing {
namespace {

class Reader {
 public:
  Reader(std::string_view text, bool html) : text_(text), html_(html) {}

  std::vector<Element> read() {
    check_characters();
    if (html_) expect("<!DOCTYPE html>");
    while (at_ < text_.size()) {
      if (text_[at_] == '<') {
        tag();
      } else {
        const std::size_t end = std::min(text_.find('<', at_), text_.size());
        const std::string content = decoded(text_.substr(at_, end - at_));
        if (!open_.empty()) elements_[open_.back()].text += content;
        at_ = end;
      }
    }
    if (!open_.empty()) fail("<" + elements_[open_.back()].name + "> is not closed");
    return std::move(elements_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    const std::size_t from = at_ < 60 ? 0 : at_ - 60;
    throw std::runtime_error(what + " near: " + std::string(text_.substr(from, 120)));
  }

  void check_characters() {
    for (at_ = 0; at_ < text_.size();) {
      const auto lead = static_cast<unsigned char>(text_[at_]);
      if ((lead < 0x20 && lead != '\n') || lead == 0x7f) fail("a control character");
      const std::size_t bytes = lead < 0x80   ? 1
                                : lead < 0xc2 ? 0
                                : lead < 0xe0 ? 2
                                : lead < 0xf0 ? 3
                                              : 4;
      if (bytes == 0 || lead > 0xf4 || at_ + bytes > text_.size()) fail("a byte that is not UTF-8");
      for (std::size_t i = 1; i < bytes; ++i) {
        if ((static_cast<unsigned char>(text_[at_ + i]) & 0xc0) != 0x80)
          fail("a byte that is not UTF-8");
      }
      at_ += bytes;
    }
    at_ = 0;
  }

  void expect(std::string_view wanted) {
    if (text_.substr(at_, wanted.size()) != wanted) fail("expected " + std::string(wanted));
    at_ += wanted.size();
  }
  void spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  std::string name() {
    const std::size_t from = at_;
    const auto fits = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    };
    while (at_ < text_.size() && fits(text_[at_])) ++at_;
    if (at_ == from) fail("a name is missing");
    return std::string(text_.substr(from, at_ - from));
  }

  std::string decoded(std::string_view raw) const {
    std::string out;
    while (!raw.empty()) {
      if (raw[0] != '&') {
        out += raw[0];
        raw.remove_prefix(1);
        continue;
      }
      const std::pair<std::string_view, char> known[] = {
          {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&#39;", '\''}};
      const auto found = std::find_if(std::begin(known), std::end(known), [&](const auto& entity) {
        return raw.starts_with(entity.first);
      });
      if (found == std::end(known)) fail("a bare '&' or an unknown entity");
      out += found->second;
      raw.remove_prefix(found->first.size());
    }
    return out;
  }

  void tag() {
    ++at_;
    if (at_ < text_.size() && text_[at_] == '/') {
      ++at_;
      const std::string closed = name();
      if (open_.empty() || elements_[open_.back()].name != closed)
        fail("</" + closed + "> closes nothing");
      open_.pop_back();
      expect(">");
      return;
    }
    Element element{.name = name(), .attributes = {}, .text = {}};
    for (spaces(); at_ < text_.size() && text_[at_] != '>' && text_[at_] != '/'; spaces()) {
      attribute(element);
    }
    const bool empty = at_ < text_.size() && text_[at_] == '/';
    if (empty) ++at_;
    expect(">");
    const std::string opened = element.name;
    elements_.push_back(std::move(element));
    const bool is_void = html_ && (opened == "meta" || opened == "input" || opened == "br");
    if (!empty && !is_void) open_.push_back(elements_.size() - 1);
    if (html_ && (opened == "script" || opened == "style")) raw(opened);
  }

  void attribute(Element& element) {
    const std::string key = name();
    expect("=\"");
    const std::size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) fail("an attribute's value does not end");
    const std::string_view value = text_.substr(at_, end - at_);
    if (value.find('<') != std::string_view::npos) fail("a '<' in an attribute");
    if (!element.attributes.emplace(key, decoded(value)).second) fail("two attributes " + key);
    at_ = end + 1;
  }

  /// What a browser does with scripts: the first "</script" ends them, and "<!--" may hide it.
  void raw(const std::string& element) {
    const std::size_t end = text_.find("</" + element, at_);
    if (end == std::string_view::npos) fail("<" + element + "> is not closed");
    elements_.back().text = text_.substr(at_, end - at_);
    if (elements_.back().text.find("<!--") != std::string::npos) fail("a comment in a script");
    at_ = end;
  }

  const std::string_view text_;
  const bool html_;
  std::size_t at_ = 0;
  std::vector<Element> elements_;
  std::vector<std::size_t> open_;
};

class DotReader {
 public:
  explicit DotReader(std::string_view text) : text_(text) {}

  DotGraph read() {
    if (word() != "digraph") fail("not a digraph");
    word();
    body(false);
    if (!token().empty()) fail("text after the graph");
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(what +
                             " near: " + std::string(text_.substr(at_ < 60 ? 0 : at_ - 60, 120)));
  }

  /// A word, a string with its opening quote, or a sign; "" at the end.
  std::string token() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    if (at_ == text_.size()) return {};
    if (text_[at_] == '"') return string();
    if (text_.substr(at_, 2) == "->") return at_ += 2, "->";
    const auto fits = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
             (c >= 'A' && c <= 'Z');
    };
    if (!fits(text_[at_])) return std::string(1, text_[at_++]);
    const std::size_t from = at_;
    while (at_ < text_.size() && fits(text_[at_])) ++at_;
    return std::string(text_.substr(from, at_ - from));
  }
  std::string word() {
    std::string found = token();
    if (found.empty() || std::string_view("{}[];,=").find(found) != std::string_view::npos) {
      fail("a word is missing");
    }
    return found;
  }
  std::string string() {
    std::string out = "\"";
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\n') fail("a line break in a string");
      if (text_[at_] != '\\') {
        out += text_[at_];
        continue;
      }
      ++at_;
      if (at_ == text_.size()) fail("a string ends in a backslash");
      if (text_[at_] != '\\' && text_[at_] != '"' && text_[at_] != 'n')
        fail("an escape of ours is none");
      out += text_[at_] == 'n' ? '\n' : text_[at_];
    }
    if (at_++ == text_.size()) fail("a string does not end");
    for (std::size_t entity = 0; (entity = out.find('&', entity)) != std::string::npos; ++entity) {
      if (out.compare(entity, 5, "&amp;") != 0) fail("an entity");
      out.erase(entity + 1, 4);
    }
    return out;
  }

  std::map<std::string, std::string> attributes() {
    std::map<std::string, std::string> all;
    for (std::string next = token(); next != "]"; next = token()) {
      if (next == ",") continue;
      const std::string key = next;
      if (token() != "=") fail("an attribute without '='");
      const std::string value = word();
      all[key] = value.starts_with('"') ? value.substr(1) : value;
    }
    return all;
  }

  void body(bool cluster) {
    if (token() != "{") fail("expected {");
    for (std::string first = token(); first != "}"; first = token()) {
      if (first.empty()) fail("a brace is not closed");
      if (first == "subgraph") {
        body(word().starts_with("cluster_"));
        continue;
      }
      statement(first, cluster);
    }
  }

  void statement(const std::string& first, bool cluster) {
    std::string next = token();
    if (next == "=") {
      const std::string value = word();
      if (cluster && first == "label") graph_.clusters.push_back(value.substr(1));
      next = token();
    } else if (next == "->") {
      graph_.edges.emplace_back(first, word());
      next = token();
      if (next == "[") {
        attributes();
        next = token();
      }
    } else if (next == "[") {
      const auto all = attributes();
      if (first != "node" && first != "edge") graph_.nodes[first] = all;
      next = token();
    }
    if (next != ";") fail("a ';' is missing");
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  DotGraph graph_;
};

}  // namespace

std::vector<Element> read_markup(std::string_view text, bool html) {
  return Reader(text, html).read();
}

DotGraph read_dot(std::string_view text) { return DotReader(text).read(); }

}  // namespace reprise::testing
