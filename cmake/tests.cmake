# Unit tests (one executable per room), CLI tests, checks of the source tree, and the install test.
find_package(PkgConfig REQUIRED)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)

set(unit_folder ${CMAKE_CURRENT_SOURCE_DIR}/tests/unit)
set(no_data ${CMAKE_CURRENT_BINARY_DIR}/no-data)

# Simulates clocks and throttling on machines without a GPU.
add_library(nvml_stub MODULE tests/unit/bench/nvml_stub.c)
target_link_libraries(nvml_stub PRIVATE pyrometer_flags)
# Simulates the work of a GPU.
add_library(cupti_stub MODULE tests/unit/device/cupti_stub.c)
target_link_libraries(cupti_stub PRIVATE pyrometer_flags)
add_library(cupti_shared_stub MODULE tests/unit/device/cupti_stub.c)
target_compile_definitions(cupti_shared_stub PRIVATE STUB_SHARED)
target_link_libraries(cupti_shared_stub PRIVATE pyrometer_flags)
# The libraries of torch's CUDA allocator, under their names.
add_library(c10_stub SHARED tests/unit/device/c10_stub.c)
add_library(c10_cuda_stub SHARED tests/unit/device/c10_cuda_stub.c)
set_target_properties(c10_stub c10_cuda_stub PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/torch-stubs)
set_target_properties(c10_stub PROPERTIES OUTPUT_NAME c10)
set_target_properties(c10_cuda_stub PROPERTIES OUTPUT_NAME c10_cuda)
target_link_libraries(c10_stub PRIVATE pyrometer_flags)
target_link_libraries(c10_cuda_stub PRIVATE pyrometer_flags c10_stub)

# Helpers of every room's runner, compiled once.
add_library(unit_support OBJECT
  tests/unit/support/fail_alloc.c tests/unit/support/fake_clock.c
  tests/unit/support/process_state.c tests/unit/support/quiet_fork.c)
target_link_libraries(unit_support PRIVATE pyrometer_flags)

# Tests can make allocations fail and set the clock, also inside the library.
set(unit_link_options
  -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=clock_gettime)

set(unit_timeout 900) # on a machine with other work
if(CMAKE_CROSSCOMPILING)
  set(unit_timeout 1500) # an emulator is some twenty times slower
endif()

# A folder of tests/unit is a room. All its test_*.c files are one executable, because linking and
# LeakSanitizer take up to seconds per executable. The files register themselves (support/unit.h),
# and the runner restores the process state that a file changes (support/runner.c).
file(GLOB unit_rooms RELATIVE ${unit_folder} CONFIGURE_DEPENDS LIST_DIRECTORIES true tests/unit/*)
list(REMOVE_ITEM unit_rooms support)
foreach(room IN LISTS unit_rooms)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS tests/unit/${room}/test_*.c)
  if(NOT sources)
    continue()
  endif()
  set(target unit_${room})
  add_executable(${target} ${sources} tests/unit/support/runner.c)
  target_include_directories(${target} PRIVATE
    include src ${unit_folder}/support ${unit_folder}/${room})
  target_compile_definitions(${target} PRIVATE
    UNIT_ROOM="${room}"
    UNIT_TEST_FILES="${CMAKE_CURRENT_SOURCE_DIR}/tests/files"
    UNIT_NVML_STUB="$<TARGET_FILE:nvml_stub>"
    UNIT_CUPTI_STUB="$<TARGET_FILE:cupti_stub>"
    UNIT_CUPTI_SHARED_STUB="$<TARGET_FILE:cupti_shared_stub>"
    UNIT_C10_CUDA_STUB="$<TARGET_FILE:c10_cuda_stub>"
    UNIT_DATA_HOME="${no_data}"
    $<$<BOOL:${CMAKE_CROSSCOMPILING}>:UNIT_EMULATED>)
  target_link_libraries(${target} PRIVATE
    pyrometer_flags unit_support pyrometer_static PkgConfig::CMOCKA)
  # Optimizing the tests would double their compile time; most time is spent in the library.
  target_compile_options(${target} PRIVATE -O0)
  target_link_options(${target} PRIVATE ${unit_link_options})
  add_dependencies(${target} nvml_stub cupti_stub cupti_shared_stub c10_cuda_stub)
  add_test(NAME ${target} COMMAND ${target})
  set_tests_properties(${target} PROPERTIES LABELS unit TIMEOUT ${unit_timeout})
  list(APPEND unit_targets ${target})
endforeach()
target_sources(unit_device PRIVATE tests/unit/device/noting_sink.c)
target_link_libraries(unit_cli PRIVATE pyrometer_cli)
# The sanitized builds run nothing else.
add_custom_target(unit_tests)
add_dependencies(unit_tests ${unit_targets})
if(TARGET replay)
  add_dependencies(unit_tests replay)
endif()
# Start the longest tests first, so that none runs alone at the end.
set_tests_properties(unit_read unit_trace unit_capture PROPERTIES COST 4)
set_tests_properties(unit_bench unit_analyze PROPERTIES COST 2)

# The runner itself: what it prints, what it restores, and how it reports a crash.
if(NOT PYRO_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  set(support ${unit_folder}/support)
  add_executable(runner_sample
    ${support}/runner.c ${support}/sample_first.c ${support}/sample_second.c)
  target_compile_definitions(runner_sample PRIVATE
    UNIT_ROOM="support" UNIT_TEST_FILES="" UNIT_NVML_STUB="" UNIT_CUPTI_STUB="" UNIT_C10_CUDA_STUB="" UNIT_DATA_HOME="")
  target_link_libraries(runner_sample PRIVATE pyrometer_flags unit_support PkgConfig::CMOCKA)
  target_link_options(runner_sample PRIVATE ${unit_link_options})
  add_test(NAME runner COMMAND ${Python3_EXECUTABLE} ${support}/check_runner.py
    $<TARGET_FILE:runner_sample>)
  set_tests_properties(runner PROPERTIES LABELS structure TIMEOUT 300)
endif()

# Compares the layers of real traces with a Python implementation; skipped without traces.
add_executable(dump_joins tests/trace/dump_joins.c)
target_include_directories(dump_joins PRIVATE include src)
target_link_libraries(dump_joins PRIVATE pyrometer_flags pyrometer_static)
add_test(NAME layers COMMAND ${Python3_EXECUTABLE} tests/trace/check_layers.py
  --dump $<TARGET_FILE:dump_joins> --tool $<TARGET_FILE:pyrometer>
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
set_tests_properties(layers PROPERTIES LABELS trace TIMEOUT 300 SKIP_RETURN_CODE 77)

# The account of lost time adds up in mutated traces: ours, and other people's if available.
add_executable(mutate_traces tests/trace/mutate_traces.c)
target_include_directories(mutate_traces PRIVATE include src)
target_link_libraries(mutate_traces PRIVATE pyrometer_flags pyrometer_static)
file(GLOB mutated CONFIGURE_DEPENDS
  tests/trace/planted/*.json tests/trace/steps/*.json tests/files/trace/good-*.json
  tests/files/trace/h200_*.json.gz)
add_test(NAME mutations COMMAND mutate_traces --count 1000 ${mutated})
set_tests_properties(mutations PROPERTIES LABELS "trace;unit" TIMEOUT ${unit_timeout})
if(TARGET unit_tests)
  add_dependencies(unit_tests mutate_traces)
endif()
set(others $ENV{PYRO_TRACES})
if(NOT others)
  set(others ${CMAKE_CURRENT_SOURCE_DIR}/../shared/traces)
endif()
file(GLOB others ${others}/*.json.gz)
if(others AND NOT PYRO_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME mutations_of_others COMMAND mutate_traces --count 1000 --events 800 ${others})
  set_tests_properties(mutations_of_others PROPERTIES LABELS trace TIMEOUT 600)
endif()

# Reads recordings exported as Chrome JSON with other readers, if installed.
add_executable(record_sample tests/trace/record_sample.c)
target_include_directories(record_sample PRIVATE include tests/unit/support)
target_link_libraries(record_sample PRIVATE pyrometer_flags pyrometer_static)
add_test(NAME recording_chrome COMMAND ${Python3_EXECUTABLE} tests/trace/check_recording_chrome.py
  --tool $<TARGET_FILE:pyrometer> --sample $<TARGET_FILE:record_sample>
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
set_tests_properties(recording_chrome PROPERTIES LABELS trace TIMEOUT 300)

# The tool as a build without Node makes it. Its own empty page comes before the library's.
set(page_template_bytes "")
set(page_template_size 0)
set(no_page ${CMAKE_CURRENT_BINARY_DIR}/generated/no_page)
configure_file(cmake/page_template.c.in ${no_page}.c @ONLY)
configure_file(cmake/page_template.S.in ${no_page}_bytes.S @ONLY)
add_executable(pyrometer-without-page cli/main.c ${no_page}.c ${no_page}_bytes.S)
target_include_directories(pyrometer-without-page PRIVATE include src)
target_link_libraries(pyrometer-without-page PRIVATE pyrometer_flags pyrometer_cli)

add_test(NAME cli COMMAND ${Python3_EXECUTABLE} tests/cli/run.py
  --tool $<TARGET_FILE:pyrometer> tests/cli
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
set_tests_properties(cli PROPERTIES
  LABELS cli TIMEOUT 1200 COST 5 ENVIRONMENT "XDG_DATA_HOME=${no_data}")

# Checks file cycles, dependencies between rooms, folder sizes and named paths, tests that check,
# and checks what is packed. The first reads one object file per source, which only these builds
# have.
if(NOT PYRO_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME structure COMMAND ${Python3_EXECUTABLE} tests/structure/check.py
    --build ${CMAKE_CURRENT_BINARY_DIR}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  add_test(NAME structure_check COMMAND ${Python3_EXECUTABLE} tests/structure/test_check.py
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  add_test(NAME packages COMMAND ${Python3_EXECUTABLE} tests/structure/packages.py
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set_tests_properties(structure structure_check packages PROPERTIES LABELS structure TIMEOUT 300)
  set_tests_properties(packages PROPERTIES SKIP_RETURN_CODE 77)
endif()

if(NOT PYRO_SANITIZE)
  add_test(NAME words COMMAND ${Python3_EXECUTABLE} scripts/check-words.py --code
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set_tests_properties(words PROPERTIES LABELS docs TIMEOUT 300)
  add_test(NAME install COMMAND
    ${CMAKE_CURRENT_SOURCE_DIR}/tests/install/run.sh ${CMAKE_CURRENT_BINARY_DIR})
  set_tests_properties(install PROPERTIES LABELS install TIMEOUT 300
    ENVIRONMENT "CMAKE=${CMAKE_COMMAND};CC=${CMAKE_C_COMPILER}")
endif()
