# The external libraries that muster's own libraries link. Used by the build and by the installed package.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tl-expected REQUIRED)
find_package(CLI11 REQUIRED)

find_package(PkgConfig REQUIRED)
pkg_check_modules(libzmq REQUIRED IMPORTED_TARGET libzmq)
pkg_check_modules(hiredis REQUIRED IMPORTED_TARGET hiredis)
# It defines _FILE_OFFSET_BITS, which means nothing on 64-bit systems and would forbid the shared precompiled header.
set_target_properties(PkgConfig::hiredis PROPERTIES INTERFACE_COMPILE_OPTIONS "")
pkg_check_modules(libsodium REQUIRED IMPORTED_TARGET libsodium)
