// SPDX-License-Identifier: Apache-2.0
// Shapes of well-known models, for `random:NAME`: no weights, no tokenizer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/config.h"

namespace reprise {

/// The configuration called `name`, or nothing.
std::optional<ModelConfig> find_preset(std::string_view name);

/// "llama-2-7b, llama-2-13b, …", for messages.
std::string preset_names();

}  // namespace reprise
