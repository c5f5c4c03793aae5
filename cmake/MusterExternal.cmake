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
# It asks for -D_FILE_OFFSET_BITS=64, which changes nothing on 64-bit machines but makes a target that
# has it unable to use the shared precompiled header.
set_target_properties(PkgConfig::hiredis PROPERTIES INTERFACE_COMPILE_OPTIONS "")
pkg_check_modules(libsodium REQUIRED IMPORTED_TARGET libsodium)
