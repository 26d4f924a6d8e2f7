// SPDX-License-Identifier: Apache-2.0
#include "model/safetensors.h"

#include <cstring>

#include <gtest/gtest.h>

#include <reprise/error.h>

#include "model/support/tiny_model.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using test::read_bytes;
using test::safetensors_bytes;
using test::TempFolder;
using test::write_bytes;

template <class T>
HostTensor tensor_of(const std::string& name, Shape shape, const std::vector<T>& values) {
  auto owner = std::make_shared<std::vector<T>>(values);
  return {name, DTypeOf<T>::value, shape, owner->data(), owner};
}

TEST(Safetensors, RoundTrip) {
  const TempFolder folder;
  const fs::path path = folder.path() / "t.safetensors";
  const HostTensor bytes = tensor_of<std::uint8_t>("odd", Shape{3}, {1, 2, 3});
  const HostTensor floats = tensor_of<float>("größe \"x\"", Shape{2, 2}, {1, 2, 3, 4});
  const HostTensor empty = tensor_of<std::int64_t>("empty", Shape{0, 5}, {});
  const HostTensor scalar = tensor_of<std::int32_t>("scalar", Shape{}, {-7});
  write_safetensors(path, std::vector{bytes, floats, empty, scalar});

  const SafetensorsFile file(path);
  ASSERT_EQ(file.entries().size(), 4u);
  for (const HostTensor& wrote : {bytes, floats, empty, scalar}) {
    const TensorEntry* entry = file.find(wrote.name);
    ASSERT_NE(entry, nullptr) << wrote.name;
    const HostTensor got = file.tensor(*entry);
    EXPECT_TRUE(got);
    EXPECT_EQ(got.shape, wrote.shape);
    EXPECT_EQ(got.dtype, wrote.dtype);
    EXPECT_TRUE(wrote.bytes() == 0 || std::memcmp(got.data, wrote.data, wrote.bytes()) == 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(got.data) % size_of(got.dtype), 0u);
  }
  EXPECT_EQ(file.find("none"), nullptr);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& each : fs::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 1u) << "no temporary file stays";
}

TEST(Safetensors, TensorOutlivesItsFile) {
  const TempFolder folder;
  const fs::path path = folder.path() / "t.safetensors";
  write_safetensors(path, std::vector{tensor_of<float>("a", Shape{2}, {5, 6})});
  HostTensor got;
  {
    const SafetensorsFile file(path);
    got = file.tensor(*file.find("a"));
  }
  fs::remove(path);
  EXPECT_EQ(static_cast<const float*>(got.data)[1], 6.0f);
}

TEST(Safetensors, UnalignedDataIsCopiedToAnAlignedPlace) {
  const TempFolder folder;
  const fs::path path = folder.path() / "t.safetensors";
  const float value = 1.5f;
  std::string data(sizeof value, '\0');
  std::memcpy(data.data(), &value, sizeof value);
  std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  while (header.size() % 8 != 1) header += ' ';
  write_bytes(path, safetensors_bytes(header, data));
  const SafetensorsFile file(path);
  const HostTensor got = file.tensor(*file.find("a"));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(got.data) % 4, 0u);
  EXPECT_EQ(*static_cast<const float*>(got.data), 1.5f);
}

TEST(Safetensors, TypesWeDoNotUseAreListedButNotGiven) {
  const TempFolder folder;
  const fs::path path = folder.path() / "t.safetensors";
  write_bytes(path,
              safetensors_bytes(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F64","shape":[1],)"
                                R"("data_offsets":[0,8]},"b":{"dtype":"BOOL","shape":[2],)"
                                R"("data_offsets":[8,10]}})",
                                std::string(10, '\0')));
  const SafetensorsFile file(path);
  ASSERT_NE(file.find("a"), nullptr);
  EXPECT_FALSE(file.find("a")->dtype);
  EXPECT_THROW(file.tensor(*file.find("a")), ModelError);
  EXPECT_EQ(file.find("__metadata__"), nullptr);
}

std::string write_fault(const fs::path& path) {
  try {
    write_safetensors(path, std::vector{tensor_of<float>("a", Shape{2}, {5, 6})});
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

TEST(SafetensorsWriter, RefusalsNameThePath) {
  const TempFolder folder;
  const fs::path missing = folder.path() / "none" / "t.safetensors";
  EXPECT_EQ(write_fault(missing),
            missing.string() + ": cannot be written: No such file or directory");
  EXPECT_EQ(write_fault("/dev/full"), "/dev/full: cannot be written: No space left on device");
  EXPECT_NE(write_fault(folder.path()).find(folder.path().string()), std::string::npos);
}

TEST(SafetensorsWriter, ReplacesWholeOrNotAtAll) {
  const TempFolder folder;
  const fs::path path = folder.path() / "t.safetensors";
  write_bytes(path, "old");
  fs::create_symlink(path, folder.path() / "link");
  HostTensor bad = tensor_of<float>("b", Shape{2}, {1, 2});
  bad.data = nullptr;
  EXPECT_THROW(write_safetensors(path, std::vector{bad}), UsageError);
  EXPECT_EQ(read_bytes(path), "old");
  EXPECT_EQ(write_fault(folder.path() / "link"), "(no error)");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link")) << "the link's target is replaced";
  EXPECT_NE(SafetensorsFile(path).find("a"), nullptr);
}

TEST(SafetensorsWriter, RefusesTwoTensorsOfOneName) {
  const TempFolder folder;
  const HostTensor one = tensor_of<float>("a", Shape{1}, {1});
  EXPECT_THROW(write_safetensors(folder.path() / "t", std::vector{one, one}), UsageError);
}

}  // namespace
}  // namespace reprise
