# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays down, for projects that want libreprise:
#   find_package(reprise CONFIG) and reprise::reprise     lib/cmake/reprise/
#   pkg-config --static reprise                           lib/pkgconfig/reprise.pc
#   the archive, the public headers, the licence          component "library"
#   the program                                           component "program"
# Nothing of it names this tree or the prefix, so an installed copy may be moved.
include(CMakePackageConfigHelpers)
set(REPRISE_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/reprise)

install(TARGETS reprise_runtime EXPORT reprise ARCHIVE COMPONENT library)
# <reprise/cuda.h> promises functions that only a build with CUDA has.
set(omitted "")
if(NOT REPRISE_HAVE_CUDA)
  set(omitted PATTERN cuda.h EXCLUDE)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/reprise DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT library FILES_MATCHING PATTERN *.h ${omitted})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)
install(EXPORT reprise NAMESPACE reprise:: FILE reprise-targets.cmake
        DESTINATION ${REPRISE_CMAKE_DIR} COMPONENT library)

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/reprise-config.cmake.in ${CMAKE_BINARY_DIR}/generated/reprise-config.cmake
  INSTALL_DESTINATION ${REPRISE_CMAKE_DIR} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the contract.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/reprise-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/reprise-config.cmake
              ${CMAKE_BINARY_DIR}/generated/reprise-config-version.cmake
        DESTINATION ${REPRISE_CMAKE_DIR} COMPONENT library)

# pkg-config finds the prefix from where reprise.pc lies.
file(RELATIVE_PATH REPRISE_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" REPRISE_PC_PREFIX ${REPRISE_PC_PREFIX})
set(REPRISE_PC_CUDA "")
if(REPRISE_HAVE_CUDA)
  # The toolkit's own place: it was there before us and stays where it is.
  cmake_path(GET CUDA_cudart_static_LIBRARY PARENT_PATH directory)
  set(REPRISE_PC_CUDA " -L${directory} -lcudart_static -ldl -lrt")
endif()
math(EXPR REPRISE_FMT_NEXT "${fmt_VERSION_MAJOR} + 1")
configure_file(${CMAKE_CURRENT_LIST_DIR}/reprise.pc.in ${CMAKE_BINARY_DIR}/generated/reprise.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/generated/reprise.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT library)

# CUDA's shared libraries are looked for where they were when the program was linked.
set_target_properties(reprise PROPERTIES INSTALL_RPATH_USE_LINK_PATH ${REPRISE_HAVE_CUDA})
install(TARGETS reprise RUNTIME COMPONENT program)
