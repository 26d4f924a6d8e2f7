// SPDX-License-Identifier: Apache-2.0
// How a device records a loop or a branch: one conditional node, whose bodies are recorded one
// after the other on the stream that the node stands on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "device/backend.h"

namespace reprise {

struct ConditionalSpec {
  enum class Kind : std::uint8_t { loop, branch };

  Kind kind = Kind::loop;
  const std::int32_t* condition = nullptr;  ///< in device memory
  std::uint32_t max_iterations = 1;         ///< of a loop
  std::size_t bodies = 1;                   ///< 2: a branch with otherwise
  std::string label;                        ///< under the open label scopes
};

constexpr const char* function_of(ConditionalSpec::Kind kind) noexcept {
  return kind == ConditionalSpec::Kind::loop ? "while" : "if";
}

/// A conditional node that is being recorded. Used by the recording thread; goes before the stream.
class ConditionalCapture {
 public:
  virtual ~ConditionalCapture() = default;
  /// From now on the stream records into the next body; `body` is open on the stream already.
  virtual void begin_body(std::shared_ptr<LiveRecording> body) = 0;
  /// The stream records behind the node again, whatever this throws. The public side has found the
  /// body unspoilt, joined and not empty. Throws CaptureError for a node that may not stand in it.
  virtual void end_body() = 0;
  virtual void discard_body() noexcept = 0;
  /// All bodies are there.
  virtual void commit() = 0;
};

}  // namespace reprise
