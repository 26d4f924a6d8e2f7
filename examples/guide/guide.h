// SPDX-License-Identifier: Apache-2.0
// One function per page of docs/guide/, whose snippets are the marked regions of its file. Each
// runs on the host device and returns whether all came out as the page says.
#pragma once

namespace guide {

bool device_and_streams();
bool recording();
bool runner();
bool pool_and_ladder();
bool bindings();
bool memory_pool();
bool errors();
bool diagnostics();
bool timeline();

}  // namespace guide
