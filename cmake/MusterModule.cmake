# muster_add_module(NAME
#   [HOT | COLD]               it computes, so loops are made vectors of; or it waits for others most of the time, so
#                              it is built quickly rather than for speed
#   UNITY                      sources of one folder are compiled together, and so are its tests, which halves the
#                              time; names in unnamed namespaces must then differ within a folder
#   TEST_LABEL label           of NAME_tests; unit when not given
#   DEPS modules...            other modules this one may include (checked by tools/layering.py)
#   LINK targets...            external libraries that its headers need
#   LINK_PRIVATE targets...    external libraries that only its sources need
#   SOURCES files...           sources; a *_test.cpp goes to NAME_tests, never into the library
#   COLD_SOURCES files...      those among them that are built as COLD says, in a module that is not
#   PUBLIC_HEADERS files...    headers to install; all of the folder's headers when not given
# )
# Makes the static library muster_NAME (alias muster::NAME) and, with MUSTER_BUILD_TESTS, the program NAME_tests.

include(GoogleTest)
add_custom_target(unit_tests COMMENT "All test programs with the label unit")
set(MUSTER_TEST_TIMEOUT 60 CACHE STRING "Seconds that one unit test may take")

function(muster_add_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "HOT;COLD;UNITY" "TEST_LABEL"
                        "DEPS;LINK;LINK_PRIVATE;SOURCES;COLD_SOURCES;PUBLIC_HEADERS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "muster_add_module(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()

  set(tests ${arg_SOURCES})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  set(sources ${arg_SOURCES})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(TRANSFORM arg_DEPS PREPEND "muster::" OUTPUT_VARIABLE deps)

  set(library muster_${name})
  set(objects)
  if(arg_COLD_SOURCES)
    list(REMOVE_ITEM sources ${arg_COLD_SOURCES})
    muster_add_cold_objects(${library}_cold "${arg_COLD_SOURCES}" ${deps} ${arg_LINK} ${arg_LINK_PRIVATE})
    if(arg_UNITY AND MUSTER_UNITY)
      muster_compile_together(${library}_cold ${arg_COLD_SOURCES})
    endif()
    set(objects "$<TARGET_OBJECTS:${library}_cold>")
  endif()
  add_library(${library} STATIC ${sources} ${objects})
  add_library(muster::${name} ALIAS ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name} LINKER_LANGUAGE CXX)
  target_compile_features(${library} PUBLIC cxx_std_20)
  target_include_directories(
    ${library} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>"
                      "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>"
                      "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_libraries(
    ${library}
    PUBLIC ${deps} ${arg_LINK} Threads::Threads
    PRIVATE ${arg_LINK_PRIVATE} $<BUILD_INTERFACE:muster_warnings>)
  if(arg_HOT)
    target_compile_options(${library} PRIVATE ${MUSTER_HOT_OPTIONS})
  elseif(arg_COLD)
    target_compile_options(${library} PRIVATE ${MUSTER_COLD_OPTIONS})
  endif()
  if(sources)
    muster_precompile(${library} muster_pch)
  endif()
  if(arg_UNITY AND MUSTER_UNITY)
    muster_compile_together(${library} ${sources})
  endif()

  if(MUSTER_BUILD_TESTS AND tests)
    if(NOT arg_TEST_LABEL)
      set(arg_TEST_LABEL unit)
    endif()
    set(unity)
    if(arg_UNITY)
      set(unity UNITY)
    endif()
    muster_add_test_program(${name}_tests ${unity} LABEL ${arg_TEST_LABEL} LINK ${library} ${arg_LINK_PRIVATE} SOURCES
                                ${tests})
  endif()
  muster_install_module(${name} "${arg_PUBLIC_HEADERS}")
  muster_record_module(${name} "${arg_DEPS}")
endfunction()

# muster_add_cold_objects(TARGET sources linked...): CMake compiles no sources together that have options of their own, so
# they are a target.
function(muster_add_cold_objects target sources)
  add_library(${target} OBJECT ${sources})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_BINARY_DIR}/generated")
  target_link_libraries(${target} PRIVATE ${ARGN} Threads::Threads muster_warnings)
  target_compile_options(${target} PRIVATE ${MUSTER_COLD_OPTIONS})
  muster_precompile(${target} muster_pch)
endfunction()

# muster_compile_together(TARGET sources...): those of one folder as one, at most eight, so that a change of one is
# compiled in seconds.
function(muster_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "in_${folder}" folder)
    math(EXPR group "0${${folder}_count} / 8")
    math(EXPR ${folder}_count "0${${folder}_count} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${folder}_${group}")
  endforeach()
endfunction()

# muster_add_test_program(NAME [UNITY] LABEL label [TIMEOUT seconds] LINK targets... SOURCES files...)
# A GoogleTest program whose cases ctest runs one by one. Labels: unit, integration, soak. UNITY as of a module.
function(muster_add_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "UNITY" "LABEL;TIMEOUT" "LINK;SOURCES")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${MUSTER_TEST_TIMEOUT})
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_LINK} muster_warnings GTest::gmock_main GTest::gtest rapidcheck)
  target_compile_options(${name} PRIVATE ${MUSTER_TEST_OPTIONS})
  muster_precompile(${name} muster_test_pch)
  if(arg_UNITY AND MUSTER_UNITY)
    muster_compile_together(${name} ${arg_SOURCES})
  endif()
  if(arg_LABEL STREQUAL "unit")
    add_dependencies(unit_tests ${name})
  endif()
  gtest_discover_tests(
    ${name}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    TEST_PREFIX "${name}."
    PROPERTIES LABELS "${arg_LABEL}" TIMEOUT "${arg_TIMEOUT}")
endfunction()

function(muster_install_module name public_headers)
  set_property(GLOBAL APPEND PROPERTY MUSTER_MODULES ${name})
  install(TARGETS muster_${name} EXPORT muster-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
  if(public_headers)
    foreach(header IN LISTS public_headers)
      cmake_path(GET header PARENT_PATH folder)
      install(FILES ${header} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/muster/${name}/${folder}" COMPONENT development)
    endforeach()
  else()
    install(
      DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/"
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/muster/${name}"
      COMPONENT development
      FILES_MATCHING
      PATTERN "*.h")
  endif()
endfunction()

# One line per module, for modules.json.
function(muster_record_module name deps)
  list(TRANSFORM deps REPLACE "(.+)" "\"\\1\"")
  list(JOIN deps ", " deps)
  set_property(GLOBAL APPEND PROPERTY MUSTER_MODULE_ROWS "  \"${name}\": [${deps}]")
endfunction()

# Writes modules.json in the build folder: {"module": ["dependency", ...], ...}
function(muster_write_modules_json)
  get_property(rows GLOBAL PROPERTY MUSTER_MODULE_ROWS)
  list(JOIN rows ",\n" rows)
  file(WRITE "${PROJECT_BINARY_DIR}/modules.json" "{\n${rows}\n}\n")
endfunction()
