// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <reprise/control_flow.h>
#include <reprise/graph.h>
#include <reprise/host.h>

#include "guide.h"

namespace {

struct Numbers {
  std::int32_t going_on;
  std::int32_t odd;
  std::int32_t value;
  std::int32_t steps;
};

}  // namespace

bool guide::loops_and_branches() {
  const auto device = reprise::Device::open("host");
  reprise::Stream stream = device->create_stream("main");
  const reprise::Buffer memory = device->allocate(sizeof(Numbers), "numbers");
  auto* const numbers = static_cast<Numbers*>(memory.data());
  *numbers = {.going_on = 0, .odd = 0, .value = 27, .steps = 0};
  const auto flag = [&](std::int32_t& number) {
    return reprise::TensorView{.data = &number, .dtype = reprise::DType::i32, .shape = {1}};
  };
  // [loop]
  const reprise::Graph graph = reprise::capture(stream, [&] {
    reprise::host::enqueue(stream, "begin", [=] { numbers->going_on = numbers->value != 1; });
    reprise::while_loop(stream, flag(numbers->going_on),
                        [&] {  // called once, now; what it enqueues runs until `going_on` is 0
                          reprise::host::enqueue(stream, "step", [=] {
                            std::int32_t& value = numbers->value;
                            value = value % 2 == 0 ? value / 2 : 3 * value + 1;
                            numbers->going_on = value != 1;
                            ++numbers->steps;
                          });
                        },
                        {.max_iterations = 1000, .label = "until one"});
  });
  reprise::GraphExec exec = graph.instantiate();
  exec.launch(stream);  // one launch, 111 steps
  // [/loop]
  stream.synchronize();
  const bool looped = numbers->steps == 111 && numbers->value == 1 && numbers->going_on == 0;
  // [branch]
  reprise::GraphExec choice =
      reprise::capture(stream, [&] {
        reprise::if_else(
            stream, flag(numbers->odd),
            [&] { reprise::host::enqueue(stream, "up", [=] { numbers->value += 1; }); },
            [&] { reprise::host::enqueue(stream, "halve", [=] { numbers->value /= 2; }); });
      }).instantiate();
  // [/branch]
  numbers->value = 8;
  choice.launch(stream);
  stream.synchronize();
  const bool halved = numbers->value == 4;
  numbers->odd = 1;
  choice.launch(stream);
  stream.synchronize();
  // [eager]
  numbers->going_on = 1;
  reprise::while_loop(stream, flag(numbers->going_on), [&] {
    reprise::host::enqueue(stream, "once", [=] { numbers->going_on = 0; });
  });  // has run
  // [/eager]
  const bool ran = numbers->going_on == 0;
  // [nodes]
  const reprise::GraphNode loop = graph.nodes().at(1);
  const bool told = loop.kind == "conditional" && loop.function == "while" &&
                    loop.bodies.at(0).at(0).label == "step";
  // [/nodes]
  return looped && halved && numbers->value == 5 && ran && told;
}
