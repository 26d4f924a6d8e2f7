// SPDX-License-Identifier: Apache-2.0
// What most files of the libraries include, compiled once, which saves a fifth of a build. A file must
// still include what it uses; the header checks compile without this.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
