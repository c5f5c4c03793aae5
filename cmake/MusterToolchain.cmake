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
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer")

# Half of a compiler's time at -O3 is spent on loops, which most code does not have: what computes asks for it, and
# what waits for others most of the time is built quickly. A precompiled header serves all levels above 0.
set(MUSTER_HOT_OPTIONS $<$<CONFIG:Release>:-O3>)
set(MUSTER_COLD_OPTIONS $<$<CONFIG:Release>:-O1>)
# Tests have a precompiled header of their own, so they can do without line numbers too.
set(MUSTER_TEST_OPTIONS $<$<CONFIG:Release>:-O1> $<$<CONFIG:Release>:-g0>)

# gcc looks through all it has in memory for what it no longer needs whenever that has doubled, beginning at 128 MB,
# which is less than one precompiled header. Beginning at 512 MB, hardly a source comes to it.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=524288>)

find_program(MUSTER_CCACHE ccache)
if(MUSTER_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness values are the ones that ccache requires for precompiled headers; the base directory lets
  # two checkouts of the same file share one entry.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      "${PROJECT_SOURCE_DIR}/cmake/ccache.sh" "${MUSTER_CCACHE}")
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

# Loops say that they may be made vectors of; where clang does not, nothing is wrong.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(muster_warnings INTERFACE -Wno-pass-failed)
endif()

# gcc 12 moves words between vectors through MMX registers now and then, and leaves them in a state in which the next
# long double is NaN. tests/tensor looks whether it still does. (Sanitizers build without that optimisation.)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT MUSTER_SANITIZE)
  add_compile_options(-mno-mmx)
endif()
