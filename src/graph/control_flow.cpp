// SPDX-License-Identifier: Apache-2.0
#include <span>
#include <string_view>

#include <fmt/format.h>

#include <reprise/control_flow.h>
#include <reprise/graph.h>

#include "device/checks.h"
#include "device/conditional.h"

namespace reprise {
namespace {

using Body = std::function<void()>;

/// What the user called, for messages: "while_loop 'decode' on stream 'main' (host:0)".
std::string describe(const ConditionalSpec& spec, const StreamState& stream) {
  const bool loop = spec.kind == ConditionalSpec::Kind::loop;
  return fmt::format("{} '{}' on {}", loop ? "while_loop" : "if_else", spec.label,
                     checks::describe(stream));
}

/// One body from begin to end. Discards it unless it was committed.
class BodyGuard {
 public:
  BodyGuard(std::shared_ptr<StreamState> stream, std::shared_ptr<LiveRecording> outer,
            ConditionalCapture& capture)
      : stream_(std::move(stream)),
        capture_(capture),
        recording_(recordings::open_body(*stream_, std::move(outer))) {
    try {
      capture_.begin_body(recording_);
    } catch (...) {
      recordings::close(recording_);
      throw;
    }
  }
  ~BodyGuard() {
    if (!ended_) capture_.discard_body();
    recordings::close(recording_);
  }
  BodyGuard(const BodyGuard&) = delete;
  BodyGuard& operator=(const BodyGuard&) = delete;

  void commit(const std::string& where) {
    if (recording_->spoilt()) recording_->throw_spoilt();
    stream_->owner->require_usable();
    if (const auto stray = recording_->unjoined()) {
      throw CaptureError(
          CaptureFault::unjoined,
          fmt::format("{}: stream '{}' joined the body and was not joined back ({}); record an "
                      "event on it after its last work and let stream '{}' wait for that event "
                      "inside the body",
                      where, *stray, recording_->progress(), recording_->origin_name));
    }
    if (stream_->captured_nodes() == 0) {
      throw CaptureError(CaptureFault::empty,
                         fmt::format("{}: a body holds no work; enqueue it on this stream inside "
                                     "the body function, or leave the loop or branch out",
                                     where));
    }
    ended_ = true;  // end_body leaves the stream usable even when it throws
    capture_.end_body();
  }

 private:
  const std::shared_ptr<StreamState> stream_;
  ConditionalCapture& capture_;
  const std::shared_ptr<LiveRecording> recording_;
  bool ended_ = false;
};

void record(const std::shared_ptr<StreamState>& stream, const std::string& where,
            const ConditionalSpec& spec, std::span<const Body* const> bodies,
            const std::shared_ptr<LiveRecording>& outer) {
  try {
    const auto capture = stream->begin_conditional(spec);
    for (const Body* body : bodies) {
      BodyGuard guard(stream, outer, *capture);
      (*body)();
      guard.commit(where);
    }
    capture->commit();
  } catch (const CaptureError& fault) {
    outer->spoil(fault.fault(), fault.what());
    throw;
  } catch (const std::exception& fault) {
    outer->spoil(
        CaptureFault::refused,
        fmt::format("{}: it threw '{}', which ended recording {}; let the exception out of "
                    "the recorded function, or avoid it",
                    where, fault.what(), outer->id));
    throw;
  } catch (...) {
    outer->spoil(CaptureFault::refused,
                 fmt::format("{}: it threw, which ended recording {}; let the exception out of the "
                             "recorded function, or avoid it",
                             where, outer->id));
    throw;
  }
  outer->note_work(*stream, stream->full_label(spec.label));
}

/// Records the node, or, outside of a recording, makes a graph of it and runs that once.
void run(Stream& stream, const ConditionalSpec& spec, std::span<const Body* const> bodies) {
  const std::shared_ptr<StreamState> state = stream.shared_state();
  const std::string where = describe(spec, *state);
  // Asked once: a recording of another thread may end at any moment.
  if (const auto outer = checks::admit_work(*state, where)) {
    record(state, where, spec, bodies, outer);
    return;
  }
  GraphExec once = capture(stream, [&] {
                     record(state, where, spec, bodies, state->recording());
                   }).instantiate();
  once.launch(stream);
  stream.synchronize();
}

const std::int32_t* checked_scalar(const TensorView& condition, const std::string& where) {
  const auto refuse = [&](std::string_view what) {
    throw UsageError(
        fmt::format("{}: the condition {}; give one i32 in device memory", where, what));
  };
  if (condition.data == nullptr) refuse("is null");
  if (condition.dtype != DType::i32)
    refuse(fmt::format("is of type {}", to_string(condition.dtype)));
  if (condition.shape.elements() != 1) {
    refuse(fmt::format("has {} elements", condition.shape.elements()));
  }
  if (condition.space != MemorySpace::device) refuse("lies in host memory");
  if (reinterpret_cast<std::uintptr_t>(condition.data) % alignof(std::int32_t) != 0) {
    refuse("is not aligned to 4 bytes");
  }
  return condition.as<const std::int32_t>();
}

void require_body(const Body& body, std::string_view name, const std::string& where) {
  if (!body) throw UsageError(fmt::format("{}: the function '{}' is empty", where, name));
}

}  // namespace

void while_loop(Stream& stream, const TensorView& condition, const Body& body,
                const LoopOptions& options) {
  ConditionalSpec spec{.kind = ConditionalSpec::Kind::loop,
                       .condition = nullptr,
                       .max_iterations = options.max_iterations,
                       .bodies = 1,
                       .label = options.label};
  const std::string where = describe(spec, stream.state());
  spec.condition = checked_scalar(condition, where);
  require_body(body, "body", where);
  if (options.max_iterations == 0) {
    throw UsageError(fmt::format("{}: max_iterations is 0; give at least 1", where));
  }
  const Body* const bodies[] = {&body};
  run(stream, spec, bodies);
}

void if_else(Stream& stream, const TensorView& condition, const Body& then, const Body& otherwise,
             const BranchOptions& options) {
  ConditionalSpec spec{.kind = ConditionalSpec::Kind::branch,
                       .condition = nullptr,
                       .max_iterations = 1,
                       .bodies = otherwise ? std::size_t{2} : std::size_t{1},
                       .label = options.label};
  const std::string where = describe(spec, stream.state());
  spec.condition = checked_scalar(condition, where);
  require_body(then, "then", where);
  const Body* const bodies[] = {&then, &otherwise};
  run(stream, spec, std::span(bodies).first(spec.bodies));
}

}  // namespace reprise
