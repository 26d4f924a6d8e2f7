// SPDX-License-Identifier: Apache-2.0
#include "cli/support/golden_checks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/support/program.h"

namespace reprise::test {
namespace {

namespace fs = std::filesystem;

template <class T>
std::vector<T> values(const SafetensorsFile& file, const std::string& name) {
  const TensorEntry* entry = file.find(name);
  if (entry == nullptr) throw std::runtime_error(name + " is missing");
  const HostTensor tensor = file.tensor(*entry);
  const auto* first = static_cast<const T*>(tensor.data);
  return {first, first + tensor.shape.elements()};
}

std::size_t likeliest(std::span<const float> logits) {
  return static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// Whether the reference is sure enough of its choice for another precision to have to share it.
bool clear_choice(std::span<const float> reference, double margin) {
  const float largest = reference[likeliest(reference)];
  double next = -INFINITY;
  double squares = 0;
  bool seen = false;
  for (const float x : reference) {
    squares += double{x} * x;
    if (x == largest && !seen) {
      seen = true;
    } else {
      next = std::max(next, double{x});
    }
  }
  return largest - next > margin * std::sqrt(squares / static_cast<double>(reference.size()));
}

/// How far a way of computing is from the reference, over all positions it was given.
class Distance {
 public:
  explicit Distance(double margin) : margin_(margin) {}

  void add(std::span<const float> got, std::span<const float> expected, std::size_t vocabulary) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t start = 0; start < got.size(); start += vocabulary) {
      add_position(got.subspan(start, vocabulary), expected.subspan(start, vocabulary));
    }
  }

  double worst() const { return worst_; }
  double together() const { return std::sqrt(difference_ / norm_); }
  long positions() const { return positions_; }
  long compared() const { return compared_; }

 private:
  void add_position(std::span<const float> got, std::span<const float> expected) {
    double difference = 0;
    double norm = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      difference += (double{got[i]} - expected[i]) * (double{got[i]} - expected[i]);
      norm += double{expected[i]} * expected[i];
    }
    const double relative = std::sqrt(difference / norm);
    worst_ = relative <= worst_ ? worst_ : relative;  // NaN counts as the worst
    difference_ += difference;
    norm_ += norm;
    if (clear_choice(expected, margin_)) {
      ++compared_;
      EXPECT_EQ(likeliest(got), likeliest(expected)) << "greedy choice at position " << positions_;
    }
    ++positions_;
  }

  double margin_;
  double worst_ = 0, difference_ = 0, norm_ = 0;
  long positions_ = 0, compared_ = 0;
};

std::vector<float> logits(const GoldenModel::Tokens& text, const fs::path& folder,
                          const std::string& device, const std::string& mode) {
  const fs::path out = fs::path(testing::TempDir()) /
                       (folder.filename().string() + "." + mode + std::to_string(::getpid()));
  const Ran ran = run_program({"logits", folder, "--tokens", comma_list(text), "--out", out,
                               "--mode", mode, "--device", device});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out + ran.err, "");
  if (ran.status != 0) return {};
  const SafetensorsFile file(out);
  EXPECT_EQ(file.entries().size(), 1u);
  fs::remove(out);
  return values<float>(file, "logits");
}

void expect_within(const Distance& distance, const Gates& gates, const std::string& what) {
  std::printf("%s: worst position %.2e, together %.2e, %ld of %ld greedy choices compared\n",
              what.c_str(), distance.worst(), distance.together(), distance.compared(),
              distance.positions());
  std::fflush(stdout);
  EXPECT_LE(distance.worst(), gates.position) << what;
  EXPECT_LE(distance.together(), gates.together) << what;
  EXPECT_GT(2 * distance.compared(), distance.positions()) << what << ": most must be compared";
}

std::string whole_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void expect_statistics(const Ran& ran, bool eager, std::uint64_t steps) {
  const auto stats = nlohmann::json::parse(ran.err);
  EXPECT_EQ(stats["replays"], eager ? 0 : steps);
  EXPECT_EQ(stats["eager_steps"], eager ? steps : 0);
  EXPECT_EQ(stats["fallbacks"], nlohmann::json::object());
}

}  // namespace

std::size_t GoldenModel::vocabulary() const {
  return static_cast<std::size_t>(file_.find("0.logits")->shape[1]);
}

GoldenModel::Tokens GoldenModel::ids(int number, const std::string& what) const {
  return values<std::int32_t>(file_, std::to_string(number) + "." + what);
}

GoldenModel::Tokens GoldenModel::text(int number) const {
  Tokens all = prompt(number);
  const Tokens more = greedy(number);
  all.insert(all.end(), more.begin(), more.end() - 1);
  return all;
}

std::vector<float> GoldenModel::expected(int number) const {
  auto all = values<float>(file_, std::to_string(number) + ".logits");
  const auto more = values<float>(file_, std::to_string(number) + ".greedy_logits");
  // The first of these stands behind the prompt already.
  all.insert(all.end(), more.begin() + static_cast<std::ptrdiff_t>(vocabulary()), more.end());
  return all;
}

void expect_logits(const GoldenModel& golden, const fs::path& folder, const std::string& device,
                   const Gates& gates) {
  Distance by_prefill(gates.margin), by_steps(gates.margin);
  for (int number = 0; number < GoldenModel::kPrompts; ++number) {
    SCOPED_TRACE("prompt " + std::to_string(number));
    const GoldenModel::Tokens text = golden.text(number);
    const std::vector<float> expected = golden.expected(number);
    const std::vector<float> eager = logits(text, folder, device, "eager");
    const std::vector<float> graph = logits(text, folder, device, "graph");
    by_prefill.add(logits(text, folder, device, "prefill"), expected, golden.vocabulary());
    by_steps.add(graph, expected, golden.vocabulary());
    ASSERT_EQ(graph.size(), eager.size());
    EXPECT_EQ(std::memcmp(graph.data(), eager.data(), graph.size() * sizeof(float)), 0)
        << "recorded and eager steps differ";
  }
  const std::string name = folder.filename().string() + " on " + device;
  expect_within(by_prefill, gates, name + " by prefill");
  expect_within(by_steps, gates, name + " by steps");
}

void expect_greedy(const GoldenModel& golden, const fs::path& folder, const std::string& device) {
  for (int number = 0; number < GoldenModel::kPrompts; ++number) {
    SCOPED_TRACE("prompt " + std::to_string(number));
    const GoldenModel::Tokens expected = golden.greedy(number);
    for (const bool eager : {false, true}) {
      std::vector<std::string> arguments{"generate",
                                         folder,
                                         "--tokens",
                                         comma_list(golden.prompt(number)),
                                         "--max-tokens",
                                         std::to_string(expected.size()),
                                         "--print-ids",
                                         "--ignore-eos",
                                         "--stats",
                                         "--temperature",
                                         "0",
                                         "--device",
                                         device};
      if (eager) arguments.emplace_back("--eager");
      const Ran ran = run_program(arguments);
      ASSERT_EQ(ran.status, 0) << ran.err;
      EXPECT_EQ(read_array(ran.out), expected) << (eager ? "eager" : "recorded");
      expect_statistics(ran, eager, expected.size() - 1);
    }
  }
}

void expect_published_story(const fs::path& folder, const std::string& device) {
  const std::string published = whole_file(folder / "expected-greedy-200.txt");
  ASSERT_GT(published.size(), 100u);
  for (const bool eager : {false, true}) {
    std::vector<std::string> arguments{"generate",      folder,     "-p",           "",
                                       "--temperature", "0",        "--max-tokens", "200",
                                       "--stats",       "--device", device};
    if (eager) arguments.emplace_back("--eager");
    const Ran ran = run_program(arguments);
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out, published) << (eager ? "eager" : "recorded");
    expect_statistics(ran, eager, 199);
  }
}

}  // namespace reprise::test
