// SPDX-License-Identifier: Apache-2.0
// What this build is. The definitions are written by the build (cmake/build_info.cmake).
#pragma once

#include <string_view>

namespace reprise {

/// The project's version, such as "0.1.0".
std::string_view build_version();

/// The commit this was built from, 12 hexadecimal digits, "-dirty" added where the tree had
/// changes; "unknown" where it was not built from a git checkout.
std::string_view build_commit();

}  // namespace reprise
