// SPDX-License-Identifier: Apache-2.0
#include "graph/binding_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "core/half.h"

namespace reprise {
namespace {

constexpr std::size_t kAlignment = 256;  // of every binding, as driver allocations have it

constexpr std::size_t align_up(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

template <class T>
std::vector<std::byte> repeat(T value, std::size_t count) {
  std::vector<std::byte> bytes(sizeof(T) * count);
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  return bytes;
}

std::vector<std::byte> pad_row(const Binding& binding) {
  const auto count = static_cast<std::size_t>(binding.row.elements());
  switch (binding.dtype) {
    case DType::f32:
      return repeat(static_cast<float>(binding.pad), count);
    case DType::f16:
      return repeat(f16_from_float(static_cast<float>(binding.pad)), count);
    case DType::bf16:
      return repeat(bf16_from_float(static_cast<float>(binding.pad)), count);
    case DType::i32:
      return repeat(static_cast<std::int32_t>(binding.pad), count);
    case DType::i64:
      return repeat(static_cast<std::int64_t>(binding.pad), count);
    case DType::u8:
      return repeat(static_cast<std::uint8_t>(binding.pad), count);
  }
  return {};
}

bool is_integer(DType type) {
  return type == DType::i32 || type == DType::i64 || type == DType::u8;
}

void check(const Binding& binding) {
  if (binding.name.empty()) throw UsageError("a binding of the step has no name");
  if (binding.kind != BindingKind::copied && (binding.pad != 0 || binding.written_by_step)) {
    throw UsageError(fmt::format(
        "binding '{}': pad and written_by_step belong to copied inputs only", binding.name));
  }
  const double limit = binding.dtype == DType::u8 ? 255.0 : 2147483647.0;
  if (is_integer(binding.dtype) &&
      (binding.pad != std::trunc(binding.pad) || std::fabs(binding.pad) > limit ||
       (binding.dtype == DType::u8 && binding.pad < 0))) {
    throw UsageError(fmt::format("binding '{}': pad value {} does not fit {}", binding.name,
                                 binding.pad, to_string(binding.dtype)));
  }
}

// So that no later product of extents, rows and element size overflows.
void check_size(const Binding& binding, int max_rows) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  std::int64_t room = kMost / (binding.per_row ? max_rows : 1);
  for (const std::int64_t extent : binding.row.extents()) {
    if (extent > room) {
      throw UsageError(fmt::format("binding '{}' of shape {} and {} rows is beyond any device",
                                   binding.name, to_string(binding.row), max_rows));
    }
    room /= std::max<std::int64_t>(extent, 1);
  }
}

}  // namespace

std::string describe(const TensorView& tensor) {
  return fmt::format("{} {}", to_string(tensor.dtype), to_string(tensor.shape));
}

BindingTable::BindingTable(Device& device, const Step& step, int max_rows,
                           std::span<const std::string> variants)
    : max_rows_(max_rows), row_count_(step.row_count) {
  if (!step.run) throw UsageError(fmt::format("step '{}' has no function to run", step.name));
  if (max_rows < 1) {
    throw UsageError(fmt::format("step '{}' needs at least 1 row, got {}", step.name, max_rows));
  }
  for (const Binding& binding : step.bindings) add(binding, variants);
  lay_out(device, step.name);
}

void BindingTable::add(const Binding& binding, std::span<const std::string> variants) {
  check(binding);
  const auto same = [&](const Entry& entry) { return entry.binding.name == binding.name; };
  if (binding.name == row_count_ || std::any_of(entries_.begin(), entries_.end(), same)) {
    throw UsageError(fmt::format("two bindings of the step are named '{}'", binding.name));
  }
  check_size(binding, max_rows_);
  Entry entry;
  entry.binding = binding;
  entry.row_bytes = static_cast<std::size_t>(binding.row.elements()) * size_of(binding.dtype);
  (void)entry.shape(
      max_rows_);  // throws now, not on the hot path, if the rank has no room for rows
  if (binding.kind == BindingKind::copied) entry.pad_row = pad_row(binding);
  for (const std::string& variant : variants) {
    const auto& names = binding.variants;
    const bool sees =
        names.empty() || std::find(names.begin(), names.end(), variant) != names.end();
    entry.seen.push_back(sees ? 1 : 0);
  }
  entries_.push_back(std::move(entry));
}

// Narrow inputs first: what changes on every step (tokens, positions) is narrow and then lies close
// together, so that the one copy per replay is short; wide ones (block tables) change rarely.
// Inputs that the step overwrites come last, where no copy of other inputs can span them.
void BindingTable::lay_out(Device& device, const std::string& step_name) {
  std::vector<std::size_t> order(entries_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Entry& left = entries_[a];
    const Entry& right = entries_[b];
    if (left.binding.written_by_step != right.binding.written_by_step) {
      return right.binding.written_by_step;
    }
    return left.bytes(max_rows_) < right.bytes(max_rows_);
  });
  std::size_t slab = row_count_.empty() ? 0 : kAlignment;  // the row count lies at offset 0
  std::size_t outputs = 0;
  device_owned_ = std::numeric_limits<std::size_t>::max();
  for (std::size_t index : order) {
    Entry& entry = entries_[index];
    if (entry.binding.kind == BindingKind::copied) {
      if (entry.binding.written_by_step) device_owned_ = std::min(device_owned_, slab);
      entry.offset = slab;
      slab += align_up(entry.bytes(max_rows_));
    } else if (entry.binding.kind == BindingKind::output) {
      entry.offset = outputs;
      outputs += align_up(entry.bytes(max_rows_));
    }
  }
  slab_ = device.allocate(slab, step_name + ": inputs");
  outputs_ = device.allocate(outputs, step_name + ": outputs");
}

Slot BindingTable::slot(std::string_view name) const {
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    if (entries_[index].binding.name == name) return Slot{static_cast<int>(index)};
  }
  std::string names;
  for (const Entry& entry : entries_) {
    if (!names.empty()) names += ", ";
    names += entry.binding.name;
  }
  throw UsageError(fmt::format("the step has no binding '{}'; it has: {}", name, names));
}

const BindingTable::Entry& BindingTable::entry(Slot slot) const {
  if (slot.index < 0 || static_cast<std::size_t>(slot.index) >= entries_.size()) {
    throw UsageError(
        fmt::format("slot {} is not one of this step's {} bindings; take it from slot()",
                    slot.index, entries_.size()));
  }
  return entries_[static_cast<std::size_t>(slot.index)];
}

void BindingTable::check_bind(Slot slot, const TensorView& tensor) const {
  const Binding& binding = entry(slot).binding;
  if (binding.kind != BindingKind::bound && binding.kind != BindingKind::state) {
    throw UsageError(fmt::format("'{}' is not a bound or state binding", binding.name));
  }
  const Shape expected = entry(slot).shape(max_rows_);
  if (tensor.data == nullptr)
    throw UsageError(fmt::format("'{}' is bound to no memory", binding.name));
  if (tensor.space != MemorySpace::device) {
    throw UsageError(fmt::format("'{}' must lie in device memory to be bound", binding.name));
  }
  if (tensor.dtype != binding.dtype || tensor.shape != expected) {
    throw UsageError(fmt::format("'{}' must be {} {}, got {}", binding.name,
                                 to_string(binding.dtype), to_string(expected), describe(tensor)));
  }
  if (!tensor.contiguous()) {
    throw UsageError(
        fmt::format("'{}' must be contiguous to be bound; copy it first", binding.name));
  }
}

void BindingTable::bind(Slot slot, const TensorView& tensor) {
  check_bind(slot, tensor);
  Entry& entry = entries_[static_cast<std::size_t>(slot.index)];
  entry.bound = tensor;
  entry.moved = false;
}

void BindingTable::unbind_all() noexcept {
  for (Entry& entry : entries_) {
    entry.bound = TensorView{};
    entry.moved = false;
  }
}

void BindingTable::note_moved(Slot slot) {
  (void)entry(slot);  // throws where there is none
  entries_[static_cast<std::size_t>(slot.index)].moved = true;
}

TensorView BindingTable::tensor(std::size_t index, int rows) const {
  const Entry& entry = entries_[index];
  const BindingKind kind = entry.binding.kind;
  if (entry.is_bound_kind()) {
    if (entry.bound.data == nullptr) {
      throw UsageError(
          fmt::format("'{}' was not bound; bind it before recording", entry.binding.name));
    }
    return entry.bound;
  }
  const Buffer& buffer = kind == BindingKind::output ? outputs_ : slab_;
  return {.data = static_cast<std::byte*>(buffer.data()) + entry.offset,
          .dtype = entry.binding.dtype,
          .shape = entry.shape(rows),
          .generation = buffer.generation()};
}

TensorView BindingTable::row_count() const {
  if (row_count_.empty()) return {};
  return {.data = slab_.data(),
          .dtype = DType::i32,
          .shape = Shape{},
          .generation = slab_.generation()};
}

}  // namespace reprise
