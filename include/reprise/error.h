// SPDX-License-Identifier: Apache-2.0
// What Reprise throws. Three tiers: a caller's mistake and a device's failure are
// exceptions of the types below; an expected outcome (no block free, no bucket fits) is a return
// value; destructors never throw.
//
// Constructors are written out, not inherited: nvcc 13.0 fails on inherited ones whose default is
// std::source_location::current(), and a .cu file must be able to include this.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace reprise {

// Constructors are written out, not inherited: nvcc 13.0 crashes on inherited ones with a
// source_location as default argument.

/// Root of every exception the library throws. `what()` is one line that names the culprit and says
/// what to do; `where()` is the line of the library (or of the caller, where it passed one) that
/// found the fault.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message,
                 std::source_location where = std::source_location::current())
      : std::runtime_error(message), where_(where) {}
  const std::source_location& where() const noexcept { return where_; }

 private:
  std::source_location where_;
};

/// The caller broke a documented rule: a wrong shape, a second capture without reset, a value out
/// of range. Nothing was changed; the objects involved stay usable.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message,
                      std::source_location where = std::source_location::current())
      : Error(message, where) {}
};

/// A file of a model folder is missing, malformed or contradicts another one.
class ModelError : public Error {
 public:
  explicit ModelError(const std::string& message,
                      std::source_location where = std::source_location::current())
      : Error(message, where) {}
};

/// The device or its driver failed. `code` is the driver's number (0 where there is none).
class DeviceError : public Error {
 public:
  explicit DeviceError(const std::string& message, int code = 0,
                       std::source_location where = std::source_location::current())
      : Error(message, where), code_(code) {}
  int code() const noexcept { return code_; }

 private:
  int code_;
};

/// The device has not enough free memory for a request. The request changed nothing.
class OutOfMemory : public DeviceError {
 public:
  explicit OutOfMemory(const std::string& message, int code = 0,
                       std::source_location where = std::source_location::current())
      : DeviceError(message, code, where) {}
};

/// What went wrong in a recording (DESIGN §4). The numbers in brackets are CUDA's.
enum class CaptureFault {
  refused,      ///< a call that may not stand inside a recording, refused at the call (900, 906),
                ///< or the destruction of one of its streams
  invalidated,  ///< something outside this library ended the recording (901); it may be made again
  merged,       ///< a stream of another recording was waited for (902)
  unmatched,    ///< ended on a stream that is not its origin (903)
  unjoined,     ///< a stream joined the recording and was not joined back (904)
  isolated,     ///< waits for an event that was not recorded inside this recording (905)
  captured_event,  ///< an event that lives only in a recording was queried or awaited (907)
  wrong_thread,    ///< work from a thread other than the one that records (908)
  empty,           ///< the recording holds no work
  nested,          ///< the stream, or this thread on this device, is already recording
};

/// A fault inside a recording. The recording was ended and discarded; its streams are usable.
class CaptureError : public UsageError {
 public:
  CaptureError(CaptureFault fault, const std::string& message,
               std::source_location where = std::source_location::current())
      : UsageError(message, where), fault_(fault) {}
  CaptureFault fault() const noexcept { return fault_; }

 private:
  CaptureFault fault_;
};

}  // namespace reprise
