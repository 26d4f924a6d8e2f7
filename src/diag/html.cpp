// SPDX-License-Identifier: Apache-2.0
#include "diag/html.h"

#include <iterator>

#include <fmt/format.h>

#include "core/bytes.h"
#include "diag/markup.h"
#include "diag/page_files.h"

namespace reprise {
namespace {

// Nothing but what stands in the page itself: no network, no frames, no forms.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'";

std::string facts_list(const Facts& facts) {
  if (facts.empty()) return {};
  std::string text = "<dl class=\"facts\">\n";
  for (const auto& [name, value] : facts) {
    fmt::format_to(std::back_inserter(text), "<div><dt>{}</dt><dd>{}</dd></div>\n",
                   markup_escaped(name), markup_escaped(value));
  }
  return text + "</dl>\n";
}

std::string block_rows(const SegmentInfo& segment) {
  std::string rows;
  for (const BlockInfo& block : segment.blocks) {
    fmt::format_to(std::back_inserter(rows),
                   "<tr><td><code>{:#x}</code></td><td class=\"number\">{}</td><td "
                   "class=\"number\">{}</td><td>{}</td><td class=\"wide\">{}</td></tr>\n",
                   segment.address + block.offset, block.bytes,
                   block.allocated ? std::to_string(block.requested_bytes) : "",
                   block.allocated ? "in use" : "free", markup_escaped(block.label));
  }
  return rows;
}

/// A fake replay never looks like a real one.
std::string replays_of(const BucketReport& bucket) {
  if (bucket.fake_replays == 0) return std::to_string(bucket.replays);
  return fmt::format("{} ({} fake)", bucket.replays, bucket.fake_replays);
}

}  // namespace

std::string html_page(std::string_view title, const Facts& facts, std::string_view body,
                      std::string_view script) {
  std::string page = fmt::format(
      R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{}</title>
<style>
{}</style>
</head>
<body>
<header>
<h1>{}</h1>
{}</header>
{})",
      kPolicy, markup_escaped(title), page::kPageCss, markup_escaped(title), facts_list(facts),
      body);
  if (!script.empty()) {
    page += "<script>\n";
    page += script;
    page += "</script>\n";
  }
  return page + "</body>\n</html>\n";
}

std::string memory_section(const MemoryPool& pool) {
  std::string rows;
  std::size_t blocks = 0;
  for (const SegmentInfo& segment : pool.snapshot()) {
    rows += block_rows(segment);
    blocks += segment.blocks.size();
  }
  return fmt::format(
      R"(<section aria-label="Memory pool">
<figure>
{}</figure>
<details class="card"><summary>All {} {}, by address</summary>
<table><thead><tr><th>address</th><th class="number">bytes</th><th class="number">asked for</th><th>state</th><th>owner</th></tr></thead>
<tbody>
{}</tbody></table></details>
</section>
)",
      memory_svg(pool), blocks, blocks == 1 ? "block" : "blocks", rows);
}

std::string bucket_section(const std::vector<BucketReport>& buckets) {
  std::string rows;
  for (const BucketReport& bucket : buckets) {
    fmt::format_to(std::back_inserter(rows),
                   "<tr><td class=\"number\">{}</td><td>{}</td><td>{}</td><td "
                   "class=\"number\">{}</td><td class=\"number\">{}</td><td "
                   "class=\"number\">{}</td><td class=\"number\">{}</td><td "
                   "class=\"number\">{}</td><td class=\"wide\">{}</td></tr>\n",
                   bucket.rows, to_string(bucket.state), to_string(bucket.self_test), bucket.nodes,
                   bucket.executable_bytes, replays_of(bucket), bucket.padded_rows,
                   bucket.fallbacks, markup_escaped(bucket.reason));
  }
  return fmt::format(
      R"(<section aria-labelledby="sizes-title">
<h2 id="sizes-title">Recorded sizes</h2>
<div class="card"><table><thead><tr><th class="number">rows</th><th>state</th><th>self-test</th><th class="number">nodes</th><th class="number">executable bytes</th><th class="number">replays</th><th class="number">padded rows</th><th class="number">fallbacks</th><th>reason</th></tr></thead>
<tbody>
{}</tbody></table></div>
</section>
)",
      rows);
}

}  // namespace reprise
