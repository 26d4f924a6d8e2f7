// SPDX-License-Identifier: Apache-2.0
// graph_svg(): a panel per section, a row per node, edges in lanes on the left.
#include <algorithm>
#include <map>
#include <span>

#include <fmt/format.h>

#include <reprise/graph_picture.h>

#include "core/bytes.h"
#include "diag/graph_rows.h"
#include "diag/markup.h"
#include "diag/node_text.h"
#include "diag/svg.h"

namespace reprise {
namespace {

constexpr std::size_t kUnfolded = 40;  // nodes that one still looks through
constexpr double kMargin = 24;
constexpr double kRow = 24;
constexpr double kHeading = 34;  // of a panel
constexpr double kGap = 12;
constexpr double kLane = 16;
constexpr double kMostLanes = 320;  // px for all lanes together; more of them move closer
constexpr double kTimeBar = 70;     // px of the longest time
constexpr double kLetter = 7.25;    // px of a fixed-width letter at 12 px
constexpr double kBodyHeading = 24;
constexpr double kBodyGap = 6;  // below a body
constexpr double kMostBodyLanes = 96;

/// True where `has` holds for a node, or for one in a body of it.
template <class Has>
bool any_of_all(std::span<const GraphNode> nodes, const Has& has) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const GraphNode& node) {
    return has(node) ||
           std::any_of(node.bodies.begin(), node.bodies.end(),
                       [&](const std::vector<GraphNode>& body) { return any_of_all(body, has); });
  });
}

/// Nodes of the graph or of a body, and where their dots go.
struct Lanes {
  std::span<const GraphNode> nodes;
  const GraphRows& picture;
  double left = 0;             ///< x of the first lane
  double step = 0;             ///< px from lane to lane
  std::vector<double> rows{};  ///< centres

  double x(std::size_t row) const {
    return left + step * static_cast<double>(picture.rows[row].lane);
  }
};

double lane_step(std::size_t lanes, double most) {
  return lanes > 1 ? std::min(kLane, most / static_cast<double>(lanes - 1)) : 0;
}

/// Where the columns are. Those with nothing to show have no width.
struct Columns {
  double lanes = 0;  ///< x of the first lane
  double lane = 0;   ///< px from lane to lane
  double label = 0;
  double label_width = 250;
  double function = 0;
  double function_width = 0;
  double launch = 0;  ///< right edges from here on
  double resources = 0;
  double bytes = 0;
  double time = 0;
  double right = 0;  ///< edge of the panels
};

Columns columns_for(std::span<const GraphNode> nodes, std::size_t lanes, bool timed) {
  Columns at;
  at.lane = lane_step(lanes, kMostLanes);
  at.lanes = kMargin + 22;
  at.label = at.lanes + at.lane * static_cast<double>(lanes - (lanes > 0 ? 1 : 0)) + 20;
  double x = at.label + at.label_width;
  const auto any = [&](const auto& has) { return any_of_all(nodes, has); };
  if (any([](const GraphNode& node) { return !function_beside_label(node).empty(); })) {
    at.function = x;
    at.function_width = 290;
    x += at.function_width;
  }
  const auto column = [&x](bool there, double width) { return there ? x += width : 0; };
  at.launch = column(any([](const GraphNode& node) { return node.launch.has_value(); }), 140);
  at.resources = column(at.launch > 0, 220);
  at.bytes = column(any([](const GraphNode& node) { return node.bytes > 0; }), 90);
  at.time = column(timed, 160);
  at.right = std::max(x + 18, 620.0);
  return at;
}

class Drawing {
 public:
  Drawing(std::vector<GraphNode> nodes, const GraphCaption& caption)
      : nodes_(std::move(nodes)),
        caption_(caption),
        picture_(graph_rows(nodes_, nodes_.size() > kUnfolded)),
        at_(columns_for(nodes_, picture_.lanes, !caption.node_microseconds.empty())),
        lanes_{.nodes = nodes_, .picture = picture_, .left = at_.lanes, .step = at_.lane} {
    for (const double time : caption.node_microseconds) {
      if (measured(time)) longest_ = std::max(longest_, time);
    }
  }

  std::string draw() {
    heading();
    place();
    panels();
    edges_and_dots(lanes_);
    return svg_.finish(at_.right + kMargin, y_ + kMargin - kGap, caption_.title, summary());
  }

 private:
  std::string summary() const { return content_of(nodes_); }
  static std::string content_of(std::span<const GraphNode> nodes) {
    std::vector<std::uint32_t> all(nodes.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    return content_text(nodes, all);
  }

  void heading() {
    const auto letters = [&](double pixels) {
      return static_cast<std::size_t>((at_.right - kMargin) / pixels);
    };
    svg_.text(kMargin, 40, "heading", cut_to(caption_.title, letters(10)), caption_.title);
    y_ = 62;
    std::string facts = summary();
    for (const auto& [name, value] : caption_.facts) facts += "  ·  " + name + " " + value;
    svg_.text(kMargin, y_, "muted", cut_to(facts, letters(6.5)), facts);
    y_ += 22;
    legend();
  }

  void legend() {
    std::map<std::string_view, std::size_t> kinds;
    for (const GraphNode& node : nodes_) ++kinds[kind_class(node.kind)];
    double x = kMargin + 5;
    for (const auto& [kind, count] : kinds) {
      mark(x, y_ - 4, kind, {});
      const std::string text = fmt::format("{} {}", count, kind);
      svg_.text(x + 10, y_, "small muted", text);
      x += 30 + 6.5 * static_cast<double>(text.size());
    }
    column_titles();
    y_ += 14;
  }

  void column_titles() {
    if (at_.function > 0) svg_.text(at_.function, y_, "small muted", "function");
    if (at_.launch > 0) svg_.text(at_.launch, y_, "small muted end", "grid × block");
    if (at_.resources > 0) svg_.text(at_.resources, y_, "small muted end", "resources");
    if (at_.bytes > 0) svg_.text(at_.bytes, y_, "small muted end", "moves");
    if (at_.time > 0) svg_.text(at_.time, y_, "small muted end", "time");
  }

  /// Gives each row its y and each panel its place.
  void place() {
    for (std::size_t row = 0; row < picture_.rows.size(); ++row) {
      const std::size_t run = picture_.rows[row].run;
      const bool begins = row == 0 || picture_.rows[row - 1].run != run;
      if (begins) {
        tops_.push_back(y_);
        y_ += picture_.runs[run].folded ? 8 : titled(run) ? kHeading : 8;
      }
      const double height = picture_.runs[run].folded ? 38 : kRow;
      lanes_.rows.push_back(y_ + height / 2);
      y_ += height;
      if (!picture_.runs[run].folded) y_ += bodies_height(node_of(row));
      const bool ends = row + 1 == picture_.rows.size() || picture_.rows[row + 1].run != run;
      if (ends) {
        y_ += 8;
        bottoms_.push_back(y_);
        y_ += kGap;
      }
    }
  }

  const GraphNode& node_of(std::size_t row) const {
    return nodes_[picture_.rows[row].nodes.front()];
  }

  bool titled(std::size_t run) const {
    return !picture_.sections[picture_.runs[run].first].label.empty();
  }

  void panels() {
    for (std::size_t run = 0; run < picture_.runs.size(); ++run) {
      const double top = tops_[run];
      const SvgWriter::Box panel{.x = kMargin,
                                 .y = top,
                                 .width = at_.right - kMargin,
                                 .height = bottoms_[run] - top,
                                 .radius = 8};
      if (picture_.runs[run].folded) {
        for (const double back : {6.0, 3.0}) {  // more sheets lie below this one
          svg_.box({.x = panel.x + back,
                    .y = panel.y + back,
                    .width = panel.width - 2 * back,
                    .height = panel.height,
                    .radius = 8},
                   "behind");
        }
      }
      svg_.box(panel, "panel");
      if (picture_.runs[run].folded) continue;
      panel_heading(run, top);
    }
    for (std::size_t row = 0; row < picture_.rows.size(); ++row) texts(row);
  }

  void panel_heading(std::size_t run, double top) {
    const GraphSection& section = picture_.sections[picture_.runs[run].first];
    if (section.label.empty()) return;
    svg_.text(at_.label, top + 22, "section", cut_to(section.label, 44), section.label);
    svg_.text(at_.right - 18, top + 22, "small muted end", content_text(nodes_, section.nodes));
  }

  void texts(std::size_t row) {
    const GraphRow& own = picture_.rows[row];
    if (picture_.runs[own.run].folded) {
      folded_texts(lanes_, own, at_.label, lanes_.rows[row] + 4);
      return;
    }
    const std::uint32_t index = own.nodes.front();
    const std::string_view inside = label_in_section(nodes_[index].label);
    const double y = lanes_.rows[row];
    node_texts(nodes_[index], index, inside.empty() ? nodes_[index].label : inside, at_.label,
               y + 4);
    if (at_.time > 0) time(caption_.node_microseconds[index], y + 4);
    bodies(nodes_[index], at_.label, y + kRow / 2);
  }

  void folded_texts(const Lanes& lanes, const GraphRow& row, double x, double y) {
    const SectionRun& run = lanes.picture.runs[row.run];
    const GraphSection& first = lanes.picture.sections[run.first];
    const std::string label = run_label(lanes.picture.sections, run);
    const std::string original = lanes.picture.sections[*first.same_as].label;
    svg_.text(x, y, "section", cut_to(label, 30), label);
    svg_.text(x + 250, y, "muted", "same as " + cut_to(original, 30),
              fmt::format("{}: kinds, functions, labels, bytes, launches and edges of all {} nodes "
                          "were compared with those of {}",
                          label, row.nodes.size(), original));
    svg_.text(at_.right - 18, y, "small muted end", content_text(lanes.nodes, row.nodes));
  }

  void node_texts(const GraphNode& node, std::uint32_t index, std::string_view called, double x,
                  double y) {
    const auto letters = [](double width) {
      return static_cast<std::size_t>(std::max(width - 12, 0.0) / kLetter);
    };
    std::string label(called);
    if (label.empty()) label = node.function.empty() ? node.kind : node.function;
    svg_.text(x, y, "mono", cut_to(label, letters(at_.label + at_.label_width - x)),
              fmt::format("node {}: {} {}", index, node.kind, node.label));
    const std::string_view function = function_beside_label(node);
    if (!function.empty() && function != label) {
      svg_.text(at_.function, y, "mono muted",
                cut_to(without_namespaces(function), letters(at_.function_width)), function);
    }
    if (node.launch) {
      svg_.text(at_.launch, y, "mono small end", launch_text(*node.launch));
      svg_.text(at_.resources, y, "small muted end", resources_text(*node.launch));
    }
    if (node.bytes > 0) svg_.text(at_.bytes, y, "mono small end", format_bytes(node.bytes));
  }

  static GraphRows rows_of(const std::vector<GraphNode>& body) {
    return graph_rows(body, body.size() > kUnfolded);
  }

  double bodies_height(const GraphNode& node) const {
    double height = 0;
    for (const std::vector<GraphNode>& body : node.bodies) height += body_height(body) + kBodyGap;
    return height;
  }

  double body_height(const std::vector<GraphNode>& body) const {
    const GraphRows picture = rows_of(body);
    double height = kBodyHeading + 4;
    for (const GraphRow& row : picture.rows) {
      height += kRow;
      if (!picture.runs[row.run].folded) height += bodies_height(body[row.nodes.front()]);
    }
    return height;
  }

  /// What a loop or branch runs, in a frame per body below its row.
  void bodies(const GraphNode& node, double x, double y, int depth = 0) {
    const double right = at_.right - std::min(8 + 3 * depth, 17);
    for (std::size_t i = 0; i < node.bodies.size(); ++i) {
      const double height = body_height(node.bodies[i]);
      svg_.box({.x = x, .y = y, .width = right - x, .height = height, .radius = 6}, "body",
               fmt::format("{} of '{}'", body_name(node, i), node.label));
      svg_.text(x + 12, y + 16, "small muted", body_name(node, i));
      svg_.text(at_.right - 18, y + 16, "small muted end", content_of(node.bodies[i]));
      body_rows(node.bodies[i], x + 18, y + kBodyHeading, depth);
      y += height + kBodyGap;
    }
  }

  void body_rows(const std::vector<GraphNode>& body, double x, double y, int depth) {
    const GraphRows picture = rows_of(body);
    const double step = lane_step(picture.lanes, kMostBodyLanes);
    Lanes lanes{.nodes = body, .picture = picture, .left = x, .step = step};
    const double label =
        x + step * static_cast<double>(std::max<std::size_t>(picture.lanes, 1) - 1) + 16;
    for (const GraphRow& row : picture.rows) {
      const std::uint32_t index = row.nodes.front();
      lanes.rows.push_back(y + kRow / 2);
      y += kRow;
      if (picture.runs[row.run].folded) {
        folded_texts(lanes, row, label, lanes.rows.back() + 4);
        continue;
      }
      node_texts(body[index], index, body[index].label, label, lanes.rows.back() + 4);
      bodies(body[index], label, y, depth + 1);
      y += bodies_height(body[index]);
    }
    edges_and_dots(lanes);
  }

  void time(double microseconds, double y) {
    if (!measured(microseconds)) return;
    const double width = longest_ > 0 ? kTimeBar * microseconds / longest_ : 0;
    const double end = at_.time - 62;  // left of the number
    svg_.box({.x = end - width, .y = y - 10, .width = width, .height = 12, .radius = 2}, "time");
    svg_.text(at_.time, y, "mono small end", time_text(microseconds));
  }

  void edges_and_dots(const Lanes& lanes) {
    for (std::size_t row = 0; row < lanes.rows.size(); ++row) edges(lanes, row);
    for (std::size_t row = 0; row < lanes.rows.size(); ++row) dot(lanes, row);
  }

  void edges(const Lanes& lanes, std::size_t row) {
    const double x = lanes.x(row);
    const double y = lanes.rows[row];
    for (const std::size_t source : lanes.picture.rows[row].sources) {
      const double from = lanes.x(source);
      std::string path = fmt::format("M{} {}", coordinate(from), coordinate(lanes.rows[source]));
      if (from == x) {
        path += fmt::format("V{}", coordinate(y));
      } else {
        const double turn = std::max(y - kRow, lanes.rows[source]);
        path += fmt::format("V{0}C{1} {2} {3} {2} {3} {4}", coordinate(turn), coordinate(from),
                            coordinate((turn + y) / 2), coordinate(x), coordinate(y));
      }
      const std::vector<std::size_t>& early = lanes.picture.rows[row].early;
      const bool is_early = std::binary_search(early.begin(), early.end(), source);
      svg_.path(path, is_early ? "edge early" : "edge");
    }
  }

  void dot(const Lanes& lanes, std::size_t row) {
    const GraphRow& own = lanes.picture.rows[row];
    const GraphNode& node = lanes.nodes[own.nodes.front()];
    const std::string tip = own.nodes.size() > 1
                                ? content_text(lanes.nodes, own.nodes)
                                : fmt::format("node {}: {}", own.nodes.front(), node.kind);
    mark(lanes.x(row), lanes.rows[row], kind_class(node.kind), tip);
  }

  /// Kinds differ by shape too, for those who see no colours.
  void mark(double x, double y, std::string_view kind, std::string_view tip) {
    const std::string style = fmt::format("node {}", kind);
    if (kind == "kernel") {
      svg_.box({.x = x - 5.5, .y = y - 5.5, .width = 11, .height = 11, .radius = 5.5}, style, tip);
    } else if (kind == "copy" || kind == "conditional") {
      svg_.path(
          fmt::format("M{0} {1}l6.5 6.5 -6.5 6.5 -6.5 -6.5z", coordinate(x), coordinate(y - 6.5)),
          style, tip);
    } else {
      svg_.box({.x = x - 5, .y = y - 5, .width = 10, .height = 10, .radius = 1.5}, style, tip);
    }
  }

  const std::vector<GraphNode> nodes_;
  const GraphCaption& caption_;
  const GraphRows picture_;
  const Columns at_;
  Lanes lanes_;  // of nodes_
  double longest_ = 0;
  double y_ = 0;
  std::vector<double> tops_;  // of panels
  std::vector<double> bottoms_;
  SvgWriter svg_;
};

}  // namespace

std::string graph_svg(const Graph& graph, const GraphCaption& caption) {
  check_times(caption, graph.node_count());
  return Drawing(graph.nodes(), caption).draw();
}

}  // namespace reprise
