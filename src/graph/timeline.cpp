// SPDX-License-Identifier: Apache-2.0
// make_timeline(): what stamps say.
#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include <reprise/error.h>
#include <reprise/timeline.h>

namespace reprise {
namespace {

/// A node's time in one replay, from the replay's beginning.
struct Span {
  double start = 0;
  double end = 0;
};

std::vector<Span> spans_of(std::span<const GraphNode> nodes,
                           std::span<const std::uint64_t> stamps) {
  const auto since_begin = [&](std::uint64_t stamp) {
    return stamp > stamps[0] ? static_cast<double>(stamp - stamps[0]) / 1000 : 0.0;
  };
  std::vector<Span> spans(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::uint32_t earlier : nodes[i].dependencies) {
      spans[i].start = std::max(spans[i].start, spans[earlier].end);
    }
    const std::uint64_t known = stamps[1 + 2 * i];
    if (known != 0) spans[i].start = std::max(spans[i].start, since_begin(known));
    spans[i].end = std::max(spans[i].start, since_begin(stamps[2 + 2 * i]));
  }
  return spans;
}

double length_of(const std::vector<Span>& spans) {
  double last = 0;
  for (const Span& span : spans) last = std::max(last, span.end);
  return last;
}

/// A node goes on with the lane of one that it comes after and that nobody has gone on with; else
/// it takes one whose work it comes after altogether; else a new one.
std::size_t set_lanes(std::span<const GraphNode> nodes, std::vector<NodeTime>& times) {
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> last;  // node of each lane
  // Of each node: the last node of each lane that it comes after, or is.
  std::vector<std::vector<std::uint32_t>> behind(nodes.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    std::vector<std::uint32_t>& own = behind[i];
    own.assign(last.size(), kNone);
    for (const std::uint32_t earlier : nodes[i].dependencies) {
      for (std::size_t lane = 0; lane < behind[earlier].size(); ++lane) {
        const std::uint32_t node = behind[earlier][lane];
        if (node != kNone && (own[lane] == kNone || own[lane] < node)) own[lane] = node;
      }
    }
    std::size_t lane = last.size();
    for (const std::uint32_t earlier : nodes[i].dependencies) {
      if (last[times[earlier].lane] == earlier) lane = std::min(lane, times[earlier].lane);
    }
    for (std::size_t other = 0; lane == last.size() && other < last.size(); ++other) {
      if (own[other] == last[other]) lane = other;
    }
    if (lane == last.size()) {
      last.push_back(i);
      own.push_back(i);
    }
    last[lane] = own[lane] = i;
    times[i].lane = lane;
  }
  return last.size();
}

void set_durations(const std::vector<std::vector<Span>>& replays, std::vector<NodeTime>& times) {
  TimeSamples durations;
  for (std::size_t i = 0; i < times.size(); ++i) {
    durations.microseconds.clear();
    for (const auto& spans : replays) {
      durations.microseconds.push_back(spans[i].end - spans[i].start);
    }
    times[i].median_us = durations.median();
    times[i].p99_us = durations.p99();
  }
}

std::vector<std::uint32_t> in_order(const std::vector<NodeTime>& times, double NodeTime::*key) {
  std::vector<std::uint32_t> order(times.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return times[a].*key < times[b].*key; });
  return order;
}

void set_intervals(std::vector<NodeTime>& times) {
  double before = 0;
  for (const std::uint32_t node : in_order(times, &NodeTime::end_us)) {
    times[node].interval_us = times[node].end_us - before;
    before = times[node].end_us;
  }
}

/// Notes which nodes ran at the same time.
void set_beside(std::vector<NodeTime>& times) {
  std::vector<std::uint32_t> running;
  for (const std::uint32_t node : in_order(times, &NodeTime::start_us)) {
    std::erase_if(running,
                  [&](std::uint32_t other) { return times[other].end_us <= times[node].start_us; });
    for (const std::uint32_t other : running) {
      if (times[node].end_us <= times[node].start_us) break;  // takes no time beside anybody
      times[node].beside.push_back(other);
      times[other].beside.push_back(node);
    }
    running.push_back(node);
  }
  for (NodeTime& time : times) std::sort(time.beside.begin(), time.beside.end());
}

/// How much of [start, end) the spans of `which` cover together.
double covered(const std::vector<NodeTime>& times, const std::vector<std::uint32_t>& which,
               double start, double end) {
  std::vector<Span> spans;
  for (const std::uint32_t node : which)
    spans.push_back({times[node].start_us, times[node].end_us});
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.start < b.start; });
  double sum = 0;
  for (const Span& span : spans) {
    const double from = std::max(span.start, start);
    const double to = std::min(span.end, end);
    if (to > from) sum += to - from;
    start = std::max(start, to);
  }
  return sum;
}

/// Time during which two or more ran.
double overlap_of(const std::vector<NodeTime>& times) {
  std::vector<std::pair<double, int>> changes;  // an end before a start of the same moment
  for (const NodeTime& time : times) {
    changes.emplace_back(time.start_us, 1);
    changes.emplace_back(time.end_us, -1);
  }
  std::sort(changes.begin(), changes.end());
  double sum = 0;
  double before = 0;
  int running = 0;
  for (const auto& [moment, change] : changes) {
    if (running > 1) sum += moment - before;
    before = moment;
    running += change;
  }
  return sum;
}

std::vector<std::uint32_t> critical_path(std::span<const GraphNode> nodes,
                                         const std::vector<NodeTime>& times) {
  std::vector<std::uint32_t> path;
  const auto ends_first = [&](std::uint32_t a, std::uint32_t b) {
    return times[a].end_us < times[b].end_us;
  };
  if (nodes.empty()) return path;
  std::uint32_t node = in_order(times, &NodeTime::end_us).back();
  for (;;) {
    path.push_back(node);
    const std::vector<std::uint32_t>& earlier = nodes[node].dependencies;
    if (earlier.empty()) break;
    node = *std::max_element(earlier.begin(), earlier.end(), ends_first);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

void check(std::span<const GraphNode> nodes, std::span<const std::vector<std::uint64_t>> replays) {
  if (replays.empty()) throw UsageError("a timeline needs the stamps of at least 1 replay");
  for (const auto& stamps : replays) {
    if (stamps.size() == 2 * nodes.size() + 1) continue;
    throw UsageError(fmt::format("a replay has {} stamps, but its graph of {} nodes makes {}",
                                 stamps.size(), nodes.size(), 2 * nodes.size() + 1));
  }
}

}  // namespace

Timeline make_timeline(std::span<const GraphNode> nodes,
                       std::span<const std::vector<std::uint64_t>> replays) {
  check(nodes, replays);
  Timeline timeline;
  std::vector<std::vector<Span>> all;
  for (const auto& stamps : replays) {
    all.push_back(spans_of(nodes, stamps));
    timeline.stamped.microseconds.push_back(length_of(all.back()));
  }
  std::vector<std::size_t> by_length(all.size());
  std::iota(by_length.begin(), by_length.end(), std::size_t{0});
  std::stable_sort(by_length.begin(), by_length.end(), [&](std::size_t a, std::size_t b) {
    return timeline.stamped.microseconds[a] < timeline.stamped.microseconds[b];
  });
  const std::size_t shown = by_length[(all.size() - 1) / 2];
  timeline.shown_us = timeline.stamped.microseconds[shown];
  std::vector<NodeTime>& times = timeline.nodes;
  times.resize(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    times[i].start_us = all[shown][i].start;
    times[i].end_us = all[shown][i].end;
  }
  timeline.lanes = set_lanes(nodes, times);
  set_durations(all, times);
  set_intervals(times);
  set_beside(times);
  for (NodeTime& time : times) {
    time.beside_us = covered(times, time.beside, time.start_us, time.end_us);
  }
  timeline.overlap_us = overlap_of(times);
  timeline.critical_path = critical_path(nodes, times);
  return timeline;
}

}  // namespace reprise
