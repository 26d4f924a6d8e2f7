// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace reprise::test {

inline constexpr const char* kGoldenNames[] = {"llama-mha-bf16",       "llama-hd64-bf16",
                                               "llama-hd128-bf16",     "llama3-gqa-tied-f16",
                                               "mistral-sliding-bf16", "qwen2-bias-sharded-bf16"};

/// A checkpoint's name as gtest wants it.
inline std::string golden_test_name(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace reprise::test
