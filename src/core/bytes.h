// SPDX-License-Identifier: Apache-2.0
// Amounts of memory, as people read them.
#pragma once

#include <cstddef>
#include <string>

namespace reprise {

/// "512 B", "3.0 MiB", "79.6 GiB": the largest binary unit not above the value, one decimal.
std::string format_bytes(std::size_t bytes);

}  // namespace reprise
