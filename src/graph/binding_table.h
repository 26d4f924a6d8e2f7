// SPDX-License-Identifier: Apache-2.0
// The bindings of a step as they lie on the device: one slab for all copied inputs, one buffer for
// all outputs, sized for the most rows; the caller's tensors for bound and state bindings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <reprise/step.h>

namespace reprise {

class BindingTable {
 public:
  struct Entry {
    Binding binding;
    std::size_t offset = 0;     ///< in the slab (copied) or the outputs' buffer (output)
    std::size_t row_bytes = 0;  ///< of one row; of the whole where it is not per row
    TensorView bound;           ///< bound and state: the caller's tensor; data null until given
    bool moved = false;         ///< it is said to lie elsewhere: nothing may touch `bound` any more
    std::vector<std::byte> pad_row;  ///< one padding row's bytes
    std::vector<std::uint8_t> seen;  ///< by variant: whether it sees this binding

    std::size_t bytes(int rows) const noexcept {
      return binding.per_row ? row_bytes * static_cast<std::size_t>(rows) : row_bytes;
    }
    bool seen_by(int variant) const noexcept {
      return seen[static_cast<std::size_t>(variant)] != 0;
    }
    bool is_bound_kind() const noexcept {
      return binding.kind == BindingKind::bound || binding.kind == BindingKind::state;
    }
    Shape shape(int rows) const {
      return binding.per_row ? binding.row.with_rows(rows) : binding.row;
    }
  };

  /// `variants`: the names of the step's variants, at least one ("" for a step without). Throws
  /// UsageError for an empty or doubled name, or a pad or flag that does not fit the kind.
  BindingTable(Device& device, const Step& step, int max_rows,
               std::span<const std::string> variants);

  std::size_t size() const noexcept { return entries_.size(); }
  const Entry& operator[](std::size_t index) const noexcept { return entries_[index]; }
  /// Throws UsageError that lists the names there are.
  Slot slot(std::string_view name) const;
  /// Throws UsageError for a slot of another table.
  const Entry& entry(Slot slot) const;

  /// Checks dtype, shape and stride of a tensor for a bound or state binding.
  void check_bind(Slot slot, const TensorView& tensor) const;
  /// The same, and remembers it.
  void bind(Slot slot, const TensorView& tensor);
  void unbind_all() noexcept;
  /// Until the next bind().
  void note_moved(Slot slot);

  /// The device tensor that the step sees.
  TensorView tensor(std::size_t index, int rows) const;
  /// The row count's place, null where the step has none.
  TensorView row_count() const;
  const std::string& row_count_name() const noexcept { return row_count_; }

  Buffer& slab() noexcept { return slab_; }
  /// Where in the slab the inputs begin that the step overwrites; they lie behind all others.
  std::size_t device_owned() const noexcept { return device_owned_; }
  const Buffer& outputs() const noexcept { return outputs_; }
  int max_rows() const noexcept { return max_rows_; }

 private:
  void add(const Binding& binding, std::span<const std::string> variants);
  void lay_out(Device& device, const std::string& step_name);

  int max_rows_;
  std::string row_count_;
  std::vector<Entry> entries_;
  std::size_t device_owned_ = 0;
  Buffer slab_;
  Buffer outputs_;
};

/// "f32 [4, 8]": how messages name a tensor's type.
std::string describe(const TensorView& tensor);

}  // namespace reprise
