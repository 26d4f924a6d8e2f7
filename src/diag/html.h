// SPDX-License-Identifier: Apache-2.0
// Writes pages: one document that holds all it needs and may fetch nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <reprise/graph_pool.h>
#include <reprise/memory_pool.h>

namespace reprise {

using Facts = std::vector<std::pair<std::string, std::string>>;

/// A whole page. `title` and `facts` are foreign text; `body` and `script` are ours.
std::string html_page(std::string_view title, const Facts& facts, std::string_view body,
                      std::string_view script = {});

/// The pool's picture and a table of its blocks.
std::string memory_section(const MemoryPool& pool);
/// The sizes of a pool of graphs as a table.
std::string bucket_section(const std::vector<BucketReport>& buckets);

}  // namespace reprise
