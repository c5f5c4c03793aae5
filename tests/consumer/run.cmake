# cmake -Dbuild=<build> -Dsource=<this folder> -Dwork=<scratch folder> -P run.cmake
#
# Installs the build, checks that installed headers include only installed headers, then builds and runs the
# consumer project against the installation.

cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(prefix "${work}/prefix")
file(REMOVE_RECURSE "${prefix}")
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${build}" --prefix "${prefix}" OUTPUT_QUIET
                        COMMAND_ERROR_IS_FATAL ANY)

file(GLOB_RECURSE headers RELATIVE "${prefix}/include" "${prefix}/include/*.h")
foreach(header IN LISTS headers)
  file(STRINGS "${prefix}/include/${header}" lines REGEX "^#include \"muster/")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
    if(NOT EXISTS "${prefix}/include/${included}")
      message(SEND_ERROR "${header} is installed but includes ${included}, which is not")
    endif()
  endforeach()
endforeach()

run("${CMAKE_COMMAND}" -G Ninja -S "${source}" -B "${work}/build" "-DCMAKE_PREFIX_PATH=${prefix}"
    -DCMAKE_BUILD_TYPE=Release)
run("${CMAKE_COMMAND}" --build "${work}/build")
run("${work}/build/consumer")
run("${prefix}/bin/muster" version)
