# Where external libraries are looked up; scripts/packages.txt says which Debian package brings which.

# What the libraries themselves need. Installed with the package, so that find_package(muster) finds the same.
include(MusterExternal)

# Boost.Beast, which is only headers and is not in ours.
find_package(Boost 1.81 REQUIRED)

# Only the module of the ucx driver links it, so programs that use the libraries do not need it.
set(MUSTER_UCX OFF)
if(MUSTER_WITH_UCX)
  pkg_check_modules(ucx IMPORTED_TARGET "ucx>=1.12")
  set(MUSTER_UCX "${ucx_FOUND}")
  if(NOT ucx_FOUND AND NOT MUSTER_WITH_UCX STREQUAL "AUTO")
    message(FATAL_ERROR "MUSTER_WITH_UCX is ${MUSTER_WITH_UCX}, but there is no libucx: install libucx-dev")
  endif()
endif()

if(MUSTER_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()

if(MUSTER_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
