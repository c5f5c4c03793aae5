# cmake --install, and the package that find_package(muster) finds. muster::muster stands for all modules.

include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY MUSTER_MODULES)
add_library(muster INTERFACE)
add_library(muster::muster ALIAS muster)
list(TRANSFORM modules PREPEND "muster_" OUTPUT_VARIABLE libraries)
target_link_libraries(muster INTERFACE ${libraries})

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/muster")
install(TARGETS muster EXPORT muster-targets COMPONENT development)
install(EXPORT muster-targets NAMESPACE muster:: DESTINATION "${package_dir}" COMPONENT development)
install(
  DIRECTORY "${PROJECT_BINARY_DIR}/generated/muster"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT development
  FILES_MATCHING
  PATTERN "*.h")
install(FILES "${PROJECT_SOURCE_DIR}/src/muster/muster.h" "${PROJECT_SOURCE_DIR}/src/muster/tensor.h"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/muster" COMPONENT development)

configure_package_config_file(cmake/muster-config.cmake.in muster-config.cmake INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(muster-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/muster-config.cmake" "${PROJECT_BINARY_DIR}/muster-config-version.cmake"
              cmake/MusterExternal.cmake DESTINATION "${package_dir}" COMPONENT development)
install(FILES LICENSE NOTICE DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT development)

muster_write_modules_json()
