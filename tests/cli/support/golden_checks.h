// SPDX-License-Identifier: Apache-2.0
// What the program must give for a golden checkpoint, on whatever device (DESIGN §10).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/safetensors.h"
#include "support/golden.h"

namespace reprise::test {

/// The reference of one checkpoint: golden.safetensors, computed in float64 elsewhere.
class GoldenModel {
 public:
  static constexpr int kPrompts = 3;
  using Tokens = std::vector<std::int32_t>;

  explicit GoldenModel(const std::filesystem::path& folder)
      : folder_(folder), file_(folder / "golden.safetensors") {}

  const std::filesystem::path& folder() const noexcept { return folder_; }
  std::string name() const { return folder_.filename().string(); }
  std::size_t vocabulary() const;
  Tokens prompt(int number) const { return ids(number, "prompt"); }
  /// What follows the prompt when each token is the most likely one.
  Tokens greedy(int number) const { return ids(number, "greedy"); }
  /// The prompt and behind it the greedy tokens but the last: the text of expected().
  Tokens text(int number) const;
  /// Logits after each token of text(), [positions, vocabulary].
  std::vector<float> expected(int number) const;

 private:
  Tokens ids(int number, const std::string& what) const;

  std::filesystem::path folder_;
  SafetensorsFile file_;
};

/// The checkpoint that a test is named after; skipped where it is not present.
class GoldenTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto found = golden_folder(GetParam());
    if (!found) GTEST_SKIP() << GetParam() << " is not present";
    golden_.emplace(*found);
  }
  std::optional<GoldenModel> golden_;
};

/// Relative differences ‖out − reference‖ / ‖reference‖ that a device may show.
struct Gates {
  double position;  ///< at each position
  double together;  ///< over all positions of the checkpoint
  /// Greedy choices must agree where the reference's two largest logits differ by more than this
  /// share of RMS(logits).
  double margin;
};

/// Of F32 arithmetic. Logits that are within 1e-4 settle no choice between two that are closer.
inline constexpr Gates kF32Gates{.position = 1e-4, .together = 1e-4, .margin = 2e-3};

/// `folder` holds the checkpoint or a copy in another type. Checks, teacher-forced over every
/// prompt and its greedy continuation: the gates by prefill, eager and recorded steps, and that
/// recorded ones equal eager ones bitwise. Prints how far off the worst was.
void expect_logits(const GoldenModel& golden, const std::filesystem::path& folder,
                   const std::string& device, const Gates& gates);

/// Checks that `generate` gives the greedy tokens, recorded and eager, and did what was asked for.
void expect_greedy(const GoldenModel& golden, const std::filesystem::path& folder,
                   const std::string& device);

/// Checks that stories260K gives its published text, recorded and eager.
void expect_published_story(const std::filesystem::path& folder, const std::string& device);

}  // namespace reprise::test
