# SPDX-License-Identifier: Apache-2.0
# cmake -DGIT= -DSOURCE_DIR= -DVERSION= -DOUT= -P: writes core/build_info.h's definitions to OUT.
set(commit "unknown")
if(GIT AND EXISTS ${SOURCE_DIR}/.git)
  execute_process(
    COMMAND ${GIT} describe --always --dirty --abbrev=12 --exclude=*
    WORKING_DIRECTORY ${SOURCE_DIR}
    RESULT_VARIABLE failed
    OUTPUT_VARIABLE described
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed AND described)
    set(commit ${described})
  endif()
endif()
set(text
    "// Written by cmake/write_build_info.cmake.
#include \"core/build_info.h\"

namespace reprise {
std::string_view build_version() { return \"${VERSION}\"; }
std::string_view build_commit() { return \"${commit}\"; }
}  // namespace reprise
")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUT} "${text}")
endif()
