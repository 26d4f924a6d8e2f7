// SPDX-License-Identifier: Apache-2.0
// Two decoders of one model, one replaying and one running eagerly, which must never differ.
#pragma once

#include <filesystem>
#include <memory>

#include <reprise/device.h>

namespace reprise::test {

/// For batches of 1, 5, 8, 33, 64 and 130 rows with random contexts, some steps each: checks that
/// tokens, logits and the cache's entries agree bitwise between the twins (DESIGN §3, E1), and in
/// batches up to 64 that a row's logits are the same in another slot and alone (E2, E3). Prints
/// what was compared.
void expect_replay_equals_eager(const std::shared_ptr<Device>& device,
                                const std::filesystem::path& model);

}  // namespace reprise::test
