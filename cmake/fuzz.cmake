# Fuzz targets fuzz/fuzz_<name>.c: libFuzzer binaries with PYRO_FUZZ; otherwise one test executable
# that feeds every file of fuzz/corpus/<name> to its target once.
file(GLOB fuzz_sources CONFIGURE_DEPENDS fuzz/fuzz_*.c)
set(replayed "")
foreach(source IN LISTS fuzz_sources)
  get_filename_component(stem ${source} NAME_WE)
  string(REGEX REPLACE "^fuzz_" "" name ${stem})
  if(PYRO_FUZZ)
    add_executable(fuzz_${name} ${source})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    target_include_directories(fuzz_${name} PRIVATE include src)
    target_link_libraries(fuzz_${name} PRIVATE pyrometer_flags pyrometer_static)
  else()
    # All targets define the function that libFuzzer calls; in one executable the names must differ.
    set_source_files_properties(${source} PROPERTIES
      COMPILE_DEFINITIONS LLVMFuzzerTestOneInput=fuzz_${name})
    string(APPEND replayed "TARGET(${name})")
  endif()
endforeach()
if(NOT PYRO_FUZZ)
  add_executable(replay ${fuzz_sources} fuzz/replay.c)
  target_include_directories(replay PRIVATE include src)
  target_link_libraries(replay PRIVATE pyrometer_flags pyrometer_static)
  set_source_files_properties(fuzz/replay.c PROPERTIES
    COMPILE_DEFINITIONS "REPLAY_TARGETS=${replayed}")
  add_test(NAME replay COMMAND replay ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus)
  set_tests_properties(replay PROPERTIES LABELS fuzz TIMEOUT 300)
endif()
