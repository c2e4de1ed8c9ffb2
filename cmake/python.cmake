# Builds the extension pyrometer._core: into the wheel under scikit-build-core, otherwise with the
# package's Python files into <build>/python, for PYTHONPATH.
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
file(GLOB_RECURSE extension_sources CONFIGURE_DEPENDS python/extension/*.c)
python3_add_library(_core MODULE WITH_SOABI ${extension_sources})
target_include_directories(_core PRIVATE python/extension)
# Code that every call of a layer runs: combining values in vectors lengthens it.
set_source_files_properties(python/extension/hooks/modules.c PROPERTIES COMPILE_OPTIONS
                                                                        -fno-tree-slp-vectorize)
target_link_libraries(_core PRIVATE pyrometer_flags pyrometer_static)
if(NOT APPLE)
  # Its symbols must not replace those of a libpyrometer.so in the same process.
  target_link_options(_core PRIVATE -Wl,--exclude-libs,ALL)
endif()

# Headers for building the observer on the user's machine.
set(observer_headers include/pyrometer/capture.h include/pyrometer/recording.h
                     include/pyrometer/error.h)
if(SKBUILD)
  install(TARGETS _core DESTINATION pyrometer COMPONENT python)
  install(FILES ${observer_headers} DESTINATION pyrometer/include/pyrometer COMPONENT python)
else()
  set(package ${CMAKE_CURRENT_BINARY_DIR}/python/pyrometer)
  set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${package})
  add_custom_target(python_package ALL
    COMMAND ${CMAKE_COMMAND} -E copy_directory
      ${CMAKE_CURRENT_SOURCE_DIR}/python/pyrometer ${package}
    DEPENDS _core
    VERBATIM)
endif()
