# The extension pyrometer._core: into the wheel under scikit-build-core, else with the package's
# Python files into <build>/python, which PYTHONPATH can point at.
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
python3_add_library(_core MODULE WITH_SOABI
  python/pyrometer/_core.c python/pyrometer/_core_bench.c python/pyrometer/_core_capture.c
  python/pyrometer/_core_forwards.c python/pyrometer/_core_gpu.c python/pyrometer/_core_graph.c
  python/pyrometer/_core_inputs.c python/pyrometer/_core_layers.c python/pyrometer/_core_loop.c
  python/pyrometer/_core_marks.c python/pyrometer/_core_models.c
  python/pyrometer/_core_names.c python/pyrometer/_core_passes.c python/pyrometer/_core_ranks.c
  python/pyrometer/_core_recommend.c
  python/pyrometer/_core_stacks.c python/pyrometer/_core_trace.c python/pyrometer/_core_training.c)
target_link_libraries(_core PRIVATE pyrometer_flags pyrometer_static)
if(NOT APPLE)
  # The library inside must not answer for a libpyrometer.so that the same process has loaded.
  target_link_options(_core PRIVATE -Wl,--exclude-libs,ALL)
endif()

# What _observer.cpp is built with, on the user's machine.
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
