// SPDX-License-Identifier: Apache-2.0
// Views of memory: where it lies, how long it is, and what shape it has. Views own nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <reprise/dtype.h>
#include <reprise/shape.h>

namespace reprise {

/// Who can reach a piece of memory, and how a copy of it behaves.
enum class MemorySpace : std::uint8_t {
  device,    ///< the device's own memory; the host reads it only through Buffer::to_host
  pinned,    ///< host memory that the device copies from and to asynchronously
  pageable,  ///< any other host memory; copies of it block, and none may stand in a recording
};

/// A stretch of bytes.
struct MemoryView {
  void* data = nullptr;
  std::size_t bytes = 0;
  MemorySpace space = MemorySpace::device;
};

/// Ordinary host memory as the source of a copy. The copy functions never write to a source.
template <class T>
MemoryView pageable(std::span<const T> values) {
  return {const_cast<void*>(static_cast<const void*>(values.data())), values.size_bytes(),
          MemorySpace::pageable};
}
template <class T>
MemoryView pageable(std::span<T> values) {
  return {static_cast<void*>(values.data()), values.size_bytes(), MemorySpace::pageable};
}

/// A dense or strided array. `strides` counts elements; rank 0 means contiguous, row-major.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;
  MemorySpace space = MemorySpace::device;
  Shape strides = {};
  /// Stamp of the allocation behind `data` (Buffer::generation); 0 where the owner has none. Two
  /// allocations at one address differ in it, so that a moved buffer is noticed (DESIGN §5).
  std::uint64_t generation = 0;

  std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(shape.elements()) * size_of(dtype);
  }
  bool contiguous() const noexcept {
    if (strides.rank() == 0) return true;
    std::int64_t expected = 1;
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
      if (shape[axis] != 1 && strides[axis] != expected) return false;
      expected *= shape[axis];
    }
    return true;
  }
  /// The elements as a C++ array. The caller vouches for the type and for the memory space.
  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data);
  }
};

/// Host values as a tensor of rank 1, for use as a copied input.
template <class T>
TensorView host_tensor(std::span<const T> values) {
  return {.data = const_cast<T*>(values.data()),
          .dtype = DTypeOf<T>::value,
          .shape = Shape{static_cast<std::int64_t>(values.size())},
          .space = MemorySpace::pageable};
}

}  // namespace reprise
