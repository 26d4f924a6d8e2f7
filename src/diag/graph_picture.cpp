// SPDX-License-Identifier: Apache-2.0
// graph_html(): the frame of the page; page/graph.js fills it from the data.
#include <fmt/format.h>

#include <reprise/graph_picture.h>
#include <reprise/timeline_report.h>

#include "diag/html.h"
#include "diag/json.h"
#include "diag/markup.h"
#include "diag/node_text.h"
#include "diag/page_files.h"

namespace reprise {
namespace {

constexpr std::string_view kGraph = R"(<section aria-label="Graph">
<div class="toolbar" role="search">
<input id="search" type="search" placeholder="Search labels, functions, kinds" aria-label="Search labels, functions and kinds" autocomplete="off" spellcheck="false">
<output id="found" for="search"></output>
<button id="unfold" type="button">Unfold all</button>
<button id="fold" type="button">Fold all</button>
<span class="keys"><kbd>/</kbd> search, <kbd>Enter</kbd> next match, arrows move and fold</span>
</div>
<noscript><p class="card">This part of the page needs scripts. The same graph as a picture: reprise inspect --format svg, or graph_svg().</p></noscript>
<div class="columns">
<div id="tree" role="tree" aria-label="Nodes of the graph"></div>
<aside id="details" aria-live="polite" aria-label="Details"></aside>
</div>
</section>
)";

std::string timeline_section(const Graph& graph, const GraphCaption& caption) {
  if (caption.timeline == nullptr) return {};
  return "<section aria-label=\"Timeline\">\n<figure>\n" + timeline_svg(graph, *caption.timeline) +
         "</figure>\n</section>\n";
}

std::string whole_page(const Graph& graph, const GraphCaption& caption,
                       std::string_view facts_after, std::string_view more) {
  const std::vector<GraphNode> nodes = graph.nodes();
  check_times(caption, nodes.size());
  Facts facts = caption.facts;
  facts.emplace_back("nodes", std::to_string(nodes.size()));
  facts.emplace_back("signature", fmt::format("{:#018x}", graph.signature()));
  if (!facts_after.empty()) facts.emplace_back("rows", facts_after);
  std::string body = fmt::format(
      "<main>\n{}{}{}</main>\n<script type=\"application/json\" id=\"data\">{}</script>\n", kGraph,
      timeline_section(graph, caption), more,
      script_safe(graph_page_json(nodes, caption.node_microseconds)));
  return html_page(caption.title, facts, body,
                   std::string(page::kLanesJs) + std::string(page::kGraphJs));
}

}  // namespace

std::string graph_html(const Graph& graph, const GraphCaption& caption) {
  return whole_page(graph, caption, {}, {});
}

std::string graph_html(const GraphPool& pool, int rows, const GraphCaption& caption) {
  return whole_page(pool.graph(rows), caption, std::to_string(rows),
                    bucket_section(pool.buckets()) + memory_section(*pool.memory()));
}

}  // namespace reprise
