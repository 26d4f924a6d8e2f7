// SPDX-License-Identifier: Apache-2.0
#include "diag/graph_outline.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

namespace reprise {
namespace {

constexpr std::string_view kSeparator = " / ";
constexpr std::size_t kMostDigits = 9;  // of a number that counts layers

std::string_view section_label(std::string_view label) {
  return label.substr(0, label.find(kSeparator));
}

/// "layer 12" as "layer " and 12.
struct Numbered {
  std::string_view stem;
  std::optional<std::size_t> number;
};

Numbered numbered(std::string_view label) {
  std::size_t end = label.size();
  while (end > 0 && label[end - 1] >= '0' && label[end - 1] <= '9') --end;
  if (end == label.size() || label.size() - end > kMostDigits) return {label, std::nullopt};
  std::size_t number = 0;
  for (const char digit : label.substr(end)) {
    number = number * 10 + static_cast<std::size_t>(digit - '0');
  }
  return {label.substr(0, end), number};
}

/// Hands out nodes that wait for none, of the section at hand first.
class Order {
 public:
  explicit Order(std::span<const GraphNode> nodes)
      : nodes_(nodes), waits_(nodes.size()), after_(nodes.size()) {
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      waits_[i] = nodes[i].dependencies.size();
      for (const std::uint32_t earlier : nodes[i].dependencies) after_.at(earlier).push_back(i);
      if (waits_[i] == 0) add(i);
    }
  }

  bool done() const { return ready_.empty(); }
  std::uint32_t next() {
    const auto own = by_section_.find(section_);
    // Nodes without a name have nothing in common that would keep them together.
    const bool goes_on = !section_.empty() && own != by_section_.end() && !own->second.empty();
    const std::uint32_t node = goes_on ? *own->second.begin() : *ready_.begin();
    section_ = section_label(nodes_[node].label);
    ready_.erase(node);
    by_section_[section_].erase(node);
    for (const std::uint32_t later : after_[node]) {
      if (--waits_[later] == 0) add(later);
    }
    return node;
  }

 private:
  void add(std::uint32_t node) {
    ready_.insert(node);
    by_section_[section_label(nodes_[node].label)].insert(node);
  }

  std::span<const GraphNode> nodes_;
  std::vector<std::size_t> waits_;
  std::vector<std::vector<std::uint32_t>> after_;
  std::set<std::uint32_t> ready_;
  std::unordered_map<std::string_view, std::set<std::uint32_t>> by_section_;
  std::string_view section_;
};

/// Where a node stands.
struct Place {
  std::size_t section = 0;
  std::size_t position = 0;
};

/// Finds, for each section, the earliest one that it repeats.
class Comparison {
 public:
  Comparison(std::span<const GraphNode> nodes, const std::vector<GraphSection>& sections)
      : nodes_(nodes), sections_(sections), places_(nodes.size()) {
    for (std::size_t section = 0; section < sections.size(); ++section) {
      const std::vector<std::uint32_t>& own = sections[section].nodes;
      for (std::size_t i = 0; i < own.size(); ++i) places_[own[i]] = {section, i};
    }
  }

  bool same(std::size_t a, std::size_t b) const {
    const std::vector<std::uint32_t>& left = sections_[a].nodes;
    const std::vector<std::uint32_t>& right = sections_[b].nodes;
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [&](std::uint32_t x, std::uint32_t y) {
                        return same_work(nodes_[x], nodes_[y]) && same_edges(x, y);
                      });
  }

  /// Equal for sections that are the same; cheap to compare.
  std::size_t digest(std::size_t section) const {
    std::size_t value = sections_[section].nodes.size();
    const auto add = [&value](std::size_t part) { value = value * 1000003 + part; };
    const std::hash<std::string_view> hash;
    add(hash(numbered(sections_[section].label).stem));
    for (const std::uint32_t node : sections_[section].nodes) {
      add(hash(nodes_[node].kind));
      add(hash(nodes_[node].function));
      add(hash(label_in_section(nodes_[node].label)));
      add(nodes_[node].bytes);
      add(nodes_[node].dependencies.size());
    }
    return value;
  }

 private:
  static bool same_work(const GraphNode& a, const GraphNode& b) {
    return a.kind == b.kind && a.function == b.function && a.bytes == b.bytes &&
           a.launch == b.launch && a.programmatic_launch == b.programmatic_launch &&
           a.programmatic.size() == b.programmatic.size() &&
           label_in_section(a.label) == label_in_section(b.label) &&
           std::equal(a.bodies.begin(), a.bodies.end(), b.bodies.begin(), b.bodies.end(),
                      same_body);
  }

  /// Labels count behind the section's name only, as they do outside.
  static bool same_body(const std::vector<GraphNode>& a, const std::vector<GraphNode>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const GraphNode& x, const GraphNode& y) {
                        return same_work(x, y) && x.dependencies == y.dependencies;
                      });
  }

  bool same_edges(std::uint32_t x, std::uint32_t y) const {
    const std::vector<std::uint32_t>& left = nodes_[x].dependencies;
    const std::vector<std::uint32_t>& right = nodes_[y].dependencies;
    if (left.size() != right.size()) return false;
    // Dependencies are a set, so any order will do; each must find its like, from both sides.
    const auto like = [&](std::uint32_t from, std::uint32_t other) {
      return same_source(x, from, y, other);
    };
    return std::all_of(left.begin(), left.end(),
                       [&](std::uint32_t from) {
                         return std::any_of(right.begin(), right.end(),
                                            [&](std::uint32_t other) { return like(from, other); });
                       }) &&
           std::all_of(right.begin(), right.end(), [&](std::uint32_t other) {
             return std::any_of(left.begin(), left.end(),
                                [&](std::uint32_t from) { return like(from, other); });
           });
  }

  bool same_source(std::uint32_t x, std::uint32_t from, std::uint32_t y,
                   std::uint32_t other) const {
    const Place& a = places_[from];
    const Place& b = places_[other];
    const std::size_t home_a = places_[x].section;
    const std::size_t home_b = places_[y].section;
    if (a.section == home_a || b.section == home_b) {
      return a.section == home_a && b.section == home_b && a.position == b.position;
    }
    if (from == other) return true;
    return home_a - a.section == home_b - b.section && to_end(a) == to_end(b);
  }

  std::size_t to_end(const Place& place) const {
    return sections_[place.section].nodes.size() - place.position;
  }

  std::span<const GraphNode> nodes_;
  const std::vector<GraphSection>& sections_;
  std::vector<Place> places_;
};

void find_repeats(std::span<const GraphNode> nodes, std::vector<GraphSection>& sections) {
  const Comparison comparison(nodes, sections);
  std::unordered_map<std::size_t, std::vector<std::size_t>> originals;  // by digest
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const Numbered name = numbered(sections[i].label);
    if (!name.number) continue;
    std::vector<std::size_t>& candidates = originals[comparison.digest(i)];
    const auto found = std::find_if(candidates.begin(), candidates.end(), [&](std::size_t earlier) {
      return numbered(sections[earlier].label).stem == name.stem && comparison.same(earlier, i);
    });
    if (found != candidates.end()) {
      sections[i].same_as = *found;
    } else {
      candidates.push_back(i);
    }
  }
}

}  // namespace

std::string_view label_in_section(std::string_view label) noexcept {
  const std::size_t end = label.find(kSeparator);
  return end == std::string_view::npos ? std::string_view() : label.substr(end + kSeparator.size());
}

std::vector<GraphSection> outline(std::span<const GraphNode> nodes) {
  std::vector<GraphSection> sections;
  for (Order order(nodes); !order.done();) {
    const std::uint32_t node = order.next();
    const std::string_view label = section_label(nodes[node].label);
    if (sections.empty() || sections.back().label != label) {
      sections.push_back({.label = std::string(label), .nodes = {}, .same_as = std::nullopt});
    }
    sections.back().nodes.push_back(node);
  }
  find_repeats(nodes, sections);
  return sections;
}

std::vector<SectionRun> fold(const std::vector<GraphSection>& sections) {
  std::vector<SectionRun> runs;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const GraphSection& section = sections[i];
    if (!runs.empty() && runs.back().folded && section.same_as &&
        sections[i - 1].same_as == section.same_as &&
        numbered(section.label).number == *numbered(sections[i - 1].label).number + 1) {
      ++runs.back().count;
    } else {
      runs.push_back({.first = i, .count = 1, .folded = section.same_as.has_value()});
    }
  }
  return runs;
}

std::string run_label(const std::vector<GraphSection>& sections, const SectionRun& run) {
  const std::string& first = sections[run.first].label;
  if (run.count == 1) return first;
  const Numbered from = numbered(first);
  const Numbered to = numbered(sections[run.first + run.count - 1].label);
  std::string_view stem = from.stem;
  std::string plural(stem.substr(0, stem.find_last_not_of(' ') + 1));
  if (!plural.empty()) plural += plural.size() == stem.size() ? " " : "s ";
  return fmt::format("{}{}–{}", plural, *from.number, *to.number);
}

}  // namespace reprise
