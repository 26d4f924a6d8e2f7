// SPDX-License-Identifier: Apache-2.0
// The block operations against the same formulas written out in float64.
#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/host/elements.h"
#include "kernels/support/world.h"

namespace reprise::testing {
namespace {

using Doubles = std::vector<double>;

double element(const Weight& weight, std::int64_t row, std::int64_t col) {
  std::size_t part = 0;
  while (row >= weight.parts[part].rows && weight.rows > 1) row -= weight.parts[part++].rows;
  return load_element(weight.dtype, weight.parts[part].data, row * weight.cols + col);
}

Doubles normed(std::span<const float> row, const Weight& norm, double eps) {
  double squares = 0;
  for (const float x : row) squares += double{x} * x;
  const double scale = 1 / std::sqrt(squares / static_cast<double>(row.size()) + eps);
  Doubles out;
  for (std::size_t i = 0; i < row.size(); ++i) {
    out.push_back(row[i] * scale * element(norm, 0, static_cast<std::int64_t>(i)));
  }
  return out;
}

Doubles product(const Doubles& input, const Weight& weight, const Weight* bias) {
  Doubles out;
  for (std::int64_t o = 0; o < weight.rows; ++o) {
    double sum = bias == nullptr ? 0 : element(*bias, 0, o);
    for (std::size_t i = 0; i < input.size(); ++i) {
      sum += input[i] * element(weight, o, static_cast<std::int64_t>(i));
    }
    out.push_back(sum);
  }
  return out;
}

/// Runs one operation with a workspace of exactly the size the plan asked for, fenced.
template <class Descriptor, class Args>
void run(World& world, Ops& ops, const Descriptor& descriptor, Args args, int rows,
         std::size_t workspace_limit = std::size_t{32} << 20) {
  const auto plan = ops.plan(descriptor, rows, {.workspace_bytes = workspace_limit});
  EXPECT_EQ(plan->rows(), rows);
  EXPECT_LE(plan->workspace_bytes(), workspace_limit);
  Fenced workspace(plan->workspace_bytes() / sizeof(float));
  if constexpr (requires { args.workspace; }) args.workspace = workspace.data();
  ops.run(*plan, args, world.stream());
  world.stream().synchronize();
}

struct Block {
  static constexpr int kRows = 21;
  static constexpr int kHidden = 72;

  explicit Block(World& world)
      : norm(world.vector(kHidden)),
        residual(world.normal(std::size_t{kRows} * kHidden)),
        ops(std::make_unique<ComposedOps>(world.simd(SimdLevel::best))) {}

  std::span<const float> row(int r) const {
    return {residual.data() + r * kHidden, std::size_t{kHidden}};
  }

  Weight norm;
  std::vector<float> residual;
  std::unique_ptr<Ops> ops;
};

TEST(ComposedOps, GateUpIsNormThenGatedProducts) {
  World world;
  SCOPED_TRACE(world.trace());
  Block block(world);
  const int width = 50;
  const Weight weight = world.matrix(2 * width, Block::kHidden, DType::bf16, {width, width}, 0.2f);
  const Weight bias = world.vector(2 * width);
  // A small limit makes the plan work in several cuts; the bits must not change.
  std::vector<float> first;
  for (const std::size_t limit : {std::size_t{1} << 20, std::size_t{3000}}) {
    Fenced out(std::size_t{Block::kRows} * width);
    run(world, *block.ops,
        GateUpDescriptor{.norm = &block.norm, .norm_eps = 1e-5f, .weight = &weight, .bias = &bias},
        GateUpArgs{.batch = {}, .residual = block.residual.data(), .out = out.data()}, Block::kRows,
        limit);
    std::vector<float> expected;
    for (int r = 0; r < Block::kRows; ++r) {
      const Doubles both = product(normed(block.row(r), block.norm, 1e-5), weight, &bias);
      for (std::size_t i = 0; i < width; ++i) {
        expected.push_back(
            static_cast<float>(both[i] / (1 + std::exp(-both[i])) * both[width + i]));
      }
    }
    EXPECT_LT(relative_error(out.span(), expected), 2e-6);
    if (first.empty()) first.assign(out.data(), out.data() + out.size());
    EXPECT_TRUE(same_bits(out.span(), first)) << "workspace limit " << limit;
  }
}

TEST(ComposedOps, ProjectAddsToTheResidual) {
  World world;
  SCOPED_TRACE(world.trace());
  Block block(world);
  const Weight weight = world.matrix(Block::kHidden, 40, DType::f16);
  const auto input = world.normal(std::size_t{Block::kRows} * 40);
  std::vector<float> expected;
  for (int r = 0; r < Block::kRows; ++r) {
    const Doubles added =
        product(Doubles(input.begin() + r * 40, input.begin() + (r + 1) * 40), weight, nullptr);
    for (int i = 0; i < Block::kHidden; ++i) {
      expected.push_back(static_cast<float>(block.row(r)[static_cast<std::size_t>(i)] +
                                            added[static_cast<std::size_t>(i)]));
    }
  }
  run(world, *block.ops, ProjectDescriptor{.weight = &weight},
      ProjectArgs{.batch = {}, .input = input.data(), .residual = block.residual.data()},
      Block::kRows);
  EXPECT_LT(relative_error(block.residual, expected), 2e-6);
}

TEST(ComposedOps, LogitsAreTheProductOfTheNormedRow) {
  World world;
  SCOPED_TRACE(world.trace());
  Block block(world);
  const Weight weight = world.matrix(90, Block::kHidden, DType::f32);
  for (const std::size_t limit : {std::size_t{1} << 20, std::size_t{1000}}) {
    Fenced out(std::size_t{Block::kRows} * 90);
    run(world, *block.ops,
        LogitsDescriptor{.norm = &block.norm, .norm_eps = 1e-6f, .weight = &weight},
        LogitsArgs{.batch = {}, .residual = block.residual.data(), .logits = out.data()},
        Block::kRows, limit);
    std::vector<float> expected;
    for (int r = 0; r < Block::kRows; ++r) {
      for (const double x : product(normed(block.row(r), block.norm, 1e-6), weight, nullptr)) {
        expected.push_back(static_cast<float>(x));
      }
    }
    EXPECT_LT(relative_error(out.span(), expected), 2e-6) << "workspace limit " << limit;
  }
}

/// One sequence, all rows a prefill of 21 tokens in pages 2 and 1.
struct Attention {
  static constexpr int kHeads = 4, kKvHeads = 2, kDim = 10, kWindow = 9;
  static constexpr HeadGeometry kGeometry{.heads = kHeads, .kv_heads = kKvHeads, .head_dim = kDim};

  explicit Attention(World& world)
      : block(world),
        weight(world.matrix((kHeads + 2 * kKvHeads) * kDim, Block::kHidden, DType::bf16,
                            {kHeads * kDim, kKvHeads * kDim, kKvHeads * kDim}, 0.15f)),
        bias(world.vector(weight.rows)) {
    for (int p = 0; p < 64; ++p) {
      for (int i = 0; i < kDim / 2; ++i) {
        rope.push_back(static_cast<float>(std::cos(angle(p, i))));
        rope.push_back(static_cast<float>(std::sin(angle(p, i))));
      }
    }
    for (int r = 0; r < Block::kRows; ++r) positions.push_back(r);
  }

  static double angle(int position, int pair) {
    return position * std::pow(10000.0, -2.0 * pair / kDim);
  }

  void run_blocks(World& world, float* out) {
    const BatchInputs batch{.positions = positions.data(),
                            .sequences = sequences.data(),
                            .block_tables = table.data(),
                            .pages_per_sequence = 4};
    const CacheLayer cache{.keys = keys.data(), .values = values.data()};
    Fenced q(std::size_t{Block::kRows} * kHeads * kDim);
    run(world, *block.ops,
        QkvDescriptor{.norm = &block.norm,
                      .norm_eps = 1e-5f,
                      .weight = &weight,
                      .bias = &bias,
                      .geometry = kGeometry,
                      .rope = rope.data(),
                      .rope_positions = 64},
        QkvArgs{.batch = batch, .residual = block.residual.data(), .q = q.data(), .cache = cache},
        Block::kRows, 5000);
    run(world, *block.ops,
        AttendDescriptor{.geometry = kGeometry, .scale = 0.25f, .window = kWindow},
        AttendArgs{.batch = batch, .q = q.data(), .cache = cache, .out = out}, Block::kRows);
  }

  /// q, k and v of a row, q and k rotated.
  Doubles expected_qkv(int r) const {
    Doubles row = product(normed(block.row(r), block.norm, 1e-5), weight, &bias);
    for (int head = 0; head < kHeads + kKvHeads; ++head) {
      for (int i = 0; i < kDim / 2; ++i) {
        double& a = row[static_cast<std::size_t>(head * kDim + i)];
        double& b = row[static_cast<std::size_t>(head * kDim + kDim / 2 + i)];
        const double turned = a * std::cos(angle(r, i)) - b * std::sin(angle(r, i));
        b = b * std::cos(angle(r, i)) + a * std::sin(angle(r, i));
        a = turned;
      }
    }
    return row;
  }

  /// softmax(q · k / 4) · v of row r and one head.
  static Doubles expected_head(const std::vector<Doubles>& qkv, int r, int head) {
    const auto k = static_cast<std::size_t>((kHeads + head / 2) * kDim);
    const auto v = k + std::size_t{kKvHeads} * kDim;
    const Doubles& own = qkv[static_cast<std::size_t>(r)];
    Doubles sum(kDim);
    double total = 0;
    for (int e = std::max(0, r + 1 - kWindow); e <= r; ++e) {
      const Doubles& entry = qkv[static_cast<std::size_t>(e)];
      double dot = 0;
      for (std::size_t i = 0; i < kDim; ++i) {
        dot += own[static_cast<std::size_t>(head * kDim) + i] * entry[k + i];
      }
      const double share = std::exp(0.25 * dot);
      total += share;
      for (std::size_t i = 0; i < kDim; ++i) sum[i] += share * entry[v + i];
    }
    for (double& x : sum) x /= total;
    return sum;
  }

  Block block;
  Weight weight, bias;
  std::vector<float> rope;
  std::vector<std::int32_t> table{2, 1, 0, 0}, positions,
      sequences = std::vector<int>(Block::kRows);
  Fenced keys{3 * kPageTokens * kKvHeads * kDim};
  Fenced values{3 * kPageTokens * kKvHeads * kDim};
};

TEST(ComposedOps, QkvAndAttendGiveCausalAttention) {
  World world;
  SCOPED_TRACE(world.trace());
  Attention attention(world);
  Fenced out(std::size_t{Block::kRows} * Attention::kHeads * Attention::kDim);
  attention.run_blocks(world, out.data());

  std::vector<Doubles> qkv;
  for (int r = 0; r < Block::kRows; ++r) qkv.push_back(attention.expected_qkv(r));
  std::vector<float> expected;
  for (int r = 0; r < Block::kRows; ++r) {
    for (int head = 0; head < Attention::kHeads; ++head) {
      for (const double x : Attention::expected_head(qkv, r, head)) {
        expected.push_back(static_cast<float>(x));
      }
    }
  }
  EXPECT_LT(relative_error(out.span(), expected), 1e-5);
  for (std::size_t i = 0; i < attention.keys.size() / 3; ++i) {
    ASSERT_TRUE(is_poison(attention.keys[i])) << "the sink page was written";
  }
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

/// A valid qkv descriptor to spoil, and the way to ask for plans.
struct Refusals {
  explicit Refusals(World& world)
      : ops(make_ops(world.device())),
        norm(world.vector(8)),
        weight(world.matrix(24, 8, DType::bf16)) {
    good = {.norm = &norm,
            .norm_eps = 1e-5f,
            .weight = &weight,
            .geometry = {.heads = 2, .kv_heads = 2, .head_dim = 4},
            .rope = rope,
            .rope_positions = 1};
  }

  template <class Descriptor>
  void expect(const Descriptor& descriptor, const std::string& beginning, int rows = 1) {
    const std::string message = refusal([&] { ops->plan(descriptor, rows, PlanBudget{}); });
    EXPECT_EQ(message.rfind(beginning, 0), 0u) << message;
  }

  std::unique_ptr<Ops> ops;
  Weight norm, weight;
  float rope[8] = {};
  QkvDescriptor good;
};

TEST(ComposedOps, RefusesQkvDescriptorsThatContradictThemselves) {
  World world;
  Refusals refusals(world);
  const QkvDescriptor good = refusals.good;
  refusals.expect(good, "accepted");
  refusals.expect(good, "qkv was planned for 0 rows", 0);
  QkvDescriptor bad = good;
  bad.geometry.kv_heads = 3;
  refusals.expect(bad, "qkv.geometry.kv_heads is 3");
  bad = good;
  bad.geometry.head_dim = 5;
  refusals.expect(bad, "qkv.geometry.head_dim is 5");
  bad = good;
  bad.geometry.heads = 4;
  refusals.expect(bad, "qkv.weight has 24 rows");
  bad = good;
  const Weight short_norm = world.vector(7);
  bad.norm = &short_norm;
  refusals.expect(bad, "qkv.norm has 7 elements");
  bad = good;
  bad.bias = &refusals.norm;
  refusals.expect(bad, "qkv.bias has 8 elements");
  bad = good;
  bad.rope = nullptr;
  refusals.expect(bad, "qkv.rope is missing");
  bad = good;
  bad.norm_eps = std::nanf("");
  refusals.expect(bad, "qkv.norm_eps");
}

TEST(ComposedOps, RefusesOtherDescriptorsThatContradictThemselves) {
  World world;
  Refusals refusals(world);
  refusals.expect(EmbedDescriptor{}, "embed.table is missing");
  refusals.expect(EmbedDescriptor{.table = &refusals.weight}, "embed was planned for -3 rows", -3);
  refusals.expect(AttendDescriptor{.geometry = refusals.good.geometry, .scale = 1, .window = -1},
                  "attend.window is -1");
  refusals.expect(ProjectDescriptor{}, "project.weight is missing");
  const Weight odd = world.matrix(3, 8, DType::f32);
  refusals.expect(GateUpDescriptor{.norm = &refusals.norm, .weight = &odd},
                  "gate_up.weight has 3 rows");
  refusals.expect(LogitsDescriptor{.weight = &refusals.weight}, "logits.norm is missing");
  refusals.expect(SelectDescriptor{}, "select.vocabulary is 0");
}

TEST(ComposedOps, RefusesRunsWithoutWorkspaceOrWithAForeignPlan) {
  World world;
  Refusals refusals(world);
  Ops& ops = *refusals.ops;
  const auto plan = ops.plan(refusals.good, 1, PlanBudget{});
  EXPECT_EQ(refusal([&] { ops.run(*plan, QkvArgs{}, world.stream()); }),
            "qkv needs a workspace of 512 bytes; none was given");
  EXPECT_EQ(refusal([&] { ops.run(*plan, EmbedArgs{}, world.stream()); }),
            "embed was run with the plan of another operation");
  EXPECT_EQ(refusal([&] { ops.plan(refusals.good, 1, {.workspace_bytes = 10}); }),
            "qkv needs 512 bytes of workspace for one row; PlanBudget::workspace_bytes is 10");
}

}  // namespace
}  // namespace reprise::testing
