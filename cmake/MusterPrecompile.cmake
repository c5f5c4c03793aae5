# The heavy headers, precompiled once for all modules and once for all test programs (each takes some 100 MB, so one
# per module would not do). gcc refuses a precompiled header that was made with other flags, and -Werror makes that
# an error, so whoever uses one must link what it links.

if(MUSTER_USE_PCH)
  add_library(muster_pch OBJECT cmake/pch/pch.cpp)
  target_link_libraries(muster_pch PRIVATE fmt::fmt tl::expected Threads::Threads muster_warnings)
  target_precompile_headers(muster_pch PRIVATE cmake/pch/pch.h)

  if(MUSTER_BUILD_TESTS)
    # A program, because programs are compiled with -fPIE and libraries with -fPIC.
    add_executable(muster_test_pch cmake/pch/test_pch.cpp)
    target_link_libraries(muster_test_pch PRIVATE fmt::fmt tl::expected Threads::Threads GTest::gmock_main
                                                  muster_warnings)
    target_compile_options(muster_test_pch PRIVATE ${MUSTER_TEST_OPTIONS})
    target_precompile_headers(muster_test_pch PRIVATE cmake/pch/test_pch.h)
  endif()

  # ccache needs this to see what a precompiled header holds.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()

# muster_precompile(TARGET muster_pch|muster_test_pch)
function(muster_precompile target pch)
  if(MUSTER_USE_PCH)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:fmt::fmt> $<BUILD_INTERFACE:tl::expected>
                                            $<BUILD_INTERFACE:Threads::Threads>)
    target_precompile_headers(${target} REUSE_FROM ${pch})
  endif()
endfunction()
