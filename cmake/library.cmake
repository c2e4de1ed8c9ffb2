# libpyrometer, shared and static, from one compilation of src/.
include(cmake/embed.cmake)
file(GLOB_RECURSE library_sources CONFIGURE_DEPENDS src/*.c)

add_library(pyrometer_objects OBJECT ${library_sources} ${embedded_sources})
target_link_libraries(pyrometer_objects PRIVATE pyrometer_flags pyrometer_system)
target_include_directories(pyrometer_objects PRIVATE include src)

add_library(pyrometer_static STATIC $<TARGET_OBJECTS:pyrometer_objects>)
target_link_libraries(pyrometer_static PUBLIC pyrometer_system)
target_include_directories(pyrometer_static PUBLIC include)
set_target_properties(pyrometer_static PROPERTIES OUTPUT_NAME pyrometer LINKER_LANGUAGE C)

# A wheel needs no shared library: the tool and the extension contain the static one.
if(NOT SKBUILD)
  add_library(pyrometer_shared SHARED $<TARGET_OBJECTS:pyrometer_objects>)
  target_link_libraries(pyrometer_shared PRIVATE pyrometer_flags pyrometer_system)
  set_target_properties(pyrometer_shared PROPERTIES
    OUTPUT_NAME pyrometer LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

  install(TARGETS pyrometer_shared pyrometer_static
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY include/pyrometer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
  # Written while installing, because `cmake --install --prefix` may choose another prefix.
  install(CODE "
    set(LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
    set(INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
    set(PROJECT_VERSION ${PROJECT_VERSION})
    set(PROJECT_DESCRIPTION \"${PROJECT_DESCRIPTION}\")
    configure_file(\"${CMAKE_CURRENT_SOURCE_DIR}/pyrometer.pc.in\"
                   \"${CMAKE_CURRENT_BINARY_DIR}/pyrometer.pc\" @ONLY)")
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pyrometer.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
