# Unit tests (one executable a file), command line transcripts and the test of the installed copy.
find_package(PkgConfig REQUIRED)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)

set(test_environment
  PYRO_TEST_FILES=${CMAKE_CURRENT_SOURCE_DIR}/tests/files
  PYRO_TOOL=$<TARGET_FILE:pyrometer>
  # Nobody's own models.
  XDG_DATA_HOME=${CMAKE_CURRENT_BINARY_DIR}/no-data)

# Every unit test can have its allocations fail, the library's included.
add_library(fail_alloc OBJECT tests/unit/fail_alloc.c)
target_link_libraries(fail_alloc PRIVATE pyrometer_flags)
target_include_directories(fail_alloc PRIVATE include src)

# Plays back clocks and throttling where there is no GPU.
add_library(nvml_stub MODULE tests/unit/nvml_stub.c)
target_link_libraries(nvml_stub PRIVATE pyrometer_flags)

file(GLOB unit_sources CONFIGURE_DEPENDS tests/unit/test_*.c)
foreach(source IN LISTS unit_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE include src tests/unit)
  target_link_libraries(${name} PRIVATE
    pyrometer_flags fail_alloc pyrometer_cli pyrometer_static PkgConfig::CMOCKA)
  target_link_options(${name} PRIVATE
    -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES
    LABELS unit TIMEOUT 300 ENVIRONMENT "${test_environment}")
endforeach()
add_dependencies(test_gpu nvml_stub)
set_tests_properties(test_gpu PROPERTIES
  ENVIRONMENT "${test_environment};PYRO_NVML=$<TARGET_FILE:nvml_stub>")

# Layers of real traces against what Python alone makes of them; skipped where there are none.
add_executable(dump_joins tests/trace/dump_joins.c)
target_include_directories(dump_joins PRIVATE include src)
target_link_libraries(dump_joins PRIVATE pyrometer_flags pyrometer_static)
add_test(NAME layers COMMAND ${Python3_EXECUTABLE} tests/trace/check_layers.py
  --dump $<TARGET_FILE:dump_joins> --tool $<TARGET_FILE:pyrometer>
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
set_tests_properties(layers PROPERTIES LABELS trace TIMEOUT 300 SKIP_RETURN_CODE 77)

# Recordings as Chrome JSON, for others' readers where they are installed.
add_executable(record_sample tests/trace/record_sample.c)
target_include_directories(record_sample PRIVATE include tests/unit)
target_link_libraries(record_sample PRIVATE pyrometer_flags pyrometer_static)
add_test(NAME recording_chrome COMMAND ${Python3_EXECUTABLE} tests/trace/check_recording_chrome.py
  --tool $<TARGET_FILE:pyrometer> --sample $<TARGET_FILE:record_sample>
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
set_tests_properties(recording_chrome PROPERTIES LABELS trace TIMEOUT 300)

add_test(NAME cli COMMAND ${Python3_EXECUTABLE} tests/cli/run.py
  --tool $<TARGET_FILE:pyrometer> tests/cli
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
set_tests_properties(cli PROPERTIES
  LABELS cli TIMEOUT 600 ENVIRONMENT "${test_environment}")

if(NOT PYRO_SANITIZE)
  add_test(NAME words COMMAND ${Python3_EXECUTABLE} scripts/check-words.py
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set_tests_properties(words PROPERTIES LABELS docs TIMEOUT 60)
  add_test(NAME install COMMAND
    ${CMAKE_CURRENT_SOURCE_DIR}/tests/install/run.sh ${CMAKE_CURRENT_BINARY_DIR})
  set_tests_properties(install PROPERTIES LABELS install TIMEOUT 300
    ENVIRONMENT "CMAKE=${CMAKE_COMMAND};CC=${CMAKE_C_COMPILER}")
endif()
