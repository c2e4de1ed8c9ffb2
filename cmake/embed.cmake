# Embeds every model skeleton of the catalog, and its index, in the library. An assembly file
# includes the bytes, so that no compiler parses them; a C file contains the table that
# src/read/embedded.h declares.
file(GLOB skeletons CONFIGURE_DEPENDS catalog/skeletons/*.pt2)
set(skeleton_names "")
foreach(skeleton IN LISTS skeletons)
  get_filename_component(name ${skeleton} NAME)
  string(REGEX REPLACE "\\.pt2$" "" name ${name})
  list(APPEND skeleton_names ${name})
endforeach()
list(SORT skeleton_names)
# The table contains sizes, so CMake must configure again when a file changes.
set(catalog_index ${CMAKE_CURRENT_SOURCE_DIR}/catalog/index.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${skeletons} ${catalog_index})
if(NOT EXISTS ${catalog_index})
  set(catalog_index ${CMAKE_CURRENT_BINARY_DIR}/generated/no-index.json)
  file(WRITE ${catalog_index} "{}\n")
endif()
file(SIZE ${catalog_index} embedded_index_size)

set(embedded_declarations "")
set(embedded_rows "")
set(embedded_bytes "")
set(index 0)
foreach(name IN LISTS skeleton_names)
  set(path ${CMAKE_CURRENT_SOURCE_DIR}/catalog/skeletons/${name}.pt2)
  file(SIZE ${path} size)
  string(APPEND embedded_declarations
    "extern const unsigned char pyro_embedded_${index}[];\n")
  string(APPEND embedded_rows "    {\"${name}\", pyro_embedded_${index}, ${size}},\n")
  string(APPEND embedded_bytes "    BYTES_OF pyro_embedded_${index}\n    .incbin \"${path}\"\n")
  math(EXPR index "${index} + 1")
endforeach()

string(APPEND embedded_bytes "    BYTES_OF pyro_embedded_index\n    .incbin \"${catalog_index}\"\n")

# The table of efficiencies that ships with the library (`make efficiency`).
set(efficiency ${CMAKE_CURRENT_SOURCE_DIR}/src/predict/shipped.json)
file(SIZE ${efficiency} embedded_efficiency_size)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${efficiency})
string(APPEND embedded_bytes
  "    BYTES_OF pyro_shipped_efficiency\n    .incbin \"${efficiency}\"\n")

# The script of `pyrometer replay`, without ops.
set(replay_script ${CMAKE_CURRENT_SOURCE_DIR}/src/predict/replay_template.py)
file(SIZE ${replay_script} embedded_replay_size)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${replay_script})
string(APPEND embedded_bytes
  "    BYTES_OF pyro_replay_template\n    .incbin \"${replay_script}\"\n")

configure_file(cmake/embedded.c.in ${CMAKE_CURRENT_BINARY_DIR}/generated/embedded.c @ONLY)
configure_file(cmake/embedded.S.in ${CMAKE_CURRENT_BINARY_DIR}/generated/embedded.S @ONLY)
set(embedded_sources
  ${CMAKE_CURRENT_BINARY_DIR}/generated/embedded.c
  ${CMAKE_CURRENT_BINARY_DIR}/generated/embedded.S)
set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/generated/embedded.S
  PROPERTIES OBJECT_DEPENDS "${skeletons};${catalog_index};${efficiency};${replay_script}")

# The page without data (`make web`). A build without it works, and says so where a page is wanted.
file(GLOB page_template CONFIGURE_DEPENDS web/dist/index.html)
set(page_template_bytes "")
set(page_template_size 0)
if(page_template AND PYRO_PAGE)
  file(SIZE ${page_template} page_template_size)
  set(page_template_bytes ".incbin \"${page_template}\"")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_template})
endif()
configure_file(cmake/page_template.c.in ${CMAKE_CURRENT_BINARY_DIR}/generated/page_template.c @ONLY)
configure_file(cmake/page_template.S.in ${CMAKE_CURRENT_BINARY_DIR}/generated/page_template.S @ONLY)
list(APPEND embedded_sources
  ${CMAKE_CURRENT_BINARY_DIR}/generated/page_template.c
  ${CMAKE_CURRENT_BINARY_DIR}/generated/page_template.S)
set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/generated/page_template.S
  PROPERTIES OBJECT_DEPENDS "${page_template}")
