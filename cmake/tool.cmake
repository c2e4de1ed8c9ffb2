# Builds the tool `pyrometer`, which contains the static library, and generates man pages, pages of
# the site and shell completion from its option tables.
file(GLOB_RECURSE cli_sources CONFIGURE_DEPENDS cli/*.c)
set(cli_main ${CMAKE_CURRENT_SOURCE_DIR}/cli/main.c)
file(GLOB cli_docgen CONFIGURE_DEPENDS cli/docgen/*.c)
list(REMOVE_ITEM cli_sources ${cli_main} ${cli_docgen})

# The helper that the tool runs in the user's Python: a zip file, embedded in the tool. In it
# _pyrometer_helper replaces the package, so that relative imports work in both.
set(helper_folder ${CMAKE_CURRENT_BINARY_DIR}/helper)
set(helper_package ${helper_folder}/_pyrometer_helper)
set(helper_error ${CMAKE_CURRENT_SOURCE_DIR}/python/pyrometer/_error.py)
file(GLOB helper_sources CONFIGURE_DEPENDS
  ${CMAKE_CURRENT_SOURCE_DIR}/python/pyrometer/_helper/*.py)
set(helper_archive ${CMAKE_CURRENT_BINARY_DIR}/generated/helper.zip)
file(REMOVE_RECURSE ${helper_folder}) # removes files that have moved since
file(MAKE_DIRECTORY ${helper_package}/_helper)
file(WRITE ${helper_folder}/__main__.py
  "import sys\nfrom _pyrometer_helper._helper.main import main\nsys.exit(main())\n")
file(WRITE ${helper_package}/__init__.py "")
add_custom_command(OUTPUT ${helper_archive}
  COMMAND ${CMAKE_COMMAND} -E copy ${helper_error} ${helper_package}
  COMMAND ${CMAKE_COMMAND} -E copy ${helper_sources} ${helper_package}/_helper
  COMMAND ${CMAKE_COMMAND} -E tar cf ${helper_archive} --format=zip --mtime=1980-01-02
    __main__.py _pyrometer_helper
  WORKING_DIRECTORY ${helper_folder}
  DEPENDS ${helper_error} ${helper_sources}
  COMMENT "Packing the Python helper"
  VERBATIM)
configure_file(cmake/helper.S.in ${CMAKE_CURRENT_BINARY_DIR}/generated/helper.S @ONLY)
set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/generated/helper.S
  PROPERTIES OBJECT_DEPENDS ${helper_archive})
list(APPEND cli_sources ${CMAKE_CURRENT_BINARY_DIR}/generated/helper.S)

# The list of files that `pyrometer serve` shows around the pages: plain files, no build step.
set(serve_folder ${CMAKE_CURRENT_SOURCE_DIR}/web/serve)
configure_file(cmake/serve.S.in ${CMAKE_CURRENT_BINARY_DIR}/generated/serve.S @ONLY)
set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/generated/serve.S PROPERTIES OBJECT_DEPENDS
  "${serve_folder}/index.html;${serve_folder}/serve.js;${serve_folder}/serve.css")
list(APPEND cli_sources ${CMAKE_CURRENT_BINARY_DIR}/generated/serve.S)

# A library, so that the documentation generator and unit tests use the same option tables.
add_library(pyrometer_cli STATIC ${cli_sources})
target_include_directories(pyrometer_cli PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} src)
target_link_libraries(pyrometer_cli PRIVATE pyrometer_flags PUBLIC pyrometer_static)

add_executable(pyrometer ${cli_main})
target_link_libraries(pyrometer PRIVATE pyrometer_flags pyrometer_cli)
if(SKBUILD)
  install(TARGETS pyrometer DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
else()
  install(TARGETS pyrometer DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

if(NOT CMAKE_CROSSCOMPILING AND NOT PYRO_FUZZ)
  add_executable(pyrometer-docgen ${cli_docgen})
  target_link_libraries(pyrometer-docgen PRIVATE pyrometer_flags pyrometer_cli)

  set(docs ${CMAKE_CURRENT_BINARY_DIR}/docs)
  add_custom_command(OUTPUT ${docs}/made
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${docs}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${docs}/man ${docs}/commands
    COMMAND pyrometer-docgen man ${docs}/man
    COMMAND pyrometer-docgen markdown ${docs}/commands
    COMMAND pyrometer-docgen bash ${docs}/pyrometer.bash
    COMMAND pyrometer-docgen zsh ${docs}/_pyrometer
    COMMAND ${CMAKE_COMMAND} -E touch ${docs}/made
    DEPENDS pyrometer-docgen
    COMMENT "Writing man pages and completions"
    VERBATIM)
  add_custom_target(docs ALL DEPENDS ${docs}/made)

  set(mandir ${CMAKE_INSTALL_MANDIR})
  set(datadir ${CMAKE_INSTALL_DATADIR})
  set(component "")
  if(SKBUILD)
    set(mandir ${SKBUILD_DATA_DIR}/share/man)
    set(datadir ${SKBUILD_DATA_DIR}/share)
    set(component COMPONENT python)
  endif()
  install(DIRECTORY ${docs}/man/ DESTINATION ${mandir}/man1 ${component})
  install(FILES ${docs}/pyrometer.bash RENAME pyrometer
    DESTINATION ${datadir}/bash-completion/completions ${component})
  install(FILES ${docs}/_pyrometer DESTINATION ${datadir}/zsh/site-functions ${component})
  install(DIRECTORY schemas/ DESTINATION ${datadir}/pyrometer/schemas ${component})
endif()
