// SPDX-License-Identifier: Apache-2.0
#include "kernels/bandwidth.h"

#include <algorithm>
#include <limits>

#include <reprise/error.h>

namespace reprise {
namespace {

constexpr std::size_t kLeast = std::size_t{1} << 20;
constexpr int kFewestRounds = 3;
constexpr int kMostRounds = 50;
constexpr double kPieceMs = 5;  // long enough for the start and end of a read not to matter
constexpr double kMostPieces = 16;
constexpr std::size_t kAlignment = 256;

std::size_t buffer_bytes(const Device& device, std::size_t most) {
  const std::size_t share = device.memory_info().free / 8;
  return std::clamp(share, kLeast, std::max(kLeast, most)) / kLeast * kLeast;
}

double read_ms(Ops& ops, MemoryView memory, std::uint32_t* sink, Stream& stream) {
  Event start = stream.device().create_event();
  Event end = stream.device().create_event();
  stream.record(start);
  ops.read_all(memory.data, memory.bytes, sink, stream);
  stream.record(end);
  end.synchronize();
  return end.elapsed_ms_since(start);
}

}  // namespace

ReadBandwidth measure_read_bandwidth(Ops& ops, Stream& stream, ReadEffort effort) {
  Device& device = stream.device();
  const Buffer buffer = device.allocate(buffer_bytes(device, effort.most_bytes), "read bandwidth");
  const Buffer sink = device.allocate(sizeof(std::uint32_t), "read bandwidth sink");
  auto* const sum = static_cast<std::uint32_t*>(sink.data());
  // Memory that nobody wrote may not exist yet: the host would read one page of zeros over and
  // over.
  stream.fill(buffer.view(), 0x5a);
  read_ms(ops, buffer.view(), sum, stream);  // the first use of anything is slow
  const double whole_ms = read_ms(ops, buffer.view(), sum, stream);
  const auto pieces = static_cast<std::size_t>(std::clamp(whole_ms / kPieceMs, 1.0, kMostPieces));
  const std::size_t bytes = buffer.bytes() / pieces / kAlignment * kAlignment;
  ReadBandwidth result{.bytes = bytes, .buffer_bytes = buffer.bytes()};
  double fastest = std::numeric_limits<double>::infinity();
  double spent = 0;
  for (int round = 0; round < kMostRounds; ++round) {
    if (round >= kFewestRounds && spent >= effort.enough_ms) break;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      const double ms = read_ms(ops, buffer.view(piece * bytes, bytes), sum, stream);
      spent += ms;
      fastest = std::min(fastest, ms);
      ++result.reads;
    }
  }
  if (!(fastest > 0)) {
    throw DeviceError("reading " + std::to_string(bytes) + " bytes took no time on " +
                      device.label() + ": its clock is too coarse to measure with");
  }
  result.gb_per_s = static_cast<double>(bytes) / (fastest * 1e6);
  return result;
}

double measure_read_gb_per_s(Ops& ops, Stream& stream) {
  return measure_read_bandwidth(ops, stream).gb_per_s;
}

}  // namespace reprise
