// SPDX-License-Identifier: Apache-2.0
#include "kernels/bandwidth.h"

#include <algorithm>
#include <limits>

#include <reprise/error.h>

namespace reprise {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 30;
constexpr std::size_t kLeast = std::size_t{1} << 20;
constexpr int kFewestReads = 3;
constexpr int kMostReads = 50;
constexpr double kEnoughMs = 500;

std::size_t buffer_bytes(const Device& device) {
  const std::size_t share = device.memory_info().free / 8;
  return std::clamp(share, kLeast, kMost) / kLeast * kLeast;
}

double read_ms(Ops& ops, const Buffer& buffer, std::uint32_t* sink, Stream& stream) {
  Event start = stream.device().create_event();
  Event end = stream.device().create_event();
  stream.record(start);
  ops.read_all(buffer.data(), buffer.bytes(), sink, stream);
  stream.record(end);
  end.synchronize();
  return end.elapsed_ms_since(start);
}

}  // namespace

ReadBandwidth measure_read_bandwidth(Ops& ops, Stream& stream) {
  Device& device = stream.device();
  const Buffer buffer = device.allocate(buffer_bytes(device), "read bandwidth");
  const Buffer sink = device.allocate(sizeof(std::uint32_t), "read bandwidth sink");
  auto* const sum = static_cast<std::uint32_t*>(sink.data());
  // Memory that nobody wrote may not exist yet: the host would read one page of zeros over and
  // over.
  stream.fill(buffer.view(), 0x5a);
  read_ms(ops, buffer, sum, stream);  // not counted: the first use of anything is slow
  ReadBandwidth result{.bytes = buffer.bytes()};
  double fastest = std::numeric_limits<double>::infinity();
  for (double spent = 0; result.reads < kMostReads;) {
    if (result.reads >= kFewestReads && spent >= kEnoughMs) break;
    const double ms = read_ms(ops, buffer, sum, stream);
    spent += ms;
    fastest = std::min(fastest, ms);
    ++result.reads;
  }
  if (!(fastest > 0)) {
    throw DeviceError("reading " + std::to_string(buffer.bytes()) + " bytes took no time on " +
                      device.label() + ": its clock is too coarse to measure with");
  }
  result.gb_per_s = static_cast<double>(buffer.bytes()) / (fastest * 1e6);
  return result;
}

double measure_read_gb_per_s(Ops& ops, Stream& stream) {
  return measure_read_bandwidth(ops, stream).gb_per_s;
}

}  // namespace reprise
