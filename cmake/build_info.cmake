# SPDX-License-Identifier: Apache-2.0
# core/build_info.h's facts: version and commit. The commit is asked for at every build, and the file is
# rewritten only when it has changed, so that nothing is compiled again for nothing.
set(REPRISE_BUILD_INFO ${CMAKE_BINARY_DIR}/generated/build_info.cpp)
find_package(Git QUIET)
add_custom_target(
  reprise_build_info
  COMMAND ${CMAKE_COMMAND} -DGIT=${GIT_EXECUTABLE} -DSOURCE_DIR=${PROJECT_SOURCE_DIR}
          -DVERSION=${PROJECT_VERSION} -DOUT=${REPRISE_BUILD_INFO} -P
          ${PROJECT_SOURCE_DIR}/cmake/write_build_info.cmake
  BYPRODUCTS ${REPRISE_BUILD_INFO}
  COMMENT "Reading the commit"
  VERBATIM)
