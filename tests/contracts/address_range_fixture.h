// SPDX-License-Identifier: Apache-2.0
// What the suites of address ranges share. Offsets and sizes count in granules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <reprise/address_range.h>

#include "contracts/fixture.h"

namespace reprise::contract {

class AddressRangeTest : public RecordingTest {
 protected:
  /// Of `granules` times the granularity.
  AddressRange reserve(std::size_t granules, std::string_view label = "kv") {
    return device_->reserve(granules * granule_, label);
  }
  float* at(const AddressRange& range, std::size_t granule) const {
    return reinterpret_cast<float*>(static_cast<std::byte*>(range.data()) + granule * granule_);
  }
  MemoryView floats_of(const AddressRange& range, std::size_t granule) const {
    return range.view(granule * granule_, kCount * sizeof(float));
  }
  void write(const AddressRange& range, std::size_t granule, float value) {
    const std::vector<float> values(kCount, value);
    main_.copy(floats_of(range, granule), pageable(std::span(values)));
  }
  /// The first kCount floats, after checking that all are the same.
  float read(const AddressRange& range, std::size_t granule) {
    std::vector<float> values(kCount);
    main_.copy(pageable(std::span(values)), floats_of(range, granule));
    for (const float value : values) EXPECT_EQ(value, values.front());
    return values.front();
  }
  void map(AddressRange& range, std::size_t first, std::size_t count) {
    range.map(first * granule_, count * granule_);
  }
  void unmap(AddressRange& range, std::size_t first, std::size_t count) {
    range.unmap(first * granule_, count * granule_);
  }
  /// A graph that adds 1 to the granule whose number lies in `index`.
  GraphExec adder(const AddressRange& range, const Buffer& index) {
    return capture(main_,
                   [&] {
                     kit_->add_at(main_, at(range, 0),
                                  static_cast<const std::uint32_t*>(index.data()),
                                  granule_ / sizeof(float), kCount, 1);
                   })
        .instantiate();
  }
  void set(Buffer& index, std::uint32_t value) {
    index.from_host(main_, std::as_bytes(std::span(&value, 1)));
  }

  /// Maps all of it once: the first time may cost the device tables of its own.
  void map_once(AddressRange& range) {
    range.map(0, range.bytes());
    range.unmap(0, range.bytes());
  }

  const std::size_t granule_ = device_->reserve(1, "probe").granularity();
  Buffer index_ = device_->allocate(sizeof(std::uint32_t), "index");
};

}  // namespace reprise::contract
