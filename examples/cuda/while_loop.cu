// SPDX-License-Identifier: Apache-2.0
// Sampling until a token ends the text, as a decode loop does: the kernel writes whether to go on
// into device memory, so that one launch makes all tokens and the host reads them once.
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <reprise/control_flow.h>
#include <reprise/cuda.h>
#include <reprise/graph.h>

namespace {

constexpr int kMost = 64;
constexpr std::uint32_t kLast = 0;  // the token that ends the text

struct Text {
  std::int32_t going_on;
  std::int32_t length;
  std::uint32_t tokens[kMost];
};

__host__ __device__ std::uint32_t token_after(std::uint32_t token) {
  return (token * 1664525U + 1013904223U) >> 28;  // one of 16: stands for a whole model
}

__global__ void begin(Text* text, std::uint32_t first) {
  *text = {.going_on = 1, .length = 1, .tokens = {first}};
}

__global__ void one_step(Text* text) {
  const auto length = static_cast<std::uint32_t>(text->length);
  const std::uint32_t token = token_after(text->tokens[length - 1] + length);
  text->tokens[text->length++] = token;
  text->going_on = token != kLast && text->length < kMost ? 1 : 0;
}

}  // namespace

int main() {
  const auto device = reprise::Device::open("cuda");
  reprise::Stream stream = device->create_stream("main");
  const reprise::Buffer memory = device->allocate(sizeof(Text), "text");
  auto* const text = static_cast<Text*>(memory.data());
  const reprise::TensorView going_on{
      .data = &text->going_on, .dtype = reprise::DType::i32, .shape = {1}};

  const reprise::Graph graph = reprise::capture(stream, [&] {
    reprise::cuda::enqueue(stream, "begin",
                           [&](cudaStream_t native) { begin<<<1, 1, 0, native>>>(text, 7); });
    reprise::while_loop(stream, going_on, [&] {
      // The native handle is the body's: ask for it here, not outside.
      reprise::cuda::enqueue(stream, "step",
                             [&](cudaStream_t native) { one_step<<<1, 1, 0, native>>>(text); });
    });
  });
  reprise::GraphExec decode = graph.instantiate();
  decode.launch(stream);  // all steps

  Text result{};
  memory.to_host(stream, std::as_writable_bytes(std::span(&result, 1)));
  std::vector<std::uint32_t> expected{7};
  do {
    const auto length = static_cast<std::uint32_t>(expected.size());
    expected.push_back(token_after(expected.back() + length));
  } while (expected.back() != kLast && expected.size() < kMost);
  const std::span made(result.tokens, static_cast<std::size_t>(result.length));
  const bool right = std::vector<std::uint32_t>(made.begin(), made.end()) == expected;
  std::printf("%d tokens in one launch: %s\n", result.length,
              right ? "as the plain loop" : "NOT as the plain loop");
  return right ? 0 : 1;
}
