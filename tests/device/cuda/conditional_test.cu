// SPDX-License-Identifier: Apache-2.0
// Raw CUDA inside the bodies of loops and branches: what may not stand there is named before the
// driver finds it, and the device stays usable.
#include <string>
#include <vector>

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <reprise/control_flow.h>
#include <reprise/cuda.h>
#include <reprise/graph.h>

namespace reprise {
namespace {

__global__ void count_down_kernel(std::int32_t* left, std::int32_t* sum) {
  --*left;
  ++*sum;
}

class CudaConditionalNodes : public ::testing::Test {
 protected:
  CudaConditionalNodes() { set({0, 0}); }

  void set(const std::vector<std::int32_t>& values) {
    values_.from_host(main_, std::as_bytes(std::span(values)));
  }
  std::vector<std::int32_t> get() {
    std::vector<std::int32_t> values(2);
    values_.to_host(main_, std::as_writable_bytes(std::span(values)));
    return values;
  }
  std::int32_t* left() { return static_cast<std::int32_t*>(values_.data()); }
  TensorView condition() { return values_.tensor(DType::i32, Shape{1}); }
  void step() {
    cuda::enqueue(main_, "step", [&](cudaStream_t native) {
      count_down_kernel<<<1, 1, 0, native>>>(left(), left() + 1);
    });
  }
  /// Records a loop with one step and what `raw` adds; expects a refusal and returns its text.
  template <class Raw>
  std::string refusal_of(const Raw& raw) {
    std::string text;
    try {
      capture(main_, [&] {
        while_loop(main_, condition(), [&] {
          step();
          const LabelScope scope(main_, "raw");
          raw(cuda::native(main_));
          cuda::note_work(main_, "stray");
        });
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      text = error.what();
    }
    EXPECT_FALSE(device_->lost());
    EXPECT_FALSE(main_.recording());
    set({3, 0});
    GraphExec exec =
        capture(main_, [&] { while_loop(main_, condition(), [&] { step(); }); }).instantiate();
    exec.launch(main_);
    EXPECT_EQ(get(), std::vector<std::int32_t>({0, 3})) << "after: " << text;
    return text;
  }
  static void expect_part(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
  }

  /// Ours, which names kind and label, or the driver's answer to the call; both say what bodies
  /// take.
  static void expect_refusal(const std::string& text, const std::string& kind) {
    const bool ours =
        text.find(kind) != std::string::npos && text.find("raw / stray") != std::string::npos;
    EXPECT_TRUE(ours || text.find("cudaError") != std::string::npos) << text;
    expect_part(text, "kernels, copies, fills, child graphs, loops and branches");
  }

  std::shared_ptr<Device> device_ = Device::open("cuda");
  Stream main_ = device_->create_stream("main");
  Buffer values_ = device_->allocate(2 * sizeof(std::int32_t), "condition, sum");
};

TEST_F(CudaConditionalNodes, AHostCallbackInABodyIsRefused) {
  const std::string text = refusal_of([](cudaStream_t native) {
    cudaLaunchHostFunc(
        native, [](void*) {}, nullptr);
  });
  expect_refusal(text, "host callback");
}

TEST_F(CudaConditionalNodes, AnAllocationInABodyIsRefused) {
  const std::string text = refusal_of([](cudaStream_t native) {
    void* data = nullptr;
    if (cudaMallocAsync(&data, 1024, native) == cudaSuccess) cudaFreeAsync(data, native);
  });
  expect_refusal(text, "memory allocation");
}

TEST_F(CudaConditionalNodes, AnExternalEventInABodyIsRefused) {
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  const std::string text = refusal_of([event](cudaStream_t native) {
    cudaEventRecordWithFlags(event, native, cudaEventRecordExternal);
  });
  expect_refusal(text, "record of an external event");
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(CudaConditionalNodes, ACopyOfPageableMemoryInABodyIsRefused) {
  static const std::int32_t value = 1;
  const std::string text = refusal_of([this](cudaStream_t native) {
    cudaMemcpyAsync(left() + 1, &value, sizeof value, cudaMemcpyHostToDevice, native);
  });
  expect_refusal(text, "copy of pageable memory");
}

TEST_F(CudaConditionalNodes, AHostCallbackInAChildGraphOfABodyIsRefused) {
  cudaGraph_t child = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaGraphNode_t node = nullptr;
  cudaHostNodeParams params{};
  params.fn = [](void*) {};
  ASSERT_EQ(cudaGraphCreate(&child, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphAddHostNode(&node, child, nullptr, 0, &params), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, child, 0), cudaSuccess);
  const std::string text = refusal_of([exec](cudaStream_t native) {
    cudaGraphLaunch(exec, native);  // becomes a child graph
  });
  expect_refusal(text, "host callback");
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(child), cudaSuccess);
}

TEST_F(CudaConditionalNodes, WorkOnTheHandleFromOutsideIsRefused) {
  std::string text;
  try {
    capture(main_, [&] {
      cudaStream_t outside = cuda::native(main_);
      while_loop(main_, condition(), [&] {
        step();
        count_down_kernel<<<1, 1, 0, outside>>>(left(), left() + 1);
      });
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const CaptureError& error) {
    text = error.what();
  }
  expect_part(text, "ask for cuda::native(stream) inside the body");
  EXPECT_FALSE(main_.recording());
}

TEST_F(CudaConditionalNodes, TheTestsAreNodesWithNames) {
  const Graph graph = capture(main_, [&] { while_loop(main_, condition(), [&] { step(); }); });
  const std::vector<GraphNode> nodes = graph.nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].label, "while_loop / test");
  EXPECT_EQ(nodes[1].kind, "conditional");
  ASSERT_EQ(nodes[1].bodies.size(), 1u);
  ASSERT_EQ(nodes[1].bodies[0].size(), 2u);
  EXPECT_EQ(nodes[1].bodies[0][0].label, "step");
  EXPECT_EQ(nodes[1].bodies[0][1].label, "while_loop / test");
}

}  // namespace
}  // namespace reprise
