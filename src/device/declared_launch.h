// SPDX-License-Identifier: Apache-2.0
// A launch's declaration (<reprise/launch_declaration.h>) as a recording keeps it: with its own
// copies of ranges and labels.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <reprise/launch_declaration.h>

namespace reprise {

struct KeptRange {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::string label;
};

struct DeclaredLaunch {
  bool programmatic = false;  ///< asked for
  bool supported = true;      ///< where not, a programmatic launch was made plainly
  bool waits = false;
  bool triggers_early = false;
  std::vector<KeptRange> prefetches;
  std::vector<KeptRange> writes;
};

DeclaredLaunch keep(const LaunchDeclaration& declaration);

}  // namespace reprise
