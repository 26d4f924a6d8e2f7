// SPDX-License-Identifier: Apache-2.0
// memory_svg() and memory_html(): a pool's segments and blocks to look at.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include <reprise/memory_pool.h>

#include "core/bytes.h"
#include "diag/html.h"
#include "diag/markup.h"
#include "diag/svg.h"

namespace reprise {
namespace {

constexpr double kMargin = 24;
constexpr double kWidth = 912;  // of the longest segment
constexpr double kBar = 40;
constexpr double kCaption = 18;
constexpr double kGap = 10;
constexpr double kLeast = 2;       // px of a block, so that none is overlooked
constexpr std::size_t kHues = 10;  // owner0 … owner9 of picture.css

struct Owner {
  std::string label;
  std::size_t bytes = 0;
  std::size_t blocks = 0;
};

/// Those who hold blocks, the largest first.
std::vector<Owner> owners_of(const std::vector<SegmentInfo>& segments) {
  std::map<std::string_view, Owner> by_label;
  for (const SegmentInfo& segment : segments) {
    for (const BlockInfo& block : segment.blocks) {
      if (!block.allocated) continue;
      Owner& owner = by_label[block.label];
      owner.label = block.label;
      owner.bytes += block.bytes;
      ++owner.blocks;
    }
  }
  std::vector<Owner> owners;
  for (auto& [label, owner] : by_label) owners.push_back(std::move(owner));
  std::stable_sort(owners.begin(), owners.end(),
                   [](const Owner& a, const Owner& b) { return a.bytes > b.bytes; });
  return owners;
}

/// Widths of the blocks of a bar: in proportion, but none below what can be seen.
std::vector<double> widths(const std::vector<BlockInfo>& blocks, double bar, std::size_t bytes) {
  const double least = std::min(kLeast, bar / static_cast<double>(blocks.size()));
  const double shared = bar - least * static_cast<double>(blocks.size());
  std::vector<double> result;
  for (const BlockInfo& block : blocks) {
    const double part = static_cast<double>(block.bytes) / static_cast<double>(bytes);
    result.push_back(least + shared * part);
  }
  return result;
}

class Drawing {
 public:
  explicit Drawing(const MemoryPool& pool)
      : name_(pool.name()),
        device_(pool.device().label()),
        statistics_(pool.statistics()),
        segments_(pool.snapshot()),
        owners_(owners_of(segments_)) {
    for (const SegmentInfo& segment : segments_) longest_ = std::max(longest_, segment.bytes);
    for (std::size_t i = 0; i < owners_.size(); ++i) {
      styles_[owners_[i].label] = i < kHues ? fmt::format("owner{}", i) : "others";
    }
  }

  std::string draw() {
    svg_.text(kMargin, 38, "heading", cut_to("Memory pool " + name_, 60), name_);
    svg_.text(kMargin, 58, "muted",
              fmt::format("on {}  ·  {} out-of-memory errors  ·  {} retries", device_,
                          statistics_.num_ooms, statistics_.num_alloc_retries));
    figures();
    y_ = 144;
    segments();
    legend();
    return svg_.finish(
        kWidth + 2 * kMargin, y_ + kMargin, "Memory pool " + name_,
        fmt::format("{} in use of {} reserved in {} segments",
                    format_bytes(statistics_.allocated_bytes.current),
                    format_bytes(statistics_.reserved_bytes.current), segments_.size()));
  }

 private:
  void figures() {
    const std::array<std::pair<std::string_view, std::string>, 6> all{{
        {"in use", format_bytes(statistics_.allocated_bytes.current)},
        {"peak in use", format_bytes(statistics_.allocated_bytes.peak)},
        {"reserved", format_bytes(statistics_.reserved_bytes.current)},
        {"peak reserved", format_bytes(statistics_.reserved_bytes.peak)},
        {"segments", std::to_string(segments_.size())},
        {"fragmentation", fmt::format("{:.1f} %", 100 * statistics_.fragmentation())},
    }};
    double x = kMargin;
    for (const auto& [name, value] : all) {
      svg_.text(x, 92, "small muted", name);
      svg_.text(x, 113, "figure", value);
      x += kWidth / static_cast<double>(all.size());
    }
    svg_.path(fmt::format("M{} 128H{}", kMargin, kMargin + kWidth), "rule");
  }

  /// Short segments share a line.
  void segments() {
    if (segments_.empty()) {
      svg_.text(kMargin, y_ + 16, "muted", "Nothing is reserved.");
      y_ += 24;
      return;
    }
    double x = kMargin;
    for (const SegmentInfo& segment : segments_) {
      const double share = static_cast<double>(segment.bytes) / static_cast<double>(longest_);
      const double width = std::max(kWidth * share, 3 * kLeast);
      if (x > kMargin && x + width > kMargin + kWidth + 0.5) {
        x = kMargin;
        y_ += kCaption + kBar + kGap;
      }
      bar(segment, x, width);
      x += width + kGap;
    }
    y_ += kCaption + kBar + kGap;
  }

  void bar(const SegmentInfo& segment, double x, double width) {
    const std::string address = fmt::format("{:#x}", segment.address);
    const auto letters = static_cast<std::size_t>(width / 6.6);
    const std::string caption = fmt::format("{}  {}", address, format_bytes(segment.bytes));
    if (characters(caption) <= letters) {
      svg_.text(x, y_ + 12, "mono small muted", caption);
    } else if (characters(format_bytes(segment.bytes)) <= letters) {
      svg_.text(x, y_ + 12, "mono small muted", format_bytes(segment.bytes));
    }
    const double top = y_ + kCaption;
    double at = x;
    const std::vector<double> parts = widths(segment.blocks, width, segment.bytes);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const BlockInfo& block = segment.blocks[i];
      const double gap = parts[i] > 2 * kLeast ? 1 : 0;  // between neighbours, where there is room
      svg_.box({.x = at, .y = top, .width = parts[i] - gap, .height = kBar},
               block.allocated ? styles_.at(block.label) : "free", tip(segment, block));
      at += parts[i];
    }
    svg_.box({.x = x - 0.5, .y = top - 0.5, .width = width + 1, .height = kBar + 1, .radius = 2},
             "frame");
  }

  static std::string tip(const SegmentInfo& segment, const BlockInfo& block) {
    const std::string where =
        fmt::format("{} at {:#x}", format_bytes(block.bytes), segment.address + block.offset);
    if (!block.allocated) return "free: " + where;
    return fmt::format("{}: {}, {} asked for", named(block.label), where,
                       format_bytes(block.requested_bytes));
  }

  static std::string named(const std::string& label) { return label.empty() ? "(unnamed)" : label; }

  void legend() {
    y_ += 14;
    const std::size_t shown = std::min(owners_.size(), kHues);
    for (std::size_t i = 0; i < shown; ++i) {
      entry(styles_.at(owners_[i].label), named(owners_[i].label), owners_[i]);
    }
    Owner others;
    for (std::size_t i = shown; i < owners_.size(); ++i) {
      others.bytes += owners_[i].bytes;
      others.blocks += owners_[i].blocks;
    }
    if (owners_.size() > shown) {
      entry("others", fmt::format("{} other owners", owners_.size() - shown), others);
    }
    Owner free;
    for (const SegmentInfo& segment : segments_) {
      for (const BlockInfo& block : segment.blocks) {
        if (block.allocated) continue;
        free.bytes += block.bytes;
        ++free.blocks;
      }
    }
    if (free.blocks > 0) entry("free", "free", free);
  }

  void entry(std::string_view style, const std::string& label, const Owner& owner) {
    std::size_t mapped = 0;
    for (const SegmentInfo& segment : segments_) mapped += segment.bytes;
    svg_.box({.x = kMargin, .y = y_ - 10, .width = 14, .height = 14, .radius = 2}, style);
    svg_.box({.x = kMargin, .y = y_ - 10, .width = 14, .height = 14, .radius = 2}, "frame");
    svg_.text(kMargin + 24, y_ + 1, "", cut_to(label, 80), label);
    svg_.text(kMargin + 660, y_ + 1, "mono small end", format_bytes(owner.bytes));
    svg_.text(kMargin + 780, y_ + 1, "small muted end",
              fmt::format("{} {}", owner.blocks, owner.blocks == 1 ? "block" : "blocks"));
    svg_.text(kMargin + kWidth, y_ + 1, "mono small end",
              fmt::format("{:.1f} %",
                          100 * static_cast<double>(owner.bytes) / static_cast<double>(mapped)));
    y_ += 22;
  }

  const std::string name_;
  const std::string device_;
  const MemoryStatistics statistics_;
  const std::vector<SegmentInfo> segments_;
  const std::vector<Owner> owners_;
  std::map<std::string, std::string, std::less<>> styles_;  // by owner's label
  std::size_t longest_ = 1;
  double y_ = 0;
  SvgWriter svg_;
};

}  // namespace

std::string memory_svg(const MemoryPool& pool) { return Drawing(pool).draw(); }

std::string memory_html(const MemoryPool& pool) {
  // The picture names pool and device.
  return html_page("Memory", {}, "<main>\n" + memory_section(pool) + "</main>\n");
}

}  // namespace reprise
