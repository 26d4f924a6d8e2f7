// SPDX-License-Identifier: Apache-2.0
// Raw CUDA inside recordings: labels of raw launches, what the signature sees, and what becomes of
// calls that CUDA itself refuses (DESIGN §4.4, §4.9).
#include <array>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <reprise/cuda.h>
#include <reprise/graph.h>

namespace reprise {
namespace {

__global__ void raise_kernel(float* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += 1.0F;
}

template <int kFactor>
__global__ void multiply_kernel(float* x) {
  x[threadIdx.x] *= kFactor;
}

class CudaNative : public ::testing::Test {
 protected:
  static constexpr int kCount = 64;

  void raise(cudaStream_t native, unsigned blocks = 1) {
    raise_kernel<<<blocks, kCount, 0, native>>>(static_cast<float*>(x_.data()), kCount);
  }
  float first_value() {
    float value = 0;
    x_.to_host(main_, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  template <class Body>
  std::string fault_of(CaptureFault fault, const Body& body) {
    try {
      capture(main_, body);
    } catch (const CaptureError& error) {
      EXPECT_EQ(static_cast<int>(error.fault()), static_cast<int>(fault)) << error.what();
      return error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "another exception: " << error.what();
      return {};
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
  }
  static void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
    }
  }
  void expect_usable() {
    EXPECT_FALSE(device_->lost());
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    main_.fill(x_.view(), 0);
    GraphExec exec = capture(main_, [&] { raise(cuda::native(main_)); }).instantiate();
    EXPECT_EQ(first_value(), 0);
    exec.launch(main_);
    EXPECT_EQ(first_value(), 1);
  }

  std::shared_ptr<Device> device_ = Device::open("cuda");
  Stream main_ = device_->create_stream("main");
  Buffer x_ = device_->allocate(kCount * sizeof(float), "x");
};

TEST_F(CudaNative, ARawProgrammaticLaunchHasToDeclareItsWait) {
  if (device_->properties().compute_capability < 90) {
    GTEST_SKIP() << "programmatic launch needs compute capability 9.0";
  }
  const auto overlap = [&](cudaStream_t native) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(1);
    config.blockDim = dim3(kCount);
    config.stream = native;
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, raise_kernel, static_cast<float*>(x_.data()), int{kCount});
  };
  const std::string text = fault_of(CaptureFault::refused, [&] {
    raise(cuda::native(main_));
    cuda::enqueue(main_, "overlap", overlap);
  });
  expect_parts(text, {"node 1 (kernel 'overlap')", "does not declare that it waits"});
  expect_usable();
  // As one vouches for a library.
  const Graph graph = capture(main_, [&] {
    raise(cuda::native(main_));
    cuda::enqueue(main_, "overlap", {.waits = true}, overlap);
  });
  EXPECT_EQ(graph.nodes().at(1).programmatic, std::vector<std::uint32_t>{0});
  EXPECT_EQ(graph.nodes().at(1).programmatic_launch, ProgrammaticLaunch::made);
}

TEST_F(CudaNative, RawLaunchesGetTheLabelOfTheirScope) {
  const Graph graph = capture(main_, [&] {
    raise(cuda::native(main_));
    {
      const LabelScope layer(main_, "layer 0");
      const cudaStream_t native = cuda::native(main_);
      raise(native);
      raise(native);
      cuda::note_work(main_, "twice");
      raise(native);
      main_.fill(x_.view(), 0);
      raise(native);
    }
    const LabelScope layer(main_, "layer 1");
    cuda::enqueue(main_, "last", [&](cudaStream_t native) { raise(native); });
    raise(cuda::native(main_));
  });
  std::vector<std::string> labels;
  for (const GraphNode& node : graph.nodes()) labels.push_back(node.label);
  const std::vector<std::string> expected = {
      "",        "layer 0 / twice", "layer 0 / twice", "layer 0",
      "layer 0", "layer 0",         "layer 1 / last",  "layer 1"};
  EXPECT_EQ(labels, expected);
}

TEST_F(CudaNative, NodesTellTheirFunctions) {
  const Graph graph = capture(main_, [&] {
    const cudaStream_t native = cuda::native(main_);
    raise(native);
    multiply_kernel<3><<<1, kCount, 0, native>>>(static_cast<float*>(x_.data()));
  });
  expect_parts(graph.nodes().at(0).function, {"reprise::", "raise_kernel"});
  expect_parts(graph.nodes().at(1).function, {"multiply_kernel<", "3"});
  EXPECT_EQ(graph.nodes().at(0).function.find("float"), std::string::npos);
  EXPECT_FALSE(graph.nodes().at(1).function.starts_with("void"));
}

TEST_F(CudaNative, NodesTellTheirLaunch) {
  const Graph graph = capture(main_, [&] {
    raise_kernel<<<dim3(2, 3), kCount, 1024, cuda::native(main_)>>>(static_cast<float*>(x_.data()),
                                                                    kCount);
    main_.fill(x_.view(), 0);
  });
  const GraphNode kernel = graph.nodes().at(0);
  ASSERT_TRUE(kernel.launch.has_value());
  EXPECT_EQ(kernel.launch->grid, (std::array<std::uint32_t, 3>{2, 3, 1}));
  EXPECT_EQ(kernel.launch->block, (std::array<std::uint32_t, 3>{kCount, 1, 1}));
  EXPECT_EQ(kernel.launch->cluster, (std::array<std::uint32_t, 3>{1, 1, 1}));
  EXPECT_EQ(kernel.launch->dynamic_shared_bytes, 1024u);
  EXPECT_GT(kernel.launch->registers, 0);
  EXPECT_FALSE(graph.nodes().at(1).launch.has_value());
}

TEST_F(CudaNative, TheSignatureSeesGridsAndSharedMemory) {
  const auto record = [&](unsigned blocks, std::size_t shared) {
    return capture(main_, [&] {
      raise_kernel<<<blocks, kCount, shared, cuda::native(main_)>>>(static_cast<float*>(x_.data()),
                                                                    kCount);
    });
  };
  const Graph plain = record(1, 0);
  EXPECT_EQ(plain.signature(), record(1, 0).signature());
  GraphExec exec = plain.instantiate();
  for (const Graph& other : {record(2, 0), record(1, 1024)}) {
    EXPECT_NE(plain.signature(), other.signature());
    EXPECT_EQ(exec.update(other), UpdateResult::topology_differs);
  }
}

TEST_F(CudaNative, ARawSynchroniseInsideIsReportedAtTheNextCall) {
  const std::string text = fault_of(CaptureFault::invalidated, [&] {
    cuda::enqueue(main_, "qkv", [&](cudaStream_t native) { raise(native); });
    EXPECT_NE(cudaStreamSynchronize(cuda::native(main_)), cudaSuccess);
    main_.fill(x_.view(), 0);
  });
  expect_parts(text, {"stream 'main' (cuda:0)", "from thread ", "901", "outside this library",
                      "1 node so far, the last one 'qkv'"});
  expect_usable();
}

TEST_F(CudaNative, ARawSynchroniseInsideIsReportedAtTheEnd) {
  const std::string text = fault_of(CaptureFault::invalidated, [&] {
    cuda::enqueue(main_, "qkv", [&](cudaStream_t native) { raise(native); });
    EXPECT_NE(cudaStreamSynchronize(cuda::native(main_)), cudaSuccess);
  });
  expect_parts(text, {"capture on stream 'main'", "outside this library", "'qkv'"});
  expect_usable();
}

TEST_F(CudaNative, ADeviceSynchroniseOfAnotherThreadIsReported) {
  const std::string text = fault_of(CaptureFault::invalidated, [&] {
    cuda::enqueue(main_, "qkv", [&](cudaStream_t native) { raise(native); });
    std::thread([] {
      EXPECT_NE(cudaDeviceSynchronize(), cudaSuccess);
      cudaGetLastError();
    }).join();
    raise(cuda::native(main_));
  });
  expect_parts(text, {"outside this library", "'qkv'"});
  expect_usable();
}

TEST_F(CudaNative, ARawStreamThatWasNotJoinedIsReported) {
  cudaStream_t raw = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking), cudaSuccess);
  Event fork = device_->create_event();
  const std::string text = fault_of(CaptureFault::unjoined, [&] {
    const cudaStream_t native = cuda::native(main_);
    raise(native);
    EXPECT_EQ(cudaEventRecord(cuda::native(fork), native), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(raw, cuda::native(fork), 0), cudaSuccess);
    raise(raw);
  });
  expect_parts(text, {"904", "not joined back", "1 node so far"});
  EXPECT_EQ(cudaStreamDestroy(raw), cudaSuccess);
  expect_usable();
}

TEST_F(CudaNative, AllocationNodesAreRefused) {
  const std::string text = fault_of(CaptureFault::refused, [&] {
    const LabelScope layer(main_, "layer 0");
    const cudaStream_t native = cuda::native(main_);
    void* data = nullptr;
    EXPECT_EQ(cudaMallocAsync(&data, 1024, native), cudaSuccess);
    raise(native);
    EXPECT_EQ(cudaFreeAsync(data, native), cudaSuccess);
  });
  expect_parts(text, {"allocates memory by a node", "'layer 0'"});
  expect_usable();
}

TEST_F(CudaNative, ALaunchThatIsRefusedThrowsAndLosesNothing) {
  const auto launch = [&](cudaStream_t native) {
    raise_kernel<<<1, 4096, 0, native>>>(static_cast<float*>(x_.data()), kCount);
  };
  try {
    cuda::enqueue(main_, "too wide", launch);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DeviceError& error) {
    expect_parts(error.what(), {"too wide", "stream 'main' (cuda:0)"});
  }
  expect_usable();
}

TEST_F(CudaNative, HostDevicesHaveNoNativeHandles) {
  const auto host = Device::open("host");
  Stream stream = host->create_stream("main");
  EXPECT_THROW(cuda::native(stream), UsageError);
  EXPECT_THROW(cuda::note_work(stream, "x"), UsageError);
}

TEST(CudaDevice, TellsWhatItIs) {
  const auto device = Device::open("cuda:0");
  const DeviceProperties& properties = device->properties();
  EXPECT_EQ(device->label(), "cuda:0");
  EXPECT_FALSE(properties.name.empty());
  EXPECT_NE(properties.driver.find('.'), std::string::npos) << properties.driver;
  EXPECT_GT(properties.multiprocessors, 0);
  EXPECT_GE(properties.compute_capability, 50);
  EXPECT_GT(properties.total_memory, std::size_t{1} << 30);
  const MemoryInfo memory = device->memory_info();
  EXPECT_GT(memory.free, 0U);
  EXPECT_LE(memory.free, memory.total);
  EXPECT_EQ(Device::open("auto")->kind(), DeviceKind::cuda);
  std::printf("%s, driver %s, %d multiprocessors\n", properties.name.c_str(),
              properties.driver.c_str(), properties.multiprocessors);
}

TEST(CudaDevice, RefusesWhatIsNotThere) {
  try {
    Device::open("cuda:99");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("cuda:99"), std::string::npos) << error.what();
  }
  const auto device = Device::open("cuda");
  EXPECT_THROW(device->allocate(std::size_t{1} << 50, "huge"), OutOfMemory);
  EXPECT_NE(device->allocate(0, "nothing").data(), nullptr);
  EXPECT_FALSE(device->lost());
}

}  // namespace
}  // namespace reprise
