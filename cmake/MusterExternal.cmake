# The external libraries that muster's own libraries link. Used by the build and by the installed package.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tl-expected REQUIRED)
find_package(CLI11 REQUIRED)
find_package(hwy REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(yaml-cpp REQUIRED)

find_package(PkgConfig REQUIRED)
pkg_check_modules(libzmq REQUIRED IMPORTED_TARGET libzmq)
pkg_check_modules(hiredis REQUIRED IMPORTED_TARGET hiredis)
# It defines _FILE_OFFSET_BITS, which means nothing on 64-bit systems and would forbid the shared precompiled header.
set_target_properties(PkgConfig::hiredis PROPERTIES INTERFACE_COMPILE_OPTIONS "")
# It names the folders of all that it was built with, which its header does not need, and CMake takes some of them for
# folders at first and for options later: everything would be compiled again.
set_target_properties(PkgConfig::libzmq PROPERTIES INTERFACE_COMPILE_OPTIONS "" INTERFACE_INCLUDE_DIRECTORIES
                                                                                 "${libzmq_INCLUDEDIR}")
pkg_check_modules(libsodium REQUIRED IMPORTED_TARGET libsodium)

# Matrix products and factorizations: OpenBLAS has the whole of LAPACK, and sets its number of threads at run time.
pkg_check_modules(openblas REQUIRED IMPORTED_TARGET openblas)
pkg_check_modules(sleef REQUIRED IMPORTED_TARGET sleef)

# Spill files: checksums, and compression where it is asked for.
pkg_check_modules(liblz4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(libxxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(libzstd REQUIRED IMPORTED_TARGET libzstd)
