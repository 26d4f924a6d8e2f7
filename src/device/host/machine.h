// SPDX-License-Identifier: Apache-2.0
// What the system says about this machine.
#pragma once

#include <cstddef>
#include <string>

namespace reprise::host {

std::string cpu_model();
/// Processors this process may use: its affinity, and its control group's share of time.
int usable_threads();
/// Bytes of memory the machine has, and how many of them it could give without swapping.
std::size_t total_memory();
std::size_t available_memory();

}  // namespace reprise::host
