// SPDX-License-Identifier: Apache-2.0
// A memory pool to look at.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <reprise/host.h>
#include <reprise/memory_pool.h>

#include "diag/support/fake_graph.h"
#include "diag/support/markup_reader.h"
#include "memory/support/host_upstream.h"

namespace reprise {
namespace {

using ::testing::Contains;
using testing::Element;
using ::testing::HasSubstr;
using testing::read_markup;

class MemoryPicture : public ::testing::Test {
 protected:
  std::shared_ptr<MemoryPool> make_pool(std::string name) {
    return MemoryPool::create(device_, {.name = std::move(name), .segment_bytes = 65536},
                              std::make_shared<testing::HostUpstream>());
  }
  const std::shared_ptr<Device> device_ = host::open({.threads = 1});
};

std::vector<std::string> texts(const std::vector<Element>& elements, std::string_view name) {
  std::vector<std::string> found;
  for (const Element& element : elements) {
    if (element.name == name) found.push_back(element.text);
  }
  return found;
}

std::size_t boxes(const std::vector<Element>& elements, std::string_view style) {
  return static_cast<std::size_t>(
      std::count_if(elements.begin(), elements.end(), [&](const Element& element) {
        const auto found = element.attributes.find("class");
        return element.name == "rect" && found != element.attributes.end() &&
               found->second == style;
      }));
}

TEST_F(MemoryPicture, ShowsBlocksByOwnerAndTheFigures) {
  const auto pool = make_pool("step");
  PoolBlock gone = pool->allocate(1000, "gone");
  const PoolBlock first = pool->allocate(3000, "q");
  const PoolBlock second = pool->allocate(3000, "q");
  const PoolBlock large = pool->allocate(20000, "activation");
  gone = PoolBlock();
  const auto elements = read_markup(memory_svg(*pool), false);
  EXPECT_EQ(boxes(elements, "owner0"), 1u + 1u);  // activation, and its entry in the legend
  EXPECT_EQ(boxes(elements, "owner1"), 2u + 1u);
  EXPECT_EQ(boxes(elements, "free"), 2u + 1u);
  const auto shown = texts(elements, "text");
  for (const char* text : {"activation", "q", "free", "2 blocks", "64.0 KiB", "fragmentation"}) {
    EXPECT_THAT(shown, Contains(text));
  }
  EXPECT_THAT(texts(elements, "title"), Contains(HasSubstr("q: 3.0 KiB at 0x")));
}

TEST_F(MemoryPicture, ABarsBlocksFillItWithoutOverlap) {
  const auto pool = make_pool("step");
  std::vector<PoolBlock> blocks;
  for (int i = 0; i < 50; ++i) blocks.push_back(pool->allocate(i == 0 ? 30000 : 512, "x"));
  double end = 24;
  for (const Element& element : read_markup(memory_svg(*pool), false)) {
    if (element.name != "rect" || element.attributes.at("height") != "40") continue;
    const double x = std::stod(element.attributes.at("x"));
    EXPECT_NEAR(x, end, 1.1);
    end = x + std::stod(element.attributes.at("width"));
    EXPECT_GE(end - x, 1.0);
  }
  EXPECT_NEAR(end, 24 + 912, 1.1);
}

TEST_F(MemoryPicture, ManyOwnersShareAColourBeyondTheTenth) {
  const auto pool = make_pool("step");
  std::vector<PoolBlock> blocks;
  for (int i = 0; i < 14; ++i) blocks.push_back(pool->allocate(512, "owner " + std::to_string(i)));
  const auto elements = read_markup(memory_svg(*pool), false);
  EXPECT_EQ(boxes(elements, "others"), 4u + 1u);
  EXPECT_THAT(texts(elements, "text"), Contains("4 other owners"));
}

TEST_F(MemoryPicture, AnEmptyPoolSaysSo) {
  const auto pool = make_pool("step");
  EXPECT_THAT(texts(read_markup(memory_svg(*pool), false), "text"),
              Contains("Nothing is reserved."));
  EXPECT_FALSE(read_markup(memory_html(*pool), true).empty());
}

TEST_F(MemoryPicture, ThePageListsEveryBlock) {
  const auto pool = make_pool("step");
  const PoolBlock block = pool->allocate(3000, "q");
  const auto elements = read_markup(memory_html(*pool), true);
  const auto cells = texts(elements, "td");
  for (const char* text : {"q", "in use", "free", "3000", "3072"}) {
    EXPECT_THAT(cells, Contains(text));
  }
  EXPECT_TRUE(texts(elements, "script").empty());
}

TEST_F(MemoryPicture, HostileLabelsAreText) {
  std::string name;
  for (const std::string& label : testing::hostile_labels()) name += label;
  const auto pool = make_pool(name);
  std::vector<PoolBlock> blocks;
  for (const std::string& label : testing::hostile_labels()) {
    blocks.push_back(pool->allocate(512, label));
  }
  const auto svg = read_markup(memory_svg(*pool), false);
  const auto html = read_markup(memory_html(*pool), true);
  EXPECT_TRUE(texts(svg, "script").empty());
  EXPECT_TRUE(texts(html, "script").empty());
  EXPECT_TRUE(texts(html, "img").empty());
  EXPECT_THAT(texts(html, "td"), Contains("</script><img src=x onerror=alert(1)>"));
}

}  // namespace
}  // namespace reprise
