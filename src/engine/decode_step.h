// SPDX-License-Identifier: Apache-2.0
// The Llama decode step as a Step of libreprise: one token per row in, the next token per row out.
#pragma once

#include <map>
#include <memory>

#include <reprise/step.h>

#include "engine/kv_cache.h"
#include "kernels/ops.h"
#include "model/llama.h"

namespace reprise {

/// Makes the step. Plans for a number of rows are made on its first run outside a recording and
/// kept. The objects referred to must outlive the step.
///
/// Bindings: copied `tokens`, `positions`, `alive`, `temperatures`, `seeds` [rows] and
/// `block_tables` [rows, pages_per_sequence]; bound `kv_cache`; outputs `logits` [rows, vocabulary]
/// and `next` [rows]. A padding row is token 0 at position 0 of a sequence whose only page is the
/// sink page, not alive.
class DecodeStep {
 public:
  DecodeStep(const Llama& model, Ops& ops, KvCache& cache, int pages_per_sequence,
             PlanBudget budget);
  Step make();

 private:
  struct Plans {
    Forward forward;
    Head head;
  };
  const Plans& plans(int rows, StepPhase phase);
  void run(StepContext& context);

  const Llama& model_;
  Ops& ops_;
  KvCache& cache_;
  int pages_per_sequence_;
  PlanBudget budget_;
  std::map<int, std::unique_ptr<Plans>> plans_;
};

}  // namespace reprise
