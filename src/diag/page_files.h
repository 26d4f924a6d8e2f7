// SPDX-License-Identifier: Apache-2.0
// Style sheets and scripts of pictures and pages: the files of diag/page/, embedded by CMake. None
// of them refers to anything outside of the document it stands in.
#pragma once

#include <string_view>

namespace reprise::page {

extern const std::string_view kGraphJs;     ///< the page of a graph: folding, search, details
extern const std::string_view kLanesJs;     ///< where its nodes and edges lie
extern const std::string_view kPageCss;     ///< pages
extern const std::string_view kPictureCss;  ///< pictures, also those that stand in a page

}  // namespace reprise::page
