// SPDX-License-Identifier: Apache-2.0
// Facts about graphs and memory as JSON text. The one place in diag/ that knows a JSON library
// (json.cpp); its types stay there: facts come in, text goes out. Text that is not UTF-8 is written
// with replacement characters.
#pragma once

#include <string>

#include <reprise/memory_pool.h>

namespace reprise {

/// {"pool", "device", "statistics": {counter: {"current", "peak", "allocated", "freed"}, …,
/// "num_alloc_retries", "num_ooms", "fragmentation"}, "segments": [{"address": "0x…", "bytes",
/// "blocks": [{"offset", "bytes", "requested_bytes", "state": "allocated"|"free", "label"}]}]}.
/// Bytes are integers. Statistics and segments are taken one after the other.
std::string memory_json(const MemoryPool& pool);

}  // namespace reprise
