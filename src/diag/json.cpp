// SPDX-License-Identifier: Apache-2.0
#include "diag/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;  // keys stay in the order of writing

/// How every function here turns its tree into text.
std::string to_text(const Json& tree) {
  return tree.dump(2, ' ', false, Json::error_handler_t::replace);
}

Json counter_json(const MemoryCounter& counter) {
  return {{"current", counter.current},
          {"peak", counter.peak},
          {"allocated", counter.allocated},
          {"freed", counter.freed}};
}

Json statistics_json(const MemoryStatistics& statistics) {
  return {{"allocation", counter_json(statistics.allocation)},
          {"allocated_bytes", counter_json(statistics.allocated_bytes)},
          {"requested_bytes", counter_json(statistics.requested_bytes)},
          {"segment", counter_json(statistics.segment)},
          {"reserved_bytes", counter_json(statistics.reserved_bytes)},
          {"inactive_split", counter_json(statistics.inactive_split)},
          {"inactive_split_bytes", counter_json(statistics.inactive_split_bytes)},
          {"num_alloc_retries", statistics.num_alloc_retries},
          {"num_ooms", statistics.num_ooms},
          {"fragmentation", statistics.fragmentation()}};
}

Json segment_json(const SegmentInfo& segment) {
  Json blocks = Json::array();
  for (const BlockInfo& block : segment.blocks) {
    blocks.push_back({{"offset", block.offset},
                      {"bytes", block.bytes},
                      {"requested_bytes", block.requested_bytes},
                      {"state", block.allocated ? "allocated" : "free"},
                      {"label", block.label}});
  }
  // An address as a number would lose digits in readers that keep numbers as doubles.
  return {{"address", fmt::format("{:#x}", segment.address)},
          {"bytes", segment.bytes},
          {"blocks", std::move(blocks)}};
}

}  // namespace

std::string memory_json(const MemoryPool& pool) {
  Json segments = Json::array();
  for (const SegmentInfo& segment : pool.snapshot()) segments.push_back(segment_json(segment));
  return to_text({{"pool", pool.name()},
                  {"device", pool.device().label()},
                  {"statistics", statistics_json(pool.statistics())},
                  {"segments", std::move(segments)}});
}

}  // namespace reprise
