# Language level, output folders, ccache, mold, optimisation levels and warnings: what holds for every target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(THREADS_PREFER_PTHREAD_FLAG ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or Sanitize" FORCE)
endif()
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -g1")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer")

find_program(MUSTER_CCACHE ccache)
if(MUSTER_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness values are the ones that ccache requires for precompiled headers; the base directory lets
  # two checkouts of the same file share one entry.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 "${MUSTER_CCACHE}")
endif()

find_program(MUSTER_MOLD mold)
if(MUSTER_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

if(MUSTER_SANITIZE)
  add_compile_options(-fsanitize=${MUSTER_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${MUSTER_SANITIZE})
endif()

# For our code only; system headers are exempt.
add_library(muster_warnings INTERFACE)
target_compile_options(
  muster_warnings
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wnon-virtual-dtor
            -Woverloaded-virtual
            -Wsuggest-override
            -Wextra-semi
            -Wcast-align
            -Wcast-qual
            -Wfloat-conversion
            -Wimplicit-fallthrough
            -Wunused
            $<$<BOOL:${MUSTER_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(
    muster_warnings
    INTERFACE
      -Wduplicated-cond
      -Wlogical-op
      # gcc 12 sees overlapping copies inside std::string (bug 105651) and overflows inside fmt 9.
      -Wno-restrict
      -Wno-stringop-overflow
      # gcc 12's flow analysis invents paths through inlined std code: worth reading, not worth stopping for.
      -Wno-error=array-bounds
      -Wno-error=stringop-overread
      -Wno-error=maybe-uninitialized
      -Wno-error=free-nonheap-object)
  if(MUSTER_SANITIZE)
    # Sanitizer instrumentation makes the same analysis useless.
    target_compile_options(muster_warnings INTERFACE -Wno-maybe-uninitialized -Wno-tsan)
  endif()
endif()
