# Where external libraries are looked up; scripts/packages.txt says which Debian package brings which.

# What the libraries themselves need. Installed with the package, so that find_package(muster) finds the same.
include(MusterExternal)

if(MUSTER_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()

if(MUSTER_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
